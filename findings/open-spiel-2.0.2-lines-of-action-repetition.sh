#!/usr/bin/env bash
# Lines of Action in OpenSpiel: the game is drawn as soon as a board occurs a second time, even if the other player is to move, so it is not
# the same position. Random games end this way in about a sixth of all cases. The game's information says nothing of repetitions, and its
# maximum length is 1,000 actions.
# Expected: no rule about repetition, or a draw when a position with the same player to move occurs for the third time, as in other games.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check open_spiel==2.0.2
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import random

import pyspiel

print("open_spiel", importlib.metadata.version("open_spiel"))
game = pyspiel.load_game("lines_of_action")
ends = {"drawn, the same player to move": 0, "drawn, the other player to move": 0, "drawn otherwise": 0, "won": 0}
for seed in range(120):
    chance, state, ply, boards = random.Random(seed), game.new_initial_state(), 0, {}
    board = lambda: str(state).split("Current player")[0]  # noqa: E731
    while not state.is_terminal():
        assert board() not in boards, "a board has occurred again without an end"
        boards[board()] = ply
        state.apply_action(chance.choice(state.legal_actions()))
        ply += 1
    if state.returns() != [0, 0]:
        ends["won"] += 1
    elif board() not in boards:
        ends["drawn otherwise"] += 1
    else:
        ends[f"drawn, the {'other' if (ply - boards[board()]) % 2 else 'same'} player to move"] += 1
print(ends)
assert ends["drawn, the other player to move"] > 0
PYTHON
