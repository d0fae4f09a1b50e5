#!/bin/bash
# compare_import.sh FILE.json [RUNS]: seconds and peak memory to load one trace, ours and the peers found here, in one run.
#
# Peers: Python's json module; HolisticTraceAnalysis where a python has it (HTA_PYTHON=..., else python3); Perfetto's
# trace processor where it is built (TRACE_PROCESSOR=..., else trace_processor_shell in PATH). Ours runs RUNS times
# (3) and the best counts; peers run once, since they take minutes.
#
#   cmake --preset bench && cmake --build build/bench --target import_file
#   bench/compare_import.sh solid500.json
set -u
cd "$(dirname "$0")/.."
file=$(realpath "${1:?usage: compare_import.sh FILE.json [RUNS]}")
runs=${2:-3}
ours=build/bench/bench/import_file
[ -x "$ours" ] || { echo "build it first: cmake --preset bench && cmake --build build/bench --target import_file"; exit 1; }

# measure COMMAND...: prints "seconds peak_megabytes", or nothing if it fails.
measure() {
  python3 - "$@" <<'EOF'
import resource, subprocess, sys, time
begin = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
seconds = time.perf_counter() - begin
if done.returncode == 0:
    print(f"{seconds:.3f} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6:.1f}")
EOF
}

best_seconds= best_peak=
for _ in $(seq "$runs"); do
  read -r seconds peak < <(measure "$ours" "$file")
  if [ -z "$best_seconds" ] || awk "BEGIN {exit !($seconds < $best_seconds)}"; then
    best_seconds=$seconds best_peak=$peak
  fi
done

bytes=$(stat -c %s "$file")
printf '%s, %s MB, %s cores\n' "$(basename "$file")" "$(awk "BEGIN {printf \"%.0f\", $bytes / 1e6}")" "$(nproc)"
printf '%-28s %10s %10s %10s %12s\n' loader seconds 'peak MB' 'x time' 'x memory'
row() {  # NAME SECONDS PEAK
  printf '%-28s %10s %10s %10s %12s\n' "$1" "$2" "$3" "$(awk "BEGIN {printf \"%.1f\", $2 / $best_seconds}")" \
    "$(awk "BEGIN {printf \"%.1f\", $3 / $best_peak}")"
}
peer() {  # NAME COMMAND...
  local name=$1 seconds peak
  shift
  read -r seconds peak < <(measure "$@")
  if [ -n "${seconds:-}" ]; then row "$name" "$seconds" "$peak"; else printf '%-28s failed\n' "$name"; fi
}

row "stepscope (import)" "$best_seconds" "$best_peak"
peer "Python json.load" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$file"
shell=${TRACE_PROCESSOR:-$(command -v trace_processor_shell)}
if [ -n "$shell" ]; then
  query=$(mktemp)
  echo 'select count(*) from slice;' >"$query"
  peer "Perfetto trace processor" "$shell" -q "$query" "$file"
  rm -f "$query"
else
  printf '%-28s not found\n' "Perfetto trace processor"
fi
hta=${HTA_PYTHON:-python3}
if "$hta" -c 'import hta' 2>/dev/null; then
  peer "HolisticTraceAnalysis" "$hta" -c '
import sys
from hta.trace_analysis import TraceAnalysis
TraceAnalysis(trace_files={0: sys.argv[1]})' "$file"
else
  printf '%-28s not found\n' "HolisticTraceAnalysis"
fi
