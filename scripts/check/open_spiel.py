"""Compares texts of rules with the games of OpenSpiel that are the same: legal actions, side to move, and results.

    python open_spiel.py [--games 1000] [--only othello ...] [--seed 1]

Plays random games in both at once, by the texts in rules/ and the Python module of this checkout. In each position, the
legal actions must have the same names, once OpenSpiel's are rewritten in our words. Where the rules differ on purpose,
the text is changed as the table below says. Prints a line for each game; stops at the first difference.
"""

import argparse
import random
import re
import sys
from pathlib import Path

import petteia
import pyspiel

RULES = Path(__file__).resolve().parents[2] / "rules"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def square(row, column):
    """Names a square by its row and column from 0."""
    return f"{LETTERS[column]}{row + 1}"


def plain(text, board):
    """Names that are written alike."""
    return text


def pawn(text, board):
    """`a7a6` or `d4c5*`: the rows count from the other end, and a capture is seen by the piece that is there."""
    start, end = (f"{name[0]}{9 - int(name[1:])}" for name in re.findall(r"[a-z]\d+", text))
    return f"{start}{'x' if end in board else '-'}{end}"


def capture(text, board):
    return f"{text[:2]}x{text[2:]}"


def column(text, board):
    """`x0` drops into the first column."""
    return LETTERS[int(text[1:])]


def cell(text, board):
    """`0,1` or `x(0,1)` is a row and a column."""
    return square(*map(int, re.findall(r"\d+", text)))


def amazon(text, board):
    """`X From (7, 1)`, `X To (2, 6)`: the rows count from the other end."""
    row, at = map(int, re.findall(r"\d+", text))
    return square(10 - row, at - 1)


def draught(text, board):
    """`a3b4` steps, `c3e5` captures."""
    start, end = re.findall(r"[a-z]\d+", text)
    return f"{start}{'x' if abs(ord(start[0]) - ord(end[0])) == 2 else '-'}{end}"


# There, a game is drawn if a board occurs a second time, whoever is to move. The comparison of a game ends with it.
DRAWN_OTHERWISE = "lines-of-action"

# our text, its options, changes of the text, OpenSpiel's game, and its actions in our words
GAMES = {
    "othello": ("othello", {}, [], "othello", plain),
    "hex": ("hex", {"size": 11}, [], "hex(board_size=11,swap=True)", plain),
    "hex-5": ("hex", {"size": 5}, [], "hex(board_size=5,swap=True)", plain),
    # OpenSpiel's Y has no swap
    "y": ("y", {"side": 9}, [("action swap, if ply = 1\n", "")], "y(board_size=9)", plain),
    "breakthrough": ("breakthrough", {}, [], "breakthrough", pawn),
    "clobber": ("clobber", {"width": 6, "height": 5}, [], "clobber(rows=5,columns=6)", capture),
    "connect-four": ("connect-four", {}, [], "connect_four", column),
    "connect-four-6x5": ("connect-four", {}, [("board 7 x 6", "board 6 x 5")], "connect_four(rows=5,columns=6)", column),
    "gomoku": ("gomoku", {}, [], "gomoku", cell),
    "tic-tac-toe": ("tic-tac-toe", {}, [], "tic_tac_toe", cell),
    "four-in-a-row": (
        "tic-tac-toe",
        {},
        [("board 3 x 3", "board 4 x 5"), ("line of 3", "line of 4"), ("limit 9", "limit 20")],
        "mnk(m=4,n=5,k=4)",
        cell,
    ),
    "amazons": ("amazons", {}, [], "amazons", amazon),
    "lines-of-action": ("lines-of-action", {}, [("limit 400", "limit 1000")], "lines_of_action", plain),
    # 40 actions without a capture are drawn there, and repetitions are not
    "english-draughts": (
        "english-draughts",
        {},
        [("repetition 3: draw\n", ""), ("quiet 100", "quiet 40"), ("limit 400", "limit 1000")],
        "checkers",
        draught,
    ),
}


def occupied(position):
    """Returns the squares with a piece."""
    # a number stands for that many empty squares
    ranks = re.sub(r"\d+", lambda empty: "." * int(empty[0]), position.text.split(" ")[0]).split("/")
    return {
        square(len(ranks) - 1 - index, at)
        for index, rank in enumerate(ranks)
        for at, letter in enumerate(rank)
        if letter.isalpha()
    }


def named(theirs, words, board):
    """Returns OpenSpiel's actions, each as a list of the actions that it takes, by our words for them."""
    named = {}
    for action in theirs.legal_actions():
        text = theirs.action_to_string(action)
        if words is amazon and "From" in text:
            after = theirs.clone()
            after.apply_action(action)
            for to in after.legal_actions():
                step = f"{amazon(text, board)}-{amazon(after.action_to_string(to), board)}"
                named[step] = [action, to]
        else:
            named[text.lower() if text.lower() in ("pass", "swap") else words(text, board)] = [action]
    return named


def compare(name, games, seed):
    """Plays random games; returns the number of positions."""
    rules, options, changes, other, words = GAMES[name]
    text = (RULES / f"{rules}.game").read_text()
    for before, after in changes:
        assert before in text, f"{rules}.game does not have {before!r}"
        text = text.replace(before, after)
    ours, theirs = petteia.Game.from_text(text, **options), pyspiel.load_game(other)
    positions = 0
    for number in range(games):
        chance = random.Random(f"{seed} {name} {number}")
        position, state = ours.position(), theirs.new_initial_state()
        while True:
            positions += 1
            where = f"{name}, game {number}: {position.text}\n{state}"
            if position.is_over or state.is_terminal():
                if name == DRAWN_OTHERWISE and state.returns() == [0, 0]:
                    break
                if position.is_over != state.is_terminal() or list(position.returns) != state.returns():
                    sys.exit(f"{where}\nresults differ: {position.returns}, {position.ending}; OpenSpiel {state.returns()}")
                break
            legal, known = position.legal_texts(), named(state, words, occupied(position))
            if set(legal) != set(known):
                sys.exit(f"{where}\nonly ours: {set(legal) - set(known)}; only OpenSpiel's: {set(known) - set(legal)}")
            if position.to_move != state.current_player():
                sys.exit(f"{where}\nthe side to move differs")
            chosen = chance.choice(sorted(legal))
            position.play(chosen)
            for action in known[chosen]:
                state.apply_action(action)
    return positions


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--only", nargs="+", choices=list(GAMES), default=list(GAMES))
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    for name in flags.only:
        print(f"{name}: {flags.games} games, {compare(name, flags.games, flags.seed)} positions, no difference", flush=True)


if __name__ == "__main__":
    main()
