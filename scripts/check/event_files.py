#!/usr/bin/env python3
"""Prints the contents of a run's event file, as read by TensorBoard's own reader, as one JSON object.

    petteia train configs/smoke.toml --set train.tensorboard=true
    python3 scripts/check/event_files.py runs/smoke

The object has a list of [step, value, time in seconds since 1970] for each tag. Damaged records cause an error.
Requires tensorboard (scripts/check/requirements.txt).
"""

import argparse
import json

from tensorboard.backend.event_processing import event_accumulator
from tensorboard.util import tensor_util


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="a run folder")
    reader = event_accumulator.EventAccumulator(parser.parse_args().run, size_guidance={"tensors": 0, "scalars": 0})
    reader.Reload()
    tags = reader.Tags()
    found = {
        tag: [[event.step, event.value, event.wall_time] for event in reader.Scalars(tag)] for tag in tags["scalars"]
    }
    for tag in tags["tensors"]:
        events = reader.Tensors(tag)
        found[tag] = [[e.step, float(tensor_util.make_ndarray(e.tensor_proto)), e.wall_time] for e in events]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
