#!/usr/bin/env bash
# The same tensors and metadata give different files each time, so checksums of files cannot be compared; and a dictionary that is read
# back has another order each time.
# Expected: the same bytes, and tensors in the order of the file (or of the saved dictionary).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check safetensors==0.8.0 numpy==2.4.6
"$folder/python/bin/python" - <<'PYTHON'
import hashlib
import importlib.metadata

import numpy
from safetensors.numpy import load, save

print("safetensors", importlib.metadata.version("safetensors"))
tensors = {f"layer.{at}": numpy.zeros(2, numpy.float32) for at in range(8)}
about = {key: "value" for key in ("game", "generation", "license", "options", "seed", "shape", "step", "version")}
sums = {hashlib.sha256(save(tensors, metadata=about)).hexdigest()[:16] for _ in range(10)}
plain = {hashlib.sha256(save(tensors)).hexdigest()[:16] for _ in range(10)}
orders = {tuple(load(save(tensors))) for _ in range(10)}
print("ten files with eight entries of metadata:", len(sums), "different:", sorted(sums))
print("ten files without metadata:", len(plain), "different")
print("orders of ten dictionaries read back:", len(orders), "different, such as", orders.pop())
# by chance, one in 40,320 for each pair
assert len(sums) > 5 and len(plain) == 1 and len(orders) > 4
PYTHON
