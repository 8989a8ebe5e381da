#!/usr/bin/env bash
# A transposed NumPy array becomes a matrix with the right sizes and the wrong numbers: ncnn.Mat ignores strides, silently. NHWC
# planes turned to NCHW by `transpose` are such an array.
# Expected: a copy in the right order, or an error (as PyTorch's and ONNX Runtime's doors do).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 ncnn==1.0.20261020
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import ncnn
import numpy as np

print("ncnn", importlib.metadata.version("ncnn"))
board = np.arange(6, dtype=np.float32).reshape(2, 3)
turned = np.array(ncnn.Mat(board.T))
right = np.array(ncnn.Mat(np.ascontiguousarray(board.T)))
print("array:              ", board.T.tolist())
print("ncnn.Mat of it:     ", turned.tolist())
print("of a contiguous one:", right.tolist())
assert (right == board.T).all()
assert turned.tolist() == [[0, 1], [2, 3], [4, 5]]
PYTHON
