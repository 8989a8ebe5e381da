#!/usr/bin/env python3
"""Makes src/balance/known.json from measurements. The file has the reference games that a balance page shows beside its own game.

    petteia balance GAME --levels AGENT:50 AGENT:200 --games 100 --most-games 100 --solver 0 --json > GAME.json
    scripts/study/known_games.py GAME.json ...

Give the files in the order of the table. AGENT is `shipped`; in tic-tac-toe, the levels are rollout:100 and perfect. Hex,
Othello, and Breakthrough are games of examples/breakthrough. Their agents are trained by `breakthrough train GAME
--generations N`, where N is 9 for Hex (with `--agent runs/hex-7` instead of `--levels`), 8 for Othello, and 3 for
Breakthrough. Uses only Python's standard library.
"""

import json
import re
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parents[2] / "src/balance/known.json"
NAMES = {
    "tic-tac-toe": "Tic-tac-toe",
    "connect-four": "Connect Four",
    "breakthrough": "Breakthrough 8x8",
    "hex-7": "Hex 7x7, no swap",
    "othello": "Othello",
    "phage": "Phage",
    "cage": "Cage 10x10",
}


def players(level):
    """The players of a level, as named on the page."""
    if level == "perfect":
        return "perfect play"
    # AGENT:200 of --levels, or "generation 9, 200 simulations" of a run
    simulations = re.search(r"(?::|, )(\d+)", level).group(1)
    who = "the shipped agent" if level.startswith("shipped") else "an agent trained for this"
    return f"{who}, {simulations} simulations"


def known(path):
    [found] = json.loads(Path(path).read_text())
    balance = found["balance"]
    level = balance["levels"][-1]
    digits = lambda value: round(value, 4) + 0.0 if isinstance(value, float) else value
    return {
        "id": balance["game"],
        "name": NAMES[balance["game"]],
        "players": players(level["name"]),
        "games": level["games"],
        "first_score": digits(level["first_score"][0]),
        "draws": digits(level["draws"]),
        "character": {key: digits(value) for key, value in level["character"].items()},
    }


if len(sys.argv) < 2:
    sys.exit(__doc__)
rows = ",\n".join(json.dumps(known(path)) for path in sys.argv[1:])
OUT.write_text(f"[\n{rows}\n]\n")
