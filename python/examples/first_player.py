"""Does the first player's advantage grow with strength? A small study of self-play, with a plot (needs matplotlib).

    python first_player.py [tic-tac-toe hex:size=3 ...] [--games 200] [--levels 4 16 64 256] [--out advantage.png]

Each level is a search with random playouts and that many simulations, playing against itself. If the solver knows the result of
perfect play and the strongest level is farther from it than the weakest level, the exit code is 1.
"""

import argparse
import math

import matplotlib.pyplot as plt
import numpy as np
import petteia

PERFECT = {"first": 100, "draw": 50, "second": 0}


def play(game, simulations, games):
    """Returns the first player's share of the points in % and the distance to its 95% bounds. All games are played together."""
    batch, rewards = game.batch(games, auto_reset=False), np.zeros((games, 2), np.float32)
    for ply in range(game.max_plies):
        analyses = petteia.analyze([batch.position(row) for row in range(games)], "rollout", simulations, seed=ply + 1)
        rewards += batch.apply([one.action if one else 0 for one in analyses])[0]
    points = 50 + 50 * rewards[:, 0]
    return points.mean(), 1.96 * points.std() / math.sqrt(games)


parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
parser.add_argument("names", nargs="*", default=["tic-tac-toe", "hex:size=3", "connect-four"], metavar="GAME")
parser.add_argument("--games", type=int, default=200)
parser.add_argument("--levels", type=int, nargs="+", default=[4, 16, 64, 256])
parser.add_argument("--out", default="advantage.png")
options = parser.parse_args()

for name in options.names:
    plain, *settings = name.split(":")
    game = petteia.Game(plain, **{key: int(number) for key, number in (one.split("=") for one in settings)})
    perfect = PERFECT.get(petteia.solve(game.position(), 100_000).outcome)
    shares, errors = zip(*(play(game, level, options.games) for level in options.levels))
    results = ", ".join(f"{share:.0f} ± {error:.0f}" for share, error in zip(shares, errors))
    print(f"{name}: {results} %; perfect play: {'unknown' if perfect is None else perfect}", flush=True)
    curve = plt.errorbar(options.levels, shares, errors, label=name, marker="o", capsize=3)
    if perfect is not None:
        plt.axhline(perfect, color=curve[0].get_color(), linestyle=":")
        if abs(shares[-1] - perfect) > abs(shares[0] - perfect):
            raise SystemExit(f"{name}: stronger players came no closer to perfect play")
plt.xscale("log")
plt.xticks(options.levels, options.levels)
plt.minorticks_off()
plt.xlabel("simulations per move")
plt.ylabel("first player's share of the points, %")
plt.title("Dotted: perfect play", fontsize="medium")
plt.legend()
plt.savefig(options.out, dpi=120)
