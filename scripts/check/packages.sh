#!/usr/bin/env bash
# Installs the packages of scripts/release/release.sh in minimal Debian roots without a network, uses them as a new user without any
# other installed software would, and measures the CPU time of the first commands. The tarball, the container's files, and their bots
# run without /proc. The wheel needs NumPy, which is downloaded beforehand to target/packaging.
#
#   scripts/check/packages.sh OUT
#   scripts/check/packages.sh --install   only makes the minimal root, once, under target/packaging; fails if that is not possible
#
# Needs root, mmdebstrap, and unshare. PETTEIA_SUITE selects another Debian release, with glibc 2.28 or later.
set -euo pipefail
cd "$(dirname "$0")/../.."

suite=${PETTEIA_SUITE:-bookworm}
base=$PWD/target/packaging/$suite.tar

install_root() {
    local missing=()
    for tool in mmdebstrap unshare chroot; do command -v "$tool" > /dev/null || missing+=("$tool"); done
    [ "$(id -u)" = 0 ] || missing+=("root")
    if [ ${#missing[@]} -gt 0 ]; then
        echo "packages.sh: missing: ${missing[*]}" >&2
        return 1
    fi
    if [ ! -f "$base" ]; then
        mkdir -p "${base%/*}"
        mmdebstrap --quiet --variant=minbase --include=python3-venv "$suite" "${base%.tar}.new.tar" &&
            mv "${base%.tar}.new.tar" "$base"
    fi
}

install_root || exit 1
[ "$1" != --install ] || exit 0
out=$(realpath "$1")
roots=$(mktemp -d)
trap 'rm -rf "$roots"' EXIT

# new_root NAME [FILE ...]: makes a minimal root with these files in /packages
new_root() {
    local root=$roots/$1
    mkdir "$root" && tar -xf "$base" -C "$root" && mkdir "$root/packages"
    shift && [ $# = 0 ] || cp "$@" "$root/packages"
}

# inside NAME [--without-proc]: runs the script on standard input in that root, without a network
inside() {
    local root=$roots/$1 proc="mount -t proc proc '$roots/$1/proc' &&"
    [ "${2:-}" != --without-proc ] || proc=
    unshare --net --mount --pid --fork sh -c "$proc exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 chroot '$root' bash -euo pipefail -s"
}

# common first steps; the game, which consists of bad actions, must end, whoever wins; without /proc, <(...) does not work
USE='
quiet() { "$@" > /tmp/said 2>&1 || { cat /tmp/said >&2; return 1; }; }
cd "$(mktemp -d)"
petteia --version
petteia games | grep -q "^tic-tac-toe "
printf "%s\n" b1 a2 c2 b3 a1 c1 a3 c3 b2 | petteia play tic-tac-toe | grep -Em1 "wins$|^a draw$"
quiet petteia train tic-tac-toe --set train.generations=1
quiet petteia export runs/tic-tac-toe
printf "ugi\ngo nodes 50\nquit\n" | ./tic-tac-toe-bot | grep "^bestmove "
petteia licenses > licenses
./tic-tac-toe-bot --licenses | cmp - licenses
'

# seconds of user and system time for each command, and in total
STOPWATCH='
TIMEFORMAT="%U %S"
stopped=()
timed() {
    local what=$1
    shift
    stopped+=("$({ time "$@" > /tmp/said 2>&1; } 2>&1 | awk -v what="$what" "{ printf \"%7.2f s  %s\", \$1 + \$2, what }")")
}
# columns from left to right: a sequence of actions that loses against any opponent
play() { printf "%s\n" 1 2 3 4 5 6 7 1 2 3 4 5 6 7 1 2 3 4 5 6 7 | petteia play connect-four --opponent shipped; }
cd "$(mktemp -d)"
python3 -m venv environment
. environment/bin/activate
timed "pip install --no-index" pip install --no-index --find-links /packages petteia
timed "petteia play connect-four" play
grep -m1 "^Yellow wins" /tmp/said
timed "petteia train tic-tac-toe" petteia train tic-tac-toe
timed "petteia report runs/tic-tac-toe" petteia report runs/tic-tac-toe
ls ./*.html
printf "%s\n" "${stopped[@]}" | awk "{ print; sum += \$1 } END { printf \"%7.2f s  of CPU time in total\n\", sum; exit sum > 60 }"
'

# the same installation provides the Python module (with the program's version) and the licenses of both
MODULE='
import importlib.metadata, subprocess
import numpy, petteia
said = subprocess.run(["petteia", "--version"], check=True, capture_output=True, text=True).stdout
assert said == f"petteia {petteia.__version__}\n", (said, petteia.__version__)
texts = {path.name: path.read_text() for path in importlib.metadata.files("petteia") if "LICENSE" in path.name}
of_program = subprocess.run(["petteia", "licenses"], check=True, capture_output=True, text=True).stdout
assert texts["LICENSES-program.txt"] in of_program, "the wheel's program licenses differ from the program's"
assert "pyo3" in texts["LICENSES.txt"] and {"LICENSE-MIT", "LICENSE-APACHE"} < texts.keys(), texts.keys()
game = petteia.Game("connect-four")
batch = game.batch(1000)
ended = sum(batch.apply(batch.sample())[1].sum() for _ in range(60))
assert ended > 1000, ended
uniform = lambda planes: (numpy.ones((len(planes), game.actions)), numpy.zeros(len(planes)))
print(petteia.analyze([game.position()], uniform, 100)[0])
result = petteia.play_match(petteia.Game("phage"), "shipped:20", "random", 20)
print(result)
assert result.wins > 15
'

numpy=$PWD/target/packaging/numpy
fetch_numpy() {
    mkdir -p "$numpy"
    python3 -m pip download --quiet --disable-pip-version-check --only-binary :all: --python-version 3.11 --dest "$numpy" numpy
}

check_wheel() {
    new_root wheel "$out"/petteia-*.whl "$numpy"/*.whl
    { echo 'python3 -m venv /environment && export PATH=/environment/bin:$PATH
        ! command -v cc && pip install --quiet --no-index --find-links /packages petteia' && echo "$USE" &&
        printf "python - << 'END'%sEND\n" "$MODULE"; } | inside wheel
}

check_debian_package() {
    new_root debian "$out"/*.deb
    { echo 'dpkg -i /packages/*.deb
        test -s /usr/share/man/man1/petteia-train.1.gz && test -s /usr/share/doc/petteia/copyright
        . /usr/share/bash-completion/completions/petteia && complete -p petteia' && echo "$USE" && echo 'dpkg -r petteia'; } | inside debian
}

check_tarball() {
    new_root tarball "$out"/petteia-*-linux-gnu.tar.gz
    { echo 'test ! -e /proc/self
        tar -xzf /packages/*.tar.gz && cd petteia-*
        export PATH=$PWD:$PATH
        petteia config tic-tac-toe | cmp - configs/tic-tac-toe.toml
        test -s man/petteia-train.1 && petteia licenses | cmp - LICENSES.txt' && echo "$USE"; } | inside tarball --without-proc
}

# The files that the Containerfile copies, at their destinations.
check_container_context() {
    local root=$roots/container context word from to
    new_root container
    mkdir "$roots/context" && tar -xzf "$out"/petteia-*-container.tar.gz -C "$roots/context"
    context=$(echo "$roots"/context/*)
    while read -r word from to; do
        case $word in
            COPY) install -D "$context/$from" "$root$to" ;;
            WORKDIR) mkdir -p "$root$from" ;;
        esac
    done < "$context/Containerfile"
    { echo 'test ! -e /proc/self' && echo "$USE"; } | inside container --without-proc
}

# The file that cargo-binstall would download exists and contains the program.
check_binstall() {
    python3 - "$out" << 'END'
import sys, tarfile, tomllib
from pathlib import Path
package = tomllib.loads(Path("Cargo.toml").read_text())["package"]
names = {"version": package["version"], "target": "x86_64-unknown-linux-gnu", "bin": "petteia", "binary-ext": ""}
def filled(text):
    for name, value in names.items():
        text = text.replace(f"{{ {name} }}", value)
    return text
how = package["metadata"]["binstall"]
tarball = Path(sys.argv[1], filled(how["pkg-url"]).rsplit("/", 1)[1])
assert tarfile.open(tarball).getmember(filled(how["bin-dir"])).mode == 0o755
END
}

# The pages match those that the guides describe.
check_pages() {
    mkdir "$roots/pages" && tar -xzf "$out"/petteia-pages-*.tar.gz -C "$roots/pages" --strip-components 1
    for name in balance reports; do
        cmp "docs/$name/SHA256SUMS" "$roots/pages/$name/SHA256SUMS"
        (cd "$roots/pages/$name" && sha256sum --quiet --check --strict SHA256SUMS)
    done
}

(cd "$out" && sha256sum --check --strict SHA256SUMS)
fetch_numpy
for check in check_binstall check_wheel check_debian_package check_tarball check_container_context check_pages; do
    echo "-- $check"
    "$check"
done
echo "-- the first minutes"
new_root stopwatch "$out"/petteia-*.whl "$numpy"/*.whl
echo "$STOPWATCH" | inside stopwatch
