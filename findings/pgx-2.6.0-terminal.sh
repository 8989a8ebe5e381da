#!/usr/bin/env bash
# After the end of a game in pgx, every action is legal; and player 0 begins only about half of all games.
# Expected: no legal action (so that "no action" ends a playout, and a policy's target does not include all actions), and player 0 first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check pgx==2.6.0 jax==0.12.0.1
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import jax
import pgx

print("pgx", importlib.metadata.version("pgx"))
game = pgx.make("tic_tac_toe")
first = [int(game.init(jax.random.PRNGKey(seed)).current_player) for seed in range(8)]
print("first player for seeds 0 to 7:", first)
state = game.init(jax.random.PRNGKey(0))
for action in (0, 3, 1, 4, 2):
    state = game.step(state, action)
print("0 3 1 4 2: over", bool(state.terminated), "rewards", state.rewards.tolist())
print("legal:", state.legal_action_mask.tolist())
after = game.step(state, 0)
print("one more action, on an occupied square: over", bool(after.terminated), "rewards", after.rewards.tolist())
assert set(first) == {0, 1}
assert bool(state.terminated) and all(state.legal_action_mask.tolist())
assert after.rewards.tolist() == [0, 0]
PYTHON
