#!/bin/bash
# run.sh [BYTES...]: seconds, rate and peak memory of `stepscope report` on long recordings (100 MB and 1 GB unless
# sizes are given), plain and gzip, the best of 5 runs; then the benchmarks of the parts; then the peers at 500 MB.
set -eu
cd "$(dirname "$0")/.."
program=build/bench/stepscope
data=build/bench/data
mkdir -p "$data"
printf '%-22s %9s %9s %9s %14s\n' file seconds GB/s 'peak MB' 'peak/JSON byte'
for size in "${@:-1e8 1e9}"; do
  for bytes in $size; do
    file=$data/solid_$bytes.json
    [ -f "$file" ] || python3 bench/repeat_trace.py tests/data/h200/solid.pt.trace.json.gz "$file" "$bytes"
    [ -f "$file.gz" ] || gzip -1 -k "$file"
    for input in "$file" "$file.gz"; do
      python3 - "$program" "$input" "$(stat -c %s "$file")" <<'EOF'
import os, subprocess, sys, time
program, path, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
best = (1e9, 0)
for _ in range(5):
    begin = time.perf_counter()
    child = subprocess.Popen([program, "report", path], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    best = min(best, (time.perf_counter() - begin, usage.ru_maxrss * 1024))
print(f"{os.path.basename(path):22} {best[0]:9.2f} {size / best[0] / 1e9:9.2f} {best[1] / 1e6:9.0f} {best[1] / size:14.2f}")
EOF
    done
  done
done
for program in build/bench/bench/*_bench; do "$program" --benchmark_min_time=0.2; done
file=$data/solid_5e8.json
[ -f "$file" ] || python3 bench/repeat_trace.py tests/data/h200/solid.pt.trace.json.gz "$file" 5e8
bench/compare_import.sh "$file"
