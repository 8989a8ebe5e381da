#!/usr/bin/env python3
"""Compares games written as texts with Ludax, an independent implementation of board games, in random games.

    pip install -r scripts/compare/ludax-requirements.txt
    python3 scripts/compare/ludax_rules.py
    python3 scripts/compare/ludax_rules.py --only othello hex --games 20 --petteia ./petteia

After every action, both programs must have the same legal actions and the same player to move; at the end, they must have
the same result. The script prints the first difference with the actions that lead to it, and the exit code is 1. For a text
(rules/ and scripts/compare/ludax/*.game), legal actions come from `petteia replay`; for a description (Ludax's package and
scripts/compare/ludax/*.ldx), they come from Ludax's legal action mask. Ludax has no limits, no repetition, and no result for
a player with no action unless a description defines them, so the script checks these kinds of end by its own count. In Hex,
Petteia must offer the swap after the first stone and only then; the swap is never played. In Othello, Ludax continues with two
passes after the last disc.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

# one thread is enough: the boards are small
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import jax.numpy as jnp
import ludax
import numpy as np
from ludax.environment import LudaxEnvironment

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "scripts/compare/ludax"
PACKAGE = Path(ludax.__file__).parent / "games"
PLAYERS = ["first", "second"]
TRIED = 48
OTHER = "ended by our rules only"


class Difference(Exception):
    pass


class Pair:
    """A text and a description of the same game.

    With `top`, Ludax's first row is Petteia's last row. `stuck`, `limit`, `repetition`, and `quiet` are rules that the text
    has and the description lacks. `stuck` is the result for a player with no action. The game is a draw after `limit`
    actions, after `repetition` occurrences of a position, or after `quiet` actions without a capture. `swap` is the number
    of actions after which the text offers a swap. With `captures`, actions that take pieces are preferred, for games that
    would not end if played at random.
    """

    def __init__(
        self, text, description, top=True, stuck=None, limit=None, repetition=None, quiet=None, swap=None, captures=False
    ):
        self.text, self.description, self.top = text, description, top
        self.stuck, self.limit, self.repetition, self.quiet = stuck, limit, repetition, quiet
        self.swap, self.captures = swap, captures


RULES = ROOT / "rules"
PAIRS = {
    "tic-tac-toe": Pair(RULES / "tic-tac-toe.game", PACKAGE / "tic_tac_toe.ldx"),
    "connect-four": Pair(RULES / "connect-four.game", PACKAGE / "connect_four.ldx"),
    "gomoku": Pair(RULES / "gomoku.game", OWN / "gomoku.ldx"),
    # Ludax 1.0.0 has "(line 5 exact:true)" for this, but it fails at the edge, where it looks for a sixth stone in the last square.
    # A row of n has n - 4 lines of 5, n - 5 of 6, and n - 6 of 7, so (lines of 5) - 2 * (lines of 6) + (lines of 7) is the
    # number of rows of exactly 5.
    "gomoku-exact": Pair(OWN / "gomoku-exact.game", OWN / "gomoku-exact.ldx"),
    "hex": Pair(RULES / "hex.game", PACKAGE / "hex.ldx", top=False, swap=1),
    # After a pass, Ludax's reversi.ldx also turns over discs, starting from the player's previous disc; the version here
    # turns discs only if the player has one disc more than before.
    "othello": Pair(RULES / "othello.game", OWN / "othello.ldx", top=False),
    "hasami-shogi": Pair(
        RULES / "hasami-shogi.game", OWN / "hasami-shogi.ldx", limit=400, repetition=4, captures=True
    ),
    "hasami-shogi-single": Pair(
        OWN / "hasami-shogi-single.game", PACKAGE / "hasami_shogi.ldx", stuck="loss", limit=400, captures=True
    ),
    "yavalath": Pair(RULES / "yavalath.game", PACKAGE / "yavalath.ldx", stuck="draw"),
    # Ludax's english_draughts.ldx promotes a piece before checking whether it can continue capturing, so a new king continues at once.
    "english-draughts": Pair(
        RULES / "english-draughts.game", OWN / "english-draughts.ldx", limit=400, repetition=3, quiet=100
    ),
    "wolf-and-sheep": Pair(OWN / "wolf-and-sheep.game", PACKAGE / "wolf_and_sheep.ldx", top=False),
    "connect-six": Pair(OWN / "connect-six.game", PACKAGE / "connect_six.ldx", stuck="draw"),
    "hop-through": Pair(OWN / "hop-through.game", PACKAGE / "hop_through.ldx", stuck="draw", limit=400),
}


class Text:
    """A game in `petteia replay`: one line of JSON per position."""

    def __init__(self, program, path):
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process = subprocess.Popen([program, "replay", str(path)], **pipes)
        self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise Difference("petteia has ended")
        state = json.loads(line)
        self.legal, self.player, self.outcome = state["legal"], state["to_move"], state["outcome"]
        self.position = state["position"]

    def play(self, action):
        self.process.stdin.write(action + "\n")
        self.process.stdin.flush()
        self.read()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Description:
    """A game in Ludax. Actions are written as squares (`a1` or `a1b2`) or `pass`."""

    # the order of Ludax's action channels, as (column, row) steps; the first row is at the top
    STEPS = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)]

    def __init__(self, pair):
        self.env = LudaxEnvironment(game_path=str(pair.description))
        info = self.env.game_info
        self.size, self.kind = info.board_size, str(info.action_type.value)
        self.squares = squares(info, pair.top)
        self.place = {place: index for index, (_, place) in enumerate(self.squares)}
        self.init, self.step = jax.jit(self.env.init), jax.jit(self.env.step)
        self.tries = jax.jit(self.count_after)
        self.start = self.init(jax.random.PRNGKey(0))

    def count_after(self, state, actions):
        """Returns the number of pieces that the opponent has left after each of these actions."""

        def left(action):
            after = self.env.step(state, action).game_state.board
            return (after == 1 - state.game_state.current_player).sum()

        return jax.vmap(left)(actions)

    def name(self, action, board):
        if self.kind == "action_to":
            return "pass" if action == self.size else self.squares[action][0]
        if self.kind == "action_from_to":
            return self.squares[action // self.size][0] + self.squares[action % self.size][0]
        start, direction = divmod(action, len(self.STEPS))
        (column, row), (right, down) = self.squares[start][1], self.STEPS[direction]
        target = self.place[column + right, row + down]
        # a step over a piece can only be a hop
        if (board[:, target] >= 0).any():
            target = self.place[column + 2 * right, row + 2 * down]
        return self.squares[start][0] + self.squares[target][0]

    def legal(self, state):
        """The numbers of the legal actions, by name."""
        board = np.asarray(state.game_state.board)
        numbers = np.flatnonzero(np.asarray(state.legal_action_mask))
        names = {self.name(int(number), board): int(number) for number in numbers}
        if len(names) != len(numbers):
            raise Difference("two actions in Ludax have the same name")
        return names


def squares(info, top):
    """Returns (name, (column, row)) of each square in Ludax's order. With `top`, Ludax's first row is Petteia's last row."""
    if str(info.board_shape) == "hexagon_shape":
        side = info.hex_diameter // 2 + 1
        rows = [range(max(0, row - side + 1), min(info.hex_diameter, side + row)) for row in range(info.hex_diameter)]
        # Petteia's columns slant: the top row begins in column a, and rows below the middle row begin farther right
        found = [(column, row) for row, columns in enumerate(rows) for column in columns]
        last = info.hex_diameter
    else:
        last, width = info.board_dims
        found = [(column, row) for row in range(last) for column in range(width)]
    rank = (lambda row: last - row) if top else (lambda row: row + 1)
    return [("abcdefghijklmnopqrstuvwxyz"[column] + str(rank(row)), (column, row)) for column, row in found]


def plain(pair, action):
    """Returns the squares in an action of Petteia, without anything else."""
    return "".join(re.findall(r"[a-z]\d+", action)) or action


def winner(state):
    """Ludax's result at the end."""
    won = [player for player, share in zip(PLAYERS, np.asarray(state.winners)) if share == 1]
    return won[0] if len(won) == 1 else "draw"


def result(verdict, player):
    """The outcome if `player` gets this verdict."""
    other = PLAYERS[1 - PLAYERS.index(player)]
    return {"win": player, "loss": other, "draw": "draw"}[verdict]


def expected_end(pair, plies, seen, quiet, state, legal):
    """The result by rules that the description lacks, or None."""
    mover = PLAYERS[int(state.current_player)]
    if not legal and pair.stuck:
        return result(pair.stuck, mover)
    if pair.repetition and seen == pair.repetition or pair.quiet and quiet == pair.quiet or plies == pair.limit:
        return "draw"
    return None


def over_by_passes(theirs, state):
    """Returns the result if neither player can act anymore, because two passes end the game in Ludax; otherwise None."""
    for _ in range(2):
        if set(theirs.legal(state)) != {"pass"}:
            return None
        state = theirs.step(state, theirs.size)
    return winner(state) if bool(state.terminated) else None


def choose(pair, theirs, state, legal, chance):
    names = sorted(legal)
    if not pair.captures or chance.random() < 0.1:
        return chance.choice(names)
    tried = [chance.choice(names) for _ in range(TRIED)]
    left = np.asarray(theirs.tries(state, jnp.array([legal[name] for name in tried], dtype=jnp.int32)))
    return tried[int(left.argmin())]


def compare(pair, ours, theirs, chance, played):
    """Plays a game and appends its actions to `played`. Returns the result and the kind of end."""
    state, positions = theirs.start, {}
    while True:
        ended = bool(state.terminated)
        legal = {} if ended else theirs.legal(state)
        # in Connect Four an action is a column
        columns = ours.legal and all(len(action) == 1 for action in ours.legal)
        key = (np.asarray(state.game_state.board).tobytes(), int(state.current_player))
        positions[key] = positions.get(key, 0) + 1
        if ended:
            if ours.outcome != winner(state):
                raise Difference(f"the result is {ours.outcome} here and {winner(state)} in Ludax")
            return ours.outcome, "ended by both rules"
        quiet = re.search(r" quiet=(\d+)", ours.position)
        quiet = int(quiet[1]) if quiet else 0
        expected = expected_end(pair, len(played), positions[key], quiet, state, legal)
        if expected or ours.outcome:
            expected = expected or over_by_passes(theirs, state)
            if ours.outcome != expected:
                raise Difference(f"the result is {ours.outcome} here and {expected} in Ludax")
            return expected, OTHER
        if ours.player != PLAYERS[int(state.current_player)]:
            raise Difference(f"{ours.player} is to move here, {PLAYERS[int(state.current_player)]} in Ludax")
        words = {plain(pair, action): action for action in ours.legal}
        if len(words) != len(ours.legal):
            raise Difference("two actions in Petteia have the same name")
        if len(played) == pair.swap and words.pop("swap", None) is None:
            raise Difference("no swap is offered")
        if columns:
            if len({name[0] for name in legal}) != len(legal):
                raise Difference("Ludax offers two squares of the same column")
            legal = {name[0]: number for name, number in legal.items()}
        if set(words) != set(legal):
            here, there = sorted(set(words) - set(legal)), sorted(set(legal) - set(words))
            here, there = " ".join(here) or "none", " ".join(there) or "none"
            raise Difference(f"legal only here: {here}; only in Ludax: {there}")
        name = choose(pair, theirs, state, legal, chance)
        played.append(words[name])
        ours.play(words[name])
        state = theirs.step(state, legal[name])


def check(name, pair, options):
    started = time.perf_counter()
    theirs = Description(pair)
    plies, ends = 0, {}
    for game in range(options.games):
        ours, played = Text(options.petteia, pair.text), []
        try:
            end = compare(pair, ours, theirs, random.Random(f"{options.seed} {game}"), played)
        except Difference as difference:
            where = f"{ours.position}, seed {options.seed}, game {game}, after {' '.join(played)}"
            print(f"{name}: {difference}\n  in {where}", flush=True)
            return False
        finally:
            ours.close()
        plies += len(played)
        ends[end] = ends.get(end, 0) + 1
    number = lambda which: sum(count for end, count in ends.items() if which in end)
    counts = ", ".join(f"{result} {number(result)}" for result in [*PLAYERS, "draw"])
    counts += f"; {number(OTHER)} {OTHER}; {time.perf_counter() - started:.1f} s"
    print(f"{name}: the same in {options.games} games, {plies} plies; {counts}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--petteia", default=str(ROOT / "target/release/petteia"), help="the program")
    parser.add_argument("--games", type=int, default=200, help="random games per game (default: 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=PAIRS, metavar="NAME", help=", ".join(PAIRS))
    options = parser.parse_args()
    same = [check(name, PAIRS[name], options) for name in options.only or PAIRS]
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
