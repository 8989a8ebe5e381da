#!/usr/bin/env python3
"""Trains a network of Petteia in PyTorch on the positions of a run.

    petteia records runs/phage convert --format npz --out phage.npz
    petteia export runs/phage --format safetensors --out phage.safetensors
    python3 examples/torch_train.py phage.safetensors phage.npz trained.safetensors --epochs 3
    petteia arena phage trained.safetensors:50 runs/phage:50

The network has the layers of the export. It begins with the weights of the export or, with --anew, with random weights. The newest
tenth of the positions is not trained on, only used for testing. Requires Petteia's Python module (`pip install ./python`) and torch.
"""

import argparse
import json

import numpy as np
import torch
import torch.nn.functional as F

import petteia.torch


def begin_anew(network):
    """Replaces the loaded weights with random weights."""
    for name, tensor in network.state_dict().items():
        if name.endswith(".weight"):
            inputs = tensor[0].numel() if tensor.dim() == 4 else len(tensor)
            tensor.normal_(0, (2 / inputs) ** 0.5)
        else:
            tensor.fill_(1.0 if name.endswith((".gamma", ".running_var")) else 0.0)


class Positions:
    """The positions in an npz file that `petteia records convert` wrote."""

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
    network, positions = petteia.torch.load(args.network), Positions(args.positions)
    if args.anew:
        begin_anew(network)
    optimizer = torch.optim.AdamW(network.parameters(), lr=args.rate, weight_decay=1e-4)

    def tested():
        network.eval()
        with torch.no_grad():
            parts = np.array_split(positions.test, -(-len(positions.test) // args.batch))
            found = sum(len(rows) * losses(network, positions.batch(rows)) for rows in parts)
        policy, value = (found / len(positions.test)).tolist()
        return f"policy loss {policy:.4f}, value loss {value:.4f} in {len(positions.test)} positions not trained on"

    print("before:  ", tested())
    for epoch in range(args.epochs):
        network.train()
        for _ in range(len(positions.train) // args.batch):
            rows = random.choice(positions.train, args.batch, replace=False)
            optimizer.zero_grad()
            losses(network, positions.batch(rows)).sum().backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: ", tested())
    petteia.torch.save(network, args.out, overwrite=True)


if __name__ == "__main__":
    main()
