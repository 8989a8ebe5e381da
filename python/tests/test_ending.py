"""Tests that end the interpreter while threads are still working."""

import subprocess
import sys
import time

import pytest

SCRIPT = """
import threading, time
import numpy as np
import petteia

game = petteia.Game("connect-four")

class Bits:
    \"\"\"Twenty bits, set one after another; whoever sets the last one wins.\"\"\"
    name, shape, actions, max_plies = "bits", (20, 1, 1), 20, 20
    def initial(self): return 0
    def to_move(self, state): return state.bit_count() % 2
    def legal_actions(self, state): return [bit for bit in range(20) if not state >> bit & 1]
    def play(self, state, action): return state | 1 << action
    def outcome(self, state): return None if state.bit_count() < 20 else "first"
    def planes(self, state): return [[[state >> bit & 1]] for bit in range(20)]
    def state_text(self, state): return str(state)
    def parse_state(self, text): return int(text)

def evaluator(planes):
    began.set()
    {extra}
    return np.full((len(planes), game.actions), 1 / game.actions), np.zeros(len(planes))

def forever(step):
    began.set()
    while True:
        step()

own = petteia.Game(Bits())
began = threading.Event()
works = {{
    "analyze": lambda: petteia.analyze([game.position()] * 300, evaluator, 100_000),
    "selfplay": lambda: petteia.selfplay(game, evaluator, 1000, 1000),
    "play_match": lambda: petteia.play_match(game, evaluator, "rollout:100", 10_000, 1000),
    "evaluate": lambda: forever(lambda: petteia.evaluate([game.position()] * 1000, evaluator)),
    "game": lambda: forever(lambda: petteia.play_match(own, "rollout:1000", "random", 100)),
    "solve": lambda: forever(lambda: petteia.solve(own.position())),
    "perft": lambda: forever(lambda: own.perft(6)),
    "position": lambda: forever(lambda: own.position(actions=[1, 2, 3]).text),
    "batch": lambda: forever(lambda: (lambda batch: batch.apply(batch.sample()))(own.batch(2000))),
    "rust": lambda: forever(lambda: petteia.analyze([game.position()] * 300, "rollout", 100_000)),
    "batch in rust": lambda: forever(lambda: (lambda batch: batch.apply(batch.sample()))(game.batch(2000))),
}}
for _ in range({threads}):
    threading.Thread(target=works["{work}"], daemon=True).start()
began.wait()
time.sleep(0.3)
print("ends", flush=True)
"""


def ended(work, threads=1, extra="pass"):
    script = SCRIPT.format(work=work, threads=threads, extra=extra)
    begun = time.monotonic()
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert (child.returncode, child.stdout, child.stderr) == (0, "ends\n", "")
    return time.monotonic() - begun


WORKS = ["analyze", "selfplay", "play_match", "evaluate", "game", "solve", "perft", "position", "batch", "rust", "batch in rust"]


@pytest.mark.parametrize("work", WORKS)
def test_daemon_threads_are_stopped(work):
    ended(work)


@pytest.mark.parametrize("work", ["analyze", "game"])
def test_several_threads_are_stopped(work):
    ended(work, threads=4)


def test_an_evaluator_is_waited_for():
    ended("analyze", extra="sum(range(10_000_000))")


def test_an_evaluator_that_does_not_return_is_not_waited_for_long():
    assert 10 < ended("analyze", extra="time.sleep(1000)") < 120


def test_a_forked_process_ends():
    script = """
import os, sys, threading, time
import numpy as np, petteia
game, began = petteia.Game("connect-four"), threading.Event()
def evaluator(planes):
    began.set()
    time.sleep(0.001)
    return np.full((len(planes), game.actions), 1 / game.actions), np.zeros(len(planes))
threading.Thread(target=lambda: petteia.analyze([game.position()] * 300, evaluator, 100_000), daemon=True).start()
began.wait()
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    if sys.platform == "win32":
        pytest.skip("forks of Unix")
    begun = time.monotonic()
    child = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=300)
    assert (child.returncode, child.stderr) == (0, "") and time.monotonic() - begun < 9
