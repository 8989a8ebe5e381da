#!/usr/bin/env python3
"""Measures how fast alphazero-pybind11, a self-play trainer in C++ and PyTorch, learns Connect Four on one core of a CPU.

    scripts/compare/peer_learning.py CHECKOUT [--minutes 5 20 60] [--variant defaults short] [--work runs/peer]

CHECKOUT is a clone of https://github.com/bhansconnect/alphazero-pybind11 (measured: commit 0983a87). The script compiles the
peer's engine with g++, trains with the peer's own train.py until it has used the longest of the times, and measures the newest
checkpoint at each time by its errors in sets/connect-four.jsonl.zst, in the positions with a choice, by the policy alone and with
100 simulations of the peer's own search. CPU time is that of the training process with all of its threads. The rows go to
docs/curves/peer.csv, which has the columns of docs/curves/curves.csv; scripts/study/curve.py measures Petteia at the same times:

    scripts/study/curve.py connect-four --budgets 300 1200 3600

The variant `defaults` has the peer's settings, whose network has as many weights as Petteia's of 32x4. They are made for a GPU: an
iteration has 4,096 games, so `short` has an eighth of the games and of the batch. Needs g++, the Debian packages libabsl-dev,
libeigen3-dev, and python3-dev, and scripts/compare/peer-requirements.txt. The peer logs to aim, which is replaced by a module that
does nothing.
"""

import argparse
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "study"))
from curve import COLUMNS, errors_of, machine  # noqa: E402

SET = Path("sets/connect-four.jsonl.zst")
SIMULATIONS = 100
VARIANTS = {
    "defaults": [],
    "short": ["self_play_batch_size=128", "train_batch_size=128", "gate_compare_batch_size=16", "past_compare_batch_size=16"],
}
NO_LOG = """
class Run:
    hash = "none"
    def __init__(self, *args, **options): pass
    def __getattr__(self, name): return lambda *args, **options: None
    def __setitem__(self, name, value): pass

def __getattr__(name): return lambda *args, **options: None
"""


def build(checkout, work):
    """Copies the peer's sources, compiles its engine, and returns the folder."""
    folder = work / "source"
    folder.mkdir(exist_ok=True)
    (folder / "aim.py").write_text(NO_LOG)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    if (folder / f"alphazero{suffix}").exists():
        return folder
    shutil.copytree(checkout / "src", folder, dirs_exist_ok=True)
    import pybind11

    sources = [str(path) for path in sorted(folder.glob("*.cc")) if not path.stem.endswith(("_test", "_bench"))]
    absl = ["absl_hash", "absl_raw_hash_set", "absl_city", "absl_low_level_hash", "absl_hashtablez_sampler"]
    # the peer makes a library of each game, so functions of one header are defined more than once, with equal contents
    command = ["g++", "-O3", "-std=c++20", "-shared", "-fPIC", "-DNDEBUG", "-march=native", "-Wl,--allow-multiple-definition", *sources]
    includes = [pybind11.get_include(), sysconfig.get_path("include"), "/usr/include/eigen3", str(folder)]
    command += [f"-I{path}" for path in includes] + ["-o", str(folder / f"alphazero{suffix}"), *(f"-l{name}" for name in absl)]
    print("compiling the peer's engine", file=sys.stderr, flush=True)
    subprocess.run(command, check=True)
    return folder


def cpu_of(pid):
    """Returns the CPU seconds of a process with all of its threads; `None` if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def train(source, work, variant, seconds):
    """Trains until the process has used this many CPU seconds. Returns the checkpoints, each with the CPU time of its appearance."""
    kept = work / f"{variant}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    config, base = work / f"{variant}.yaml", work / f"data-{variant}"
    shutil.rmtree(base, ignore_errors=True)
    lines = ["game: connect4", *(setting.replace("=", ": ") for setting in VARIANTS[variant])]
    config.write_text("\n".join(lines) + "\n")
    command = [sys.executable, "train.py", str(config.resolve()), "--base-dir", str(base.resolve()), "--experiment", "peer"]
    limits = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    log = (work / f"{variant}.log").open("w")
    process = subprocess.Popen(command, cwd=source, stdout=log, stderr=log, env={**os.environ, **limits})
    found, used = {}, 0
    try:
        while (now := cpu_of(process.pid)) is not None and process.poll() is None and now < seconds:
            used = now
            for path in base.glob("connect4/peer/checkpoint/*.pt"):
                if str(path) not in found:
                    print(f"{variant}: {path.name} after {used:.0f} CPU s", file=sys.stderr, flush=True)
                found.setdefault(str(path), used)
            time.sleep(0.5)
    finally:
        process.kill()
        process.wait()
    if used < 0.9 * seconds:
        sys.exit(f"error: the peer ended after {used:.0f} of {seconds} CPU s; see {log.name}")
    kept.write_text(json.dumps(found))
    return found


def positions():
    import zstandard

    with SET.open("rb") as file:
        text = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file)).read()
    # an error is possible where the actions differ in value
    return [entry for entry in map(json.loads, text.splitlines()[1:]) if len(set(entry["values"].values())) > 1]


def evaluate(source, checkpoint):
    """Prints the numbers of positions, and of errors by the policy and with the search, as JSON; runs in a process of its own."""
    sys.path.insert(0, str(source))
    import alphazero
    import numpy
    import torch
    from neural_net import NNWrapper

    torch.set_num_threads(1)
    game = alphazero.Connect4GS
    network = NNWrapper.load_checkpoint(game, str(checkpoint.parent), checkpoint.name)
    entries, states = positions(), []
    for entry in entries:
        state = game()
        for column in entry["position"]:
            state.play_move(int(column) - 1)
        states.append(state)

    def evaluated(states):
        planes = numpy.stack([numpy.array(state.canonicalized()) for state in states])
        return [part.numpy() for part in network.process(torch.from_numpy(planes))]

    def wrong(chosen):
        return sum(entry["values"][str(action + 1)] < max(entry["values"].values()) for entry, action in zip(entries, chosen))

    _, policies = evaluated(states)
    legal = [numpy.array(state.valid_moves()) > 0 for state in states]
    by_policy = [int(numpy.argmax(numpy.where(moves, policy, -1))) for policy, moves in zip(policies, legal)]
    # the peer's settings for play: no noise, and no temperature at the root
    searches = [alphazero.MCTS(1.25, 2, game.NUM_MOVES(), 0.0, 1.0, 0.25) for _ in states]
    for _ in range(SIMULATIONS):
        leaves = [search.find_leaf(state) for search, state in zip(searches, states)]
        values, policies = evaluated(leaves)
        for search, state, value, policy in zip(searches, states, values, policies):
            search.process_result(state, value, policy, False)
    by_search = [int(numpy.argmax(numpy.array(search.counts()))) for search in searches]
    print(json.dumps({"choices": len(entries), "policy": wrong(by_policy), "search": wrong(by_search)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--minutes", type=float, nargs="+", default=[5, 20, 60])
    parser.add_argument("--variant", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--work", type=Path, default=Path("runs/peer"))
    parser.add_argument("--out", type=Path, default=Path("docs/curves/peer.csv"))
    parser.add_argument("--evaluate", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.evaluate:
        return evaluate(args.checkout, args.evaluate)
    args.work.mkdir(parents=True, exist_ok=True)
    source = build(args.checkout, args.work)
    rows = list(csv.DictReader(args.out.open())) if args.out.exists() else []
    rows = [row for row in rows if row["program"].split()[-1] not in args.variant]
    for variant in args.variant:
        found = train(source, args.work, variant, 60 * max(args.minutes) + 1)
        for minutes in sorted(args.minutes):
            ready = [(cpu, path) for path, cpu in found.items() if cpu <= 60 * minutes]
            if not ready:
                print(f"{variant}: no checkpoint within {minutes:g} minutes", flush=True)
                continue
            cpu, path = max(ready)
            command = [sys.executable, __file__, str(source), "--evaluate", path]
            counts = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
            for measure, key in (("errors by the policy, percent", "policy"), ("errors at 100 simulations, percent", "search")):
                row = {"game": "connect-four", "program": f"alphazero-pybind11 {variant}", "commit": "0983a87", "seed": "",
                       "budget": round(60 * minutes), "generations": len(ready), "cpu_seconds": round(cpu), "measure": measure}
                row |= {"machine": machine(), **errors_of({"choices": counts["choices"], "errors": counts[key]})}
                rows.append(row)
                print(f"{variant}, {minutes:g} min: {row['value']} % {measure.split(',')[0]} ({row['detail']})", flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with args.out.open("w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
