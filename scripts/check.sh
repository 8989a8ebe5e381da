#!/usr/bin/env bash
# Everything that must hold before a change lands: format, lints, the README's test command, exports read by tract, docs.
# With --deep also what takes long: perft counts, every fault of tests/it/faults, and the fused forward pass under AddressSanitizer
# where a nightly toolchain is installed.
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

# Its code is all that is unsafe in self-play. tests/sanitizer is that code alone, so this needs no more than a nightly compiler.
sanitize() {
    local target
    target=$(rustc -vV | sed -n 's/^host: //p')
    (cd tests/sanitizer && RUSTFLAGS="-Zsanitizer=address" CARGO_TARGET_DIR="$OLDPWD/target/sanitizer" \
        cargo +nightly test --locked --target "$target")
}

step cargo fmt --all --check
step cargo clippy --release --locked --all-targets -- -D warnings
step cargo test --release --locked
# the program that the tests were built with; not in release, where the compiler would need minutes for small networks
step cargo clippy --locked --package check-onnx --all-targets -- -D warnings
PETTEIA="${CARGO_TARGET_DIR:-$PWD/target}/release/petteia" step cargo test --locked --package check-onnx
RUSTDOCFLAGS="-D warnings" step cargo doc --release --locked --no-deps
if [ -n "${PETTEIA_DEEP:-}" ]; then
    if rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
        step sanitize
    else
        printf '\n!! NOTICE: no nightly toolchain is installed, so net/cpu IS NOT CHECKED BY A SANITIZER (rustup toolchain install nightly).\n' >&2
    fi
fi
