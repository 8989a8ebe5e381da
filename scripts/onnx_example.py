#!/usr/bin/env python3
"""Asks an exported network from outside Petteia. Needs onnxruntime and numpy (scripts/requirements.txt).

    petteia export runs/phage --format onnx --out phage.onnx
    petteia export runs/phage --format safetensors --out phage.safetensors
    petteia analyze phage --agent phage.safetensors:1:f32 --planes < positions | python3 scripts/onnx_example.py phage.onnx

Prints for each position that is not over the action that the policy likes best, its probability, the value, and whether
Petteia's own network likes the same action best; the exit code is 1 where one does not, ties aside.
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
    logits = policy[0, position["legal_actions"]]  # the network knows no rules: only legal actions count
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
