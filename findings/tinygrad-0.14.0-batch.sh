#!/usr/bin/env bash
# For a model with a named batch dimension, tinygrad's OnnxRunner accepts any size for the first batch, and then only that size.
# Expected: any size each time, because the file declares the dimension as free; a search needs batches of many sizes.
# It compiles with clang, which must be installed or named in CC.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check tinygrad==0.14.0 onnx==1.23.2 numpy==2.4.6
DEV=CPU "$folder/python/bin/python" - "$folder/model.onnx" <<'PYTHON'
import sys
from importlib.metadata import version

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tinygrad import Tensor
from tinygrad.nn.onnx import OnnxRunner

print("tinygrad", version("tinygrad"), "onnx", onnx.__version__)
value = lambda name, size: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])
weight = numpy_helper.from_array(np.ones((3, 2), np.float32), "weight")
nodes = [helper.make_node("Gemm", ["x", "weight"], ["y"])]
graph = helper.make_graph(nodes, "g", [value("x", 3)], [value("y", 2)], [weight])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, sys.argv[1])
batch = lambda rows: {"x": Tensor(np.ones((rows, 3), np.float32))}
runner = OnnxRunner(sys.argv[1])
print("first a batch of 4:", runner(batch(4))["y"].numpy().shape)
for rows in (1, 5):
    try:
        print("then one of", rows, "gives", runner(batch(rows))["y"].numpy().shape)
    except Exception as error:
        print("then one of", rows, "is refused:", type(error).__name__, error)
    else:
        raise SystemExit("a second size now runs")
    print("a new runner for", rows, "gives", OnnxRunner(sys.argv[1])(batch(rows))["y"].numpy().shape)
PYTHON
