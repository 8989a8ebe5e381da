#!/usr/bin/env bash
# ONNX Runtime accepts different sizes for two inputs whose first dimension has the same name ("batch").
# Expected: an error, because a name means one size; a mismatched batch of legal actions and planes would then be noticed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check onnxruntime==1.31.1 onnx==1.23.2 numpy==2.4.6
"$folder/python/bin/python" - <<'PYTHON'
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

print("onnxruntime", onnxruntime.__version__, "onnx", onnx.__version__)
value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3])
nodes = [helper.make_node("Add", ["logits", "mask"], ["policy"])]
graph = helper.make_graph(nodes, "g", [value("logits"), value("mask")], [value("policy")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
print("inputs:", {one.name: one.shape for one in session.get_inputs()})
four, one = np.zeros((4, 3), np.float32), np.array([[0, -1e9, 0]], np.float32)
answer = session.run(None, {"logits": four, "mask": one})[0]
print("4 rows of logits and 1 of masks give", answer.shape, ": the single mask applies to every row")
assert answer.shape == (4, 3) and (answer[:, 1] == -1e9).all()
PYTHON
