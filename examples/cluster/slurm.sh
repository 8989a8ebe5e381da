#!/usr/bin/env bash
# Trains one run on Slurm: task 0 of the array learns, the others play. A task that ends before the run is finished is put
# back into the queue. The run is in a folder that all nodes share, or in an object store.
#
#   sbatch --array=0-8 --cpus-per-task=4 examples/cluster/slurm.sh phage /shared/runs/phage
#SBATCH --job-name=petteia
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=petteia-%A-%a.log
#SBATCH --signal=TERM@60
config=$1 run=$2 workers=$SLURM_ARRAY_TASK_MAX threads=${SLURM_CPUS_PER_TASK:-1}
if [ "$SLURM_ARRAY_TASK_ID" -eq 0 ]; then
    srun petteia learn "$run" "$config" --take-over --threads "$threads"
else
    srun petteia worker "$run" --index $((SLURM_ARRAY_TASK_ID - 1)) --of "$workers" --threads "$threads"
fi
code=$?
# requeue the task after any exit code except 0 (done) and 2 (a restart cannot help)
if [ $code -ne 0 ] && [ $code -ne 2 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
fi
exit $code
