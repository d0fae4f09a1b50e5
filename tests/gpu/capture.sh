#!/bin/bash
# capture.sh [PART...]: what the agent catches on this GPU and what it costs. Parts (default all): counts, lines, soak, cost, idle.
# Prints short tables; files go to $OUT/capture (default build/gpu/capture).
#
# STEPSCOPE_PROGRAM names the built program (default build/release/stepscope); PYTHON one with PyTorch. The CUDA programs are
# built here with nvcc.
set -u
cd "$(dirname "$0")/../.."
out=${OUT:-build/gpu}/capture
program=${STEPSCOPE_PROGRAM:-build/release/stepscope}
python=${PYTHON:-python3}
parts=${*:-counts lines soak cost idle}
mkdir -p "$out"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw --format=csv,noheader
status=0

run() { # run NAME OPTION... -- CMD: recorded, without a report; what it printed is in NAME.log
  local name=$1
  shift
  rm -rf "$out/$name.captures"
  "$program" run --no-report --out "$out/$name.captures" "$@" > "$out/$name.log" 2> "$out/$name.err"
}

counts() {
  for each in plain soak; do
    nvcc -O2 -o "$out/$each" tests/gpu/agent/$each.cu -lcuda 2> "$out/$each.nvcc" || { cat "$out/$each.nvcc"; return 1; }
  done
  # nvcc's programs know what they launched; torch.profiler counts for PyTorch's.
  run plain -- "$out/plain" || status=1
  "$python" -W ignore tests/gpu/agent/torch_counts.py torch "$out/torch" > "$out/torch.log" 2>&1 || status=1
  run agent --paused -- "$python" -W ignore tests/gpu/agent/torch_counts.py agent "$out/agent" || status=1
  run twice --paused -- "$python" -W ignore tests/gpu/agent/torch_counts.py twice "$out/twice" || status=1
  # torch.profiler keeps CUPTI, and with it every GPU record, to the end of the process, unless it is told to leave it.
  TEARDOWN_CUPTI=1 run between --paused -- "$python" -W ignore tests/gpu/agent/torch_counts.py between "$out/between" || status=1
  killed
  run jax -- "$python" -W ignore tests/gpu/agent/jax_loop.py || status=1
  "$python" tests/gpu/agent/check.py "$program" "$out" plain agent twice between killed jax || status=1
  grep -H -i "clock" "$out"/*.err && status=1
}

killed() { # both the program and `stepscope run` in front of it, some steps into a window
  run killed --paused -- "$python" -W ignore tests/gpu/agent/torch_counts.py killed "$out/killed" &
  for _ in $(seq 300); do
    [ "$(grep -c alive "$out/killed.log" 2> /dev/null)" -lt 20 ] || break
    sleep 0.1
  done
  pkill -9 -f "torch_counts.py killed"
  wait
}

lines() { # replays of a CUDA graph keep operator and line, the backward's too
  run lines --paused --graphs -- "$python" -W ignore tests/gpu/agent/graph_lines.py || { cat "$out/lines.err"; status=1; }
  "$python" tests/gpu/agent/graph_lines.py --check "$program" "$out/lines.captures" || status=1
}

soak() { # 30 million kernels of CUDA graphs: memory flat, nothing lost.
  [ -x "$out/soak" ] || nvcc -O2 -o "$out/soak" tests/gpu/agent/soak.cu -lcuda || return 1
  "$out/soak" "${SOAK:-30000000}" | tail -1
  run soak -- "$out/soak" "${SOAK:-30000000}" || status=1
  cat "$out/soak.log"
  tail -4 "$out/soak.err"
  ls -l "$out"/soak.captures/
  "$python" tests/gpu/agent/check.py "$program" "$out" soak || status=1
}

cost() {
  for shape in tiny solid; do
    ways=agent,nothing rounds=$((${ROUNDS:-12} * 2))
    [ $shape = solid ] || ways=agent,every,nothing rounds=${ROUNDS:-12}
    run cost --paused -- "$python" -W ignore bench/gpu/capture_cost.py $shape $rounds $ways || status=1
    cat "$out/cost.log"
    "$python" tests/gpu/agent/estimate.py "$program" "$out/cost.captures" "$("$python" -c 'import json, sys; print(json.loads(open(sys.argv[1]).readline())["off_ms"])' "$out/cost.log")" || status=1
    rm -rf "$out/$shape.captures" && mv "$out/cost.captures" "$out/$shape.captures"
  done
  "$python" -W ignore bench/gpu/capture_cost.py tiny $((${ROUNDS:-12} / 2)) torch 2> "$out/cost-torch.err" || status=1
  "$python" -W ignore bench/gpu/capture_cost.py tiny $((${ROUNDS:-12} / 2)) proton 2> "$out/cost-proton.err" || status=1
}

idle() { # an agent at rest, in pairs of processes that take turns
  "$python" -W ignore tests/gpu/agent/idle.py "$program" "$out" --pairs "${PAIRS:-20}" --rounds "${TURNS:-10}"
}

for part in $parts; do
  echo "== $part"
  $part || status=1
done
exit $status
