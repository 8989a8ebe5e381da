#!/usr/bin/env bash
# Trains a small run with examples/cluster/slurm.sh on a one-node Slurm cluster on this machine (Debian: slurm-wlm, munge), kills a
# worker and the learner during training, and audits the run. Needs root to start Slurm's own processes.
#
#   scripts/check/cluster/slurm_check.sh PETTEIA
set -euo pipefail
petteia=$(realpath "$1")
examples=$(realpath "$(dirname "$0")/../../../examples/cluster")
folder=$(mktemp -d /tmp/petteia-slurm-XXXXXX)
host=$(hostname -s)
cores=$(nproc)
port=$((20000 + RANDOM % 10000))
finish() {
    kill "$slurmd" "$slurmctld" 2>/dev/null || true
    pkill -f "^munged .*--key-file=$folder/munge.key" || true
}
trap finish EXIT
mkdir "$folder"/{bin,state,spool,munge}
ln -s "$petteia" "$folder/bin/petteia"
chmod 0755 "$folder" "$folder/munge"
dd if=/dev/urandom of="$folder/munge.key" bs=1024 count=1 status=none
chmod 0400 "$folder/munge.key"
munged --force --key-file="$folder/munge.key" --socket="$folder/munge/socket" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munge.seed"
cat > "$folder/slurm.conf" <<END
ClusterName=check
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ReturnToService=2
KillWait=5
RequeueExit=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=$((cores < 2 ? 2 : cores)) State=UNKNOWN
SlurmdParameters=config_overrides
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE OverSubscribe=FORCE:4 State=UP
END
export SLURM_CONF=$folder/slurm.conf
slurmctld -D > "$folder/slurmctld.out" 2>&1 &
slurmctld=$!
slurmd -D > "$folder/slurmd.out" 2>&1 &
slurmd=$!
for _ in $(seq 150); do
    if sinfo --noheader --format=%T 2>/dev/null | grep -q idle; then break; fi
    sleep 0.2
done
sinfo
cat > "$folder/config.toml" <<END
game.id = "tic-tac-toe"
seed = 7
net = { filters = 8, blocks = 1, value_hidden = 16 }
search.simulations = 32
selfplay = { games = 1024, batch = 32, bootstrap_games = 1024, bootstrap_simulations = 32 }
train = { generations = 6, batch = 32, warmup_steps = 10 }
arena = { opponent = "random", opening_plies = 2, games = 4, final_games = 8, simulations = 8 }
END
"$petteia" train "$folder/config.toml" --run "$folder/alone" > "$folder/alone.log" 2>&1
cd "$folder"
PATH=$folder/bin:$PATH sbatch --array=0-2 --cpus-per-task=1 "$examples/slurm.sh" "$folder/config.toml" "$folder/run"
until [ -e "$folder/run/checkpoints/generation-0001" ]; do sleep 0.1; done
# killed tasks are requeued
kill_one() { pkill -KILL -f "^([^ ]*/)?petteia $1"; }
kill_one "worker $folder/run --index 0"
until [ -e "$folder/run/checkpoints/generation-0002" ]; do sleep 0.1; done
kill_one "learn $folder/run"
until [ -z "$(squeue --noheader)" ]; do
    # Slurm delays a requeued task by two minutes; skip this delay
    squeue --noheader --states=PENDING --format=%A | while read -r job; do
        scontrol update JobId="$job" StartTime=now 2>/dev/null || true
    done
    sleep 1
done
tail -n 2 "$folder"/petteia-*.log
"$petteia" audit "$folder/run"
cmp "$folder/run/checkpoints/generation-0006/weights.safetensors" "$folder/alone/checkpoints/generation-0006/weights.safetensors"
echo "the weights match those of a single process byte for byte"
cd /
rm -rf "$folder"
