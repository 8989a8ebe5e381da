#!/usr/bin/env bash
# A diverged network looks healthy: OpenVINO (CPU) turns Relu(NaN) into 0, and a pooling operator of ONNX Runtime ignores NaN.
# Expected: NaN propagates through Relu and through maxima, as in NumPy, PyTorch, and the reference evaluator of ONNX.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 onnx==1.23.2 onnxruntime==1.31.1 openvino==2026.4.1
"$folder/python/bin/python" - <<'PYTHON'
import math

import numpy as np
import onnx
import onnxruntime
import openvino
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

print("openvino", openvino.__version__, "onnxruntime", onnxruntime.__version__, "onnx", onnx.__version__)
planes = np.array([0, 1, 2, 3, math.nan, 5, 6, 7, 8], np.float32).reshape(1, 1, 3, 3)
seen = {}
for operator in ("Relu", "GlobalMaxPool"):
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, None, None])
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "g", [value("x")], [value("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    data = model.SerializeToString()
    answers = {
        "reference": ReferenceEvaluator(model).run(None, {"x": planes})[0],
        "ONNX Runtime": onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": planes})[0],
        "OpenVINO": openvino.Core().compile_model(openvino.Core().read_model(data), "CPU")([planes])[0],
    }
    for name, answer in answers.items():
        seen[operator, name] = bool(np.isnan(answer).any())
        print(f"{operator:14} of one NaN and eight numbers, {name:13}", answer.ravel().tolist())
assert seen["Relu", "reference"] and seen["GlobalMaxPool", "reference"] and seen["Relu", "ONNX Runtime"], seen
# OpenVINO's pooling depends on whether the sizes are dynamic
assert not seen["Relu", "OpenVINO"] and not seen["GlobalMaxPool", "ONNX Runtime"], seen
PYTHON
