"""Small traces with chosen steps, for tests of what many files say together."""
import json


def made_rank(steps, rank=None, world_size=2):
    """A trace as JSON text. `steps`: (number, its length in us); a number of None has its work and no ProfilerStep span.

    A step is one operator, one launch, one kernel of half the step's length and an all-reduce of a tenth of it.
    """
    events = []

    def add(category, name, start, length, thread, **args):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 7, "tid": thread, "ts": start, "dur": length, "args": args})

    def launch(at, correlation):
        add("cuda_runtime", "cudaLaunchKernel", at, 2, 7, correlation=correlation)

    at, correlation = 1000, 1
    for number, length in steps:
        if number is not None:
            add("user_annotation", f"ProfilerStep#{number}", at, length, 7)
        add("cpu_op", "aten::mm", at + 1, 20, 7)
        launch(at + 2, correlation)
        add("kernel", "gemm_kernel", at + 10, length // 2, 20, device=0, stream=20, correlation=correlation)
        launch(at + 8, correlation + 1)
        add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 10 + length // 2, length // 10, 21, device=0, stream=21,
            correlation=correlation + 1, **{"Collective name": "allreduce", "Process Group Name": "0", "Group size": world_size,
                                            "Process Group Ranks": str(list(range(world_size))),
                                            "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float"})
        at += length
        correlation += 2
    document = {"schemaVersion": 1, "baseTimeNanoseconds": 0, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": events}
    if rank is not None:
        document["distributedInfo"] = {"rank": rank, "world_size": world_size, "backend": "nccl"}
    return json.dumps(document)
