#!/bin/bash
# All ranks of a run, read by a plain Slurm array: each task summarizes its share of the files, one more job merges.
#
#   array=$(sbatch --parsable --array=0-63 examples/slurm/fleet.sh /shared/run1 /shared/run1.parts)
#   sbatch --dependency=afterany:$array examples/slurm/fleet.sh --merge /shared/run1.parts run1.sss
#   stepscope report run1.sss
#
# A task may run again, or two of them at a time: a part replaces itself under the same name, whole or not at all, and
# merging counts each rank once. A file that cannot be read is named in its part, and stops nothing. Exit status 4 of
# stepscope (something was unreadable or lost) is none of Slurm's business; 2 and 3 fail the task.
#SBATCH --job-name=stepscope
#SBATCH --cpus-per-task=4
#SBATCH --mem=4G
#SBATCH --time=00:30:00
set -euo pipefail
stepscope=${STEPSCOPE:-stepscope}

partly_is_fine() {
  "$@" || [ $? -eq 4 ]
}

if [ "$1" = --merge ]; then
  partly_is_fine "$stepscope" merge "$2" -o "$3"
  exit
fi

run=$(realpath "$1") parts=$2 task=${SLURM_ARRAY_TASK_ID:-0} first=${SLURM_ARRAY_TASK_MIN:-0} count=${SLURM_ARRAY_TASK_COUNT:-1}
mkdir -p "$parts"
share=$(mktemp)
trap 'rm -f "$share"' EXIT
# In the same order in every task, whatever the locale: each takes every count-th file, so that sizes even out.
find "$run" -type f \( -name '*.json' -o -name '*.json.gz' -o -name '*.stepscope' \) |
  LC_ALL=C sort | awk -v count="$count" -v own=$((task - first)) 'NR % count == own' >"$share"
if [ -s "$share" ]; then
  partly_is_fine "$stepscope" summarize "@$share" -o "$parts/part$task.sss" --jobs "${SLURM_CPUS_PER_TASK:-1}"
fi
