#!/bin/bash
# run.sh: everything that needs a GPU, in one go: the tests, what the choices of cold timing rest on, our timers against
# PyTorch's (where python3 has torch). Prints short tables; whole outputs go to $OUT (default build/gpu).
#
# STEPSCOPE_GPU_PROGRAMS names a folder with the built programs, for a machine that cannot build them.
set -u
cd "$(dirname "$0")/../.."
out=${OUT:-build/gpu}
mkdir -p "$out"
programs=${STEPSCOPE_GPU_PROGRAMS:-}
if [ -z "$programs" ]; then
  cmake --preset release -DSTEPSCOPE_BUILD_BENCH=ON > "$out/configure.log" || { cat "$out/configure.log"; exit 1; }
  cmake --build --preset release --target gpu_timing_test hold_bench timer_bridge || exit 1
  programs=build/gpu-programs
  mkdir -p $programs
  cp build/release/tests/gpu/gpu_timing_test build/release/bench/gpu/{hold_bench,libtimer_bridge.so} $programs
fi
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.draw --format=csv,noheader
status=0
"$programs/gpu_timing_test" > "$out/gpu_timing_test.log" 2>&1 || status=1
grep -v -E '^\[ +(RUN|OK) |^\[---|^\[===|^Running|^$' "$out/gpu_timing_test.log"
"$programs/hold_bench" > "$out/hold_bench.log" 2>&1 || status=1
cat "$out/hold_bench.log"
if python3 -c 'import torch' 2> /dev/null; then
  python3 bench/gpu/compare_timers.py "$programs/libtimer_bridge.so" ${COMPARE_OPTIONS:-} --json "$out/compare_timers.json" \
    > "$out/compare_timers.log" 2>&1 || status=1
  cat "$out/compare_timers.log"
fi
exit $status
