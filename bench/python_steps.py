"""What `for batch in stepscope.steps(loader)` and the import cost. Prints medians of repetitions, with a bare loop beside.

    PYTHONPATH=build/release/python build/venv/bin/python bench/python_steps.py
"""

import statistics
import subprocess
import sys
import time

import stepscope

COUNT = 2_000


def loop(batches):
    start = time.perf_counter_ns()
    for _ in batches:
        pass
    return (time.perf_counter_ns() - start) / COUNT


def import_ms(code):
    """Of a fresh interpreter, less the same one without the import."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return (time.perf_counter() - start) * 1e3


bare = [loop(range(COUNT)) for _ in range(15)]
timed = [loop(stepscope.steps(range(COUNT), file=False)) for _ in range(15)]
print(f"steps(): {statistics.median(timed) / 1e3:.2f} us a step, bare loop {statistics.median(bare) / 1e3:.3f} us")

pairs = [(import_ms("pass"), import_ms("import stepscope; stepscope.load")) for _ in range(15)]
print(f"import:  {statistics.median(after - before for before, after in pairs):.1f} ms, the compiled part included")
