"""Trains a small run with examples/cluster/hyperqueue_train.py and audits it.

    python scripts/check/cluster/hyperqueue_check.py PETTEIA
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from check import CONFIG, EXAMPLES

GENERATIONS = 4


def main():
    petteia = str(pathlib.Path(sys.argv[1]).resolve())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="petteia-hq-"))
    config, run, alone = folder / "config.toml", folder / "run", folder / "alone"
    config.write_text(CONFIG.format(seed=4, games=128, generations=GENERATIONS))
    subprocess.run([petteia, "train", str(config), "--run", str(alone)], check=True, capture_output=True)
    script = EXAMPLES / "hyperqueue_train.py"
    subprocess.run([sys.executable, str(script), str(config), "--run", str(run), "--workers", "2", "--petteia", petteia],
                   check=True, cwd=folder)
    subprocess.run([petteia, "audit", str(run)], check=True)
    last = f"checkpoints/generation-{GENERATIONS:04}/weights.safetensors"
    if (run / last).read_bytes() != (alone / last).read_bytes():
        sys.exit(f"the run differs from that of a single process; all files are in {folder}")
    print("the weights match those of a single process byte for byte")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
