"""Trains your own PyTorch network on Petteia's self-play and enters it in a match: 32 filters, 4 blocks, Connect Four.

    python pytorch_training.py [--generations 6] [--games 200] [--simulations 32] [--steps 200] [--match 100] [--threads 1]

Needs torch. The default takes about three minutes on two cores and beats random playouts. The exit code is 1 if the network
has learned nothing beyond treating every action and every result as equally likely.
"""

import argparse
import math
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import petteia
import petteia.torch

FILTERS, BLOCKS, WINDOW, BATCH = 32, 4, 4, 128


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(FILTERS, FILTERS, 3, padding=1)
        self.second = nn.Conv2d(FILTERS, FILTERS, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.second(F.relu(self.first(x))))


class Net(nn.Module):
    """Maps planes to the logits of the policy and of win, draw, and loss."""

    def __init__(self, game):
        super().__init__()
        planes, height, width = game.shape
        blocks = [Block() for _ in range(BLOCKS)]
        self.tower = nn.Sequential(nn.Conv2d(planes, FILTERS, 3, padding=1), nn.ReLU(), *blocks, nn.Flatten())
        self.policy = nn.Linear(FILTERS * height * width, game.actions)
        self.wdl = nn.Linear(FILTERS * height * width, 3)

    def forward(self, x):
        features = self.tower(x)
        return self.policy(features), self.wdl(features)


def train(net, optimizer, window, steps, random):
    """Trains on `steps` batches from the games of the window and returns the mean loss of the last quarter."""
    names = ["planes", "policy", "mask", "outcome"]
    planes, policy, mask, outcome = (np.concatenate([getattr(played, name) for played in window]) for name in names)
    net.train()
    losses = []
    for _ in range(steps):
        rows = random.integers(len(planes), size=BATCH)
        logits, wdl = net(torch.from_numpy(planes[rows]))
        logits = logits.masked_fill(~torch.from_numpy(mask[rows]), -1e9)
        # the outcomes 1, 0, and -1 are the classes 0, 1, and 2
        result = torch.from_numpy(1 - outcome[rows].astype(np.int64))
        loss = F.cross_entropy(logits, torch.from_numpy(policy[rows])) + F.cross_entropy(wdl, result)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.mean(losses[-max(steps // 4, 1) :])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--simulations", type=int, default=32)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--match", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1, help="threads of PyTorch; the search takes the other cores")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    game, random = petteia.Game("connect-four"), np.random.default_rng(1)
    net = Net(game).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-4)
    window = []
    for generation in range(1, options.generations + 1):
        # an untrained network knows less than random playouts, so these play the first games
        agent = "rollout" if generation == 1 else petteia.torch.evaluator(net)
        played = petteia.selfplay(game, agent, options.games, options.simulations, logits=True, seed=generation)
        window = [*window, played][-WINDOW:]
        loss = train(net, optimizer, window, options.steps, random)
        print(f"generation {generation}: {len(played)} positions, loss {loss:.3f}", flush=True)
    result = petteia.play_match(game, petteia.torch.evaluator(net), "rollout:100", options.match, 50, logits=True)
    print(f"against rollout:100: {result.wins} wins, {result.draws} draws, {result.losses} losses, {result.elo:+.0f} Elo")
    if not loss < math.log(game.actions) + math.log(3):
        sys.exit("the network has learned nothing")


if __name__ == "__main__":
    main()
