#!/bin/bash
# snapshot.sh [ENTRIES...]: seconds and peak memory to read memory snapshots of so many entries (691067 and 6900000 unless
# given: about 0.1 and 1 GB) and to answer them whole, with Python's pickle.load of the same file in the same run. Ours is the
# best of 5; Python runs once over 500 MB, since it takes half a minute and 6 GB.
#
#   cmake --preset bench && cmake --build build/bench --target stepscope snapshot_file
#   bench/snapshot.sh
set -eu
cd "$(dirname "$0")/.."
data=${SNAPSHOT_DATA:-build/bench/data}
mkdir -p "$data"
printf '%-24s %-34s %9s %9s %9s\n' file command seconds 'CPU s' 'peak MB'
for entries in "${@:-691067 6900000}"; do
  for count in $entries; do
    file=$data/memory_$count.pickle
    [ -f "$file" ] || python3 bench/make_snapshot.py "$file" "$count" >/dev/null
    python3 - "$file" <<'EOF'
import os, subprocess, sys, time
path = sys.argv[1]
small = os.path.getsize(path) < 500e6
commands = [("the reader alone (snapshot_file)", ["build/bench/bench/snapshot_file", path], 5)]
known = subprocess.run(["build/bench/stepscope", "memory", "--help"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
if known.returncode == 0:
    commands.append(("stepscope memory", ["build/bench/stepscope", "memory", path], 5))
    commands.append(("stepscope memory --json", ["build/bench/stepscope", "memory", path, "--json"], 5))
commands.append(("Python pickle.load", [sys.executable, "-c", "import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))", path],
                 3 if small else 1))
with open(path, "rb") as file:  # into the page cache
    while file.read(1 << 24):
        pass
for name, command, runs in commands:
    best = (1e9, 0, 0)
    for _ in range(runs):
        begin = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, command
        best = min(best, (time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024))
    label = f"{os.path.getsize(path) / 1e6:.0f} MB"
    print(f"{label:24} {name:34} {best[0]:9.3f} {best[1]:9.3f} {best[2] / 1e6:9.0f}")
EOF
  done
done
