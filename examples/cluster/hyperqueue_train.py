"""Trains one run on HyperQueue (`pip install hyperqueue`): a learner and workers as tasks that are restarted if they end early.

    python examples/cluster/hyperqueue_train.py phage --run s3://bucket/phage --workers 8

Without --server, the script starts a server and a worker of HyperQueue on this machine, which end with the run. HyperQueue's
server may be lost at any time: the run is in its folder or object store, and the same command continues it.
"""

import argparse

from hyperqueue import Client, Job, LocalCluster
from hyperqueue.cluster import WorkerConfig

# restart the program after any exit code except 0 (done) and 2 (a restart cannot help)
AGAIN = '"$@"; code=$?; while [ $code -ne 0 ] && [ $code -ne 2 ]; do sleep 1; "$@"; code=$?; done; exit $code'


def submit(client, args):
    """Submits the tasks and waits for them."""
    job = Job()

    def add(name, *words):
        job.program(["sh", "-c", AGAIN, "sh", args.petteia, *words], name=name)

    add("learner", "learn", args.run, args.config, "--take-over")
    for index in range(args.workers):
        add(f"worker {index}", "worker", args.run, "--index", str(index), "--of", str(args.workers))
    client.wait_for_jobs([client.submit(job)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("--run", required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--petteia", default="petteia", help="the program, on every node")
    parser.add_argument("--server", help="the folder of a running server")
    args = parser.parse_args()
    if args.server:
        return submit(Client(args.server), args)
    with LocalCluster() as cluster:
        cluster.start_worker(WorkerConfig(cores=args.workers + 1))
        submit(cluster.client(), args)


if __name__ == "__main__":
    main()
