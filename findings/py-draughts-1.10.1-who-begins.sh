#!/usr/bin/env bash
# American checkers: a new AmericanBoard has White to move, so a game record that begins with "1. 11-15", the commonest opening of the game,
# is refused with a ValueError. With a FEN tag that gives Black the first move, the same record is read.
# Expected: Black (the dark men, on squares 1 to 12) moves first, as in every rule book of American checkers and in records in PDN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check py-draughts==1.10.1
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import draughts

print("py-draughts", importlib.metadata.version("py-draughts"))
board = draughts.AmericanBoard()
print("to move at the start:", board.turn.name)
print("its actions:", " ".join(map(str, board.legal_moves)))
assert board.turn == draughts.Color.WHITE
moves = "1. 11-15 23-19 2. 8-11 22-17 *"
try:
    draughts.AmericanBoard.from_pdn(f'[GameType "21"]\n\n{moves}')
    raise SystemExit("the record was read: the behavior has changed")
except ValueError as error:
    print("without a FEN tag:", str(error).splitlines()[0])
black_first = board.fen.split('"')[1].replace("W:", "B:", 1)
game = draughts.AmericanBoard.from_pdn(f'[GameType "21"]\n[SetUp "1"]\n[FEN "{black_first}"]\n\n{moves}')
print("with a FEN tag:", game.fen)
assert game.turn == draughts.Color.BLACK
PYTHON
