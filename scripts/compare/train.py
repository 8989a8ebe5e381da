#!/usr/bin/env python3
"""Compares Petteia's training steps with PyTorch's, for networks of the same sizes on one thread.

Requires Petteia's Python module (`pip install ./python`), the package torch (on PyPI), and a built petteia. The network is that of
`petteia.torch`. PyTorch uses channels last, convolutions followed by batch norm, and SGD with momentum, in f32 and with autocast to bf16.
Petteia uses AdamW, and its time includes drawing each batch from a window. Both are measured in turn, round by round. Prints medians of
positions per CPU second, and Petteia's rate divided by PyTorch's in the same precision.

    python3 scripts/compare/train.py [--petteia target/release/petteia] [--rounds 3] [--seconds 8] [--json]
                                     [--case connect-four:64x5 ...]
"""

import statistics
import tempfile
from pathlib import Path

import torch
from torch.nn import functional as F

import petteia
import petteia.torch
from measuring import bench, options, rate, report

CASES = ["connect-four:32x4", "connect-four:64x5", "cage:64x6"]
BATCH = 256


def network(game, filters, blocks):
    """Returns Petteia's default network of this size."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new.safetensors"
        petteia.new_network(path, petteia.Game(game), filters=filters, blocks=blocks)
        return petteia.torch.load(path)


def pytorch(game, filters, blocks, precision):
    """Returns a function that makes one step."""
    net = network(game, filters, blocks).to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    shape, actions = petteia.Game(game).shape, petteia.Game(game).actions
    x = (torch.rand(BATCH, *shape) > 0.7).float().to(memory_format=torch.channels_last)
    policy, wdl = torch.softmax(torch.randn(BATCH, actions), 1), torch.softmax(torch.randn(BATCH, 3), 1)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            logits, value = net(x)
        losses = [-(t * F.log_softmax(y.float(), 1)).sum(1).mean() for t, y in ((policy, logits), (wdl, value))]
        sum(losses).backward()
        optimizer.step()

    return step


def ours(args, game, net, precision):
    """Positions per CPU second of Petteia; `None` if the CPU lacks the precision."""
    arguments = ["train", "--game", game, "--net", net, "--batch", str(BATCH), "--precision", precision]
    return bench(args, "train/positions", ["this CPU lacks", "needs a CPU with"], *arguments, "--seconds", str(args.seconds / 5))


def main():
    args = options(__doc__, CASES, 3, 8.0, "GAME:FILTERSxBLOCKS")
    torch.set_num_threads(1)
    for case in args.case:
        game, net = case.split(":")
        filters, blocks = (int(size) for size in net.split("x"))
        steps = {precision: pytorch(game, filters, blocks, precision) for precision in ("f32", "bf16")}
        rates = {f"{who} {precision}": [] for precision in steps for who in ("ours", "PyTorch")}
        for step in list(steps.values()) * 2:
            step()
        for _ in range(args.rounds):
            for precision, step in steps.items():
                mine = ours(args, game, net, precision)
                rates[f"ours {precision}"] += [] if mine is None else [mine]
                rates[f"PyTorch {precision}"].append(rate(step, BATCH, args.seconds))
        median = {name: statistics.median(values) for name, values in rates.items() if values}
        for name, found in median.items():
            line = {"case": f"{game} {net}", "engine": name}
            line |= {"positions/s": [round(x) for x in (min(rates[name]), found, max(rates[name]))]}
            mine = median.get(name.replace("PyTorch", "ours"))
            if name.startswith("PyTorch") and mine:
                line["ours/theirs"] = round(mine / found, 2)
            report(args, line)


if __name__ == "__main__":
    main()
