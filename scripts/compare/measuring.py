"""Shared by the scripts that compare Petteia with other engines: options, rates per CPU second, and printing of lines."""

import argparse
import json
import subprocess
import time


def options(about, cases, rounds, seconds, kinds):
    """The parsed options of a script; `kinds` describes the form of a case."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--petteia", default="target/release/petteia")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=float, default=seconds, help="CPU seconds per measurement")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument("--case", nargs="+", default=cases, metavar=kinds)
    return parser.parse_args()


def bench(args, measurement, lacks, *arguments):
    """Returns the rate per CPU second of a measurement of `petteia bench`, or `None` if it fails with one of the texts `lacks`."""
    done = subprocess.run([args.petteia, "bench", *arguments, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        if any(text in done.stderr for text in lacks):
            return None
        raise SystemExit(done.stderr)
    return next(json.loads(line)["cpu"][1] for line in done.stdout.splitlines() if measurement in line)


def rate(work, count, seconds):
    """Returns the rate per CPU second, where each call of `work` counts as `count`. The CPU time is that of all threads."""
    start, done = time.process_time(), 0
    while time.process_time() - start < seconds:
        work()
        done += count
    return done / (time.process_time() - start)


def report(args, line):
    text = json.dumps(line) if args.json else "  ".join(f"{name} {value}" for name, value in line.items())
    print(text, flush=True)
