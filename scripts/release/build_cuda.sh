#!/usr/bin/env bash
# Compiles src/net/cuda/kernel.cu with NVIDIA's compiler into PTX texts and a cubin, compressed with zstd in assets/cuda. These files
# are committed, so only people who change the source need the compiler. The files contain no path and no time: the same source
# gives the same bytes. Needs zstd and g++.
#
#   scripts/release/build_cuda.sh            compiles and writes
#   scripts/release/build_cuda.sh --check    compiles, compares with the committed files, and checks the kernels' needs on each GPU
#   scripts/release/build_cuda.sh --install  only installs the compiler's wheels under target/cuda; fails if that is not possible
set -euo pipefail
cd "$(dirname "$0")/../.."

SOURCE=src/net/cuda
PACKED=assets/cuda
FILES=(kernel_75.ptx kernel_80.ptx kernel_90a.cubin)
WANTED=scripts/release/cuda-requirements.txt
TOOLS=target/cuda/tools
# the oldest PTX version with the required instructions; drivers since CUDA 11.0 (2020) can load it, whereas the compiler's default
# version needs a driver as new as the compiler
PTX=7.0
# upper limits for a kernel: registers (so that a block can have 512 threads); bytes spilled from registers (highest on Turing, where
# a matrix instruction computes half as much; none on Hopper); and bytes of static shared memory. The launch adds more
# shared memory; src/net/cuda/plan.rs keeps that within each GPU's limit.
REGISTERS=128 SPILLED=80 SHARED=0

install() {
    # g++ preprocesses the source
    command -v g++ > /dev/null && command -v zstd > /dev/null || return
    cmp -s "$WANTED" "$TOOLS/installed.txt" && return
    rm -rf "$TOOLS" && mkdir -p "$TOOLS/wheels" || return
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
        --dest "$TOOLS/wheels" -r "$WANTED" || return
    for wheel in "$TOOLS"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$TOOLS" || return; done
    rm -r "$TOOLS/wheels"
    chmod +x "$TOOLS"/nvidia/cu13/bin/* "$TOOLS"/nvidia/cu13/nvvm/bin/* || return
    # this list is written last, so that an interrupted installation starts over
    cp "$WANTED" "$TOOLS/installed.txt"
}

# compile DIRECTORY
compile() {
    local nvcc=$TOOLS/nvidia/cu13/bin/nvcc flags=(-std=c++17 -O3)
    mkdir -p "$1"
    for compute in 75 80; do
        "$nvcc" "${flags[@]}" "-arch=compute_$compute" -ptx "$SOURCE/kernel.cu" -o "$1/new.ptx"
        sed "s/^\.version .*/.version $PTX/" "$1/new.ptx" > "$1/kernel_$compute.ptx"
        rm "$1/new.ptx"
    done
    "$nvcc" "${flags[@]}" -arch=sm_90a -cubin "$SOURCE/kernel.cu" -o "$1/kernel_90a.cubin"
}

# budget TEXT GPU: assembles the PTX text and compares each kernel's needs with the upper limits
budget() {
    local said
    said=$("$TOOLS/nvidia/cu13/bin/ptxas" -v "-arch=sm_$2" "$1" -o /dev/null 2>&1) || { echo "$said" >&2; return 1; }
    echo "$said" | awk -v gpu="sm_$2" -v registers="$REGISTERS" -v spilled="$SPILLED" -v shared="$SHARED" '
        /Compiling entry/ { name = $7; gsub(/\047/, "", name) }
        /bytes spill/ { if ($5 > spilled || $9 > spilled) { print gpu, name, "spills:", $0; bad = 1 } }
        /Used [0-9]+ registers/ {
            smem = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART) + 0 : 0
            needs = needs " " name "=" $5
            if ($5 > registers || smem > shared) { print gpu, name, "needs too much:", $0; bad = 1 }
            kernels++
        }
        END { print gpu ": registers" needs; exit bad || kernels != 3 }'
}

install || { echo "g++ or zstd is missing, or the wheels of $WANTED could not be installed" >&2; exit 1; }
case "${1:-}" in
    --install) ;;
    --check)
        build=target/cuda/build
        compile "$build"
        for file in "${FILES[@]}"; do
            zstd -dc "$PACKED/$file.zst" | cmp "$build/$file" - || { echo "run scripts/release/build_cuda.sh" >&2; exit 1; }
        done
        budget "$build/kernel_75.ptx" 75
        for gpu in 80 86 89 90 100 120; do budget "$build/kernel_80.ptx" "$gpu"; done
        ;;
    "")
        compile target/cuda/build
        mkdir -p "$PACKED"
        for file in "${FILES[@]}"; do zstd -19 -qf "target/cuda/build/$file" -o "$PACKED/$file.zst"; done
        ;;
    *) echo "usage: scripts/release/build_cuda.sh [--check | --install]" >&2; exit 2 ;;
esac
