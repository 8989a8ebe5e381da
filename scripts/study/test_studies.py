#!/usr/bin/env python3
"""Tests ablate.py: its statistics with simulated studies, and whole studies of tic-tac-toe with the program that PETTEIA names.

    PETTEIA=target/release/petteia python3 scripts/study/test_studies.py

Needs scripts/study/requirements.txt.
"""

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import seeds

ABLATE = Path(__file__).with_name("ablate.py")
ROOT = ABLATE.parents[2]


def match(score, games):
    """Makes the result of a match as `petteia arena --json` reports it."""
    error = 1.96 * math.sqrt(seeds.GAME / games)
    bound = lambda score: seeds.elo_of(score) if 0 < score < 1 else None
    low, high = bound(score - error), bound(score + error)
    return {"wins": score * games, "draws": 0, "games": games, "elo_low": low, "elo_high": high}


def simulated(chance, elos, effect, plan, spread=seeds.SPREAD):
    """Simulates a study of arms with these true differences. Returns the last estimate of each arm, and the number of runs."""
    luck = lambda: chance.gauss(0, spread / math.sqrt(2))
    waiting, played, estimates, runs = list(range(len(elos))), {}, {}, 0
    for look in range(1, plan.seeds + 1):
        first = luck()
        for arm in waiting:
            score = chance.gauss(seeds.score_of(elos[arm] + luck() - first), math.sqrt(seeds.GAME / plan.games))
            played.setdefault(arm, []).append(match(min(max(score, 0.01), 0.99), plan.games))
            runs += 1
        now = seeds.pooled(played, look, plan.seeds, effect)
        estimates |= {arm: now[arm] for arm in waiting}
        waiting = [arm for arm in waiting if estimates[arm]["verdict"] not in seeds.DECIDED]
    return estimates, runs


class Statistics(unittest.TestCase):
    def test_bounds_are_the_published_ones(self):
        # Jennison and Turnbull, "Group Sequential Methods", table 2.3, for errors of 5 %
        for looks, bound in {1: 1.960, 2: 1.977, 3: 2.004, 4: 2.024, 5: 2.040, 8: 2.072, 10: 2.087}.items():
            self.assertAlmostEqual(seeds.last_bound(looks), bound, delta=0.002)

    def test_few_arms_without_an_effect_are_decided_wrongly_and_most_with_one_are_found(self):
        chance, rounds = random.Random(7), 300
        for arms, effect in ((1, 60), (4, 60)):
            plan = seeds.plan(effect, arms)
            wrong = found = 0
            for _ in range(rounds):
                without, _ = simulated(chance, [0] * arms, effect, plan)
                wrong += sum(arm["verdict"] in ("better", "worse") for arm in without.values())
                found += sum(arm["verdict"] == "better" for arm in simulated(chance, [effect] * arms, effect, plan)[0].values())
            # 5 and 80 %, and three standard errors of so many rounds
            self.assertLess(wrong / rounds / arms, 0.05 + 0.04, (arms, plan))
            self.assertGreater(found / rounds / arms, 0.80 - 0.07, (arms, plan))

    def test_a_large_effect_ends_a_study_early(self):
        plan = seeds.plan(40, 1)
        runs = [simulated(random.Random(number), [150], 40, plan)[1] for number in range(50)]
        self.assertLess(sum(runs) / len(runs), plan.seeds / 2)

    def test_two_seeds_that_agree_by_chance_prove_nothing(self):
        # the normal quantile would call these bounds certain: two seeds do not know how much seeds differ
        agreeing = [match(0.56, 400), match(0.60, 400)]
        self.assertEqual(seeds.pooled({"arm": agreeing})["arm"]["verdict"], "undecided")
        self.assertEqual(seeds.pooled({"arm": agreeing[:1]})["arm"]["verdict"], "one seed")
        # four other arms with the same spread do know
        others = {name: [match(0.48, 400), match(0.52, 400)] for name in "abcd"}
        self.assertEqual(seeds.pooled({"arm": agreeing, **others})["arm"]["verdict"], "better")

    def test_a_smaller_effect_needs_more_seeds_and_an_absurd_one_is_refused(self):
        needed = [seeds.plan(effect, 3).seeds for effect in (100, 50, 25)]
        self.assertEqual(sorted(set(needed)), needed)
        with self.assertRaisesRegex(ValueError, "more than 64 seeds"):
            seeds.plan(2, 3)


@unittest.skipUnless(os.environ.get("PETTEIA"), "PETTEIA names no program")
class Studies(unittest.TestCase):
    def study(self, text, *flags):
        """Runs a study in a folder of its own; returns what it said, and its table, if it made one."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "study.toml").write_text(text)
        command = [sys.executable, ABLATE, folder / "study.toml", "--out", folder / "out", "--threads", "1", *flags]
        command += ["--petteia", Path(os.environ["PETTEIA"]).resolve()]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        table = folder / "out" / "table.json"
        return done, json.loads(table.read_text()) if table.exists() else None

    def test_a_budget_gives_a_cheaper_arm_more_generations_and_a_strong_effect_ends_the_study(self):
        done, table = self.study(
            'config = "configs/tic-tac-toe.toml"\neffect = 100\nseeds = [1, 2]\ngames = 40\nbudget = 1\n'
            "arena_simulations = 2\nopening_plies = 0\n"
            'shared = ["selfplay.games=64", "selfplay.bootstrap_games=64", "net.filters=8", "net.blocks=1", "arena.games=0", '
            '"arena.final_games=0", "arena.ladder_games=0"]\n'
            '[arms]\nfirst = []\ncheap = ["selfplay.games=16"]\n'
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        first, cheap = table["arms"]["first"], table["arms"]["cheap"]
        self.assertGreater(cheap["seeds"][0]["generations"], first["seeds"][0]["generations"])
        self.assertIn(cheap["match"]["verdict"], (*seeds.DECIDED, "undecided"))
        self.assertIn("at most 2 seeds", done.stderr)

    def test_problems_are_named_before_anything_is_trained(self):
        for text, message in {
            'config = "configs/tic-tac-toe.toml"\neffect = 1\n[arms]\na = []\nb = []\n': "more than 64 seeds",
            'config = "configs/tic-tac-toe.toml"\nbudget = 0\n[arms]\na = []\n': "`budget` must be above 0",
            'config = "configs/tic-tac-toe.toml"\nbudget = 5\n[arms]\na = ["train.generations=3"]\n': "remove one of them",
            'config = "configs/tic-tac-toe.toml"\n[arms]\na = ["search.simulation=3"]\n': "did you mean `simulations`?",
        }.items():
            done, table = self.study(text)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)
            self.assertIsNone(table)

    def test_the_plan_is_said_without_training(self):
        done, table = self.study('config = "configs/tic-tac-toe.toml"\neffect = 50\n[arms]\na = []\nb = []\n', "--plan")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"2 arms, at most \d+ seeds, \d+ games .* found with a probability of 80%")
        self.assertIsNone(table)


if __name__ == "__main__":
    unittest.main()
