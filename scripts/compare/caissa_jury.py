#!/usr/bin/env python3
"""A jury for Caissa as in CodeCup 2003: a program plays against a random player, with one process per game and alternating sides.

    python3 scripts/compare/caissa_jury.py './caissa-bot --codecup' --games 100

The rules are reimplemented here from the official rulings, not from the program's source, so that the check is independent.
The exit code is 1 if the program breaks the rules, stops answering, or exits by itself.
"""
import argparse, random, select, shlex, subprocess, sys

PATIENCE = 60  # seconds
SLIDES = {"R": [(1, 0), (-1, 0), (0, 1), (0, -1)], "B": [(1, 1), (1, -1), (-1, 1), (-1, -1)]}
SLIDES["Q"] = SLIDES["R"] + SLIDES["B"]
JUMPS = [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)]
BOARD = [(x, y) for x in range(7) for y in range(7)]
START = {(1, 1): "wN", (2, 1): "wQ", (3, 1): "wB", (2, 2): "wR", (3, 5): "bB", (4, 5): "bQ", (5, 5): "bN", (4, 4): "bR"}


def reach(pieces, at):
    """R1: the squares on a piece's lines up to the first piece; holes do not block."""
    for dx, dy in JUMPS if pieces[at][1] == "N" else SLIDES[pieces[at][1]]:
        x, y = at[0] + dx, at[1] + dy
        while (x, y) in BOARD:
            yield x, y
            if (x, y) in pieces or pieces[at][1] == "N":
                break
            x, y = x + dx, y + dy


def queen(pieces, side):
    return next(at for at in pieces if pieces[at] == side + "Q")


def check(pieces, side):  # R6
    return any(queen(pieces, side) in reach(pieces, at) for at in pieces if pieces[at][0] != side and pieces[at][1] != "Q")


def play(pieces, tiles, a, b):
    """R2 and R3: the position after a-b, or None if the move does not exist."""
    pieces, tiles, mine, there = dict(pieces), set(tiles), pieces[a], pieces.get(b)
    if there and there[1] == "Q" or mine[1] == "Q" and (b not in tiles or there and there[0] == mine[0]):
        return None
    del pieces[a]
    if mine[1] == "Q" or b not in tiles:
        tiles.remove(a)
    tiles.add(b)
    pieces[b] = mine
    if mine[1] != "Q" and there:
        pieces[a] = there
    return pieces, tiles


def sound(pieces, tiles, side):
    """R4 and R5: applied after a move of `side`."""
    group, todo = set(), [next(iter(tiles))]
    while todo:
        x, y = todo.pop()
        if (x, y) in tiles and (x, y) not in group:
            group.add((x, y))
            todo += [(x + dx, y + dy) for dx, dy in SLIDES["Q"]]
    sees = queen(pieces, "wb"[side == "w"]) in reach(pieces, queen(pieces, side))
    return group == tiles and not sees and not check(pieces, side)


def legal(pieces, tiles, side, ban):
    moves, checked = {}, check(pieces, side)
    for a in [at for at in pieces if pieces[at][0] == side]:
        for b in reach(pieces, a):
            near = max(abs(a[0] - b[0]), abs(a[1] - b[1])) == 1
            after = play(pieces, tiles, a, b) if near or not (checked and pieces[a][1] == "Q") else None
            if after and sound(*after, side) and (a, b) != ban:
                moves[a, b] = after
    return moves


def text(move):
    return "-".join(chr(97 + x) + str(y + 1) for x, y in move)


def game(command, side, chance):
    """Returns the result for the program, which plays `side`: "won", "drawn", "lost", or a description of its fault."""
    program = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    try:
        return judge(program, side, chance)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"breaks off: {error}"
    finally:
        program.kill()
        program.wait()


def judge(program, side, chance):
    pieces, tiles, mover, ban, message = START, set(BOARD), "w", None, "start" if side == "w" else None
    for _ply in range(201):
        moves = legal(pieces, tiles, mover, ban)
        if not moves or _ply == 200:
            program.stdin.write("end\n")
            program.stdin.close()
            broken = program.wait(timeout=10) != 0 or program.stdout.read() != ""
            lost = not moves and check(pieces, mover)
            return "does not exit silently" if broken else "drawn" if not lost else "lost" if mover == side else "won"
        if mover == side:
            program.stdin.write(message + "\n")
            answered = select.select([program.stdout], [], [], PATIENCE)[0]
            message = program.stdout.readline().rstrip("\n") if answered else "nothing"
            move = next((move for move in moves if text(move) == message), None)
            if move is None:
                return f"plays {message!r} after {_ply} plies"
        else:
            move = chance.choice(sorted(moves))
            message = text(move)
        swapped = move[1] in pieces and pieces[move[1]][0] != mover and pieces[move[0]][1] != "Q"
        (pieces, tiles), ban, mover = moves[move], move if swapped else None, "wb"[mover == "w"]  # R7


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", help="the program with its arguments, quoted as one word")
    parser.add_argument("--games", type=int, default=100, help="default: 100")
    options = parser.parse_args()
    results = [game(options.command, "wb"[number % 2], random.Random(number)) for number in range(options.games)]
    counts = {result: results.count(result) for result in dict.fromkeys(["won", "drawn", "lost"] + results)}
    print(", ".join(f"{count} {result}" for result, count in counts.items()))
    sys.exit(len(counts) > 3)
