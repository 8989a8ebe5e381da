#!/usr/bin/env python3
"""Trains a network of Petteia in PyTorch on the positions of a run, for `petteia import`.

    petteia records runs/phage convert --format npz --out phage.npz
    petteia export runs/phage --format safetensors --out phage.safetensors
    python3 examples/torch_train.py phage.safetensors phage.npz trained.safetensors --epochs 3
    petteia import trained.safetensors --like runs/phage --out phage-torch.safetensors

The network is built from the list of layers in the export's metadata, and begins with its weights, or anew with --anew.
The newest tenth of the positions is only tested on. Requires torch, numpy and safetensors.
"""

import argparse
import json

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import save_file


class Network:
    """What the metadata of an export describe; the tensors keep its names and shapes."""

    def __init__(self, path, anew):
        with safe_open(path, "pt") as file:
            about = file.metadata()
            self.tensors = {name: file.get_tensor(name) for name in file.keys()}
        self.layers, self.epsilon = json.loads(about["layers"]), float(about["batch_norm_epsilon"])
        self.training = False
        for name, tensor in self.tensors.items():
            if anew and name.endswith(".weight"):
                inputs = tensor[0].numel() if tensor.dim() == 4 else len(tensor)
                tensor.normal_(0, (2 / inputs) ** 0.5)
            elif anew:
                tensor.fill_(1.0 if name.endswith((".gamma", ".running_var")) else 0.0)

    def learned(self):
        tensors = [tensor for name, tensor in self.tensors.items() if ".running_" not in name]
        return [tensor.requires_grad_() for tensor in tensors]

    def conv(self, layer, x):
        name, padding, of = layer["name"], layer["kernel"] // 2, self.tensors
        if layer["norm"]:
            x = F.conv2d(x, of[f"{name}.conv.weight"], padding=padding)
            norm = [of[f"{name}.norm.{part}"] for part in ("running_mean", "running_var", "gamma", "beta")]
            x = F.batch_norm(x, *norm, training=self.training, momentum=0.1, eps=self.epsilon)
        else:
            x = F.conv2d(x, of[f"{name}.weight"], of[f"{name}.bias"], padding=padding)
        return F.relu(x) if layer["relu"] else x

    def linear(self, layer, x):
        x = x @ self.tensors[layer["name"] + ".weight"] + self.tensors[layer["name"] + ".bias"]
        return F.relu(x) if layer["relu"] else x

    def run(self, layers, x):
        for layer in layers:
            kind = layer["layer"]
            if kind == "conv":
                x = self.conv(layer, x)
            elif kind == "block":
                x = F.relu(self.conv(layer["second"], self.conv(layer["first"], x)) + x)
            elif kind == "ones":
                x = torch.cat([x, torch.ones_like(x[:, :1])], 1)
            elif kind == "flatten":
                x = x.flatten(1)
            elif kind == "pool":
                x = torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1)
            elif kind == "linear":
                x = self.linear(layer, x)
            elif kind == "global":
                added = self.linear(layer, torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1))
                x = F.relu(x + added[:, :, None, None])
            else:
                raise SystemExit(f"layer {kind} is not known here")
        return x

    def __call__(self, planes):
        """Planes [batch, planes, height, width] to the logits of policy [batch, actions] and of win, draw and loss."""
        x = self.run(self.layers["tower"], planes)
        policy = self.run(self.layers["policy"], x)
        return torch.cat([self.run(part, policy) for part in self.layers["logits"]], 1), self.run(self.layers["value"], x)


class Positions:
    """The positions of an npz file of `petteia records convert`."""

    def __init__(self, path):
        self.arrays = dict(np.load(path))
        self.shape = json.loads(self.arrays["about"].item())["shape"]
        order = np.lexsort((self.arrays["game"], self.arrays["generation"]))
        held_out = len(order) // 10
        self.train, self.test = order[: len(order) - held_out], order[len(order) - held_out :]

    def batch(self, rows):
        of = self.arrays
        planes, height, width, actions = (self.shape[size] for size in ("planes", "height", "width", "actions"))
        bits = np.unpackbits(of["planes"][rows], axis=2, count=height * width, bitorder="little")
        seen = (bits * of["plane_values"][rows][:, :, None]).reshape(-1, planes, height, width).astype(np.float32)
        policy = np.full((len(rows), actions), -1, np.float32)  # -1: not legal
        for target, begin, end in zip(policy, of["policy_offsets"][rows], of["policy_offsets"][rows + 1]):
            target[of["policy_index"][begin:end]] = of["policy_share"][begin:end]
        numbers = seen, policy, 1 - of["outcome"][rows].astype(np.int64), of["weight"][rows]
        return [torch.from_numpy(number) for number in numbers]


def losses(network, batch):
    planes, policy, result, weight = batch
    logits, wdl = network(planes)
    chances = F.log_softmax(logits.masked_fill(policy < 0, -1e9), 1)
    of_policy = -(policy.clamp(min=0) * chances).sum(1)
    of_value = F.cross_entropy(wdl, result, reduction="none")  # 0 win, 1 draw, 2 loss
    return torch.stack([(weight * of_policy).mean(), (weight * of_value).mean()])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", help="a safetensors export")
    parser.add_argument("positions", help="an npz file of records")
    parser.add_argument("out", help="the safetensors file to write")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--anew", action="store_true", help="begin with random weights")
    args = parser.parse_args()
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    network, positions = Network(args.network, args.anew), Positions(args.positions)
    optimizer = torch.optim.AdamW(network.learned(), lr=args.rate, weight_decay=1e-4)

    def tested():
        network.training = False
        with torch.no_grad():
            parts = np.array_split(positions.test, -(-len(positions.test) // args.batch))
            found = sum(len(rows) * losses(network, positions.batch(rows)) for rows in parts)
        policy, value = (found / len(positions.test)).tolist()
        return f"policy loss {policy:.4f}, value loss {value:.4f} in {len(positions.test)} positions not trained on"

    print("before:  ", tested())
    for epoch in range(args.epochs):
        network.training = True
        for _ in range(len(positions.train) // args.batch):
            rows = random.choice(positions.train, args.batch, replace=False)
            optimizer.zero_grad()
            losses(network, positions.batch(rows)).sum().backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: ", tested())
    save_file({name: tensor.detach().contiguous() for name, tensor in network.tensors.items()}, args.out)


if __name__ == "__main__":
    main()
