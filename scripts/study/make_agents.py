#!/usr/bin/env python3
"""Makes the agents of games that nobody tuned: trains the game's id, exports the agent, and measures it.

    scripts/study/make_agents.py othello hex [--budget 600] [--games 200] [--runs runs/agents] [--petteia PROGRAM] [--out agents]
    scripts/study/make_agents.py --table [GAME ...]      # prints the agents as a Markdown table, and their checksums
    scripts/study/make_agents.py othello --by-simulations # the strength of 1 to 800 simulations against the same agent with 25

--budget is in CPU seconds. A pilot of three generations measures what a generation costs, and the number of generations follows.
If more than 25 generations fit, a second pilot measures the larger network of a long run, which then gets the same budget. An
interrupted run is continued by the same command, and finished steps are not repeated: each game's results are in
RUNS/GAME. The agent must beat `rollout:400` by a lower 95 % bound above 0 at 100 simulations; otherwise the script says so.
scripts/study/calibrate_levels.py then makes the levels.
"""

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path

from ablate import PILOT, costs_of, fitting, once, run

# the network of a run of the id alone depends on its length; beyond this number of generations, a larger network learns more
SMALL_UP_TO = 25
LARGER = ["net.filters=32", "net.blocks=4"]
SIMULATIONS = [1, 2, 5, 10, 25, 50, 100, 200, 400, 800]
REFERENCE = 25


class Maker:
    def __init__(self, game, args):
        self.game, self.args = game, args
        self.runs = args.runs / game
        self.log = self.runs / "log"
        self.agent = args.out / f"{game}.safetensors"

    def training(self, folder, generations, sets):
        command = [self.args.petteia, "train", self.game, "--run", str(folder), "--threads", "1"]
        command += ["--generations", str(generations)]
        return command + [part for setting in sets for part in ("--set", setting)]

    def fitting(self, name, sets):
        """Returns how many generations with these settings fit into the budget."""
        folder = self.runs / name

        def measure():
            run(self.training(folder, PILOT, sets), self.log)
            return costs_of(folder / "metrics.jsonl")

        costs = once(self.runs / f"{name}.json", measure)
        return fitting(costs, self.args.budget)

    def train(self):
        self.runs.mkdir(parents=True, exist_ok=True)
        generations, sets = self.fitting("pilot", []), []
        if generations > SMALL_UP_TO:
            sets = LARGER
            generations = self.fitting("pilot-larger", sets)
        folder, clock = self.runs / "run", time.monotonic()
        run(self.training(folder, generations, sets), self.log)
        cpu = sum(costs_of(folder / "metrics.jsonl").values())
        command = self.training("RUN", generations, sets)
        return {"command": " ".join(["petteia", *command[1:3], *command[7:]]), "cpu": cpu, "clock": time.monotonic() - clock}

    def match(self, first, second, games):
        command = [self.args.petteia, "arena", self.game, first, second, "--games", str(games), "--seed", "2", "--json"]
        return json.loads(run([*command, "--opening-plies", "4", "--threads", "1"], self.log))

    def make(self):
        trained = once(self.runs / "trained.json", self.train)
        self.agent.unlink(missing_ok=True)
        run([self.args.petteia, "export", str(self.runs / "run"), "--format", "safetensors-bf16", "--out", str(self.agent)], self.log)
        agent = f"{self.agent}:100"
        match = once(self.runs / "match.json", lambda: self.match(agent, "rollout:400", self.args.games))
        weak = "" if (match["elo_low"] or 0) > 0 else ", WHICH IS NOT ENOUGH"
        print(f"{self.game}: {trained['command']}, {trained['cpu']:.0f} CPU s, {told(match)} against rollout:400{weak}", flush=True)

    def by_simulations(self):
        def play():
            fixed = f"{self.agent}:{REFERENCE}"
            others = [n for n in SIMULATIONS if n != REFERENCE]
            return {str(n): self.match(f"{self.agent}:{n}", fixed, self.args.games) for n in others}

        matches = once(self.runs / "by-simulations.json", play)
        cells = [f"{points(matches[str(n)]):.0f}" if str(n) in matches else "–" for n in SIMULATIONS]
        print(f"| {self.game} | " + " | ".join(cells) + " |", flush=True)


def points(match):
    return 100 * (match["wins"] + match["draws"] / 2) / match["games"]


def told(match):
    """Returns the result of a match as in the tables of agents/README.md."""
    games = f"{match['wins']}-{match['draws']}-{match['losses']}"
    if match["elo_high"] is None:
        return f"{match['elo_low']:+.0f} or more, {games}"
    return f"{match['elo']:+.0f} ({match['elo_low']:.0f} to {match['elo_high']:.0f}), {games}"


def table(games, args):
    games = games or sorted(path.parent.name for path in args.runs.glob("*/match.json"))
    print("| file | trained by | CPU time | Elo above `rollout:400` |\n|---|---|---|---|")
    for game in games:
        trained, match = (json.loads((args.runs / game / f"{name}.json").read_text()) for name in ("trained", "match"))
        print(f"| `{game}.safetensors` | `{trained['command']}` | {trained['cpu']:,.0f} s | {told(match)} |")
    print()
    for game in games:
        path = args.out / f"{game}.safetensors"
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", nargs="*", metavar="GAME")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--by-simulations", action="store_true")
    parser.add_argument("--budget", type=float, default=600)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--runs", type=Path, default=Path("runs/agents"))
    parser.add_argument("--petteia", default="target/release/petteia")
    parser.add_argument("--out", type=Path, default=Path("agents"))
    args = parser.parse_args()
    if args.table:
        return table(args.game, args)
    if not args.game:
        sys.exit("error: name the games, such as `othello`, or --table")
    for game in args.game:
        maker = Maker(game, args)
        maker.by_simulations() if args.by_simulations else maker.make()


if __name__ == "__main__":
    main()
