"""Is the first active step of stepscope.torch as long as the others? Host times of each step, waited for, by phase of the schedule.

CUPTI's start takes some 20 ms, which the warm-up is for. Prints, for torch.profiler and stepscope.torch, the medians of three
rounds in ms: steps that are not recorded, the first of the warm-up, the first active one, the other active ones.
"""
import importlib
import statistics
import sys
import time

import torch

WAIT, WARM_UP, ACTIVE, ROUNDS = 6, 2, 6, 3


def main():
    profiler = importlib.import_module(sys.argv[1])
    torch.manual_seed(0)
    layers = [torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.LayerNorm(256), torch.nn.GELU()) for _ in range(24)]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batch = torch.randn(64, 256, device="cuda")

    def step():
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()

    for _ in range(20):
        step()
    rounds = []
    schedule = profiler.schedule(wait=WAIT, warmup=WARM_UP, active=ACTIVE, repeat=ROUNDS)
    with profiler.profile(schedule=schedule, on_trace_ready=lambda prof: None) as prof:
        for _ in range(ROUNDS):
            times = []
            for _ in range(WAIT + WARM_UP + ACTIVE):
                begin = time.perf_counter()
                step()
                stepped = time.perf_counter()
                prof.step()
                times.append(((stepped - begin) * 1e3, (time.perf_counter() - stepped) * 1e3))
            rounds.append(times)
    step_ms = [statistics.median(times[i][0] for times in rounds) for i in range(len(rounds[0]))]
    turn_ms = [statistics.median(times[i][1] for times in rounds) for i in range(len(rounds[0]))]
    active = step_ms[WAIT + WARM_UP:]
    print(f"{sys.argv[1]}: not recorded {statistics.median(step_ms[1:WAIT]):.2f} ms, first of the warm-up {step_ms[WAIT]:.2f}, first active {active[0]:.2f}, "
          f"other active {statistics.median(active[1:]):.2f}; step() into the warm-up {turn_ms[WAIT - 1]:.2f}, into the active {turn_ms[WAIT + WARM_UP - 1]:.2f}, "
          f"out of it {turn_ms[-1]:.2f}, otherwise {statistics.median(turn_ms[1:WAIT - 1]):.3f}")


if __name__ == "__main__":
    main()
