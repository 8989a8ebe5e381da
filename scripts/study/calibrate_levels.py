#!/usr/bin/env python3
"""Calibrates the levels of games and writes them as agents/GAME.levels: nine agents, weakest first.

    scripts/study/calibrate_levels.py phage cage-6 [--games 400] [--top 400] [--points 0.6] [--petteia PROGRAM] [--out agents]
    scripts/study/calibrate_levels.py hex --agents agents    # agents/hex.safetensors, which the program does not carry yet
    scripts/study/calibrate_levels.py --table        # prints the files as a Markdown table

The highest level is the shipped agent with --top simulations, or perfect play where perfect play is proved. Each lower level
comes from a list of weaker and weaker agents, first with fewer simulations, then with higher temperatures. The script chooses
the agent against which the level above scores two of three points in paired games with random openings; each step of this
search plays a quarter of --games. If the highest level does not beat the weakest agent by enough for nine steps of this size,
the steps are smaller; --points sets their size. Then the two levels play --games with another seed, and their score, with its
95 % bounds, is written after the upper level. If the score is not close to the target, the script tries neighbors on the list.
Uses only Python's standard library.
"""

import argparse
import json
import math
import re
import subprocess
import sys
from pathlib import Path

LEVELS = 9
TARGET = 2 / 3
# the steps between levels add up to more Elo than the difference measured between the first level and the last
LOSS = 0.65
# games for a rough comparison of two agents
FEW = 50
# how far a level's score may be from the target, and how many neighbors are tried
NEAR = 0.05
TRIES = 3
SIMULATIONS = [300, 200, 150, 100, 75, 50, 40, 30, 24, 18, 14, 11, 8, 6, 5, 4, 3, 2, 1]
# temperatures from almost no randomness to almost any action
TEMPERATURES = [round(0.1 * 1.08**step, 3) for step in range(80)]


def ladder(game, args):
    """Returns the highest level, with `--top` simulations, and a list of weaker and weaker agents."""
    top = args.top
    listed = json.loads(subprocess.run([args.petteia, "games", "--json"], capture_output=True, text=True, check=True).stdout)
    kind = "shipped" if args.agents else next(entry["agent"] for entry in listed if entry["id"] == game)
    if kind == "perfect":
        return "perfect", [f"perfect:t{temperature}" for temperature in TEMPERATURES]
    if kind != "shipped":
        sys.exit(f"{game} has no shipped agent")
    drawn = [f"shipped:1:t{temperature}" for temperature in TEMPERATURES]
    return f"shipped:{top}", [f"shipped:{n}" for n in SIMULATIONS if n < top] + drawn


class Arena:
    def __init__(self, game, args):
        self.game, self.args = game, args

    def score(self, upper, lower, seed, games):
        """Returns the score of the upper agent in paired games, and its 95 % bounds."""
        if self.args.agents:
            file = str(self.args.agents / f"{self.game}.safetensors")
            upper, lower = (agent.replace("shipped", file) for agent in (upper, lower))
        command = [self.args.petteia, "arena", self.game, upper, lower, "--games", str(games), "--seed", str(seed),
                   "--opening-plies", str(self.args.opening_plies), "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        result = json.loads(done.stdout)
        share = lambda elo: 0.0 if elo is None else 1 / (1 + 10 ** (-elo / 400))
        points = (result["wins"] + result["draws"] / 2) / result["games"]
        return points, share(result["elo_low"]), 1.0 if result["elo_high"] is None else share(result["elo_high"])


def elo(points):
    """The difference in Elo that corresponds to this share of the points."""
    points = min(max(points, 0.001), 0.999)
    return 400 * math.log10(points / (1 - points))


def below(arena, upper, weaker, first, target):
    """Returns the index of the agent, from `first` on, against which the score of `upper` is nearest to `target`."""
    low, high, measured = first, len(weaker) - 1, {}
    while low <= high:
        middle = (low + high) // 2
        points = arena.score(upper, weaker[middle], 1, max(FEW, arena.args.games // 4))[0]
        measured[middle] = points
        print(f"    {upper} against {weaker[middle]}: {points:.3f}", file=sys.stderr, flush=True)
        if points < target:
            low = middle + 1
        else:
            high = middle - 1
    return min(measured, key=lambda place: abs(measured[place] - target))


def measured(arena, upper, weaker, first, target):
    """Returns the index of the level below `upper`, and the score against it. If the score is not near `target`, tries neighbors."""
    place, tried = below(arena, upper, weaker, first, target), {}
    for attempt in range(TRIES):
        tried[place] = arena.score(upper, weaker[place], 2 + attempt, arena.args.games)
        off = tried[place][0] - target
        beside = place + (1 if off < 0 else -1)
        if abs(off) <= NEAR or beside in tried or not first <= beside < len(weaker):
            break
        place = beside
    place = min(tried, key=lambda place: abs(tried[place][0] - target))
    return place, tried[place]


def calibrate(game, args):
    top, weaker = ladder(game, args)
    arena, lines, upper, place = Arena(game, args), [], top, -1
    # the whole range may be too small for nine steps of the usual size
    span = elo(arena.score(top, weaker[-1], 1, max(FEW, args.games // 4))[0])
    target = args.points or min(TARGET, 1 / (1 + 10 ** (-LOSS * span / (LEVELS - 1) / 400)))
    print(f"{game}: {span:.0f} Elo in total, so {target:.3f} points from level to level", file=sys.stderr, flush=True)
    for level in range(LEVELS, 1, -1):
        if place + 1 >= len(weaker):
            sys.exit(f"{game}: no agent is weak enough below level {level}")
        place, (points, low, high) = measured(arena, upper, weaker, place + 1, target)
        lines.append(f"{upper:24}# {100 * points:.1f} % ({100 * low:.0f} to {100 * high:.0f}) against the level below")
        print(f"{game}, level {level}: {lines[-1]}", file=sys.stderr, flush=True)
        upper = weaker[place]
    lines.append(upper)
    how = {"games": args.games, "top": args.top, "opening-plies": args.opening_plies}
    if args.points:
        how["points"] = args.points
    made = " ".join(["scripts/study/calibrate_levels.py", game] + [f"--{name} {value}" for name, value in how.items()])
    text = f"# The levels of {game}, the weakest first: {made}\n" + "\n".join(reversed(lines)) + "\n"
    (args.out / f"{game}.levels").write_text(text)


def table(out):
    print("| game | " + " | ".join(str(level) for level in range(1, LEVELS + 1)) + " |")
    print("|---|" + "---|" * LEVELS)
    for path in sorted(out.glob("*.levels")):
        cells = []
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                agent, _, note = line.partition("#")
                share = re.match(r" ([\d.]+ %) \((\d+) to (\d+)\)", note)
                cells.append(f"`{agent.strip()}`" + (f" {share[1]} ({share[2]}–{share[3]})" if share else ""))
        print(f"| {path.stem} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", nargs="*", metavar="GAME")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--top", type=int, default=400)
    parser.add_argument("--points", type=float)
    parser.add_argument("--agents", type=Path, help="folder of agents to measure instead of those in the program")
    parser.add_argument("--opening-plies", type=int, default=4)
    parser.add_argument("--petteia", default="target/release/petteia")
    parser.add_argument("--out", type=Path, default=Path("agents"))
    args = parser.parse_args()
    if args.table:
        return table(args.out)
    for game in args.game:
        calibrate(game, args)


if __name__ == "__main__":
    main()
