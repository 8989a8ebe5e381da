"""Networks of Petteia as PyTorch modules, and back.

>>> network = petteia.torch.load("runs/phage")           # or a checkpoint, an exported file
>>> found = petteia.analyze(positions, petteia.torch.evaluator(network), 100, logits=True)
>>> network.train()                                      # ... an optimizer over network.parameters() ...
>>> petteia.torch.save(network, "trained.safetensors")   # an agent, and a start for `petteia train --from`

The tensors of `state_dict` have the names and shapes of an export: matrices are [inputs, outputs], the transpose of those of
`torch.nn.Linear`. To compute a kind of layer in another way, override its method in a subclass of `Network`. A network with other
layers can play through `evaluator` or `petteia.onnx.evaluator`.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import petteia

__all__ = ["Network", "evaluator", "folded", "load", "save"]


class Network(nn.Module):
    """A network described by the layers of an export (docs/bots.md)."""

    def __init__(
        self, weights: petteia.Weights, like: str | os.PathLike[str] | None = None, game: petteia.Game | None = None
    ) -> None:
        super().__init__()
        self.layers, self.epsilon = weights.layers, float(weights.metadata["batch_norm_epsilon"])
        self.like, self.game = like, game
        self._owners: dict[str, dict[str, Any]] = {}  # for the name of each tensor, the parameters or buffers of its module
        for name, tensor in weights.tensors.items():
            *path, last = name.split(".")
            place: nn.Module = self
            for part in path:
                if part not in place._modules:
                    place.add_module(part, nn.Module())
                place = place.get_submodule(part)
            if last.startswith("running_"):
                place.register_buffer(last, torch.from_numpy(tensor))
                self._owners[name] = place._buffers
            else:
                place.register_parameter(last, nn.Parameter(torch.from_numpy(tensor)))
                self._owners[name] = place._parameters

    def tensor(self, name: str) -> Tensor:
        """Returns the tensor that `state_dict` has under this name."""
        found: Tensor = self._owners[name][name.rpartition(".")[2]]
        return found

    def conv(self, layer: dict[str, Any], x: Tensor) -> Tensor:
        """Computes a convolution, with a norm and a ReLU if the layer has them."""
        name, padding = layer["name"], layer["kernel"] // 2
        if layer["norm"]:
            x = F.conv2d(x, self.tensor(f"{name}.conv.weight"), padding=padding)
            mean, variance, gamma, beta = (
                self.tensor(f"{name}.norm.{part}") for part in ("running_mean", "running_var", "gamma", "beta")
            )
            x = F.batch_norm(x, mean, variance, gamma, beta, training=self.training, momentum=0.1, eps=self.epsilon)
        else:
            x = F.conv2d(x, self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"), padding=padding)
        return F.relu(x) if layer["relu"] else x

    def block(self, layer: dict[str, Any], x: Tensor) -> Tensor:
        """Computes a residual block."""
        return F.relu(self.conv(layer["second"], self.conv(layer["first"], x)) + x)

    def linear(self, layer: dict[str, Any], x: Tensor) -> Tensor:
        """Multiplies by a matrix and adds a bias, and applies a ReLU if the layer has one."""
        x = x @ self.tensor(layer["name"] + ".weight") + self.tensor(layer["name"] + ".bias")
        return F.relu(x) if layer["relu"] else x

    def _run(self, layers: list[dict[str, Any]], x: Tensor) -> Tensor:
        for layer in layers:
            match layer["layer"]:
                case "conv":
                    x = self.conv(layer, x)
                case "block":
                    x = self.block(layer, x)
                case "ones":
                    x = torch.cat([x, torch.ones_like(x[:, :1])], 1)
                case "flatten":
                    x = x.flatten(1)
                case "pool":
                    x = torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1)
                case "linear":
                    x = self.linear(layer, x)
                case "global":
                    added = self.linear(layer, torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1))
                    x = F.relu(x + added[:, :, None, None])
                case other:
                    raise ValueError(f"unknown kind of layer: {other}; use the version of petteia that wrote the network")
        return x

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Maps planes [n, planes, height, width] to the logits of the policy, [n, actions], and of win, draw, and loss, [n, 3]."""
        x = self._run(self.layers["tower"], planes)
        policy = self._run(self.layers["policy"], x)
        return torch.cat([self._run(part, policy) for part in self.layers["logits"]], 1), self._run(self.layers["value"], x)


def load(network: str | os.PathLike[str], game: petteia.Game | None = None) -> Network:
    """Loads the network of a run, a checkpoint, or an exported file, ready to evaluate; "shipped" is the program's agent for `game`."""
    return Network(petteia.weights(network, game), network, game).eval()


def folded(weights: petteia.Weights) -> petteia.Weights:
    """Returns the same network with each norm folded into its convolution. The folded network evaluates faster but is good only
    for evaluation: the program does not read its tensors."""
    tensors, layers = dict(weights.tensors), copy.deepcopy(weights.layers)
    epsilon = float(weights.metadata["batch_norm_epsilon"])
    lists = [layers["tower"], layers["policy"], *layers["logits"], layers["value"]]
    parts = [part for layer in sum(lists, []) for part in (layer, layer.get("first"), layer.get("second"))]
    for part in parts:
        if part and part.get("norm"):
            name, part["norm"] = part["name"], False
            gamma, beta, mean, variance = (
                tensors.pop(f"{name}.norm.{of}") for of in ("gamma", "beta", "running_mean", "running_var")
            )
            scale = gamma / np.sqrt(variance + np.float32(epsilon))
            tensors[f"{name}.weight"] = tensors.pop(f"{name}.conv.weight") * scale[:, None, None, None]
            tensors[f"{name}.bias"] = beta - mean * scale
    return petteia.Weights(tensors, weights.metadata | {"layers": json.dumps(layers)})


def save(
    network: nn.Module | dict[str, Tensor],
    path: str | os.PathLike[str],
    like: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Writes the tensors of a `Network`, or of any `state_dict` with the same names and shapes, as a network file. `like` is the
    network whose tensors they replace; by default, it is the network that was loaded. An existing file is an error, unless
    `overwrite` is True."""
    state, game = (network, None) if isinstance(network, dict) else (network.state_dict(), getattr(network, "game", None))
    like = like if like is not None else getattr(network, "like", None)
    if like is None:
        raise ValueError("like: name a run, a checkpoint, or a file that has a network of this kind (petteia.new_network makes one)")
    tensors = {name: tensor.detach().cpu().numpy() for name, tensor in state.items()}
    petteia.write_weights(path, tensors, like, game, overwrite=overwrite)


def evaluator(network: nn.Module, device: str | torch.device = "cpu") -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Returns an evaluator for `analyze(..., logits=True)` and the other functions that take an evaluator. `network` is any
    module that takes planes and returns the logits of the policy and of win, draw, and loss."""
    network.to(device).eval()

    @torch.inference_mode()
    def evaluate(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        policy, wdl = network(torch.from_numpy(planes).to(device))
        return policy.float().cpu().numpy(), wdl.float().cpu().numpy()

    return evaluate
