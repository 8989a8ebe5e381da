#!/usr/bin/env bash
# Appended .zst shards are cut short: ZstdDecompressor.decompress returns the first frame and silently drops the rest.
# Expected: all frames, as with `zstd -d`, gzip.decompress, and the same object's stream_reader and copy_stream.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check zstandard==0.25.0
"$folder/python/bin/python" - <<'PYTHON'
import gzip
import io

import zstandard

print("zstandard", zstandard.__version__)
games = [b'{"game": 1}\n', b'{"game": 2}\n']
both = b"".join(map(zstandard.ZstdCompressor().compress, games))
reader = zstandard.ZstdDecompressor()
whole, copied = reader.decompress(both), io.BytesIO()
reader.copy_stream(io.BytesIO(both), copied)
print("decompress:   ", whole)
print("stream_reader:", reader.stream_reader(io.BytesIO(both)).read())
print("copy_stream:  ", copied.getvalue())
print("gzip's:       ", gzip.decompress(b"".join(map(gzip.compress, games))))
assert whole == games[0]
assert reader.stream_reader(io.BytesIO(both)).read() == copied.getvalue() == b"".join(games)
# the argument for reading all frames is not implemented; only allow_extra_data=False reports the dropped data
try:
    print("read_across_frames=True:", reader.decompress(both, read_across_frames=True))
    asked = "read"
except zstandard.ZstdError as error:
    asked = str(error)
    print("read_across_frames=True:", error)
try:
    reader.decompress(both, allow_extra_data=False)
    strict = "accepted"
except zstandard.ZstdError as error:
    strict = str(error)
    print("allow_extra_data=False: ", error)
assert asked == "ZstdDecompressor.read_across_frames=True is not yet implemented", asked
assert "extra" in strict or "unused" in strict, strict
PYTHON
