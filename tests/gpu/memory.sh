#!/bin/bash
# memory.sh: everything about memory that needs a GPU, in one go: snapshots of five loops under seven allocator settings
# against torch.cuda.memory_stats(), each setting predicted from each other one, and `stepscope run --memory` against what
# the program itself read. Prints short tables; files go to $OUT/memory (default build/gpu/memory).
#
# STEPSCOPE_PROGRAM names the built program (default build/release/stepscope); PYTHON one with PyTorch. CASES names some of
# the loops, "" none: then only what follows them is done.
set -u
cd "$(dirname "$0")/../.."
out=${OUT:-build/gpu}/memory
program=${STEPSCOPE_PROGRAM:-build/release/stepscope}
python=${PYTHON:-python3}
steps=${STEPS:-30}
pairs=${PAIRS:-5}
jobs=${JOBS:-4} # recordings at a time: none of their numbers is a time
mkdir -p "$out/settings" "$out/runs"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
"$python" -c 'import torch; print("torch", torch.__version__)' || exit 1
loops=tests/gpu/memory/loops.py
status=0

record() { # record NAME CASE CONF: one loop under one setting, in a process of its own
  while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do wait -n || status=1; done
  record_now "$@" &
}

record_now() {
  PYTORCH_CUDA_ALLOC_CONF=$3 "$python" -W ignore $loops "$2" "$out/settings/$1" --steps "$steps" \
    > "$out/settings/$1.log" 2>&1 || { echo "failed: $1"; tail -3 "$out/settings/$1.log"; return 1; }
}

for case in ${CASES-streams graphs retries collected train}; do
  record $case-default $case ""
  record $case-expandable $case expandable_segments:True
  record $case-split $case max_split_size_mb:64
  record $case-roundup $case roundup_power2_divisions:8
  record $case-collect $case garbage_collection_threshold:0.6
  record $case-both $case expandable_segments:True,roundup_power2_divisions:4
  # Without a caching allocator there is no history; its numbers are the truth for --what-if no_caching.
  [ $case = graphs ] || PYTORCH_NO_CUDA_MEMORY_CACHING=1 record $case-uncached $case ""
done
for each in $(jobs -p); do wait "$each" || status=1; done
[ -z "${CASES-all}" ] || "$python" tests/gpu/memory/compare.py "$program" "$out/settings" > "$out/settings.txt" || status=1
[ -z "${CASES-all}" ] || cat "$out/settings.txt"

# What it costs: PyTorch's own history, a capture, a capture with memory, each beside a plain run.
for pair in $(seq "$pairs"); do
  measured() { # measured WAY [OPTION...] [-- RUNNER...]
    local way=$1
    shift
    "$@" "$python" -W ignore $loops train "$out/runs/$way-$pair" --steps $((2 * steps)) --no-snapshot $option > "$out/runs/$way-$pair.log" 2>&1 || status=1
  }
  option='' measured plain
  option=--history measured history
  option='' measured captured "$program" run --no-report --out "$out/runs/captured-$pair.captures" --
  option='' measured recorded "$program" run --memory --no-report --out "$out/runs/recorded-$pair.captures" --
done
# An out-of-memory error that the program survives: its snapshot shows the failure.
"$program" run --memory --no-report --out "$out/runs/oom.captures" -- \
  "$python" -W ignore $loops retries "$out/runs/oom" --steps "$steps" --no-snapshot > "$out/runs/oom.log" 2>&1 || status=1
ls "$out"/runs/oom.captures/*.oom1.pickle > /dev/null || { echo "no snapshot at the out-of-memory error"; status=1; }
"$python" tests/gpu/memory/compare.py "$program" "$out/runs" --run > "$out/runs.txt" || status=1
cat "$out/runs.txt"

# A program without PyTorch, whose lines are known: all of them, the peak, what is held at the end.
nvcc -g -O2 -o "$out/runs/plain" tests/gpu/memory/plain.cu -lcuda || exit 1
"$program" run --memory --no-report --out "$out/runs/plain.captures" -- "$out/runs/plain" > "$out/runs/plain.printed" || status=1
"$python" tests/gpu/memory/plain_check.py "$program" "$out"/runs/plain.captures/*.stepscope "$out/runs/plain.printed" || status=1
exit $status
