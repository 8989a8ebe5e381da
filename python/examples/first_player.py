"""Does the first player's advantage grow with strength? A small study of self-play, with a plot.

    python first_player.py [tic-tac-toe hex:size=3 ...] [--games 200] [--levels 4 16 64 256] [--out advantage.png]

Each level is a search by random playouts with so many simulations, against itself. Where the solver knows the result of perfect
play, the strongest level must come closer to it than the weakest, or the exit code is 1. The plot needs matplotlib.
"""

import argparse
import math
import sys

import numpy as np

import petteia

VALUES = {"first": 1.0, "draw": 0.5, "second": 0.0}


def play(game, simulations, games):
    """The first player's share of the points, and its 95 % bounds as a distance. All games go on together."""
    batch, rewards = game.batch(games, auto_reset=False), np.zeros((games, 2), np.float32)
    for ply in range(game.max_plies):
        found = petteia.analyze([batch.position(row) for row in range(games)], "rollout", simulations, seed=ply + 1)
        if not any(found):
            break
        rewards += batch.apply(np.array([one.action if one else 0 for one in found], np.uint16))[0]
    shares = (1 + rewards[:, 0]) / 2
    return shares.mean(), 1.96 * shares.std() / math.sqrt(games)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", default=["tic-tac-toe", "hex:size=3", "connect-four"], metavar="GAME")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--levels", type=int, nargs="+", default=[4, 16, 64, 256])
    parser.add_argument("--out", help="a PNG, SVG or PDF file for the plot")
    options = parser.parse_args()
    studies, wrong = {}, []
    for name in options.names:
        plain, *settings = name.split(":")
        game = petteia.Game(plain, **{key: int(value) for key, value in (one.split("=") for one in settings)})
        perfect = VALUES.get(petteia.solve(game.position(), 100_000).outcome)
        points = [play(game, simulations, options.games) for simulations in options.levels]
        studies[name] = points, perfect
        shares = ", ".join(f"{100 * share:.0f} ± {100 * error:.0f}" for share, error in points)
        print(f"{name}: {shares}%; perfect play: {'unknown' if perfect is None else f'{100 * perfect:.0f}%'}", flush=True)
        if perfect is not None and abs(points[-1][0] - perfect) > abs(points[0][0] - perfect):
            wrong.append(name)
    if options.out:
        import matplotlib.pyplot as plt

        for name, (points, perfect) in studies.items():
            shares, errors = 100 * np.array(points).T
            drawn = plt.errorbar(options.levels, shares, errors, label=name, marker="o", capsize=3)
            if perfect is not None:
                plt.axhline(100 * perfect, color=drawn[0].get_color(), linestyle=":")
        plt.xscale("log")
        plt.xticks(options.levels, options.levels)
        plt.minorticks_off()
        plt.xlabel("simulations per move")
        plt.ylabel("first player's share of the points, %")
        plt.title("Dotted: perfect play", fontsize="medium")
        plt.legend()
        plt.savefig(options.out, dpi=120)
    if wrong:
        sys.exit(f"stronger players came no closer to perfect play: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
