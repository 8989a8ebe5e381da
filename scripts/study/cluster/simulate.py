"""Simulates a run with one learner and N workers as a seeded sequence of discrete events.

Workers play shards and commit them through a store that answers a limited number of requests per second. The learner takes in
committed shards one after another, trains when a generation is complete, and writes a checkpoint. Workers learn of a new checkpoint
by polling the store, with pauses that grow as in the program (src/run/work/pause.rs). The default times were measured on one machine
(docs/cluster.md); the options set other times.

    python scripts/study/cluster/simulate.py
    python scripts/study/cluster/simulate.py --workers 100,1000 --shards 4000 --ahead 1
"""

import argparse
import collections
import heapq
import itertools
import math
import random


class Simulation:
    """A simulated run."""

    def __init__(self, args, workers, shards, ahead):
        self.args, self.workers, self.shards, self.ahead = args, workers, shards, ahead
        self.random = random.Random(args.seed)
        self.now, self.events, self.numbers = 0.0, [], itertools.count()
        self.done = 0
        self.committed = collections.defaultdict(dict)
        self.begun = collections.defaultdict(set)
        self.cursor = [collections.defaultdict(int) for _ in range(workers)]
        self.pause, self.took = [0.0] * workers, [args.shard] * workers
        self.changed = collections.defaultdict(float)
        self.speed = [math.exp(self.random.gauss(0.0, args.spread)) for _ in range(workers)]
        self.store_free = self.learner_free = 0.0
        self.waiting_for_learner, self.taken = collections.deque(), collections.Counter()
        self.busy_workers = self.wasted = self.busy_learner = 0.0
        self.requests = self.lost = 0
        self.ends = []

    def at(self, time, handle, *words):
        heapq.heappush(self.events, (time, next(self.numbers), handle, words))

    def request(self, count=1):
        """Returns the time at which the store has answered `count` requests, one after another."""
        self.requests += count
        self.store_free = max(self.store_free, self.now) + count / self.args.store_rate
        return self.store_free + count * self.args.latency

    def run(self):
        for worker in range(self.workers):
            self.at(self.random.random(), self.look, worker)
        while self.done < self.args.generations:
            self.now, _, handle, words = heapq.heappop(self.events)
            handle(*words)
        return self

    def open_shard(self, worker):
        """Returns the next shard for a worker: one of its own or, if it has none left, a shard that nobody has committed."""
        for generation in range(self.done, min(self.done + 1 + self.ahead, self.args.generations)):
            committed = self.committed[generation]
            own = self.cursor[worker][generation]
            shard = worker + own * self.workers
            if shard < self.shards:
                self.cursor[worker][generation] += 1
                return generation, shard
            # nobody has committed anything for the time that this worker needs for two shards
            patience = max(self.args.patience, 2 * self.took[worker])
            if len(committed) < self.shards and self.now - self.changed[generation] >= patience:
                missing = [shard for shard in range(self.shards) if shard not in committed]
                return generation, missing[worker % len(missing)]
        return None

    def look(self, worker):
        found = self.open_shard(worker)
        if found is None:
            # the pause grows; each poll only requests a list
            self.pause[worker] = min(max(self.pause[worker] * 1.25, self.args.look), 10 * self.args.look)
            self.request()
            return self.at(self.now + self.pause[worker], self.look, worker)
        self.pause[worker] = 0.0
        generation, shard = found
        took = self.args.shard * self.speed[worker] * math.exp(self.random.gauss(0.0, self.args.spread))
        start = self.request(2)
        if self.random.random() < took / 3600 * self.args.failures:
            # the machine is lost during the shard, and another machine replaces it
            part = self.random.random() * took
            self.busy_workers, self.wasted, self.lost = self.busy_workers + part, self.wasted + part, self.lost + 1
            self.cursor[worker][generation] = max(0, self.cursor[worker][generation] - 1)
            return self.at(start + part + self.args.restart, self.look, worker)
        self.at(start + took, self.commit, worker, generation, shard, took)

    def commit(self, worker, generation, shard, took):
        ready = self.request(2)
        self.busy_workers += took
        self.took[worker] = took
        if generation < self.done or shard in self.committed[generation]:
            self.wasted += took
        else:
            self.committed[generation][shard] = worker
            self.changed[generation] = self.now
            self.at(ready, self.arrive, generation)
        self.at(ready, self.look, worker)

    def arrive(self, generation):
        """Handles a visible commit: the learner takes it in when it is free."""
        self.learner_free = max(self.learner_free, self.now)
        self.requests += 4
        self.store_free = max(self.store_free, self.now) + 4 / self.args.store_rate
        self.learner_free = max(self.learner_free + self.args.take, self.store_free)
        self.busy_learner += self.args.take
        self.at(self.learner_free, self.take, generation)

    def take(self, generation):
        self.taken[generation] += 1
        if self.taken[self.done] == self.shards and generation == self.done:
            self.train()

    def train(self):
        took = self.args.train * self.shards
        self.busy_learner += took
        self.learner_free = max(self.learner_free, self.now) + took
        self.at(self.learner_free + 3 * self.args.latency, self.trained)

    def trained(self):
        self.requests += 3
        self.done += 1
        self.ends.append(self.now)
        if self.done < self.args.generations and self.taken[self.done] == self.shards:
            self.train()

    def row(self):
        # leave out the first generation, because workers need not wait for the learner before it
        span = self.ends[-1] - self.ends[0]
        generations = len(self.ends) - 1
        elapsed = self.ends[-1]
        each = span / generations
        shares = {
            "workers": self.busy_workers / (elapsed * self.workers),
            "learner": self.busy_learner / elapsed,
            "store": self.requests / elapsed / self.args.store_rate,
        }
        limit = max(shares, key=shares.get)
        return [
            f"{self.workers:,}", f"{self.shards:,}", str(self.ahead), f"{each:,.1f}",
            f"{self.shards / each:,.1f}", f"{100 * shares['workers']:.0f}",
            f"{100 * self.wasted / max(self.busy_workers, 1e-9):.1f}", f"{100 * shares['learner']:.0f}",
            f"{self.requests / elapsed:,.0f}", limit,
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="1,3,10,30,100,300,1000,3000,10000")
    parser.add_argument("--shards", default="64", help="shards per generation; `2x` means two per worker")
    parser.add_argument("--ahead", default="0,1")
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--shard", type=float, default=20.0, help="seconds that a worker needs for a shard")
    parser.add_argument("--train", type=float, default=0.5, help="training seconds of the learner per shard")
    parser.add_argument("--take", type=float, default=0.05, help="seconds that the learner needs to take in a shard")
    parser.add_argument("--latency", type=float, default=0.03, help="seconds until the store answers a request")
    parser.add_argument("--store-rate", type=float, default=3500.0, help="requests that the store answers per second")
    parser.add_argument("--look", type=float, default=1.0, help="first pause of a worker without work, in seconds")
    parser.add_argument("--patience", type=float, default=5.0, help="minimum time without a commit before a worker plays other workers' shards")
    parser.add_argument("--spread", type=float, default=0.15, help="standard deviation of speeds and shards")
    parser.add_argument("--failures", type=float, default=0.02, help="losses per machine and hour")
    parser.add_argument("--restart", type=float, default=30.0, help="seconds until a lost machine is replaced")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("| workers | shards | ahead | seconds a generation | shards a second | workers busy % | wasted % | learner busy % | "
          "requests a second | limit |")
    print("|--:" * 9 + "|---|")
    for workers in map(int, args.workers.split(",")):
        for ahead in map(int, args.ahead.split(",")):
            for text in args.shards.split(","):
                shards = int(text[:-1]) * workers if text.endswith("x") else int(text)
                print(f"| {' | '.join(Simulation(args, workers, shards, ahead).run().row())} |", flush=True)


if __name__ == "__main__":
    main()
