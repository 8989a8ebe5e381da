#!/usr/bin/env python3
"""Compares ways to train at equal cost: trains every arm with every seed, measures it, and prints a table.

    scripts/ablate.py STUDY.toml [--out FOLDER] [--petteia PROGRAM] [--threads N] [--only ARM,ARM]

A study says what all arms share and what each changes; the first arm is the one that the others are compared with:

    config = "configs/connect-four.toml"
    set = "sets/connect-four.jsonl.zst"       # optional: accuracy in solved positions
    simulations = "0,100,400"                 # for the set
    seeds = [1, 2]
    games = 200                               # of an arm against the first one with the same seed; 0 for none
    arena_simulations = 100
    shared = ["selfplay.games=256", "train.generations=5"]

    [arms]
    shipped = []
    mixed = ["train.search_value_share=0.5"]

Everything is kept in FOLDER (ablations/NAME-OF-THE-STUDY), and a study that was interrupted goes on where it was. The table has the
cost of training as the ratio of an arm to the first one, by the clock and in CPU time: the clock counts what else the machine did, and
CPU time counts threads that only wait, so let the machine be quiet. An arm that took more than 5 % more or less than the first one by
the clock is marked: give it more or fewer games, and it is trained anew in a folder of its own. Errors are in percent of the
positions in which one is possible; *Brier* is the mean square error of the network's own expected score, and varies less than errors do.
With `--threads 1`, as many studies of different arms or seeds as there are cores can share a FOLDER, and CPU time is the cost.
Uses Python's standard library only.
"""

import argparse
import hashlib
import json
import math
import os
import resource
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path


def spent():
    """Seconds by the clock, and CPU seconds of all commands that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic(), usage.ru_utime + usage.ru_stime


def run(command, log):
    """Runs a command, appends what it says to a file, and returns its output."""
    with open(log, "a") as said:
        said.write("$ " + shlex.join(command) + "\n")
        said.flush()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=said, text=True)
        said.write(done.stdout)
    if done.returncode:
        sys.exit(f"error: `{shlex.join(command)}` ended with {done.returncode}; see {log}")
    return done.stdout


def once(path, make):
    """The JSON in a file, which is made if it is not there yet: as a whole, or not at all."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".part")
        temporary.write_text(json.dumps(make(), indent=1))
        os.replace(temporary, path)
    return json.loads(path.read_text())


class Study:
    def __init__(self, path, options):
        self.about = tomllib.loads(path.read_text())
        self.options = options
        self.out = Path(options.out or Path("ablations") / path.stem)
        self.arms = self.about["arms"]
        self.game = tomllib.loads(Path(self.about["config"]).read_text())["game"]["id"]
        if options.only:
            names = options.only.split(",")
            unknown = set(names) - set(self.arms)
            if unknown:
                sys.exit(f"error: no such arms: {', '.join(sorted(unknown))}")
            first = next(iter(self.arms))
            self.arms = {name: sets for name, sets in self.arms.items() if name in names or name == first}

    def folder(self, arm, seed):
        """Where an arm is trained: its settings are part of the name, so other settings are another run."""
        sets = self.sets(arm, seed)
        digest = hashlib.sha256("\n".join(sets).encode()).hexdigest()[:8]
        return self.out / f"{arm}-{seed}-{digest}"

    def sets(self, arm, seed):
        return [*self.about.get("shared", []), *self.arms[arm], f"seed={seed}"]

    def train(self, arm, seed):
        folder = self.folder(arm, seed)
        folder.mkdir(parents=True, exist_ok=True)
        costs = folder / "costs"

        def finish():
            command = [self.options.petteia, "train", self.about["config"], "--run", str(folder / "run")]
            for setting in self.sets(arm, seed):
                command += ["--set", setting]
            if self.options.threads:
                command += ["--threads", str(self.options.threads)]
            before = spent()
            try:
                run(command, folder / "log")
            finally:
                # also of sessions that were interrupted
                clock, cpu = (after - start for after, start in zip(spent(), before))
                with open(costs, "a") as file:
                    file.write(f"{clock} {cpu}\n")
            sessions = [[float(part) for part in line.split()] for line in costs.read_text().splitlines()]
            clock, cpu = (sum(column) for column in zip(*sessions))
            return {"clock": clock, "cpu": cpu, "settings": self.sets(arm, seed)}

        return once(folder / "trained.json", finish)

    def accuracy(self, arm, seed):
        if "set" not in self.about:
            return {}
        folder = self.folder(arm, seed)

        def measure():
            command = [self.options.petteia, "accuracy", self.game, "--agent", str(folder / "run"), "--json"]
            command += ["--set", self.about["set"], "--simulations", self.about.get("simulations", "0,100,400")]
            return json.loads(run(command, folder / "log"))

        return once(folder / "accuracy.json", measure)

    def match(self, arm, seed):
        """Against the first arm with the same seed."""
        first, games = next(iter(self.arms)), self.about.get("games", 0)
        if arm == first or not games:
            return None
        folder, simulations = self.folder(arm, seed), self.about.get("arena_simulations", 100)
        other = self.folder(first, seed)

        def play():
            agents = [f"{path / 'run'}:{simulations}" for path in (folder, other)]
            command = [self.options.petteia, "arena", self.game, *agents, "--games", str(games), "--json"]
            command += ["--seed", str(seed), "--opening-plies", str(self.about.get("opening_plies", 4))]
            return json.loads(run(command, folder / "log"))

        return once(folder / f"against-{other.name}.json", play)

    def rows(self):
        for arm in self.arms:
            for seed in self.about.get("seeds", [1]):
                trained = self.train(arm, seed)
                row = {"arm": arm, "seed": seed, "clock": trained["clock"], "cpu": trained["cpu"]}
                row["accuracy"] = self.accuracy(arm, seed)
                row["match"] = self.match(arm, seed)
                costs = f"{row['clock']:.0f} s, {row['cpu']:.0f} s of CPU time"
                shown = ", ".join(f"{name} {value:.1f} %" for name, value in errors(row).items())
                shown = ", ".join(filter(None, (costs, shown, elo(row["match"]))))
                print(f"{arm}, seed {seed}: {shown}", file=sys.stderr, flush=True)
                yield row


def errors(row):
    """The error rates of a row, by simulations: in percent of the positions in which an error is possible."""
    names = {None: "own", 0: "policy"}
    name = lambda result: names.get(result["simulations"], str(result["simulations"]))
    rate = lambda result: 100 * result["all"]["errors"] / result["all"]["choices"]
    return {name(result): rate(result) for result in row["accuracy"].get("agents", [])}


def brier(row):
    """The error of the network's own values; `None` if it was not measured."""
    own = [result for result in row["accuracy"].get("agents", []) if result["simulations"] == 0]
    return own[0]["all"]["brier"] if own else None


def elo(match):
    if match is None:
        return ""
    bound = lambda value: "open" if value is None else f"{value:+.0f}"
    return f"{match['elo']:+.0f} ({bound(match['elo_low'])} to {bound(match['elo_high'])})"


def table(rows):
    """Means over seeds, with the range."""
    by_arm = {}
    for row in rows:
        by_arm.setdefault(row["arm"], []).append(row)
    first = next(iter(by_arm.values()))
    mean = lambda values: sum(values) / len(values)
    spread = lambda values, form: (
        format(mean(values), form)
        + ("" if len(values) == 1 else f" ({min(values):{form}} to {max(values):{form}})")
    )
    budgets = list(errors(first[0]))
    measured = brier(first[0]) is not None
    names = ["arm", "clock", "CPU", *(f"{name}, % wrong" for name in budgets), *(["Brier"] * measured), "Elo, by seed"]
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for arm, rows in by_arm.items():
        ratio = lambda cost: mean([row[cost] for row in rows]) / mean([row[cost] for row in first])
        unequal = abs(math.log(ratio("clock"))) > math.log(1.05)
        cells = [arm, f"{ratio('clock'):.2f}" + (" (not equal)" if unequal else ""), f"{ratio('cpu'):.2f}"]
        cells += [spread([errors(row)[name] for row in rows], ".1f") for name in budgets]
        cells += [spread([brier(row) for row in rows], ".3f")] if measured else []
        cells.append("; ".join(filter(None, (elo(row["match"]) for row in rows))))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, metavar="STUDY.toml")
    parser.add_argument("--out", help="folder for runs and results")
    parser.add_argument("--petteia", default="target/release/petteia", help="the program")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", help="these arms, and the first")
    options = parser.parse_args()
    study = Study(options.study, options)
    rows = list(study.rows())
    text = table(rows)
    (study.out / "table.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command goes on")
