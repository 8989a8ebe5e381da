"""Measures the cost of distributing self-play: one process against a learner and workers, in CPU seconds.

- overhead: the CPU seconds of all processes, measured in turn for `petteia train --threads 1` and for a learner and one worker
  with one thread each
- throughput: positions per second of 1, 2, and 3 workers with one thread each while they play, that is, from the first commit
  of a generation to the last
- first shard: from the start of a worker to its first commit in a run that waits for it
- a shard, a training step, and a put, for scripts/study/cluster/simulate.py

    python scripts/study/cluster/measure.py PETTEIA --run-in FOLDER-OR-URL [--rounds 3]
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

CONFIG = """\
game.id = "connect-four"
net = {{ filters = 32, blocks = 4 }}
search.simulations = 100
selfplay = {{ games = {games}, batch = {batch}, bootstrap_games = {games}, bootstrap_simulations = 100 }}
train = {{ generations = {generations}, batch = 128 }}
arena = {{ games = 0, final_games = 0, ladder_games = 0 }}
"""


def cpu_of(commands):
    """Runs commands in parallel; returns their total CPU seconds and the elapsed time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
    if any(process.wait() != 0 for process in processes):
        sys.exit("a process failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("petteia")
    parser.add_argument("--run-in", help="a folder, or an address in an object store [default: a temporary folder]")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--games", type=int, default=256)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--generations", type=int, default=3)
    args = parser.parse_args()
    petteia = str(pathlib.Path(args.petteia).resolve())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="petteia-measure-"))
    place = args.run_in or str(folder)
    config = folder / "config.toml"
    config.write_text(CONFIG.format(games=args.games, batch=args.batch, generations=args.generations))

    def worker(run, index=0, of=1):
        return [petteia, "worker", run, "--index", str(index), "--of", str(of), "--threads", "1"]

    def learner(run):
        return [petteia, "learn", run, str(config), "--threads", "1"]

    ratios = []
    for number in range(args.rounds):
        alone, apart = f"{place}/alone-{number}", f"{place}/apart-{number}"
        one, one_took = cpu_of([[petteia, "train", str(config), "--run", alone, "--threads", "1"]])
        many, many_took = cpu_of([learner(apart), worker(apart)])
        ratios.append(many / one)
        print(f"round {number}: one process {one:.1f} CPU s ({one_took:.1f} s), a learner and a worker {many:.1f} CPU s "
              f"({many_took:.1f} s): {100 * (many / one - 1):+.1f} %", flush=True)
    print(f"overhead in CPU seconds: median {100 * (statistics.median(ratios) - 1):+.1f} %, "
          f"{100 * (min(ratios) - 1):+.1f} to {100 * (max(ratios) - 1):+.1f} %", flush=True)

    speeds = {}
    for count in (1, 2, 3):
        for number in range(args.rounds):
            run = f"{place}/of-{count}-{number}"
            cpu_of([learner(run), *[worker(run, index, count) for index in range(count)]])
            row = json.loads(subprocess.run([petteia, "runs", run, "--json"], capture_output=True, text=True).stdout)
            speed = sum(each["positions_per_second"] or 0 for each in row["workers"])
            speeds.setdefault(count, []).append(speed)
        print(f"{count} workers: {statistics.median(speeds[count]):.0f} positions/s of the workers together, "
              f"{[round(speed) for speed in speeds[count]]}: {statistics.median(speeds[count]) / statistics.median(speeds[1]):.2f} "
              f"times the rate of one worker, on {os.cpu_count()} cores", flush=True)

    firsts = []
    for number in range(args.rounds):
        run = f"{place}/first-{number}"
        waiting = subprocess.Popen(learner(run), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(5)
        began = time.monotonic()
        fresh = subprocess.Popen(worker(run), stdout=subprocess.PIPE, text=True)
        for line in fresh.stdout:
            if ": shard " in line:
                break
        firsts.append(time.monotonic() - began)
        for process in (waiting, fresh):
            process.terminate()
            process.wait()
    print(f"first shard of a fresh worker: {[round(first, 2) for first in firsts]} s", flush=True)


if __name__ == "__main__":
    main()
