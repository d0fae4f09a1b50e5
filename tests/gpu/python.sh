#!/bin/bash
# python.sh: the Python package on this GPU: a script under torch.profiler and under stepscope.torch, whose kernels must be
# the same; timers and memory beside PyTorch's; README's example; the first active step; the cost of a step of
# stepscope.steps. Files go to $OUT/python (default build/gpu/python).
#
# PYTHON: one with PyTorch and stepscope (an installed wheel).
set -u
cd "$(dirname "$0")/../.."
out=${OUT:-build/gpu}/python
python=${PYTHON:-python3}
mkdir -p "$out"
status=0
for home in torch.profiler stepscope.torch; do
  "$python" -W ignore tests/gpu/python/example.py $home "$out/$home" > "$out/$home.log" 2>&1 || { status=1; tail -5 "$out/$home.log"; }
done
cat "$out/stepscope.torch.log"
"$python" tests/gpu/python/compare.py "$out/torch.profiler.json" "$out/stepscope.torch.json" || status=1
"$python" -W ignore tests/gpu/python/readme_example.py README.md > "$out/readme.log" 2>&1 || { status=1; echo "broken: README's example"; }
tail -12 "$out/readme.log"
for home in torch.profiler stepscope.torch; do
  "$python" -W ignore tests/gpu/python/first_step.py $home 2> "$out/first-$home.err" || { status=1; tail -3 "$out/first-$home.err"; }
done
# The loop helper's own cost: events around nothing.
"$python" - << 'P' || status=1
import time, torch, stepscope
torch.zeros(1, device="cuda"); torch.cuda.synchronize()
for _ in range(3):
    t = time.perf_counter()
    for _ in stepscope.steps(range(20000), warmup=10, file=False): pass
    print(f"stepscope.steps: {(time.perf_counter() - t) / 20000 * 1e6:.2f} us a step")
P
exit $status
