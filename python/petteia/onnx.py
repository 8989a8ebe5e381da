"""Networks in ONNX files as evaluators, run by ONNX Runtime: exports of Petteia and networks with other layers.

>>> evaluator = petteia.onnx.evaluator("network.onnx")
>>> result = petteia.play_match(game, evaluator, "rollout:400", games=100, simulations=50)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnxruntime

__all__ = ["evaluator"]


def evaluator(
    model: str | os.PathLike[str], providers: Sequence[str] = ("CPUExecutionProvider",), **options: Any
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Returns an evaluator that runs a model like those that `petteia export --format onnx` writes. The model has one input, the
    planes, float32 [n, planes, height, width], and the outputs "policy", logits [n, actions], and "wdl", probabilities [n, 3]. The
    evaluator returns probabilities, as the functions of `petteia` expect without `logits=True`."""
    session = onnxruntime.InferenceSession(os.fspath(model), providers=list(providers), **options)
    inputs, outputs = [one.name for one in session.get_inputs()], [one.name for one in session.get_outputs()]
    if len(inputs) != 1 or not {"policy", "wdl"} <= set(outputs):
        raise ValueError(f"{model}: expected one input and the outputs policy and wdl, not {inputs} and {outputs}")

    def evaluate(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        policy, wdl = session.run(["policy", "wdl"], {inputs[0]: planes})
        likely = np.exp(policy - policy.max(1, keepdims=True))
        return likely / likely.sum(1, keepdims=True), wdl

    return evaluate
