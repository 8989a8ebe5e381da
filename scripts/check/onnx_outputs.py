#!/usr/bin/env python3
"""Compares ONNX Runtime's outputs for an exported network with Petteia's own, at real positions.

    petteia export RUN --format onnx --out net.onnx
    petteia bench net --game GAME --checkpoint RUN --seconds 0.01 --save outputs
    python3 scripts/check/onnx_outputs.py net.onnx outputs/outputs.json

Each line of the second file is an object with a batch of positions and Petteia's outputs: `shape` of `planes`,
`planes`, `policy` (logits of all actions), and `wdl` (logits of win, draw, and loss), each as a flat list. Every batch
is run as a whole, and its first position is also run alone. Prints the largest differences. The exit code is 1 if they
exceed the tolerance, or if the file differs from what the Python package `onnx` writes for the same model, because small
runtimes read no other encoding.
Requires onnx, onnxruntime, and numpy (scripts/check/requirements.txt).
"""

import argparse
import json
import sys

import numpy as np
import onnx
import onnxruntime


def probabilities(logits):
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def check_encoding(path):
    with open(path, "rb") as file:
        ours = file.read()
    model = onnx.load_from_string(ours)
    onnx.checker.check_model(model, full_check=True)
    # rebuild attributes and tensors with the package's own functions, because reading preserves some of the original encoding
    for node in model.graph.node:
        attributes = [onnx.helper.make_attribute(one.name, onnx.helper.get_attribute_value(one)) for one in node.attribute]
        del node.attribute[:]
        node.attribute.extend(attributes)
    if model.SerializeToString(deterministic=True) != ours:
        sys.exit(f"{path}: the package onnx writes different bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="an exported ONNX file")
    parser.add_argument("outputs", help="a file with one JSON object per line")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    args = parser.parse_args()
    check_encoding(args.model)
    session = onnxruntime.InferenceSession(args.model, providers=["CPUExecutionProvider"])
    about = session.get_modelmeta().custom_metadata_map
    positions, most = 0, {"policy": 0.0, "wdl": 0.0}
    with open(args.outputs, encoding="utf-8") as lines:
        for batch in map(json.loads, lines):
            planes = np.array(batch["planes"], np.float32).reshape(batch["shape"])
            ours = {"policy": np.array(batch["policy"], np.float32).reshape(len(planes), -1)}
            ours["wdl"] = probabilities(np.array(batch["wdl"], np.float32).reshape(len(planes), 3))
            for count in (len(planes), 1):
                theirs = session.run(list(ours), {"planes": planes[:count]})
                for (name, expected), found in zip(ours.items(), theirs):
                    if found.shape != expected[:count].shape:
                        sys.exit(f"{name} has shape {found.shape}, not {expected[:count].shape}")
                    most[name] = float(np.maximum(most[name], np.abs(found - expected[:count]).max()))
            positions += len(planes)
    largest = {name: float(f"{difference:.2g}") for name, difference in most.items()}
    print(json.dumps({"game": about["game"], "positions": positions, "largest differences": largest}))
    if positions == 0 or not all(difference <= args.tolerance for difference in most.values()):
        sys.exit(f"{args.model}: outputs differ by more than {args.tolerance} at {positions} positions")


if __name__ == "__main__":
    main()
