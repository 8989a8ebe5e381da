"""Trains a small run with examples/cluster/ray_train.py on a Ray cluster whose nodes are processes on this machine. During training
it removes a node and adds another; afterward it audits the run.

    python scripts/check/cluster/ray_check.py PETTEIA
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

# on a busy machine, starting a node takes longer than Ray's default timeout
os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")
os.environ.setdefault("RAY_DEDUP_LOGS", "0")

from ray.cluster_utils import Cluster

from check import CONFIG, EXAMPLES

GENERATIONS, WORKERS = 6, 3


def main():
    petteia = str(pathlib.Path(sys.argv[1]).resolve())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="petteia-ray-"))
    (folder / "config.toml").write_text(CONFIG.format(seed=3, games=256, generations=GENERATIONS))
    run, alone = folder / "run", folder / "alone"
    subprocess.run([petteia, "train", str(folder / "config.toml"), "--run", str(alone)], check=True, capture_output=True)
    began = time.monotonic()
    # the head node has room only for the learner
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes = [cluster.add_node(num_cpus=2) for _ in range(2)]
    cluster.wait_for_nodes()
    print(f"{time.monotonic() - began:.0f} s: a cluster of {1 + len(nodes)} nodes", flush=True)
    script = EXAMPLES / "ray_train.py"
    training = subprocess.Popen(
        [sys.executable, str(script), str(folder / "config.toml"), "--run", str(run), "--workers", str(WORKERS),
         "--petteia", petteia],
        env=os.environ | {"RAY_ADDRESS": cluster.address}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    taken, lines = False, []
    for line in training.stdout:
        lines.append(line)
        print(line, end="", flush=True)
        if not taken and re.search(r"generation 2: shard", line):
            taken = True
            cluster.remove_node(nodes[0], allow_graceful=False)
            print(f"{time.monotonic() - began:.0f} s: a node was removed", flush=True)
            cluster.add_node(num_cpus=2)
            print(f"{time.monotonic() - began:.0f} s: another node was added", flush=True)
    if training.wait() != 0 or not taken:
        sys.exit(f"training ended with exit code {training.returncode}; a node was removed: {taken}")
    cluster.shutdown()
    audit = subprocess.run([petteia, "audit", str(run)], capture_output=True, text=True)
    print(audit.stdout + audit.stderr)
    last = f"checkpoints/generation-{GENERATIONS:04}/weights.safetensors"
    if audit.returncode != 0 or (run / last).read_bytes() != (alone / last).read_bytes():
        sys.exit(f"the run differs from that of a single process; all files are in {folder}")
    print("the weights match those of a single process byte for byte")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
