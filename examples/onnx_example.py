#!/usr/bin/env python3
"""Runs an exported network outside of Petteia. Requires onnxruntime and numpy (scripts/check/requirements.txt).

    petteia export runs/phage --format onnx --out phage.onnx
    petteia export runs/phage --format safetensors --out phage.safetensors
    petteia analyze phage --agent phage.safetensors:1:f32 --planes < positions | python3 examples/onnx_example.py phage.onnx

For each position in which the game is not over, prints the most probable action of the policy, its probability, the
value, and whether Petteia's own forward pass prefers the same action. The exit code is 1 if the actions differ in any
position, except for ties.
"""

import json
import sys

import numpy as np
import onnxruntime

if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
    sys.exit(__doc__)
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
different = 0
for position in map(json.loads, sys.stdin):
    if position["planes"] is None:
        continue
    planes = np.array([position["planes"]], np.float32)  # a batch of one
    policy, wdl = session.run(["policy", "wdl"], {"planes": planes})
    logits = policy[0, position["legal_actions"]]  # the network does not know the rules: keep only legal actions
    priors = np.exp(logits - logits.max())
    priors /= priors.sum()
    top, value = priors.argmax(), wdl[0, 0] - wdl[0, 2]
    texts = position["legal_action_texts"]
    ours = max(texts, key=position["priors"].get)
    same = priors[top] - priors[texts.index(ours)] <= 1e-4
    different += not same
    verdict = "same" if same else f"different: {ours}"
    print(f"{position['position']}: {texts[top]} {priors[top]:.3f}, value {value:+.3f}, {verdict}")
sys.exit(different > 0)
