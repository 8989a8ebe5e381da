"""Trains one run on a Ray cluster: a learner and any number of workers, each a task that runs the petteia program.

    python examples/cluster/ray_train.py phage --run s3://bucket/phage --workers 8
    ray job submit --working-dir . -- python examples/cluster/ray_train.py phage --run s3://bucket/phage --workers 8

Ray places the tasks on its nodes, restarts them when a node or a process is lost, and asks its autoscaler for nodes as long
as there are tasks without a place. This script keeps nothing itself: the run is in its folder or object store, so the script
can also be stopped and started again. If you use several machines, all of them must be able to reach the run, and the program
must be installed on each (or named with --petteia). Environment variables whose names begin with AWS_, GOOGLE_, or AZURE_ are
passed on to the tasks. Ray's dashboard shows the tasks, their states, and their output under their names.
"""

import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time

import ray
from ray.exceptions import RayTaskError, TaskCancelledError

# exit codes of the program
DONE, NEVER_AGAIN = 0, 2
PASSED_ON = ("AWS_", "GOOGLE_", "AZURE_")


class TryAgain(Exception):
    """The process ended before the run was finished."""


class NeverAgain(Exception):
    """A restart cannot help; the message says why."""


def die_with_parent():
    """Makes the program end when the process that started it ends, even if Ray ends that process because a node is lost."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


# Ray counts the attempts itself and makes the pause between them longer and longer
@ray.remote(max_retries=-1, retry_exceptions=[TryAgain], scheduling_strategy="SPREAD")
def run_program(petteia, arguments):
    """Runs the program until it ends, and prints its output."""
    program = shutil.which(petteia) or petteia
    with subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          preexec_fn=die_with_parent) as process:
        last = ""
        try:
            for line in process.stdout:
                last = line.strip() or last
                print(line, end="", flush=True)
        except BaseException:
            # the task was canceled: the program can finish its current work within its grace period
            process.send_signal(signal.SIGTERM)
            raise
    if process.returncode == NEVER_AGAIN:
        raise NeverAgain(last)
    if process.returncode != DONE:
        time.sleep(1)
        raise TryAgain(f"exit code {process.returncode}: {last}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", help="a config that every node has: a file, the name of a shipped config, or a game's id")
    parser.add_argument("--run", required=True, help="folder or s3://, gs://, az:// address of the run")
    parser.add_argument("--workers", type=int, required=True, help="tasks that play; the autoscaler adds nodes for them")
    parser.add_argument("--judges", type=int, default=0, help="tasks that only judge; without judges, workers also judge")
    parser.add_argument("--threads", type=int, default=1, help="cores of each worker")
    parser.add_argument("--learner-threads", type=int, default=1, help="cores of the learner")
    parser.add_argument("--set", action="append", default=[], help="a setting of the run, KEY=VALUE")
    parser.add_argument("--petteia", default="petteia", help="the program, on every node")
    args = parser.parse_args()
    passed_on = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    ray.init(runtime_env={"env_vars": passed_on}, log_to_driver=True)

    def start(name, threads, arguments):
        arguments = [*arguments, "--threads", str(threads)]
        return run_program.options(name=name, num_cpus=threads).remote(args.petteia, arguments)

    sets = [word for setting in args.set for word in ("--set", setting)]
    # Ray starts the next learner only after the previous learner has ended
    learner = start("learner", args.learner_threads, ["learn", args.run, args.config, "--take-over", *sets])
    tasks = {learner: "learner"}
    for index in range(args.workers):
        only = ["--only", "play"] if args.judges else []
        words = ["worker", args.run, "--index", str(index), "--of", str(args.workers), *only]
        tasks[start(f"worker {index}", args.threads, words)] = f"worker {index}"
    for index in range(args.judges):
        words = ["worker", args.run, "--only", "judge", "--index", str(index), "--of", str(args.judges)]
        tasks[start(f"judge {index}", args.threads, words)] = f"judge {index}"
    left = list(tasks)
    try:
        while learner in left:
            ended, left = ray.wait(left, timeout=10)
            for task in ended:
                ray.get(task)
                print(f"{tasks[task]} is done", flush=True)
    except (RayTaskError, KeyboardInterrupt) as error:
        for task in left:
            ray.cancel(task)
        sys.exit(str(error.cause) if isinstance(error, RayTaskError) else "interrupted; run the same command to continue")
    # workers end by themselves; workers that are still waiting for a place are no longer needed
    ended, left = ray.wait(left, num_returns=len(left), timeout=30) if left else ([], [])
    for task in left:
        ray.cancel(task)
    for task in left:
        try:
            ray.get(task)
        except (RayTaskError, TaskCancelledError):
            pass
    print(f"{args.run} is finished", flush=True)


if __name__ == "__main__":
    main()
