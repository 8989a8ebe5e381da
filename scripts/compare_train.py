#!/usr/bin/env python3
"""Compares Petteia's training steps with PyTorch's: networks of the same sizes, one thread.

Requires the package torch (on PyPI) and a built petteia. PyTorch has channels last, convolutions followed by batch norm, SGD with momentum,
in f32 and with autocast to bf16; Petteia has AdamW and draws each batch from a window, too. Both are measured in turn, round by round.
Prints medians of positions per CPU second, and Petteia's rate divided by PyTorch's in the same precision.

    python3 scripts/compare_train.py [--petteia target/release/petteia] [--rounds 3] [--seconds 8] [--json]
                                     [--case connect-four:64x5 ...]
"""

import argparse
import json
import statistics
import subprocess
import time

import torch
from torch import nn
from torch.nn import functional as F

# planes, rows, columns, actions
SHAPES = {"connect-four": (3, 6, 7, 7), "cage": (18, 10, 10, 1201)}
CASES = ["connect-four:32x4", "connect-four:64x5", "cage:64x6"]
BATCH = 256


def normed(inputs, outputs, kernel):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False), nn.BatchNorm2d(outputs))


class Net(nn.Module):
    """Petteia's default network of this size: a residual tower, a policy of planes and single actions, a value head."""

    def __init__(self, shape, filters, blocks):
        super().__init__()
        planes, rows, columns, actions = shape
        cells = rows * columns
        self.stem = normed(planes, filters, 3)
        self.blocks = nn.ModuleList(
            nn.ModuleList([normed(filters, filters, 3), normed(filters, filters, 3)]) for _ in range(blocks)
        )
        self.policy = normed(filters, filters, 1)
        self.planes = nn.Conv2d(filters, actions // cells, 1) if actions >= cells else None
        extras = actions % cells
        self.extras = nn.ModuleList([nn.Conv2d(filters, 8, 1), nn.Linear(8 * cells, extras)]) if extras else None
        self.value = normed(filters, 4, 1)
        self.hidden, self.wdl = nn.Linear(4 * cells, 64), nn.Linear(64, 3)

    def forward(self, x):
        x = F.relu(self.stem(x))
        for first, second in self.blocks:
            x = F.relu(second(F.relu(first(x))) + x)
        features, logits = F.relu(self.policy(x)), []
        if self.planes is not None:
            logits.append(self.planes(features).flatten(1))
        if self.extras is not None:
            conv, linear = self.extras
            logits.append(linear(F.relu(conv(features)).flatten(1)))
        hidden = F.relu(self.hidden(F.relu(self.value(x)).flatten(1)))
        return torch.cat(logits, 1), self.wdl(hidden)


def pytorch(shape, filters, blocks, precision):
    """A function that makes one step."""
    planes, rows, columns, actions = shape
    net = Net(shape, filters, blocks).to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    x = (torch.rand(BATCH, planes, rows, columns) > 0.7).float().to(memory_format=torch.channels_last)
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
    command = [args.petteia, "bench", "train", "--game", game, "--net", net, "--batch", str(BATCH), "--json"]
    command += ["--precision", precision, "--seconds", str(args.seconds / 5)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        if precision == "bf16" and "AMX" in done.stderr:
            return None
        raise SystemExit(done.stderr)
    return next(json.loads(line)["cpu"][1] for line in done.stdout.splitlines() if "train/positions" in line)


def theirs(step, seconds):
    start, done = time.process_time(), 0
    while time.process_time() - start < seconds:
        step()
        done += BATCH
    return done / (time.process_time() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--petteia", default="target/release/petteia")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0, help="CPU seconds per measurement")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument("--case", nargs="+", default=CASES, metavar="GAME:FILTERSxBLOCKS", help=f"games: {', '.join(SHAPES)}")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for case in args.case:
        game, net = case.split(":")
        filters, blocks = (int(size) for size in net.split("x"))
        steps = {precision: pytorch(SHAPES[game], filters, blocks, precision) for precision in ("f32", "bf16")}
        rates = {f"{who} {precision}": [] for precision in steps for who in ("ours", "PyTorch")}
        for step in list(steps.values()) * 2:
            step()
        for _ in range(args.rounds):
            for precision, step in steps.items():
                mine = ours(args, game, net, precision)
                rates[f"ours {precision}"] += [] if mine is None else [mine]
                rates[f"PyTorch {precision}"].append(theirs(step, args.seconds))
        median = {name: statistics.median(values) for name, values in rates.items() if values}
        for name, rate in median.items():
            line = {"case": f"{game} {net}", "engine": name}
            line |= {"positions/s": [round(x) for x in (min(rates[name]), rate, max(rates[name]))]}
            mine = median.get(name.replace("PyTorch", "ours"))
            if name.startswith("PyTorch") and mine:
                line["ours/theirs"] = round(mine / rate, 2)
            text = json.dumps(line) if args.json else "  ".join(f"{key} {value}" for key, value in line.items())
            print(text, flush=True)


if __name__ == "__main__":
    main()
