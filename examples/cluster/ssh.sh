#!/usr/bin/env bash
# Trains one run on several machines over ssh: the learner runs here, and a worker runs on each HOST. Each process is restarted
# until it is done or its exit code (2) says that a restart cannot help. The run is in a folder that all machines share, or in an
# object store; every machine must have the store's credentials in its environment.
#
#   examples/cluster/ssh.sh phage s3://bucket/phage host-1 host-2 host-3
set -u
config=$1 run=$2
shift 2
again() { until "$@"; do [ $? -eq 2 ] && return 2; sleep 1; done; }
trap 'kill $(jobs -p)' EXIT
index=0
for host in "$@"; do
    again ssh -o BatchMode=yes "$host" petteia worker "$run" --index $index --of $# &
    index=$((index + 1))
done
again petteia learn "$run" "$config" --take-over
wait
trap - EXIT
