#!/usr/bin/env python3
"""A UGI engine that plays the most probable action of an exported network, without a search. It asks petteia for the rules.

    petteia export runs/phage --format onnx --out phage.onnx
    petteia arena phage 'ugi:python3 examples/onnx_bot.py phage phage.onnx' random --games 20 --engine-timeout 60

If petteia is not on the PATH, name it in a third argument. Requires onnxruntime and numpy (scripts/check/requirements.txt).
"""

import json
import subprocess
import sys

import numpy as np
import onnxruntime

game, model, petteia = (sys.argv[1:] + ["petteia"])[:3]
network = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
analyze = [petteia, "analyze", game, "--agent", "uniform:1", "--threads", "1", "--planes"]
encoder = subprocess.Popen(analyze, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
position = "startpos"


def after(start, actions):
    replay = [petteia, "replay", game] + ([] if start == "startpos" else ["--position", start])
    played = subprocess.run(replay, input=actions, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(played.splitlines()[-1])["position"]


def best(position):
    print(position, file=encoder.stdin)
    seen = json.loads(encoder.stdout.readline())
    policy = network.run(["policy"], {"planes": np.array([seen["planes"]], np.float32)})[0][0]
    return seen["legal_action_texts"][policy[seen["legal_actions"]].argmax()]


for command in map(str.split, sys.stdin):
    if command[:1] == ["ugi"]:
        print("id name onnx_bot\nugiok", flush=True)
    elif command[:1] == ["isready"]:
        print("readyok", flush=True)
    elif command[:1] == ["position"]:
        start, _, actions = " ".join(command[1:]).partition(" moves ")
        position = after(start.removeprefix("fen "), actions)
    elif command[:1] == ["go"]:
        print("bestmove", best(position), flush=True)
    elif command[:1] == ["quit"]:
        break
