#!/usr/bin/env bash
# All checks that must pass before a change is merged: formatting, licenses of dependencies, the compiled GPU program, lints, the README's test
# command, exports read by tract, and docs. --deep adds slow checks: perft counts, rules as text against OpenSpiel, every fault in
# tests/it/faults, exports in other runtimes, runs shared by many processes on object stores and under schedulers, the page in a browser (if one
# is installed), GPUs through Vulkan (if a driver is installed; a software driver is enough), packages in minimal Debian roots (if mmdebstrap
# can make them), and the fused forward pass under AddressSanitizer (if a nightly toolchain is installed).
#
# The tests check exports against ONNX Runtime with the Python that PETTEIA_PYTHON names. If the variable is not set, this script
# creates an environment under target/python, once, with the packages of scripts/check/requirements.txt and scripts/study/requirements.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = "--deep" ]; then export PETTEIA_DEEP=1; fi

# Runs a command and records how many seconds it took; the script prints a table of all times at the end.
times=()
step() {
    local began=$SECONDS failed=0
    printf '\n== %s\n' "$*"
    "$@" || failed=$?
    times+=("$(printf '%5d s  %s' $((SECONDS - began)) "$*")")
    return $failed
}
print_times() { printf '\n== where the time went\n' && printf '%s\n' "${times[@]}" "$(printf '%5d s  total' $SECONDS)"; }
trap print_times EXIT

# The list of installed packages is written last, so that an interrupted installation starts over.
install_python() {
    local folder=target/python wanted
    wanted=$(cat scripts/check/requirements.txt scripts/study/requirements.txt)
    if [ "$wanted" != "$(cat "$folder/installed.txt" 2> /dev/null)" ]; then
        rm -rf "$folder" &&
            python3 -m venv "$folder" &&
            "$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
                -r scripts/check/requirements.txt -r scripts/study/requirements.txt &&
            printf '%s\n' "$wanted" > "$folder/installed.txt"
    fi
}

if [ -z "${PETTEIA_PYTHON:-}" ]; then
    if step install_python; then
        HAS_STUDIES=1
        export PETTEIA_PYTHON="$PWD/target/python/bin/python"
    else
        printf '\n!! NOTICE: the packages for Python could not be installed, so NOTHING IS CHECKED AGAINST ONNX RUNTIME, AND STUDIES ARE NOT TESTED.\n' >&2
        printf '!! The reason is above; set PETTEIA_PYTHON to a Python that has the packages.\n\n' >&2
    fi
fi

# The forward pass is the only unsafe code in self-play. tests/sanitizer contains only that code, so a nightly compiler is enough.
sanitize() {
    local target
    target=$(rustc -vV | sed -n 's/^host: //p')
    (cd tests/sanitizer && RUSTFLAGS="-Zsanitizer=address" CARGO_TARGET_DIR="$OLDPWD/target/sanitizer" \
        cargo +nightly test --locked --target "$target")
}

# A crate written by `petteia new` builds, passes its tests, trains, and exports without edits.
check_new_crate() {
    local folder
    folder=$(mktemp -d)
    "$PETTEIA" new nine-stones --path "$folder/nine-stones" --from-checkout "$PWD" &&
        (cd "$folder/nine-stones" &&
            cargo test --release &&
            cargo run --release -- train configs/nine-stones.toml --set train.generations=2 &&
            cargo run --release -- export runs/nine-stones --format bot --out bot &&
            printf 'ugi\ngo nodes 50\nquit\n' | ./bot | grep -q '^bestmove ') &&
        rm -rf "$folder"
}

# A program that does not train must not build any part of burn.
without_burn() { ! cargo tree --locked --no-default-features --features web --prefix none | grep '^burn'; }

# An environment for the Python module. uv downloads several packages at a time; PyTorch is installed without the dependencies that it
# never loads.
MODULE=$PWD/target/python-module
install_module() {
    local wanted
    wanted=$(cat python/requirements.txt python/torch-requirements.txt)
    if [ "$wanted" != "$(cat "$MODULE/installed.txt" 2> /dev/null)" ]; then
        rm -rf "$MODULE" &&
            python3 -m venv "$MODULE" &&
            "$MODULE/bin/python" -m pip install --quiet --disable-pip-version-check uv &&
            "$MODULE/bin/uv" pip install --quiet --python "$MODULE/bin/python" -r python/requirements.txt &&
            "$MODULE/bin/uv" pip install --quiet --python "$MODULE/bin/python" --no-deps -r python/torch-requirements.txt &&
            printf '%s\n' "$wanted" > "$MODULE/installed.txt"
    fi
}

# Installs the wheel, which is not optimized because that takes minutes, into an environment without anything else from this checkout.
build_module() {
    rm -rf "$MODULE/wheels" &&
        "$MODULE/bin/maturin" build --manifest-path python/Cargo.toml --profile quick --locked --quiet --out "$MODULE/wheels" &&
        "$MODULE/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$MODULE"/wheels/*.whl
}

test_module() { (cd python/tests && "$MODULE/bin/python" -m pytest --quiet -p no:cacheprovider .); }

# The stubs describe everything in the compiled part except the list of names, which it creates itself.
check_stubs() {
    (cd "$MODULE" && bin/python -m mypy.stubtest petteia._petteia --ignore-disjoint-bases --allowlist <(echo 'petteia\._petteia\.__all__'))
}

# Random games by our texts and by OpenSpiel's rules, side by side.
compare_open_spiel() {
    "$MODULE/bin/uv" pip install --quiet --python "$MODULE/bin/python" -r scripts/check/open-spiel-requirements.txt &&
        "$MODULE/bin/python" scripts/check/open_spiel.py
}

# Examples of the module, with small settings.
run_examples() {
    local python=$MODULE/bin/python plot=$MODULE/advantage.png
    rm -f "$plot" &&
        "$python" python/examples/first_player.py tic-tac-toe hex:size=3 --games 60 --levels 4 64 --out "$plot" && [ -s "$plot" ] &&
        "$python" python/examples/own_search.py --game tic-tac-toe --simulations 100 --games 2 &&
        "$python" python/examples/pytorch_training.py --generations 2 --games 20 --simulations 8 --steps 15 --match 4 &&
        "$python" -c 'import nbformat, nbclient; nbclient.NotebookClient(nbformat.read("python/examples/tour.ipynb", 4)).execute()'
}

# The library without burn, for WebAssembly. Uses this toolchain's target if it is installed; otherwise uses Debian's rustc-web and
# cargo-web, which build the standard library from the sources in rust-web-src.
has_wasm() { [ -d "$(rustc --print target-libdir --target wasm32-unknown-unknown)" ]; }
has_debian_wasm() { [ -x /usr/bin/cargo ] && [ -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library" ]; }
check_wasm() {
    local flags=(--release --locked --lib --no-default-features --target wasm32-unknown-unknown)
    if has_wasm; then
        RUSTFLAGS="-D warnings" cargo check "${flags[@]}"
    else
        RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS="-D warnings" \
            /usr/bin/cargo check "${flags[@]}" -Zbuild-std=std,panic_abort --target-dir "$CARGO_TARGET_DIR/wasm"
    fi
}

# crates.io rejects packages of 10 MB or more.
check_crate_size() {
    local size
    cargo package --locked --allow-dirty --no-verify --quiet --package petteia &&
        size=$(stat --format %s "$CARGO_TARGET_DIR"/package/petteia-[0-9]*.crate) &&
        echo "the crate has $size bytes" && [ "$size" -lt 8000000 ]
}

# Installs the packages where nothing else is installed, then makes them again and compares the bytes.
check_packages() {
    local folder=$CARGO_TARGET_DIR/release-packages
    scripts/release/release.sh "$folder" && scripts/check/packages.sh "$folder" && scripts/release/release.sh --again "$folder"
}

# Half a minute of training by a program for a game that does not come with Petteia.
train_breakthrough() {
    local folder
    folder=$(mktemp -d)
    cargo run --release --locked --package breakthrough -- train examples/breakthrough/configs/breakthrough-5.toml --run "$folder/run" &&
        cargo run --release --locked --package breakthrough -- inspect "$folder/run" &&
        rm -rf "$folder"
}

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
export PETTEIA="$CARGO_TARGET_DIR/release/petteia"

step cargo fmt --all --check
# the notices in every program match its dependencies
step python3 scripts/release/licenses.py --check
# the committed GPU program matches its source
if step scripts/release/build_cuda.sh --install; then
    step scripts/release/build_cuda.sh --check
else
    printf '\n!! NOTICE: the compiler of scripts/release/cuda-requirements.txt could not be installed, so THE PROGRAM FOR GPUS IS NOT COMPARED WITH ITS SOURCE.\n\n' >&2
fi
step cargo clippy --release --locked --workspace --all-targets -- -D warnings
step check_crate_size
step cargo test --release --locked
# this uses the program built for the tests, which is not optimized, because optimizing takes minutes and the networks are small
step cargo test --locked --profile quick --package check-onnx --package connect-four-set
step cargo test --release --locked --package breakthrough
step train_breakthrough
step check_new_crate
# studies of settings, with the environment from above
if [ -n "${HAS_STUDIES:-}" ]; then step "$PETTEIA_PYTHON" scripts/study/test_studies.py; fi
# pages in a file give the same answers as the program
if command -v node > /dev/null; then
    step node scripts/check/file/equal.mjs "$PETTEIA" phage cage-6 connect-four custodial-trap-advanced caissa tic-tac-toe konane rules/hex.game --positions 25
else
    printf '\n!! NOTICE: node is missing, so PAGES IN A FILE ARE NOT COMPARED WITH THE PROGRAM (Debian: nodejs).\n\n' >&2
fi
# the Python module
if step install_module; then
    step build_module
    step test_module
    step check_stubs
    step run_examples
else
    printf '\n!! NOTICE: python/requirements.txt could not be installed, so THE PYTHON MODULE IS NOT TESTED.\n\n' >&2
fi
# many processes sharing one run
step scripts/check/cluster.sh --short "$PETTEIA"
# the program with object stores, without the page, and without training (needs no burn), and the library alone
step cargo clippy --release --locked --features cloud -- -D warnings
step cargo check --release --locked --no-default-features --features cli,train
step cargo check --release --locked --no-default-features --features web
step without_burn
step cargo check --release --locked --lib --no-default-features
if has_wasm || has_debian_wasm; then
    step check_wasm
else
    printf '\n!! NOTICE: no toolchain for WebAssembly is installed, so THE LIBRARY IS NOT CHECKED FOR WEBASSEMBLY (rustup target add wasm32-unknown-unknown, or Debian: rustc-web cargo-web rust-web-src).\n\n' >&2
fi
RUSTDOCFLAGS="-D warnings" step cargo doc --release --locked --no-deps
if [ -n "${PETTEIA_DEEP:-}" ]; then
    step compare_open_spiel
    if command -v node && command -v npm && command -v "${CHROMIUM:-chromium}"; then
        step scripts/check/page.sh "$PETTEIA"
        if command -v firefox-esr || command -v firefox; then
            step scripts/check/page.sh "$PETTEIA" --firefox
        else
            printf '\n!! NOTICE: no firefox is installed, so PAGES IN A FILE ARE NOT CHECKED IN FIREFOX (Debian: firefox-esr).\n' >&2
        fi
    else
        printf '\n!! NOTICE: node, npm or chromium is missing, so THE PAGE IS NOT CHECKED IN A BROWSER (Debian: nodejs npm chromium).\n' >&2
    fi
    if step python3 scripts/check/onnx_runtimes.py --install; then
        step python3 scripts/check/onnx_runtimes.py "$PETTEIA"
    else
        printf '\n!! NOTICE: the ONNX runtimes could not be installed, so EXPORTS ARE NOT RUN IN THEM; the reason is above.\n\n' >&2
    fi
    step scripts/check/cluster.sh
    if has_debian_wasm; then
        step scripts/release/build_wasm.sh --check
    else
        printf '\n!! NOTICE: THE PROGRAM FOR PAGES IN A FILE IS NOT COMPARED WITH ITS SOURCE (Debian: rustc-web cargo-web rust-web-src lld-22).\n\n' >&2
    fi
    if [ -n "${VK_DRIVER_FILES:-}" ] || compgen -G '/usr/share/vulkan/icd.d/*.json' >/dev/null || compgen -G '/etc/vulkan/icd.d/*.json' >/dev/null; then
        step cargo clippy --release --locked --all-targets --features vulkan -- -D warnings
        step cargo test --release --locked --features vulkan --test it vulkan
    else
        printf '\n!! NOTICE: no Vulkan driver is installed, so NOTHING RUNS ON A GPU (Debian: libvulkan1 mesa-vulkan-drivers).\n' >&2
    fi
    if step scripts/check/packages.sh --install; then
        step check_packages
    else
        printf '\n!! NOTICE: no minimal Debian root could be made, so NO PACKAGE IS MADE AND INSTALLED; the reason is above (Debian: mmdebstrap).\n' >&2
    fi
    if rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
        step sanitize
    else
        printf '\n!! NOTICE: no nightly toolchain is installed, so net/infer IS NOT CHECKED BY A SANITIZER (rustup toolchain install nightly).\n' >&2
    fi
fi
