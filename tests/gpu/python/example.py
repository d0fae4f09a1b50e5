"""One training script under torch.profiler and under stepscope.torch, on the GPU: the import line is all that differs.

    example.py torch.profiler|stepscope.torch OUT      writes OUT.json: kernels by name, key_averages, what the loop measured
"""
import collections
import glob
import gzip
import importlib
import json
import sys
import tempfile

import torch

home, out = sys.argv[1], sys.argv[2]
profiler = importlib.import_module(home)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
batch = torch.randn(512, 1024, device="cuda")
folder = tempfile.mkdtemp()
with profiler.profile(
    activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA],
    schedule=profiler.schedule(wait=2, warmup=2, active=3, repeat=1),
    on_trace_ready=profiler.tensorboard_trace_handler(folder, worker_name="w", use_gzip=True),
    record_shapes=True,
    with_flops=True,
) as prof:
    for _ in range(8):
        with profiler.record_function("forward"):
            loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        prof.step()
torch.cuda.synchronize()
(path,) = glob.glob(folder + "/*.gz")
with gzip.open(path) as file:
    events = json.load(file)["traceEvents"]
kernels = [event for event in events if event.get("cat") == "kernel"]
rows = {row.key: [row.count, row.self_device_time_total, row.flops] for row in prof.key_averages()}
result = {"file": path.rsplit("/", 1)[1].split(".")[0], "kernels": collections.Counter(event["name"] for event in kernels), "kernel_us": sum(event["dur"] for event in kernels), "rows": rows}
print(prof.key_averages().table(sort_by="self_device_time_total", row_limit=8))
if home == "stepscope.torch":
    print(prof.report())
    import stepscope

    loop = stepscope.steps([batch] * 60, warmup=10)
    for each in loop:
        model(each).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    print(loop.times)
    print("memory", stepscope.memory_allocated(), torch.cuda.memory_allocated(), stepscope.max_memory_allocated(), torch.cuda.max_memory_allocated())
    result["memory_equal"] = stepscope.memory_allocated() == torch.cuda.memory_allocated() and stepscope.max_memory_reserved() == torch.cuda.max_memory_reserved()
    ours = stepscope.Timer("x @ x", globals={"x": torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)}).blocked_autorange()
    print(ours)
    from torch.utils.benchmark import Timer

    theirs = Timer("x @ x", globals={"x": torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)}).blocked_autorange()
    print(theirs)
    result["timer"] = [ours.median, theirs.median]
with open(out + ".json", "w") as file:
    json.dump(result, file)
