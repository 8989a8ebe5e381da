#!/usr/bin/env python3
"""Draws how strong the agent of a game's id is after how much CPU time, for two programs side by side.

    scripts/study/curve.py phage othello gomoku-9 --program before@COMMIT=OLD --program after@COMMIT=target/release/petteia
                           [--budgets 60 180] [--seeds 1 2] [--games 400]
    scripts/study/curve.py --draw       # only draws docs/curves/curves.svg and prints the table, from docs/curves/curves.csv

For every game, budget, seed, and program, the script trains a config of the game's id alone on one thread, with everything that
this does by default, for as many generations as fit into the budget, by a pilot of three. It then measures the agent: in a game
with a solved set, by its errors at 100 simulations in the positions with a choice; in the others, in paired games at 100
simulations against the first program's agent with the largest budget and the first seed, whose strength is 0 Elo. Each budget is
a run of its own, because a run that is stopped early is weaker than a run that was planned to be short.

Each result is a row of docs/curves/curves.csv, which names the machine and the program. Results that are in the file are not
measured again; runs are equal to the byte, so an opponent that is no longer in --runs is trained again. The table gives the
strength of both programs at each budget, and how long the last program takes to reach what the first program reaches with the
largest budget, as a share of the first program's time, interpolated in the logarithm of the time. Needs
scripts/study/requirements.txt.
"""

import argparse
import csv
import json
import math
import re
import sys
from pathlib import Path
from statistics import fmean

from ablate import PILOT, costs_of, fitting, once, run

SETS = {"connect-four": "sets/connect-four.jsonl.zst"}
# games under other names: an id, with options
OPTIONS = {"gomoku-9": ("gomoku", {"size": 9})}
COLUMNS = ["game", "program", "commit", "budget", "seed", "generations", "cpu_seconds", "measure", "value", "low", "high", "detail",
           "machine"]
ERRORS, ELO = "errors at 100 simulations, percent", "Elo at 100 simulations"


def machine():
    """Returns the name of the processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    values = {key.strip(): value.strip() for key, value in fields.items()}
    wide = "AVX-512" if "avx512f" in values["flags"].split() else "AVX2"
    return f"{values['model name']}, family {values['cpu family']}, model {values['model']}, {wide}"


class Curve:
    def __init__(self, args):
        self.args = args
        self.file = args.out / "curves.csv"
        self.rows = list(csv.DictReader(self.file.open())) if self.file.exists() else []

    def save(self, row):
        self.rows.append({key: str(value) for key, value in row.items()})
        self.rows.sort(key=lambda row: (row["game"], row["program"], float(row["budget"]), int(row["seed"])))
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("w", newline="") as out:
            writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)

    def training(self, program, game, folder, generations, seed):
        name, options = OPTIONS.get(game, (game, {}))
        config = self.args.runs / game / "id.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text("\n".join(["[game]", f'id = "{name}"', *(f"{key} = {value}" for key, value in options.items()), ""]))
        return [program, "train", str(config), "--run", str(folder), "--threads", "1", "--generations", str(generations),
                "--set", f"seed={seed}"]

    def generations(self, program, name, game, budget):
        folder = self.args.runs / game / f"{name}-pilot"

        def measure():
            run(self.training(program, game, folder, PILOT, 1), self.log(game))
            return costs_of(folder / "metrics.jsonl")

        costs = once(folder.with_suffix(".json"), measure)
        return fitting(costs, budget)

    def log(self, game):
        (self.args.runs / game).mkdir(parents=True, exist_ok=True)
        return self.args.runs / game / "log"

    def row_of(self, game, name, budget, seed):
        wanted = (game, name, str(budget), str(seed))
        return next((row for row in self.rows if tuple(row[key] for key in ("game", "program", "budget", "seed")) == wanted), None)

    def run_of(self, game, name, program, budget, seed):
        """Returns the folder of a run and its number of generations; trains it first, if it is not there."""
        folder, row = self.args.runs / game / f"{name}-{budget}-{seed}", self.row_of(game, name, budget, seed)
        generations = int(row["generations"]) if row else self.generations(program, name, game, budget)
        once(folder.with_suffix(".json"), lambda: run(self.training(program, game, folder, generations, seed), self.log(game)))
        return folder, generations

    def measure(self, game, folder, seed):
        """Returns the measure of an agent, its value, the 95 % bounds, and the counts behind it."""
        # the newest program measures all agents
        (first, _, before), (*_, program) = self.args.program[0], self.args.program[-1]
        if game in SETS:
            command = [program, "accuracy", game, "--agent", str(folder), "--set", SETS[game], "--simulations", "100", "--json"]
            [result] = json.loads(run([*command, "--threads", "1"], self.log(game)))["agents"]
            return {"measure": ERRORS, **errors_of(result["all"])}
        opponent, _ = self.run_of(game, first, before, max(self.args.budgets), self.args.seeds[0])
        if opponent == folder:
            return {"measure": ELO, "value": 0, "low": 0, "high": 0, "detail": "the opponent"}
        name, options = OPTIONS.get(game, (game, {}))
        sets = [part for key, value in options.items() for part in ("--set", f"game.{key}={value}")]
        command = [program, "arena", name, *sets, f"{folder}:100", f"{opponent}:100", "--games", str(self.args.games), "--json"]
        match = json.loads(run([*command, "--seed", str(seed), "--opening-plies", "4", "--threads", "1"], self.log(game)))
        values = {"value": match["elo"], "low": match["elo_low"], "high": match["elo_high"]}
        shown = {key: "" if value is None else round(value) for key, value in values.items()}
        return {"measure": ELO, **shown, "detail": f"{match['wins']}-{match['draws']}-{match['losses']}"}

    def point(self, game, name, commit, program, budget, seed):
        if self.row_of(game, name, budget, seed):
            return
        folder, generations = self.run_of(game, name, program, budget, seed)
        cost = sum(costs_of(folder / "metrics.jsonl").values())
        row = {"game": game, "program": name, "commit": commit, "budget": budget, "seed": seed, "generations": generations}
        row |= {"cpu_seconds": round(cost), "machine": machine(), **self.measure(game, folder, seed)}
        self.save(row)
        shown = f"{row['value']} ({row['low']} to {row['high']})"
        print(f"{game}, {name}, {budget} s, seed {seed}: {generations} generations, {cost:.0f} CPU s, {shown}", flush=True)


def errors_of(row):
    """Returns the errors in percent of the positions in which an error is possible."""
    total, wrong = row["choices"], row["errors"]
    share, z = wrong / total, 1.96
    middle, half = share + z * z / (2 * total), z * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    low, high = ((middle + sign * half) / (1 + z * z / total) for sign in (-1, 1))
    return {"value": round(100 * share, 2), "low": round(100 * low, 2), "high": round(100 * high, 2), "detail": f"{wrong} of {total}"}


def number(row, key):
    return float(row[key]) if row[key] else math.nan


def series(rows, game, program):
    """Returns the CPU seconds, the mean value of the seeds, and the widest bounds, for each budget."""
    mine = [row for row in rows if row["game"] == game and row["program"] == program]
    points = []
    for budget in sorted({float(row["budget"]) for row in mine}):
        group = [row for row in mine if float(row["budget"]) == budget]
        low, high = (min(number(row, "low") for row in group), max(number(row, "high") for row in group))
        points.append((fmean(float(row["cpu_seconds"]) for row in group), fmean(number(row, "value") for row in group), low, high))
    return points


def time_to(points, value, rises):
    """Returns the CPU time after which a curve reaches a value, interpolated in the logarithm; `None` if it does not."""
    for (before, left, *_), (after, right, *_) in zip(points, points[1:]):
        reached = right >= value if rises else right <= value
        if reached and (left < value if rises else left > value):
            return math.exp(math.log(before) + (value - left) / (right - left) * (math.log(after) - math.log(before)))
    first = points[0][1]
    return points[0][0] if (first >= value if rises else first <= value) else None


def table(rows):
    programs = list(dict.fromkeys(row["program"] for row in rows))
    first, last = ("before", "after") if {"before", "after"} <= set(programs) else (programs[0], programs[-1])
    print(f"| game | measure | {first}: CPU s, value (bounds) | {last}: CPU s, value (bounds) | time to {first}'s last value |")
    print("|---|---|---|---|---|")
    for game in dict.fromkeys(row["game"] for row in rows):
        measure = next(row["measure"] for row in rows if row["game"] == game)
        lines = [series(rows, game, program) for program in (first, last)]
        cells = ["; ".join(f"{x:.0f}, {y:.4g} ({low:.4g} to {high:.4g})" for x, y, low, high in line) for line in lines]
        ratio = "–"
        if all(lines):
            end, value = lines[0][-1][:2]
            took = time_to(lines[1], value, measure == ELO)
            bound = "at most " if took == lines[1][0][0] else ""
            ratio = f"{bound}{took / end:.2f}" if took else "not reached"
        print(f"| {game} | {measure} | {' | '.join(cells)} | {ratio} |")


def draw(rows, out):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "petteia", "font.family": "sans-serif", "font.size": 9}
    from matplotlib import pyplot as plt

    themes = {"": ("#ffffff", "#1f2328", "#d0d7de", ["#8c959f", "#0969da"]),
              "-dark": ("#0d1117", "#e6edf3", "#30363d", ["#8b949e", "#58a6ff"])}
    games = list(dict.fromkeys(row["game"] for row in rows))
    programs = sorted(dict.fromkeys(row["program"] for row in rows), reverse=True)[:2]
    programs.sort(key=lambda program: program != "before")
    columns = min(4, len(games))
    lines = math.ceil(len(games) / columns)
    for name, (paper, ink, grid, colors) in themes.items():
        figure, panels = plt.subplots(lines, columns, figsize=(2.7 * columns, 2.5 * lines), squeeze=False, facecolor=paper)
        for panel in panels.flat[len(games):]:
            panel.set_visible(False)
        for game, panel in zip(games, panels.flat):
            measure = next(row["measure"] for row in rows if row["game"] == game)
            panel.set_facecolor(paper)
            panel.set_title(game, color=ink, loc="left")
            panel.set_xscale("log")
            for program, color in zip(programs, colors):
                points = series(rows, game, program)
                if points:
                    times, values, lows, highs = zip(*points)
                    panel.fill_between(times, lows, highs, color=color, alpha=0.18, linewidth=0)
                    panel.plot(times, values, color=color, marker="o", markersize=4, label=program)
            ticks = sorted({row["budget"] for row in rows if row["game"] == game}, key=float)
            panel.set_xticks([float(tick) for tick in ticks], ticks)
            panel.minorticks_off()
            panel.tick_params(colors=ink, length=3)
            panel.grid(color=grid, linewidth=0.6)
            for spine in panel.spines.values():
                spine.set_color(grid)
            panel.set_ylabel("Elo" if measure == ELO else "errors, %", color=ink)
        panels.flat[0].legend(frameon=False, labelcolor=ink)
        figure.supxlabel("CPU seconds", color=ink, fontsize=9)
        figure.tight_layout()
        figure.savefig(out / f"curves{name}.svg", facecolor=paper, metadata={"Date": None, "Creator": None})
        plt.close(figure)


def named(text):
    parts = re.fullmatch(r"([^=@]+)@([^=@]+)=(.+)", text)
    if not parts:
        raise argparse.ArgumentTypeError("write NAME@COMMIT=PATH, such as before@929ddfeb=/tmp/old/petteia")
    return parts.groups()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", nargs="*", metavar="GAME")
    parser.add_argument("--program", type=named, action="append", metavar="NAME@COMMIT=PATH")
    parser.add_argument("--budgets", type=int, nargs="+", default=[60, 180], metavar="SECONDS")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--runs", type=Path, default=Path("runs/curves"))
    parser.add_argument("--out", type=Path, default=Path("docs/curves"))
    parser.add_argument("--draw", action="store_true", help="draw what is measured already")
    args = parser.parse_args()
    args.program = args.program or [("after", "HEAD", "target/release/petteia")]
    curve = Curve(args)
    if not args.draw:
        if not args.game:
            sys.exit("error: name the games, such as `phage`, or --draw")
        for seed in args.seeds:
            for game in args.game:
                for budget in args.budgets:
                    for name, commit, program in args.program:
                        curve.point(game, name, commit, program, budget, seed)
    draw(curve.rows, args.out)
    table(curve.rows)


if __name__ == "__main__":
    main()
