#!/usr/bin/env python3
"""Reimplements games that Petteia has as texts, slowly and from published rules, and compares the two implementations.

    python3 scripts/check/text_games.py > games.json
    python3 scripts/check/text_games.py --petteia target/release/petteia
    python3 scripts/check/text_games.py --petteia target/release/petteia --only othello hex --games 20

Without --petteia, the script prints one JSON object per game. The object has `perft` (the number of sequences of 1, 2, ...
actions) and random games, each with its actions, its result and, for each ply, the number of legal actions and the SHA-256
of their texts (sorted by bytes, joined with single spaces). With --petteia, the script makes three comparisons: its own perft
numbers with those of `petteia perft`; the legal actions at every ply, the player to move, and the result with those of `petteia
replay`; and published perft numbers with Petteia's. For the first difference in a game it prints the position, and the exit
code is 1.

Each class cites its rules. If the published rules lack a repetition rule or a limit, the class uses the one in rules/*.game.
The script uses only Python's standard library.
"""

import argparse
import hashlib
import json
import random
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLAYERS = ["first", "second"]
ORTHOGONAL = [(1, 0), (-1, 0), (0, 1), (0, -1)]
DIAGONAL = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
AROUND = ORTHOGONAL + DIAGONAL
# neighbors on a rhombus of hexagons, where each row is shifted by half a hexagon relative to the row below
HEXAGONAL = ORTHOGONAL + [(-1, 1), (1, -1)]
ARROW = 2

# board: the contents of nonempty squares, a player's number or ARROW; extra: any other state of the game
Position = namedtuple("Position", "board player extra")


def name(square):
    return "abcdefghijklmnopqrstuvwxyz"[square[0]] + str(square[1] + 1)


def square(text):
    return ord(text[0]) - ord("a"), int(text[1:]) - 1


def plus(square, step, times=1):
    return square[0] + times * step[0], square[1] + times * step[1]


def enclosed(board, player, target, steps):
    """Returns the enemies in unbroken lines between the square `target` and another piece of the player."""
    found = []
    for step in steps:
        line, at = [], plus(target, step)
        while board.get(at) == 1 - player:
            line.append(at)
            at = plus(at, step)
        if board.get(at) == player:
            found += line
    return found


def majority(board):
    """Returns the player with more pieces, or "draw"."""
    lead = sum(1 if piece == 0 else -1 for piece in board.values())
    return "draw" if lead == 0 else PLAYERS[lead < 0]


class Game:
    """The rules of a game. `actions` returns a dict from the texts of the legal actions to the data that `play` needs.

    A game ends with `result_at_limit` after `limit` actions, or when a position has occurred `repetition` times.
    """

    settings, limit, repetition = [], None, None

    def inside(self, square):
        return 0 <= square[0] < self.width and 0 <= square[1] < self.height

    def squares(self):
        return [(x, y) for y in range(self.height) for x in range(self.width)]

    def result_at_limit(self, position):
        return "draw"

    def own(self, position):
        return [square for square, piece in position.board.items() if piece == position.player]


def winner_if_stuck(game, position):
    """Returns the winner if the player to move cannot act: the last player who could act wins."""
    return None if game.actions(position) else PLAYERS[1 - position.player]


class LinesOfAction(Game):
    """Lines of Action. Rules: Claude Soucie in Sid Sackson, A Gamut of Games, as on M. Winands' page of the Computer
    Olympiad's rules (https://dke.maastrichtuniversity.nl/m.winands/loa/rules.html), with one exception: a player whose move
    connects both sides at once wins, as in the book's second edition (1982), whereas the Olympiad counts that as a draw. A
    player with no move passes.
    """

    name, width, height, depth = "lines-of-action", 8, 8, 3
    limit, repetition = 400, 3

    def start(self):
        board = {}
        for i in range(1, 7):
            board[i, 0] = board[i, 7] = 0
            board[0, i] = board[7, i] = 1
        return Position(board, 0, None)

    def actions(self, position):
        board, player, found = position.board, position.player, {}
        for origin in self.own(position):
            for step in AROUND:
                distance = 1
                for direction in (1, -1):
                    at = plus(origin, step, direction)
                    while self.inside(at):
                        distance += at in board
                        at = plus(at, step, direction)
                target = plus(origin, step, distance)
                if not self.inside(target) or board.get(target) == player:
                    continue
                if all(board.get(plus(origin, step, n)) != 1 - player for n in range(1, distance)):
                    sign = "x" if target in board else "-"
                    found[name(origin) + sign + name(target)] = (origin, target)
        return found or {"pass": None}

    def play(self, position, action):
        board = dict(position.board)
        if action:
            origin, target = action
            board[target] = board.pop(origin)
        return Position(board, 1 - position.player, None)

    def connected(self, board, player):
        pieces = {square for square, piece in board.items() if piece == player}
        stack = [pieces.pop()] if pieces else []
        while stack:
            at = stack.pop()
            for step in AROUND:
                if plus(at, step) in pieces:
                    pieces.remove(plus(at, step))
                    stack.append(plus(at, step))
        return not pieces

    def result(self, position):
        for player in (1 - position.player, position.player):
            if self.connected(position.board, player):
                return PLAYERS[player]
        return None


class Clobber(Game):
    """Clobber, 5 wide and 6 high. Rules: M. Albert, J. Grossman, R. Nowakowski and D. Wolfe, An Introduction to Clobber,
    Integers 5(2), 2005: a stone captures an orthogonally adjacent enemy stone; a player with no move loses.
    """

    name, width, height, depth, limit = "clobber", 5, 6, 3, 100

    def start(self):
        return Position({square: sum(square) % 2 for square in self.squares()}, 0, None)

    def actions(self, position):
        return {
            name(origin) + "x" + name(plus(origin, step)): (origin, plus(origin, step))
            for origin in self.own(position)
            for step in ORTHOGONAL
            if position.board.get(plus(origin, step)) == 1 - position.player
        }

    def play(self, position, action):
        board = dict(position.board)
        board[action[1]] = board.pop(action[0])
        return Position(board, 1 - position.player, None)

    result = winner_if_stuck


class HasamiShogi(Game):
    """Hasami Shogi, the variant with nine men. Rules: https://www.igfip.com/hasamishogi/rules.html: men move like rooks,
    all enemies between the man that arrives and another man of the same player are captured, and a player with at most one
    man left loses. There is no capture in a corner, which Wikipedia's variant 1 has. The rules do not say what happens to a
    player with no move; here, that player loses.
    """

    name, width, height, depth, limit, repetition = "hasami-shogi", 9, 9, 3, 400, 4

    def start(self):
        board = {(x, 0): 0 for x in range(9)}
        board.update({(x, 8): 1 for x in range(9)})
        return Position(board, 0, None)

    def actions(self, position):
        found = {}
        for origin in self.own(position):
            for step in ORTHOGONAL:
                target = plus(origin, step)
                while self.inside(target) and target not in position.board:
                    found[name(origin) + "-" + name(target)] = (origin, target)
                    target = plus(target, step)
        return found

    def play(self, position, action):
        board, player = dict(position.board), position.player
        origin, target = action
        board[target] = board.pop(origin)
        for captured in enclosed(board, player, target, ORTHOGONAL):
            del board[captured]
        return Position(board, 1 - player, None)

    def result(self, position):
        if len(self.own(position)) <= 1:
            return PLAYERS[1 - position.player]
        return winner_if_stuck(self, position)


class Ataxx(Game):
    """Ataxx on 7x7 without blocks. Rules: http://www.gamerz.net/pbmserv/ataxx.html and
    https://iggamecenter.com/en/rules/ataxx: a piece grows to a square next to it, or jumps two squares away; enemies next
    to the new square change sides; a player with no move passes; at the end, on a full board or when a side has no piece
    left, the side with more pieces wins. Growing to a square is one action, whichever piece grows.
    """

    name, width, height, depth, limit = "ataxx", 7, 7, 4, 400
    jumps = [(x, y) for x in range(-2, 3) for y in range(-2, 3) if max(abs(x), abs(y)) == 2]

    def start(self):
        return Position({(0, 6): 0, (6, 0): 0, (0, 0): 1, (6, 6): 1}, 0, None)

    def actions(self, position):
        found = {}
        for origin in self.own(position):
            for steps, jump in ((AROUND, False), (self.jumps, True)):
                for step in steps:
                    target = plus(origin, step)
                    if self.inside(target) and target not in position.board:
                        text = name(origin) + "-" + name(target) if jump else name(target)
                        found[text] = (origin if jump else None, target)
        return found or {"pass": None}

    def play(self, position, action):
        board, player = dict(position.board), position.player
        if action:
            origin, target = action
            board.pop(origin, None)
            board[target] = player
            for step in AROUND:
                if plus(target, step) in board:
                    board[plus(target, step)] = player
        return Position(board, 1 - player, None)

    def result(self, position):
        sides = set(position.board.values())
        full = len(position.board) == self.width * self.height
        return majority(position.board) if full or len(sides) == 1 else None

    def result_at_limit(self, position):
        return majority(position.board)


class Gomoku(Game):
    """Gomoku on 9x9, freestyle. Rules: https://en.wikipedia.org/wiki/Gomoku: five or more in an unbroken row win."""

    name, width, height, depth, settings = "gomoku", 9, 9, 3, ["game.size=9"]

    def start(self):
        return Position({}, 0, None)

    def actions(self, position):
        return {name(square): square for square in self.squares() if square not in position.board}

    def play(self, position, action):
        return Position({**position.board, action: position.player}, 1 - position.player, None)

    def result(self, position):
        for origin, player in position.board.items():
            for step in [(1, 0), (0, 1), (1, 1), (1, -1)]:
                if all(position.board.get(plus(origin, step, n)) == player for n in range(5)):
                    return PLAYERS[player]
        return "draw" if len(position.board) == self.width * self.height else None


class Hex(Game):
    """Hex on 7x7 with the swap of pieces. Rules: https://www.hexwiki.net/index.php/Rules and .../Swap_rule: instead of
    placing a first stone, the second player may replace the first player's stone with one of its own color, mirrored in the
    diagonal that maps each player's edges to the other's. The first player connects row 1 to row 7; the second player
    connects column a to column g.
    """

    name, width, height, depth, settings = "hex", 7, 7, 3, ["game.size=7"]

    def start(self):
        return Position({}, 0, 0)

    def actions(self, position):
        found = {name(square): square for square in self.squares() if square not in position.board}
        if position.extra == 1:
            found["swap"] = None
        return found

    def play(self, position, action):
        if action is None:
            [(x, y)] = position.board
            board = {(y, x): 1}
        else:
            board = {**position.board, action: position.player}
        return Position(board, 1 - position.player, position.extra + 1)

    def result(self, position):
        player = 1 - position.player
        axis = 1 - player
        stack = [square for square, piece in position.board.items() if piece == player and square[axis] == 0]
        seen = set(stack)
        while stack:
            at = stack.pop()
            if at[axis] == self.width - 1:
                return PLAYERS[player]
            for step in HEXAGONAL:
                to = plus(at, step)
                if to not in seen and position.board.get(to) == player:
                    seen.add(to)
                    stack.append(to)
        return None


class Amazons(Game):
    """Amazons on 10x10; a move and its shot are two actions. Rules: https://en.wikipedia.org/wiki/Game_of_the_Amazons:
    an amazon moves like a chess queen and then shoots in the same way from its new square; a player with no move loses.
    """

    name, width, height, depth, limit = "amazons", 10, 10, 3, 200

    def start(self):
        board = {square(text): 0 for text in "a4 d1 g1 j4".split()}
        board.update({square(text): 1 for text in "a7 d10 g10 j7".split()})
        return Position(board, 0, None)

    def reach(self, board, origin):
        for step in AROUND:
            target = plus(origin, step)
            while self.inside(target) and target not in board:
                yield target
                target = plus(target, step)

    def actions(self, position):
        if position.extra:
            return {name(target): target for target in self.reach(position.board, position.extra)}
        return {
            name(origin) + "-" + name(target): (origin, target)
            for origin in self.own(position)
            for target in self.reach(position.board, origin)
        }

    def play(self, position, action):
        board = dict(position.board)
        if position.extra:
            board[action] = ARROW
            return Position(board, 1 - position.player, None)
        board[action[1]] = board.pop(action[0])
        return Position(board, position.player, action[1])

    result = winner_if_stuck


class Breakthrough(Game):
    """Breakthrough on 8x8. Rules: Dan Troyka, as on https://en.wikipedia.org/wiki/Breakthrough_(board_game): a pawn steps
    forward, straight or diagonally, to an empty square, and captures diagonally forward; a player who reaches the last row
    or captures everything wins.
    """

    name, width, height, depth, limit = "breakthrough", 8, 8, 4, 400

    def start(self):
        return Position({square: square[1] // 6 for square in self.squares() if square[1] in (0, 1, 6, 7)}, 0, None)

    def actions(self, position):
        board, player, found = position.board, position.player, {}
        ahead = 1 if player == 0 else -1
        for origin in self.own(position):
            for side in (-1, 0, 1):
                target = plus(origin, (side, ahead))
                if self.inside(target) and (target not in board or side and board[target] != player):
                    found[name(origin) + ("x" if target in board else "-") + name(target)] = (origin, target)
        return found

    play = Clobber.play

    def result(self, position):
        last = 1 - position.player
        far = 7 if last == 0 else 0
        if any(piece == last and square[1] == far for square, piece in position.board.items()):
            return PLAYERS[last]
        return None if self.own(position) else PLAYERS[last]


class Othello(Game):
    """Othello. Rules: the World Othello Federation's (https://www.worldothello.org/about/about-othello/othello-rules):
    a disc must outflank enemy discs in straight lines and turns them over; a player with no move passes; when neither
    player can move, the player with more discs wins. Rows are numbered from the bottom, so Black starts on d5 and e4, as
    usual.
    """

    name, width, height, depth = "othello", 8, 8, 6

    def start(self):
        return Position({square("d5"): 0, square("e4"): 0, square("d4"): 1, square("e5"): 1}, 0, None)

    def actions(self, position):
        board, player = position.board, position.player
        beside = {plus(at, step) for at, piece in board.items() if piece != player for step in AROUND}
        found = {
            name(target): target
            for target in beside
            if self.inside(target) and target not in board and enclosed(board, player, target, AROUND)
        }
        return found or {"pass": None}

    def play(self, position, action):
        board, player = dict(position.board), position.player
        if action:
            board.update({at: player for at in enclosed(board, player, action, AROUND)})
            board[action] = player
        return Position(board, 1 - player, None)

    def result(self, position):
        other = position._replace(player=1 - position.player)
        if "pass" in self.actions(position) and "pass" in self.actions(other):
            return majority(position.board)
        return None


class Konane(Game):
    """Konane on 8x8. Rules: E. Berlekamp, https://math.berkeley.edu/~berlek/cgt/konane.html, and
    https://brainking.com/en/GameRules?tp=94: the first player removes one of its own stones in the center or in a corner;
    the second player removes one of its own stones next to the gap. Then players take turns jumping over orthogonally
    adjacent enemies, once or several times in one line, and removing them; a player with no move loses. The first player's
    stones are on a1 and the squares of the same color. Each jump is an action; a player who could continue jumping may stop.
    """

    name, width, height, depth, limit = "konane", 8, 8, 5, 100

    def start(self):
        return Position({square: sum(square) % 2 for square in self.squares()}, 0, 0)

    def jumps(self, board, player, origin, steps):
        """Returns the jumps of a stone by their texts: the stone's origin, the square that it jumps over, and its target."""
        found = {}
        for step in steps:
            over, target = plus(origin, step), plus(origin, step, 2)
            if self.inside(target) and target not in board and board.get(over) == 1 - player:
                found[name(origin) + "x" + name(target)] = (origin, over, target)
        return found

    def actions(self, position):
        board, player, extra = position.board, position.player, position.extra
        if extra == 0:
            return {name(gap): gap for gap in [(0, 0), (7, 7), (3, 3), (4, 4)]}
        if extra == 1:
            [gap] = [square for square in self.squares() if square not in board]
            beside = [plus(gap, step) for step in ORTHOGONAL]
            return {name(at): at for at in beside if at in board}
        if extra != 2:
            return {"stop": None, **self.jumps(board, player, *extra)}
        found = {}
        for origin in self.own(position):
            found.update(self.jumps(board, player, origin, ORTHOGONAL))
        return found

    def play(self, position, action):
        board, player = dict(position.board), position.player
        if action is None:
            return Position(board, 1 - player, 2)
        if position.extra in (0, 1):
            del board[action]
            return Position(board, 1 - player, position.extra + 1)
        origin, over, target = action
        board[target] = board.pop(origin)
        del board[over]
        # a stone may only continue in the same direction
        ahead = (target, ((over[0] - origin[0], over[1] - origin[1]),))
        if self.jumps(board, player, *ahead):
            return Position(board, player, ahead)
        return Position(board, 1 - player, 2)

    result = winner_if_stuck


GAMES = [
    game()
    for game in (
        LinesOfAction,
        Clobber,
        HasamiShogi,
        Ataxx,
        Gomoku,
        Hex,
        Amazons,
        Breakthrough,
        Othello,
        Konane,
    )
]

FAIRY = "tests/perft.sh of Fairy-Stockfish"
MCE = "tests/perft_ataxx.rs of mce, computed by it and by Fairy-Stockfish"
REGULAR = "the bench test of a compiler for Regular Games (amazons-naive.hrg, connect4.hrg, ticTacToe.rg)"
# published perft numbers: the game, the position (unless it is the start position), depth, number, source
PUBLISHED = [
    ("tic-tac-toe", None, 9, 127872, REGULAR),
    ("connect-four", None, 8, 5673234, REGULAR),
    ("clobber", None, 3, 80063, FAIRY),
    ("ataxx", None, 4, 155888, FAIRY),
    ("ataxx", None, 5, 4752668, MCE),
    ("ataxx", "7/7/7/7/BBBBBBB/BBBBBBB/RRRRRRR r 0", 5, 452980, FAIRY),
    ("ataxx", "RBB4/BBB4/BBB4/7/7/7/7 r 0", 4, 1961, MCE),
    ("ataxx", "R5B/7/7/3R3/7/7/B5R r 0", 3, 25026, MCE),
    ("ataxx", "3B3/7/7/3R3/7/7/3B3 r 0", 4, 386878, MCE),
    ("ataxx", "RBRBRBR/BRBRBRB/7/7/7/7/3R3 r 0", 3, 104864, MCE),
    # the source counts a move with its shot as one move
    ("amazons", None, 2, 2176, FAIRY),
    ("amazons", None, 4, 4307152, REGULAR),
    ("breakthrough", None, 4, 256036, FAIRY),
    ("breakthrough", "1B2BB1B/2B2BBB/2W5/8/8/3W2W1/1B1W2WW/1WW1WW1W w 50", 4, 121264, FAIRY),
    ("othello", None, 7, 55092, FAIRY + " (flipello)"),
]


def perft(game, position, depth):
    """Returns the number of sequences of `depth` actions."""
    if game.result(position):
        return 0
    actions = game.actions(position)
    if depth == 1:
        return len(actions)
    return sum(perft(game, game.play(position, action), depth - 1) for action in actions.values())


class Play:
    """A game in progress, which counts repetitions and knows its limit."""

    def __init__(self, game):
        self.game, self.played, self.seen = game, [], {}
        self.reach(game.start())

    def reach(self, position):
        game, self.position = self.game, position
        key = (frozenset(position.board.items()), position.player, position.extra)
        self.seen[key] = self.seen.get(key, 0) + 1
        self.result = game.result(position)
        if not self.result and self.seen[key] == game.repetition:
            self.result = "draw"
        if not self.result and len(self.played) == game.limit:
            self.result = game.result_at_limit(position)
        self.actions = {} if self.result else game.actions(position)
        self.player = PLAYERS[position.player]

    def act(self, text):
        self.played.append(text)
        self.reach(self.game.play(self.position, self.actions[text]))


def digest(actions):
    return hashlib.sha256(" ".join(sorted(actions)).encode()).hexdigest()


def described(game, options):
    """Returns this implementation's description of a game, for JSON."""
    counts = [perft(game, game.start(), depth) for depth in range(1, game.depth + options.deeper + 1)]
    games = []
    for number in range(options.games):
        play, chance, numbers, digests = Play(game), chance_of(options, number), [], []
        while not play.result:
            numbers.append(len(play.actions))
            digests.append(digest(play.actions))
            play.act(chance.choice(sorted(play.actions)))
        found = {"actions": " ".join(play.played), "legal_counts": numbers, "legal_sha256": digests}
        games.append({**found, "result": play.result})
    return {"game": game.name, "settings": game.settings, "rules": game.__doc__, "perft": counts, "games": games}


def chance_of(options, number):
    return random.Random(f"{options.seed} {number}")


def command(options, verb, name, settings=()):
    path = options.rules / f"{name}.game"
    return [options.petteia, verb, str(path)] + [part for setting in settings for part in ("--set", setting)]


def their_perft(words):
    answer = subprocess.run(words, capture_output=True, text=True)
    return answer.stderr.strip() if answer.returncode else json.loads(answer.stdout)["nodes"]


def same_perft(game, options):
    same = True
    for depth in range(1, game.depth + options.deeper + 1):
        started = time.perf_counter()
        ours = perft(game, game.start(), depth)
        theirs = their_perft(command(options, "perft", game.name, game.settings) + ["--depth", str(depth), "--json"])
        same &= ours == theirs
        verdict = "the same" if ours == theirs else f"but {theirs} in Petteia"
        print(f"{game.name}: perft {depth} is {ours}, {verdict}; {time.perf_counter() - started:.1f} s", flush=True)
    return same


def as_published(name, position, depth, expected, source, options):
    words = command(options, "perft", name) + ["--depth", str(depth), "--json"]
    theirs = their_perft(words + (["--position", position] if position else []))
    verdict = "the same" if expected == theirs else f"but {theirs} in Petteia"
    where = f" of {position}" if position else ""
    print(f"{name}: perft {depth}{where} is {expected} in {source}, {verdict}", flush=True)
    return expected == theirs


def difference(play, theirs):
    """Returns the difference between the two programs at a position, or None."""
    ours = {"player": play.player, "result": play.result, "legal": sorted(play.actions)}
    other = {"player": theirs["to_move"], "result": theirs["outcome"], "legal": sorted(theirs["legal"])}
    if play.result:
        # after the end, there is no meaningful player to move
        del ours["player"], other["player"]
    if len(set(other["legal"])) != len(other["legal"]):
        return "two actions have the same text in Petteia"
    for key in ours:
        if ours[key] != other[key]:
            if key != "legal":
                return f"{key} {ours[key]}, but {other[key]} in Petteia"
            mine, others = set(ours[key]), set(other[key])
            return f"only here: {sorted(mine - others)}; only in Petteia: {sorted(others - mine)}"
    return None


def same_games(game, options):
    started, plies, results = time.perf_counter(), 0, {}
    for number in range(options.games):
        play, chance = Play(game), chance_of(options, number)
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with subprocess.Popen(command(options, "replay", game.name, game.settings), **pipes) as process:
            while True:
                theirs = json.loads(process.stdout.readline())
                found = difference(play, theirs)
                if found:
                    print(f"{game.name}: {found}\n  in {theirs['position']}, game {number}, after {' '.join(play.played)}")
                    process.stdin.close()
                    return False
                if play.result:
                    break
                text = chance.choice(sorted(play.actions))
                play.act(text)
                process.stdin.write(text + "\n")
                process.stdin.flush()
            process.stdin.close()
        plies += len(play.played)
        results[play.result] = results.get(play.result, 0) + 1
    counts = ", ".join(f"{result} {results.get(result, 0)}" for result in [*PLAYERS, "draw"])
    seconds = time.perf_counter() - started
    print(f"{game.name}: the same in {options.games} games, {plies} plies; {counts}; {seconds:.1f} s", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [game.name for game in GAMES]
    parser.add_argument("--petteia", metavar="PATH", help="compare with this program")
    parser.add_argument("--rules", type=Path, default=ROOT / "rules", help="the folder with its rule texts (default: rules)")
    parser.add_argument("--games", type=int, default=100, help="random games per game (default: 100)")
    parser.add_argument("--deeper", type=int, default=0, help="additional plies of perft (default: 0)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    options = parser.parse_args()
    chosen = [game for game in GAMES if game.name in (options.only or names)]
    if not options.petteia:
        for game in chosen:
            print(json.dumps(described(game, options)), flush=True)
        return
    same = [check(game, options) for game in chosen for check in (same_perft, same_games)]
    known = [row for row in PUBLISHED if not options.only or row[0] in options.only]
    same += [as_published(*row, options) for row in known]
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
