"""Records the traces of this folder: one planted fault (or none) each, on one GPU with PyTorch.

    python3 record.py OUT            all cases, each in a process of its own
    python3 record.py OUT CASE       one case
    CASES="gc thrash" python3 record.py OUT

Every case first times its faulty and its fixed loop without the profiler (medians by CUDA events, printed as a line
of JSON), then records three or four steps of the faulty one. See README.md for what came out.
"""
import gc, json, os, statistics, subprocess, sys, time
import torch, torch.nn as nn, torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset

CASES = {  # name: (with_stack, record_shapes)
    "thrash": (False, False), "checkpoint": (False, False), "checkpoint_stack": (True, False), "gc": (False, False),
    "gc_stack": (True, False), "offload": (False, False), "launch_blocking": (False, False), "cold_start": (False, False),
    "compile": (False, False), "decode": (False, False), "odd_sizes": (False, True), "fp32_shapes": (False, True),
    "loader_workers": (False, False), "python_batch": (False, False), "scaler": (False, True), "small_pageable": (False, False),
    "compile_steady": (False, False), "evaluate": (False, False), "recompute": (False, True),
    "loop_checkpoint": (False, False), "loop_thrash": (False, False), "loop_unpinned": (False, False),
    "loop_gc": (False, False), "score": (False, False),
    "odd_vocabulary": (False, True), "odd_width": (False, True), "sync_layers": (True, False), "sync_mask": (True, False),
    "sync_early": (True, False),
}
DEVICE = torch.device("cuda")


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.n1, self.n2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Model(nn.Module):
    def __init__(self, layers=3, width=1024, vocabulary=16000, heads=16):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.recompute = False

    def forward(self, x):
        x = self.token(x)
        for i, block in enumerate(self.blocks):
            # Both ways of recomputing, since they are recorded differently.
            x = checkpoint(block, x, use_reentrant=i == 1) if self.recompute else block(x)
        return self.head(x)


class SlowSamples(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, i):
        end = time.perf_counter() + 0.006
        while time.perf_counter() < end:
            pass
        return torch.randint(0, 16000, (1024,))


class Rows(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, i):
        return torch.randint(0, 16000, (1024,), generator=torch.Generator().manual_seed(i))


def make_step(case, faulty):
    """Returns step(i): one training step with the planted fault, or without it."""
    torch.manual_seed(0)
    vocabulary, width = 16000, 1024
    if case == "odd_sizes" and faulty:
        vocabulary, width = 16001, 1020  # 1020 is no multiple of 8, 16001 is odd
    if case == "odd_vocabulary":
        vocabulary = 50257 if faulty else 50304  # GPT-2's tokenizer, and the next multiple of 64
    if case == "odd_width" and faulty:
        width = 1026  # even, heads of 54
    if case == "decode":
        width = 256
    model = Model(layers=8 if case == "decode" else 3, width=width, vocabulary=vocabulary, heads={1020: 15, 1026: 19}.get(width, 16)).to(DEVICE)
    model.recompute = case == "recompute" and faulty
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=case != "scaler")
    batch = torch.randint(0, 16000, (16, 1024), device=DEVICE)
    amp = torch.autocast("cuda", torch.float16 if case == "scaler" else torch.bfloat16, enabled=not (case == "fp32_shapes" and faulty))

    def train(x):
        with amp:
            loss = F.cross_entropy(model(x).flatten(0, 1), x.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    if case in ("compile", "compile_steady"):
        compiled = torch.compile(model)
        sizes = [torch.randint(0, 16000, (16, 1024), device=DEVICE) for _ in range(40)]

        def step(i):
            x = sizes[i % 40]
            if case == "compile" and faulty and i == 29:
                torch._dynamo.reset()
            with amp:
                loss = F.cross_entropy(compiled(x).flatten(0, 1), x.flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return step
    if case == "decode":  # generation of one token at a time: kernels shorter than their launches
        model.eval()
        prompt = torch.randint(0, 16000, (1, 64), device=DEVICE)

        def step(i):
            with torch.no_grad(), amp:
                x = prompt
                for _ in range(4):
                    x = torch.cat([x[:, 1:], model(x)[:, -1:].argmax(-1)], 1)
        return step
    if case == "score":  # a small model scores one batch and reads one number: bound by the host
        small = Model(layers=6, width=512, heads=8).to(DEVICE).eval()
        row = torch.randint(0, 16000, (4, 256), device=DEVICE)

        def step(i):
            with torch.no_grad(), amp:
                small(row).float().logsumexp(-1).mean().item()
        return step
    if case.startswith("loop_"):  # a loop as many are: loader in the process, spans, a synchronization after each step
        loader = iter(DataLoader(Rows(), batch_size=16, pin_memory=case != "loop_unpinned" or not faulty))
        keep = [[{"sample": j, "meta": [j]} for j in range(1000)] for _ in range(250)] if case == "loop_gc" else None

        def step(i):
            if keep and faulty:
                gc.collect()
            with record_function("data"):
                x = next(loader)
            with record_function("h2d"):
                x = x.to(DEVICE, non_blocking=case != "loop_unpinned" or not faulty)
            with record_function("forward"), amp:
                loss = F.cross_entropy(model(x).flatten(0, 1), x.flatten())
            with record_function("backward"):
                loss.backward()
            with record_function("optimizer"):
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            if faulty and case == "loop_thrash":
                torch.cuda.empty_cache()
            if faulty and case == "loop_checkpoint" and i % 5 == 3:
                torch.save(model.state_dict(), "/tmp/model.pt")
            torch.cuda.current_stream().synchronize()
        return step
    if case == "evaluate":  # inference with one legal .item() at the end of a step
        model.eval()

        def step(i):
            with torch.no_grad(), amp:
                return (model(batch).argmax(-1) == batch).float().mean().item()
        return step
    if case == "sync_layers":  # a number read after each layer, as debugging code does
        def step(i):
            with amp:
                x = model.token(batch)
                for block in model.blocks:
                    x = block(x)
                    if faulty:
                        float(x.detach().abs().max())
                loss = F.cross_entropy(model.head(x).flatten(0, 1), batch.flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return step
    if case == "sync_mask":  # rows chosen by a mask on the GPU: their number has to come to the host; the fix weights them
        keep = torch.rand(16 * 1024, device=DEVICE) < 0.5

        def step(i):
            with amp:
                logits = model(batch).flatten(0, 1)
                if faulty:
                    loss = F.cross_entropy(logits[keep], batch.flatten()[keep])
                else:
                    loss = (F.cross_entropy(logits, batch.flatten(), reduction="none") * keep).sum() / keep.sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return step
    if case == "sync_early":  # a check of the batch at the beginning of each step, and 3 ms of Python after it
        def step(i):
            if faulty and batch.max().item() >= vocabulary:
                raise ValueError("a token outside the vocabulary")
            total = 0
            for j in range(55000):
                total += j * j % 7
            train(batch)
        return step
    if case == "thrash":
        def step(i):
            train(batch)
            if faulty:
                torch.cuda.empty_cache()
        return step
    if case.startswith("checkpoint"):
        def step(i):
            train(batch)
            if faulty and i % 4 == 1:
                torch.save(model.state_dict(), "/tmp/model.pt")
        return step
    if case.startswith("gc"):
        keep = [[{"sample": j, "meta": [j]} for j in range(1000)] for _ in range(300)]

        def step(i):
            if faulty and keep:
                gc.collect()
            train(batch)
        return step
    if case == "offload":  # activations copied to pinned memory and back on the compute stream
        host = torch.empty(64 << 20, dtype=torch.float32, pin_memory=True)
        device = torch.empty(64 << 20, dtype=torch.float32, device=DEVICE)

        def step(i):
            if faulty:
                host.copy_(device, non_blocking=True)
                device.copy_(host, non_blocking=True)
            train(batch)
        return step
    if case == "python_batch":  # a batch made by plain Python in the main process, no span, no loader
        def step(i):
            if faulty:
                total = 0
                for j in range(400000):
                    total += j * j % 7
            train(batch)
        return step
    if case == "scaler":  # fp16 with GradScaler and clipping: healthy, one .item() a step inside the scaler
        scaler = torch.amp.GradScaler("cuda")

        def step(i):
            with amp:
                loss = F.cross_entropy(model(batch).flatten(0, 1), batch.flatten())
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
        return step
    if case == "small_pageable":  # a kilobyte from pageable memory each step: worth a note, no more
        rows = torch.randint(0, 16000, (16, 1024))

        def step(i):
            train(rows.to(DEVICE) if faulty else batch)
        return step
    if case == "loader_workers":
        loader = iter(DataLoader(SlowSamples(), batch_size=16, num_workers=2 if faulty else 12, pin_memory=True))

        def step(i):
            with record_function("data"):
                x = next(loader)
            train(x.to(DEVICE, non_blocking=True))
        return step
    return lambda i: train(batch)


def median_ms(step, count=16, warm=5):
    marks = []
    for i in range(count):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        step(i)
        b.record()
        marks.append((a, b))
    torch.cuda.synchronize()
    return round(statistics.median(a.elapsed_time(b) for a, b in marks[warm:]), 3)


def record(case, out):
    with_stack, shapes = CASES[case]
    truth = {"case": case}
    if case == "cold_start":
        torch.backends.cudnn.benchmark = True
        step, plan = make_step(case, True), schedule(wait=0, warmup=0, active=3, repeat=1)
    else:
        if case not in ("checkpoint", "checkpoint_stack", "compile", "launch_blocking"):
            truth["fixed_ms"] = median_ms(make_step(case, False))
        step, plan = make_step(case, True), schedule(skip_first=2, wait=1, warmup=1, active=4 if "checkpoint" in case else 3, repeat=1)
        truth["faulty_ms"] = median_ms(step, 24)
    ready = lambda p: p.export_chrome_trace(f"{out}/{case}.pt.trace.json.gz")
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities, schedule=plan, on_trace_ready=ready, with_stack=with_stack, record_shapes=shapes) as p:
        for i in range(24, 24 + (3 if case == "cold_start" else 9)):
            step(i)
            p.step()
    print(json.dumps(truth), flush=True)
    os._exit(0)


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    if len(sys.argv) > 2:
        record(sys.argv[2], sys.argv[1])
    for name in os.environ.get("CASES", " ".join(CASES)).split():
        environment = dict(os.environ, **({"CUDA_LAUNCH_BLOCKING": "1"} if name == "launch_blocking" else {}))
        subprocess.run([sys.executable, __file__, sys.argv[1], name], env=environment, timeout=90, check=False)
