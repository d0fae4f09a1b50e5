"""Does a capture of plain.cu say which lines hold the memory? plain_check.py PROGRAM CAPTURE WHAT-IT-PRINTED

Exit status 1 where a line, its bytes, its count or the peak differ.
"""
import json
import pathlib
import re
import subprocess
import sys

program, capture, printed = sys.argv[1:4]
truth = json.loads(pathlib.Path(printed).read_text().splitlines()[-1])


def held(at):
    done = subprocess.run([program, "memory", capture, "--at", at, "--json"], capture_output=True, check=False)
    if done.returncode not in (0, 4):
        sys.exit(f"memory --at {at}: {done.stderr.decode()}")
    document = json.loads(done.stdout)
    lines = {}
    for group in document["live"]["groups"]:
        place = re.search(r"[^/ ]+:\d+", group["name"])
        lines[place.group() if place else group["name"]] = [group["bytes"], group["count"]]
    return document, lines


wrong = 0
for at in ("peak", "end"):
    document, lines = held(at)
    wrong += lines != truth[at]
    print(f"{at}: {'every line equal' if lines == truth[at] else 'DIFFERENT'}, {len(lines)} lines")
    for name in sorted(set(lines) | set(truth[at])):
        if lines.get(name) != truth[at].get(name):
            print(f"  {name}: {lines.get(name)}, truly {truth[at].get(name)}")
peak = document["devices"][0]["allocated"]["peak_bytes"]
wrong += peak != truth["peak_bytes"]
print(f"peak {peak:,} bytes, truly {truth['peak_bytes']:,}; notes {[note['kind'] for note in document['notes']] or 'none'}")
sys.exit(1 if wrong else 0)
