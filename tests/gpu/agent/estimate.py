"""What captures say a step takes without the agent, beside what it took there. estimate.py PROGRAM FOLDER TRUE_MS

Prints the medians over FOLDER's captures, and how many ranges contain the truth.
"""
import glob
import json
import statistics
import subprocess
import sys

program, folder, truth = sys.argv[1], sys.argv[2], float(sys.argv[3])
found = []
for path in sorted(glob.glob(folder + "/*.stepscope")):
    done = subprocess.run([program, "report", path, "--json"], capture_output=True, check=False)
    if done.returncode not in (0, 4):
        sys.exit(f"{path}: {done.stderr.decode()}")
    steps = json.loads(done.stdout)["steps"]
    if steps["estimated_unprofiled_ns"] is not None:
        found.append([steps["estimated_unprofiled_ns"][key] / 1e6 for key in ("low", "mid", "high")] + [(steps["median_ns"] or 0) / 1e6])
if not found:
    sys.exit("no capture has an estimate")
low, mid, high, recorded = (statistics.median(column) for column in zip(*found))
print(f"{len(found)} captures: recorded {recorded:.2f} ms, estimated {mid:.2f} ({low:.2f} to {high:.2f}) without, truly {truth:.2f}; {sum(l <= truth <= h for l, _, h, _ in found)} contain it")
