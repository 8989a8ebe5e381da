#!/usr/bin/env python3
"""Compares ways to train at equal cost: trains every arm with every seed, measures the results, and prints a table.

    scripts/study/ablate.py STUDY.toml [--out FOLDER] [--petteia PROGRAM] [--threads N] [--only ARM,ARM] [--plan]

A study lists the settings that all arms share and those that each arm changes. The first arm is the one that the others are
compared with:

    config = "configs/phage.toml"
    set = "sets/phage.jsonl.zst"              # optional: accuracy on solved positions
    simulations = "0,100,400"                 # for the set
    arena_simulations = 100
    effect = 40                               # Elo: the study plans how many seeds and games find it
    budget = 150                              # CPU seconds: each arm trains as many generations as fit
    shared = ["selfplay.games=256"]

    [arms]
    shipped = []
    mixed = ["train.search_value_share=0.5"]

Seeds differ by as much as most settings do, so `effect` is the number to begin with. From it follow the number of seeds and the
games of each arm against the first arm with the same seed (`spread` is what seeds differ by, in Elo, if you know better than 30).
The study says what it plans before it begins, and with --plan only that. It then takes one seed after the other, and stops with
an arm as soon as the arm is decided: better, worse, or equal within `effect`. If `seeds` (a list) and `games` are given, they are
used as they are; without `effect`, nothing is stopped early.

With `budget`, a pilot of three generations measures what a generation of each arm costs, and `train.generations` follows from
that. Without it, give arms with longer or shorter games fewer or more of them, so that all arms cost the same.

Before any training, the program checks the settings of every arm (`petteia train --dry-run`) and lists all problems. All
files are kept in FOLDER (ablations/NAME-OF-THE-STUDY), and the same command continues an interrupted study. The table
(table.md, and table.json for programs) gives the cost of training an arm divided by that of the first arm, in wall-clock
time and in CPU time. Wall-clock time includes delays from other work on the machine, and CPU time includes threads that
only wait, so keep the machine otherwise idle. An arm is marked if its wall-clock time (with `--threads 1`, its CPU time)
differs from that of the first arm by more than 5 %. If you then give the arm more or fewer games, the arm is trained anew in
its own folder. Errors are in percent of the positions in which an error is possible. *Brier* is the mean square error of the
network's own expected score; this measure varies less than the errors do. Elo is given for all seeds together, with 95 % bounds
from the spread of the seeds of all arms (scripts/study/seeds.py has the model), then for each seed. With `--threads 1`, up
to one study per core, with different arms, can share a FOLDER. Needs scripts/study/requirements.txt.
"""

import argparse
import difflib
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

import seeds as statistics

# the keys of a study, and their types
TYPES = {str: "a text", list: "a list", int: "a whole number", dict: "a table"}
KEYS = {"config": str, "set": str, "simulations": str, "seeds": list, "games": int, "arena_simulations": int}
KEYS |= {"opening_plies": int, "shared": list, "arms": dict, "effect": int, "spread": int, "budget": int}
# the generations of a pilot: the first costs more or less than the others, and the second still has a poor network
PILOT = 3


def spent():
    """Returns wall-clock seconds, and CPU seconds of all commands that have finished."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic(), usage.ru_utime + usage.ru_stime


def run(command, log):
    """Runs a command, appends its messages to a file, and returns its output."""
    with open(log, "a") as said:
        said.write("$ " + shlex.join(command) + "\n")
        said.flush()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=said, text=True)
        said.write(done.stdout)
    if done.returncode:
        sys.exit(f"error: `{shlex.join(command)}` ended with {done.returncode}; see {log}")
    return done.stdout


def once(path, make):
    """Returns the JSON in a file. If the file does not exist, makes it; an interruption leaves no partial file."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".part")
        temporary.write_text(json.dumps(make(), indent=1))
        os.replace(temporary, path)
    return json.loads(path.read_text())


def refuse(problems):
    """Exits with these problems if there are any."""
    if problems:
        sys.exit("\n".join(f"error: {problem}" for problem in problems))


def parsed(path, what):
    """Reads a TOML file."""
    try:
        return tomllib.loads(Path(path).read_text())
    except OSError as error:
        sys.exit(f"error: cannot read {what}: {path}: {error.strerror} (paths are relative to the working folder)")
    except ValueError as error:
        sys.exit(f"error: {path}: {error}")


def wrong_keys(about):
    """Yields the problems of a study, without checking what its settings mean."""
    for key, value in about.items():
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(KEYS)}"
            yield f"unknown key `{key}`; {hint}"
        elif not isinstance(value, KEYS[key]) or isinstance(value, bool):
            yield f"`{key}` must be {TYPES[KEYS[key]]}"
    if "config" not in about:
        yield 'no config: config = "configs/GAME.toml"'
    if not about.get("arms"):
        yield "no arms: add a table [arms] with a list of settings for each arm; the others are compared with the first arm"
    for key in ("effect", "spread", "budget"):
        if isinstance(about.get(key), int) and about[key] <= 0:
            yield f"`{key}` must be above 0, not {about[key]}"
    seeds = about.get("seeds", [1])
    if isinstance(seeds, list) and not (seeds and all(type(seed) is int and seed >= 0 for seed in seeds)):
        yield "`seeds` must be whole numbers, at least one"
    games = about.get("games", 0)
    if type(games) is int and (games < 0 or games % 2):
        yield f"`games` must be even, not {games}: each opening is played with both sides"
    arms = about.get("arms")
    lists = {"shared": about.get("shared", []), **(arms if isinstance(arms, dict) else {})}
    for name, sets in lists.items():
        if not (isinstance(sets, list) and all(isinstance(item, str) and "=" in item for item in sets)):
            yield f'`{name}` must be a list of settings, such as ["search.simulations=64"]'
    if "budget" in about and any("train.generations=" in str(sets) for sets in lists.values()):
        yield "`budget` determines `train.generations`: remove one of them"
    if isinstance(about.get("set"), str) and not Path(about["set"]).exists():
        yield f"the set {about['set']} does not exist"


class Study:
    def __init__(self, path, options):
        self.about = parsed(path, "the study")
        self.options = options
        self.out = Path(options.out or Path("ablations") / path.stem)
        refuse([f"{path}: {problem}" for problem in wrong_keys(self.about)])
        self.arms = self.about["arms"]
        config = parsed(self.about["config"], "the config")
        self.game = config.get("game", {}).get("id") or sys.exit(f"error: {self.about['config']} names no game")
        if options.only:
            names = options.only.split(",")
            unknown = set(names) - set(self.arms)
            if unknown:
                sys.exit(f"error: no such arms: {', '.join(sorted(unknown))}")
            first = next(iter(self.arms))
            self.arms = {name: sets for name, sets in self.arms.items() if name in names or name == first}
        self.first = next(iter(self.arms))
        self.effect = self.about.get("effect")
        self.seeds, self.games = self.about.get("seeds", [1]), self.about.get("games", 0)
        if self.effect:
            self.plan(path)

    def plan(self, path):
        """Derives the number of seeds and games from the effect, unless the study names them."""
        try:
            plan = statistics.plan(self.effect, len(self.arms) - 1, self.about.get("spread", statistics.SPREAD))
        except ValueError as error:
            refuse([f"{path}: {error}"])
        self.seeds = self.about.get("seeds", [*range(1, plan.seeds + 1)])
        self.games = self.about.get("games", plan.games)
        print(
            f"{len(self.arms)} arms, at most {len(self.seeds)} seeds, {self.games} games of an arm for each seed: "
            + statistics.promise(self.effect, plan, len(self.seeds), self.games),
            file=sys.stderr,
        )

    def folder(self, arm, seed):
        """Returns the folder of an arm. Its name depends on the arm's settings, so other settings make another run."""
        sets = self.sets(arm, seed)
        digest = hashlib.sha256("\n".join(sets).encode()).hexdigest()[:8]
        return self.out / f"{arm}-{seed}-{digest}"

    def sets(self, arm, seed):
        """Returns the settings of a run, without the number of generations that follows from the budget."""
        return [*self.about.get("shared", []), *self.arms[arm], f"seed={seed}"]

    def training(self, arm, seed, folder, generations=None):
        """Returns the command that trains an arm."""
        command = [self.options.petteia, "train", self.about["config"], "--run", str(folder / "run")]
        for setting in [*self.sets(arm, seed), *([f"train.generations={generations}"] if generations else [])]:
            command += ["--set", setting]
        if self.options.threads:
            command += ["--threads", str(self.options.threads)]
        return command

    def check(self):
        """Asks the program to check the settings of every arm that is not trained yet."""
        problems = []
        for arm in self.arms:
            seed = self.seeds[0]
            folder = self.folder(arm, seed)
            if (folder / "trained.json").exists():
                continue
            try:
                said = subprocess.run([*self.training(arm, seed, folder), "--dry-run"], capture_output=True, text=True)
            except OSError as error:
                program = self.options.petteia
                sys.exit(f"error: cannot start {program}: {error.strerror}; name the program with --petteia")
            if said.returncode:
                problems.append(f"arm {arm}: " + said.stderr.strip().removeprefix("error: "))
        refuse(problems)

    def generations(self, arm):
        """Returns how many generations of an arm fit into the budget; `None` without a budget."""
        if "budget" not in self.about:
            return None
        seed = self.seeds[0]
        folder = self.folder(arm, seed) / "pilot"

        def measure():
            run(self.training(arm, seed, folder, PILOT), self.log(folder))
            return costs_of(folder / "run" / "metrics.jsonl")

        costs = once(folder / "costs.json", measure)
        return fitting(costs, self.about["budget"])

    def log(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        return folder / "log"

    def train(self, arm, seed):
        folder = self.folder(arm, seed)
        log, costs = self.log(folder), folder / "costs"

        def finish():
            generations = self.generations(arm)
            before = spent()
            try:
                run(self.training(arm, seed, folder, generations), log)
            finally:
                # the cost includes sessions that were interrupted
                clock, cpu = (after - start for after, start in zip(spent(), before))
                with open(costs, "a") as file:
                    file.write(f"{clock} {cpu}\n")
            sessions = [[float(part) for part in line.split()] for line in costs.read_text().splitlines()]
            clock, cpu = (sum(column) for column in zip(*sessions))
            return {"clock": clock, "cpu": cpu, "generations": generations, "settings": self.sets(arm, seed)}

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
        """Plays against the first arm with the same seed."""
        games = self.games
        if arm == self.first or not games:
            return None
        folder, simulations = self.folder(arm, seed), self.about.get("arena_simulations", 100)
        other = self.folder(self.first, seed)

        def play():
            agents = [f"{path / 'run'}:{simulations}" for path in (folder, other)]
            command = [self.options.petteia, "arena", self.game, *agents, "--games", str(games), "--json"]
            command += ["--seed", str(seed), "--opening-plies", str(self.about.get("opening_plies", 4))]
            return json.loads(run(command, folder / "log"))

        return once(folder / f"against-{other.name}.json", play)

    def row(self, arm, seed):
        trained = self.train(arm, seed)
        row = {"arm": arm, "seed": seed, **{key: trained.get(key) for key in ("clock", "cpu", "generations")}}
        row["accuracy"] = self.accuracy(arm, seed)
        row["match"] = self.match(arm, seed)
        costs = f"{seconds(row['clock'])}, {seconds(row['cpu'])} of CPU time"
        shown = ", ".join(f"{name} {value:.1f} %" for name, value in errors(row).items())
        shown = ", ".join(filter(None, (costs, shown, elo(row["match"]))))
        print(f"{arm}, seed {seed}: {shown}", file=sys.stderr, flush=True)
        return row

    def results(self):
        """Trains and measures the arms, one seed after the other. Returns the rows, and the estimate of each arm."""
        rows, estimates, open_arms = [], {}, [arm for arm in self.arms if arm != self.first]
        for look, seed in enumerate(self.seeds, 1):
            rows += [self.row(arm, seed) for arm in (self.first, *open_arms)]
            played = {arm: [row["match"] for row in rows if row["arm"] == arm and row["match"]] for arm in self.arms}
            now = statistics.pooled(played, look, len(self.seeds), self.effect)
            estimates |= {arm: now[arm] for arm in open_arms if arm in now}
            if not self.effect:
                continue
            for arm in list(open_arms):
                if estimates[arm]["verdict"] in statistics.DECIDED:
                    open_arms.remove(arm)
                    print(f"{arm}: {estimates[arm]['verdict']} after {look} seeds", file=sys.stderr, flush=True)
            if not open_arms:
                break
        return rows, estimates


def costs_of(metrics):
    """Returns the CPU seconds of each generation of a run. The lines of a training count from its beginning."""
    costs = {}
    for line in map(json.loads, metrics.read_text().splitlines()):
        if "generation" in line and "cpu_seconds" in line:
            parts = costs.setdefault(str(line["generation"]), {})
            parts[line["kind"]] = max(parts.get(line["kind"], 0), line["cpu_seconds"])
    return {generation: sum(parts.values()) for generation, parts in costs.items()}


def fitting(costs, budget):
    """Returns how many generations fit into a budget of CPU seconds, by the costs of a pilot's generations."""
    return max(2, 1 + round((budget - costs["1"]) / costs[str(PILOT)]))


def errors(row):
    """Returns the error rates of a row for each number of simulations, in percent of the positions in which an error is possible."""
    names = {None: "own", 0: "policy"}
    name = lambda result: names.get(result["simulations"], str(result["simulations"]))
    rate = lambda result: 100 * result["all"]["errors"] / result["all"]["choices"]
    return {name(result): rate(result) for result in row["accuracy"].get("agents", [])}


def brier(row):
    """The error of the network's own values; `None` if it was not measured."""
    own = [result for result in row["accuracy"].get("agents", []) if result["simulations"] == 0]
    return own[0]["all"]["brier"] if own else None


def seconds(value):
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"


def elo(match):
    if match is None:
        return ""
    bound = lambda value: "open" if value is None else f"{value:+.0f}"
    return f"{match['elo']:+.0f} ({bound(match['elo_low'])} to {bound(match['elo_high'])})"


def mean(values):
    return sum(values) / len(values)


def summary(rows, estimates, cost):
    """Returns the data of each arm, for programs. Costs are divided by those of the first arm; within 5 % they count as equal."""
    by_arm = {}
    for row in rows:
        by_arm.setdefault(row["arm"], []).append(row)
    first = next(iter(by_arm.values()))
    arms = {}
    for arm, rows in by_arm.items():
        of = lambda rows, kind: mean([row[kind] for row in rows])
        ratios = {kind: of(rows, kind) / of(first, kind) for kind in ("clock", "cpu")}
        arms[arm] = {
            **ratios,
            "equal": abs(math.log(ratios[cost])) <= math.log(1.05),
            "errors": {name: [errors(row)[name] for row in rows] for name in errors(rows[0])},
            "brier": [brier(row) for row in rows],
            "match": estimates.get(arm),
            "seeds": rows,
        }
    return arms


def table(arms, cost):
    """Means over seeds, with the range."""
    spread = lambda values, form: (
        format(mean(values), form)
        + ("" if len(values) == 1 else f" ({min(values):{form}} to {max(values):{form}})")
    )
    first = next(iter(arms.values()))
    budgets = list(first["errors"])
    measured = first["brier"][0] is not None
    names = ["arm", "clock", "CPU", *(f"{name}, % wrong" for name in budgets), *(["Brier"] * measured)]
    names += ["Elo, all seeds", "by seed"]
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for arm, about in arms.items():
        marked = lambda kind: f"{about[kind]:.2f}" + (" (not equal)" if kind == cost and not about["equal"] else "")
        cells = [arm, marked("clock"), marked("cpu")]
        cells += [spread(about["errors"][name], ".1f") for name in budgets]
        cells += [spread(about["brier"], ".3f")] if measured else []
        match = about["match"]
        cells.append(f"{elo(match)}: {match['verdict']}" if match else "")
        cells.append("; ".join(filter(None, (elo(row["match"]) for row in about["seeds"]))))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, metavar="STUDY.toml")
    parser.add_argument("--out", help="folder for runs and results")
    parser.add_argument("--petteia", default="target/release/petteia", help="the program")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", help="only these arms, and the first")
    parser.add_argument("--plan", action="store_true", help="check the study, say how many seeds and games it needs, and end")
    options = parser.parse_args()
    study = Study(options.study, options)
    study.check()
    if options.plan:
        return
    cost = "cpu" if options.threads == 1 else "clock"
    arms = summary(*study.results(), cost)
    text = table(arms, cost)
    (study.out / "table.md").write_text(text + "\n")
    (study.out / "table.json").write_text(json.dumps({"game": study.game, "arms": arms}, indent=1) + "\n")
    print(text)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted; run the same command to continue")
