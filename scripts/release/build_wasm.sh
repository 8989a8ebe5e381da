#!/usr/bin/env bash
# Compiles the library into the program for pages in a file: WebAssembly with SIMD, compressed with gzip in assets/wasm. The file is
# committed, so only people who change the source need the toolchain: Debian's rustc-web, cargo-web, and rust-web-src, and the lld of
# their LLVM. assets/wasm/toolchain.txt records the version. The output contains no path and no time: the same source and toolchain give
# the same bytes.
#
#   scripts/release/build_wasm.sh            compiles and writes
#   scripts/release/build_wasm.sh --check    compiles and compares with the committed file
set -euo pipefail
cd "$(dirname "$0")/../.."

PACKED=assets/wasm
RUSTC=/usr/bin/rustc
CARGO=/usr/bin/cargo
target=${CARGO_TARGET_DIR:-$PWD/target}/wasm

if [ ! -x $CARGO ] || [ ! -d "$($RUSTC --print sysroot)/lib/rustlib/src/rust/library" ]; then
    echo "build_wasm.sh: missing: rustc-web cargo-web rust-web-src (packages of Debian)" >&2
    exit 1
fi
toolchain=$($RUSTC --version)
linker=wasm-ld-$($RUSTC -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
if ! command -v "$linker" > /dev/null; then
    echo "build_wasm.sh: missing: $linker (package lld-${linker##*-} of Debian)" >&2
    exit 1
fi

# compile DIRECTORY
compile() {
    local cargo_home=${CARGO_HOME:-$HOME/.cargo}
    local flags=(
        -Ctarget-feature=+simd128
        "-Clinker=$linker" -Clinker-flavor=wasm-lld
        -Zunstable-options -Cpanic=immediate-abort
        -Zlocation-detail=none
        "--remap-path-prefix=$cargo_home=cargo" "--remap-path-prefix=$PWD=petteia"
        # a deep search of a text game needs this much stack
        -Clink-arg=-z -Clink-arg=stack-size=4194304
    )
    RUSTC=$RUSTC RUSTC_BOOTSTRAP=1 RUSTFLAGS="${flags[*]}" $CARGO rustc --profile wasm --locked --lib --crate-type cdylib \
        --no-default-features --target wasm32-unknown-unknown -Zbuild-std=std --target-dir "$target"
    gzip -9 --no-name --stdout "$target/wasm32-unknown-unknown/wasm/petteia.wasm" > "$1/petteia.wasm.gz"
    printf '%s\n' "$toolchain" > "$1/toolchain.txt"
}

if [ "${1:-}" != "--check" ]; then
    mkdir -p $PACKED
    # the library for WebAssembly does not include these files, so they can be written in place
    compile $PACKED
    ls -l $PACKED
    exit
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compile "$folder"
if ! cmp -s "$folder/toolchain.txt" $PACKED/toolchain.txt; then
    echo "build_wasm.sh: the program in $PACKED was compiled by $(cat $PACKED/toolchain.txt), but this machine has $toolchain: not compared" >&2
    exit
fi
cmp "$folder/petteia.wasm.gz" $PACKED/petteia.wasm.gz || {
    echo "build_wasm.sh: $PACKED does not match the source: run scripts/release/build_wasm.sh and commit it" >&2
    exit 1
}
