"""Trains a Connect Four network (32 filters, 4 blocks) in PyTorch on Petteia's self-play, then plays a match with it.

    python pytorch_training.py [--generations 6] [--games 200] [--simulations 32] [--steps 200] [--match 100] [--threads 1]

Needs torch. The network has Petteia's layers, but any module works that takes planes and returns the logits of the policy and of
win, draw, and loss. With the default options, training takes about three minutes on two cores, and the network beats random
playouts. The exit code is 1 if the network does no better than treating every action and every result as equally likely.
"""

import argparse
import math
import os
import sys
import tempfile

import numpy as np
import torch
from torch.nn import functional as F

import petteia
import petteia.torch

FILTERS, BLOCKS, WINDOW, BATCH = 32, 4, 4, 128


def new_network(game):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "new.safetensors")
        petteia.new_network(path, game, filters=FILTERS, blocks=BLOCKS)
        return petteia.torch.load(path)


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
    parser.add_argument("--threads", type=int, default=1, help="threads for PyTorch; the search uses the other cores")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    game, random = petteia.Game("connect-four"), np.random.default_rng(1)
    net = new_network(game).to(memory_format=torch.channels_last)
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
