#!/bin/bash
# compare_import.sh FILE.json [RUNS]: seconds, CPU seconds and peak memory to load one trace, ours and the peers found
# here, in one run.
#
# Peers: Python's json module; HolisticTraceAnalysis where a python has it (HTA_PYTHON=..., else python3); Perfetto's
# trace processor where it is built (TRACE_PROCESSOR=..., else trace_processor_shell in PATH). Ours and the trace
# processor run RUNS times (3) in turns and the best of each counts; the others run once, since they take minutes. CPU
# seconds (user and system) are told beside the clock's: on a machine with other work the clock says more about that work.
#
#   cmake --preset bench && cmake --build build/bench --target import_file stepscope
#   bench/compare_import.sh solid500.json
set -u
cd "$(dirname "$0")/.."
file=$(realpath "${1:?usage: compare_import.sh FILE.json [RUNS]}")
runs=${2:-3}
ours=build/bench/bench/import_file
program=build/bench/stepscope
for built in "$ours" "$program"; do
  [ -x "$built" ] || { echo "build it first: cmake --preset bench && cmake --build build/bench --target import_file stepscope"; exit 1; }
done
shell=${TRACE_PROCESSOR:-$(command -v trace_processor_shell)}
hta=${HTA_PYTHON:-python3}
"$hta" -c 'import hta' 2>/dev/null || hta=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'select count(*) from slice;' >"$work/count.sql"

# measure NAME COMMAND...: adds "seconds cpu_seconds peak_megabytes" to NAME's runs, or nothing if it fails.
measure() {
  local name=$1
  shift
  python3 - "$@" >>"$work/$name" <<'EOF_PYTHON'
import resource, subprocess, sys, time
begin = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
seconds = time.perf_counter() - begin
used = resource.getrusage(resource.RUSAGE_CHILDREN)
if done.returncode == 0:
    print(f"{seconds:.3f} {used.ru_utime + used.ru_stime:.3f} {used.ru_maxrss * 1024 / 1e6:.1f}")
EOF_PYTHON
}

# best NAME: the least of its clock times, of its CPU times and of its peaks.
best() {
  awk 'NR == 1 || $1 < s {s = $1} NR == 1 || $2 < c {c = $2} NR == 1 || $3 < p {p = $3} END {if (NR) print s, c, p}' "$work/$1"
}

row() {  # NAME TITLE; who was never run has no file of runs
  if [ -s "$work/$1" ]; then
    echo "$(best "$1") $(best import)" | awk -v title="$2" \
      '{printf "%-28s %9s %9s %9s %9.1f %9.1f %9.1f\n", title, $1, $2, $3, $1 / $4, $2 / $5, $3 / $6}'
  else
    printf '%-28s %s\n' "$2" "$([ -e "$work/$1" ] && echo failed || echo 'not found')"
  fi
}

for _ in $(seq "$runs"); do
  measure import "$ours" "$file"
  measure report "$program" report "$file"
  [ -n "$shell" ] && measure perfetto "$shell" -q "$work/count.sql" "$file"
done
measure json python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$file"
[ -n "$hta" ] && measure hta "$hta" -c '
import sys
from hta.trace_analysis import TraceAnalysis
TraceAnalysis(trace_files={0: sys.argv[1]})' "$file"

printf '%s, %s MB, %s cores, load %s\n' "$(basename "$file")" "$(awk "BEGIN {printf \"%.0f\", $(stat -Lc %s "$file") / 1e6}")" \
  "$(nproc)" "$(cut -d ' ' -f 1 /proc/loadavg)"
printf '%-28s %9s %9s %9s %9s %9s %9s\n' loader seconds 'CPU s' 'peak MB' 'x time' 'x CPU' 'x memory'
row import "stepscope (import)"
row report "stepscope report"
row perfetto "Perfetto trace processor"
row json "Python json.load"
row hta "HolisticTraceAnalysis"
