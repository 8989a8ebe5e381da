#!/usr/bin/env bash
# Everything that must hold before a change lands: format, lints, the README's test command, docs.
# With --deep also the perft counts that take minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = "--deep" ]; then export PETTEIA_DEEP=1; fi

step() { printf '\n== %s\n' "$*"; "$@"; }

step cargo fmt --check
step cargo clippy --release --locked --all-targets -- -D warnings
step cargo test --release --locked
RUSTDOCFLAGS="-D warnings" step cargo doc --release --locked --no-deps
