#!/usr/bin/env bash
# Ratings of a clean sweep: opt_pairwise, a maximum likelihood estimator, returns a finite number without a warning: 2,318 Elo after ten
# games, which is where its optimizer stops. The likelihood has no maximum.
# Expected: an error, as from the similar functions ilsr_pairwise and mm_pairwise, or infinity.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check choix==0.4.1 numpy==2.4.6 scipy==1.17.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import math
import warnings

import choix

print("choix", importlib.metadata.version("choix"))
elo = lambda games: 400 / math.log(10) * float(choix.opt_pairwise(2, [(0, 1)] * games) @ [1, -1])
with warnings.catch_warnings():
    warnings.simplefilter("error")
    differences = {games: round(elo(games)) for games in (1, 10, 100, 1000)}
print("Elo by number of games, all won:", differences)
warnings.simplefilter("ignore")
for sibling in (choix.ilsr_pairwise, choix.mm_pairwise):
    try:
        said = str(sibling(2, [(0, 1)] * 10))
    except (ValueError, RuntimeError) as error:
        said = repr(error)
    print(f"{sibling.__name__}: {said}")
    assert "Error" in said
assert all(1500 < difference < 4000 for difference in differences.values())
PYTHON
