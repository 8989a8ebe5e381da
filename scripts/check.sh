#!/usr/bin/env bash
# Everything that must hold before a change lands: format, lints, the README's test command, docs.
# With --deep also the perft counts that take minutes.
#
# The tests check exports against ONNX Runtime with the Python that PETTEIA_PYTHON names; this script makes one under
# target/python with the packages of scripts/requirements.txt, once.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = "--deep" ]; then export PETTEIA_DEEP=1; fi

step() { printf '\n== %s\n' "$*"; "$@"; }

# The list of what is installed appears last, so that an interrupted installation is begun anew.
install_python() {
    local folder=target/python wanted=scripts/requirements.txt
    if ! cmp -s "$wanted" "$folder/installed.txt"; then
        rm -rf "$folder" &&
            python3 -m venv "$folder" &&
            "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$wanted" &&
            cp "$wanted" "$folder/installed.txt"
    fi
}

if [ -z "${PETTEIA_PYTHON:-}" ]; then
    if step install_python; then
        export PETTEIA_PYTHON="$PWD/target/python/bin/python"
    else
        printf '\n!! NOTICE: scripts/requirements.txt could not be installed, so NOTHING IS CHECKED AGAINST ONNX RUNTIME.\n' >&2
        printf '!! The reason stands above; name a Python that has the packages with PETTEIA_PYTHON.\n\n' >&2
    fi
fi

step cargo fmt --check
step cargo clippy --release --locked --all-targets -- -D warnings
step cargo test --release --locked
RUSTDOCFLAGS="-D warnings" step cargo doc --release --locked --no-deps
