#!/usr/bin/env bash
# Trains one run on machines that are reached by ssh: the learner here, a worker on each HOST. Each is started again until
# it is done or says that it can never help. The run is in a folder that all machines share, or in an object store, whose
# credentials are in the environment of each.
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
