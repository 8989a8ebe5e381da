"""Trains a network of PyTorch on our self-play, and lets it play in our arena: 32 filters, 4 blocks, Connect Four.

    python pytorch_training.py [--generations 6] [--games 200] [--simulations 32]

Needs torch. On two cores, the default takes some minutes and beats random playouts.
"""

import argparse

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import petteia

FILTERS, BLOCKS, WINDOW, STEPS, BATCH = 32, 4, 4, 200, 256


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(FILTERS, FILTERS, 3, padding=1)
        self.second = nn.Conv2d(FILTERS, FILTERS, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.second(F.relu(self.first(x))))


class Net(nn.Module):
    def __init__(self, game):
        super().__init__()
        planes, height, width = game.shape
        self.tower = nn.Sequential(nn.Conv2d(planes, FILTERS, 3, padding=1), nn.ReLU(), *[Block() for _ in range(BLOCKS)], nn.Flatten())
        self.policy = nn.Linear(FILTERS * height * width, game.actions)
        self.wdl = nn.Linear(FILTERS * height * width, 3)

    def forward(self, x):
        seen = self.tower(x)
        return self.policy(seen), self.wdl(seen)


def evaluator_of(net):
    """The network as an evaluator of the search: planes to logits."""

    @torch.inference_mode()
    def evaluate(planes):
        policy, wdl = net(torch.from_numpy(planes))
        return policy.numpy(), wdl.numpy()

    return evaluate


def train(net, optimizer, window, random):
    data = {name: np.concatenate([played.arrays()[name] for played in window]) for name in ["planes", "policy", "mask", "outcome"]}
    net.train()
    losses = []
    for _ in range(STEPS):
        rows = random.integers(len(data["planes"]), size=BATCH)
        planes, policy, mask = (torch.from_numpy(data[name][rows]) for name in ["planes", "policy", "mask"])
        logits, wdl = net(planes)
        logits = logits.masked_fill(~mask, -1e9)
        # outcomes 1, 0, -1 are classes 0, 1, 2
        result = torch.from_numpy(1 - data["outcome"][rows].astype(np.int64))
        loss = -(policy * F.log_softmax(logits, 1)).sum(1).mean() + F.cross_entropy(wdl, result)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    return np.mean(losses[-50:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--simulations", type=int, default=32)
    parser.add_argument("--match", type=int, default=100)
    options = parser.parse_args()
    torch.manual_seed(1)
    game, random = petteia.Game("connect-four"), np.random.default_rng(1)
    net = Net(game).eval()
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-4)
    window = []
    for generation in range(1, options.generations + 1):
        # the first games are random playouts, which know more than a network that has learned nothing
        agent = "rollout" if generation == 1 else evaluator_of(net)
        played = petteia.selfplay(game, agent, options.games, options.simulations, logits=True, seed=generation)
        window = [*window, played][-WINDOW:]
        loss = train(net, optimizer, window, random)
        print(f"generation {generation}: {len(played)} positions, loss {loss:.3f}", flush=True)
    result = petteia.play_match(game, evaluator_of(net), "rollout:100", options.match, 50, logits=True)
    print(f"against rollout:100: {result.wins} wins, {result.draws} draws, {result.losses} losses, {result.elo:+.0f} Elo")


if __name__ == "__main__":
    main()
