#!/bin/bash
# gate.sh: are the gate's promises kept on this GPU? Records 20 runs of 100 steps each of a quiet and of a noisy loop, each run
# in a process of its own, and draws whole runs into 1,000 pairs: at most 1 % alarms at the limit of 3 %, and planted
# slowdowns of 4.5 % of the quiet loop found in at least 95 %. The lists and the tables go to $OUT/gate (default build/gpu/gate).
#
# LOOPS: quiet, noisy or both (default). PYTHON: one with PyTorch and stepscope; STEPSCOPE_FALSE_ALARMS: the built
# bench/gate/false_alarms.
set -u
cd "$(dirname "$0")/../.."
out=${OUT:-build/gpu}/gate
python=${PYTHON:-python3}
false_alarms=${STEPSCOPE_FALSE_ALARMS:-build/bench/bench/gate/false_alarms}
runs=${RUNS:-20}
steps=${STEPS:-100}
mkdir -p "$out"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw --format=csv,noheader
status=0
loops=${LOOPS:-quiet noisy}
for loop in $loops; do
  list=$out/$loop.json
  "$python" -W ignore tests/gpu/gate/loops.py $loop --steps "$steps" --runs "$runs" > "$list" 2> "$out/$loop.log" ||
    { echo "failed: $loop"; tail -3 "$out/$loop.log"; exit 1; }
  echo "$loop"
  "$false_alarms" "$list" | tee "$out/$loop.txt" || status=1
done
# The promises, of single runs a side; no alarm counts for a loop that cannot be told.
check() { # check FILE COLUMN TEST WORDS
  [[ " $loops " == *" $1 "* ]] || return 0
  awk -v column="$2" "\$1 == \"1/1\" { value = \$column; found = 1 } END { exit !(found && value $3) }" "$out/$1.txt" ||
    { echo "broken: $4"; status=1; }
}
check quiet 2 '<= 1.0' "more than 1 % alarms of the quiet loop"
check noisy 2 '<= 1.0' "more than 1 % alarms of the noisy loop"
check quiet 4 '>= 95.0' "fewer than 95 % of the slowdowns of the quiet loop were found"
exit $status
