"""Does the first player's advantage grow with strength? A study in 40 lines, with a plot.

    python first_player.py [--games 200] [--out advantage.png] [GAME ...]

Needs matplotlib for the plot. Players of each strength play against themselves.
"""

import argparse
import json

import numpy as np

import petteia

STRENGTHS = [4, 16, 64, 256]
SCORES = {"first": 1.0, "draw": 0.5, "second": 0.0}


def advantage(game, simulations, games):
    """The first player's mean score between equals, and its standard error."""
    played = petteia.selfplay(game, "rollout", games, simulations, settings={"selfplay.random_plies": 1})
    outcomes = [json.loads(line)["outcome"] for line in played.lines]
    first = np.array([SCORES[outcome] for outcome in outcomes])
    return first.mean(), first.std(ddof=1) / np.sqrt(len(first))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", default=["connect-four", "hex"], metavar="GAME")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--out")
    options = parser.parse_args()
    found = {}
    for name in options.names:
        found[name] = [advantage(petteia.Game(name), simulations, options.games) for simulations in STRENGTHS]
        for simulations, (mean, error) in zip(STRENGTHS, found[name]):
            print(f"{name}, {simulations} playouts: the first player gets {100 * mean:.1f} % (± {196 * error:.1f})", flush=True)
    if options.out:
        import matplotlib.pyplot as plt

        for name, points in found.items():
            means, errors = np.array(points).T
            plt.errorbar(STRENGTHS, 100 * means, 196 * errors, label=name, marker="o", capsize=3)
        plt.xscale("log", base=4)
        plt.xlabel("playouts an action")
        plt.ylabel("first player's share of the points, %")
        plt.legend()
        plt.savefig(options.out, dpi=120)


if __name__ == "__main__":
    main()
