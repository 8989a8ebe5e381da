"""Trains a small run in SeaweedFS under the conditions of examples/cluster/Containerfile: as the user `nobody`, with a
read-only root folder, no home, no environment except the credentials, and only /tmp writable. Needs root (to become
`nobody`).

    python scripts/check/cluster/nobody_check.py PETTEIA --weed target/cluster-python/bin/weed
"""

import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

from check import CONFIG, EXAMPLES, Weed, say


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("petteia")
    parser.add_argument("--weed", default="weed")
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("this check must run as root, because it switches to the user `nobody`")
    container = (EXAMPLES / "Containerfile").read_text()
    user = next(line.split()[1] for line in container.splitlines() if line.startswith("USER"))
    place = next(line.split()[1] for line in container.splitlines() if line.startswith("WORKDIR"))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="petteia-nobody-"))
    # put the program where the user `nobody` can read it, outside the container's own folder
    program = pathlib.Path(tempfile.mkdtemp(prefix="petteia-", dir="/usr/local/bin"))
    program.chmod(0o755)
    shutil.copy(args.petteia, program / "petteia")
    weed = Weed(args.weed, folder)
    environment = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1",
                   "AWS_ENDPOINT": f"http://127.0.0.1:{weed.ports['s3']}", "AWS_ALLOW_HTTP": "true", "PATH": "/usr/bin:/bin"}
    config = CONFIG.format(seed=6, games=64, generations=3)

    def contained(*words):
        ids = "--reuid={} --regid={} --clear-groups".format(*user.split(":"))
        script = (f"mount -o remount,ro,bind / && mount -t tmpfs -o mode=1777 tmpfs /tmp && cd {place} && "
                  f"printf %s {shlex.quote(config)} > /tmp/config.toml && "
                  f"exec setpriv {ids} {program}/petteia {shlex.join(words)}")
        return subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", script], env=environment)

    try:
        everyone = [contained("learn", "s3://runs/nobody", "/tmp/config.toml", "--take-over", "--threads", "1"),
                    contained("worker", "s3://runs/nobody", "--threads", "1")]
        codes = [process.wait() for process in everyone]
        audit = contained("audit", "s3://runs/nobody").wait()
    finally:
        weed.process.kill()
        shutil.rmtree(program)
    if codes != [0, 0] or audit != 0:
        sys.exit(f"exit codes {codes} and {audit}")
    say("trained a run as the user `nobody` with a read-only root folder")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
