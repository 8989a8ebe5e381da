#!/usr/bin/env bash
# Makes all release packages for Linux on x86-64: a Python wheel with the program and the module, a tarball, a Debian package, the
# context of a container, the pages of docs/balance and docs/reports, and checksums for all of them. The same commit and toolchain
# give the same bytes in any folder.
#
#   scripts/release/release.sh [OUT]         writes the packages to OUT (default: target/release-packages)
#   scripts/release/release.sh --again OUT   makes the packages again from the last commit, in a clone elsewhere, and compares them
#                                            with those in OUT
#
# The program is compiled once, by maturin with the profile `dist` and zig's linker, and is the same in every package; the module in the
# wheel is a library without the training code. maturin and zig are installed under target/packaging in the versions that
# scripts/release/requirements.txt gives; the pages are also kept there (scripts/release/pages.py). Needs tar, gzip, and dpkg-deb.
set -euo pipefail
cd "$(dirname "$0")/../.."
umask 022
export LC_ALL=C

WANTED=scripts/release/requirements.txt
TOOLS=target/packaging/tools
PAGES=target/packaging/pages
# maturin packs this folder into the wheel; it must be empty when someone runs `pip install ./python` later
DATA=python/petteia._petteia.data
trap 'rm -rf "$DATA"' EXIT
# the oldest glibc that the program runs with: Debian 10, Ubuntu 20.04, RHEL 8
GLIBC=2.28
TARGET=x86_64-unknown-linux-gnu

again=
if [ "${1:-}" = --again ]; then again=1 && shift; fi
out=$(realpath -m "${1:-target/release-packages}")
build=$(realpath -m "${CARGO_TARGET_DIR:-target}")
stage=$PWD/target/packaging/stage

# The list of installed packages is written last, so that an interrupted installation starts over.
install_tools() {
    cmp -s "$WANTED" "$TOOLS/installed.txt" && return
    rm -rf "$TOOLS" && python3 -m venv "$TOOLS"
    "$TOOLS/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$WANTED"
    cp "$WANTED" "$TOOLS/installed.txt"
}

# Replaces paths on the builder's machine with paths in the sources, for C code, too. Does not use RUSTFLAGS, which would override the
# flags in .cargo/config.toml.
# compile FOLDER OUT [FLAG ...]: makes the wheel of the crate in FOLDER
compile() {
    local sources flags
    sources=${CARGO_HOME:-$HOME/.cargo}/registry/src
    flags="'--remap-path-prefix=$PWD=.','--remap-path-prefix=$build=target','--remap-path-prefix=$sources=/cargo'"
    CARGO_TARGET_DIR=$build CARGO_INCREMENTAL=0 CFLAGS="-ffile-prefix-map=$sources=/cargo" PATH="$PWD/$TOOLS/bin:$PATH" \
        maturin build --manifest-path "$1/Cargo.toml" --profile dist --zig --compatibility "manylinux_${GLIBC/./_}" \
        --target "$TARGET" --locked --out "$2" "${@:3}" \
        --config "target.'cfg(all())'.rustflags=[$flags]"
}

# the wheel must not contain the path of a folder on the builder's machine
expect_no_paths() {
    local path
    for path in "$PWD" "$build" "$HOME/" "${CARGO_HOME:-$HOME/.cargo}/"; do
        if grep -raF --files-with-matches "$path" "$1" >&2; then
            echo "release.sh: these files contain $path" >&2
            return 1
        fi
    done
}

# What accompanies the program in packages: man pages, completions, and licenses.
write_texts() {
    mkdir -p "$stage/man" "$stage/completions"
    "$stage/petteia" man "$stage/man" > /dev/null
    "$stage/petteia" completions bash > "$stage/completions/petteia.bash"
    "$stage/petteia" completions zsh > "$stage/completions/_petteia"
    "$stage/petteia" completions fish > "$stage/completions/petteia.fish"
    "$stage/petteia" licenses > "$stage/LICENSES.txt"
}

# pack FOLDER FILE: packs the folder as an archive that does not record who packed it or when
pack() {
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$(dirname "$1")" \
        -cf - "$(basename "$1")" | gzip -9n > "$2"
}

make_tarball() {
    local folder=$stage/petteia-$version-$TARGET
    mkdir "$folder"
    cp -r "$stage"/{petteia,man,completions,LICENSES.txt} README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$folder"
    mkdir "$folder/configs" && cp configs/*.toml "$folder/configs" && rm "$folder/configs/smoke.toml"
    pack "$folder" "$out/${folder##*/}.tar.gz"
}

make_debian_package() {
    local folder=$stage/debian share
    share=$folder/usr/share
    install -D "$stage/petteia" "$folder/usr/bin/petteia"
    install -D -m 644 -t "$share/man/man1" "$stage"/man/*
    install -D -m 644 "$stage/completions/petteia.bash" "$share/bash-completion/completions/petteia"
    install -D -m 644 -t "$share/zsh/vendor-completions" "$stage/completions/_petteia"
    install -D -m 644 -t "$share/fish/vendor_completions.d" "$stage/completions/petteia.fish"
    install -D -m 644 "$stage/LICENSES.txt" "$share/doc/petteia/copyright"
    install -D -m 644 CHANGELOG.md "$share/doc/petteia/changelog"
    gzip -9n "$share"/man/man1/* "$share/doc/petteia/changelog"
    mkdir "$folder/DEBIAN"
    sed "s/@VERSION@/$version/; s/@GLIBC@/$GLIBC/; s/@ABOUT@/$about/; s/@SIZE@/$(du -sk --apparent-size "$folder" | cut -f1)/" \
        packaging/control > "$folder/DEBIAN/control"
    (cd "$folder" && find usr -type f | sort | xargs md5sum > DEBIAN/md5sums)
    find "$folder" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$folder" "$out/petteia_${version}_amd64.deb" > /dev/null
}

make_container_context() {
    local folder=$stage/petteia-$version-container
    mkdir "$folder"
    cp packaging/Containerfile "$stage"/{petteia,LICENSES.txt} "$folder"
    pack "$folder" "$out/${folder##*/}.tar.gz"
}

make_pages() {
    local folder=$stage/petteia-pages-$version
    python3 scripts/release/pages.py "$stage/petteia" "$PAGES"
    cp -r "$PAGES" "$folder"
    cp docs/balance/SHA256SUMS "$folder/balance"
    cp docs/reports/SHA256SUMS "$folder/reports"
    pack "$folder" "$out/${folder##*/}.tar.gz"
}

# The program alone is also compiled as a wheel, because maturin links it for an old glibc and checks the result; the program is then taken
# out of the wheel.
make_all() {
    install_tools
    rm -rf "$stage" "$DATA" && mkdir -p "$stage" "$out"
    rm -f "$out"/petteia[-_]*.{whl,tar.gz,deb} "$out/SHA256SUMS"
    compile . "$stage/alone" --bindings bin
    python3 -m zipfile -e "$stage"/alone/petteia-*.whl "$stage/alone"
    install "$stage"/alone/*.data/scripts/petteia "$stage/petteia"
    rm -r "$stage/alone"
    install -D "$stage/petteia" "$DATA/scripts/petteia"
    compile python "$out"
    python3 -m zipfile -e "$out"/petteia-*.whl "$stage/wheel"
    cmp "$stage"/wheel/*.data/scripts/petteia "$stage/petteia"
    write_texts
    expect_no_paths "$stage"
    make_tarball
    make_debian_package
    make_container_context
    make_pages
    (cd "$out" && sha256sum petteia[-_]* > SHA256SUMS)
    ls -l "$out"
}

# A clone has only what was committed.
make_again() {
    local folder
    folder=$(mktemp -d)
    git clone --quiet . "$folder/another-place"
    mkdir -p "$folder/another-place/target/packaging"
    cp -r "$TOOLS" "$PAGES" "$folder/another-place/target/packaging"
    CARGO_TARGET_DIR= "$folder/another-place/scripts/release/release.sh" "$folder/packages"
    diff "$out/SHA256SUMS" "$folder/packages/SHA256SUMS" || { echo "release.sh: the bytes differ: see $folder" >&2; return 1; }
    rm -rf "$folder"
    echo "the bytes match"
}

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
version=$(sed -n '0,/^version = /s/^version = "\(.*\)"/\1/p' Cargo.toml)
about=$(sed -n 's/^description = "\(.*\)"/\1/p' Cargo.toml)
if [ -n "$again" ]; then make_again; else make_all; fi
