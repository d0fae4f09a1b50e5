#!/usr/bin/env python3
"""Makes the recordings of ranks with thousands of collectives a step, as fully sharded training of many layers has them.

    many_collectives.py OUT --ranks 64 --steps 4 --collectives 1250 [--straggler N] [--tensor 8]

A step is so many layers; each is one kernel (30 us) and one all-reduce (6 us of transfer) that its data go into, on a stream of
its own; with --tensor every second one is among so many neighbours only. Ranks compute at speeds that differ by 2 % from layer
to layer, the straggler 10 % slower. The host queues a layer in
20 us and waits for the GPU at the end of the step. Only for what a report costs: no recorded program is behind it.
Needs numpy.
"""
import argparse
import multiprocessing
import pathlib

import numpy as np

LAYER_NS, TRANSFER_NS, QUEUE_NS, LATENCY_NS, GAP_NS, SYNC_NS = 30_000, 6_000, 20_000, 5_000, 1_000, 10_000
SHARED = ('"traceEvents": [\n', "\n]}\n")


def group_size(options, layer):
    return options.tensor if options.tensor and layer % 2 else options.ranks


def simulate(options):
    """Times of each layer by rank, (steps, layers, ranks): of the host, kernel start and end, arrival, common end."""
    generator = np.random.default_rng(options.seed)
    shape = options.steps, options.collectives, options.ranks
    length = LAYER_NS * (1 + 0.02 * generator.standard_normal(shape))
    if options.straggler is not None:
        length[:, :, options.straggler] *= 1.1
    host, start, end, arrival, done = (np.zeros(shape) for _ in range(5))
    begins, now = [], np.zeros(options.ranks)
    for step in range(options.steps):
        begins.append(now)
        computed, moved = now, now
        for layer in range(options.collectives):
            host[step, layer] = now + QUEUE_NS * layer
            start[step, layer] = np.maximum(host[step, layer] + LATENCY_NS, computed + GAP_NS)
            computed = end[step, layer] = start[step, layer] + length[step, layer]
            arrival[step, layer] = np.maximum(computed, moved) + GAP_NS
            groups = arrival[step, layer].reshape(-1, group_size(options, layer))
            moved = done[step, layer] = np.repeat(groups.max(axis=1) + TRANSFER_NS, groups.shape[1])
        now = np.maximum(computed, moved) + SYNC_NS
    begins.append(now)
    return host, start, end, arrival, done, np.array(begins)


def us(number):
    number = int(round(number))
    return f"{number // 1000}.{number % 1000:03d}"


def rank_text(rank):
    options, (host, start, end, arrival, done, begins) = STATE
    everyone = list(range(options.ranks))
    out = []
    add = out.append
    ids = 1
    for step in range(options.steps):
        first, last = begins[step, rank], begins[step + 1, rank]
        add(f'{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{step}","pid":9,"tid":9,"ts":{us(first)},"dur":{us(last - first)},"args":{{"External id":{ids}}}}}')
        for layer in range(options.collectives):
            at = host[step, layer, rank]
            size = group_size(options, layer)
            members = everyone[rank // size * size:][:size]
            name = "0" if size == options.ranks else f"tensor {rank // size}"
            for what, on, begin, finish, more in (
                    ("gemm", 7, start[step, layer, rank], end[step, layer, rank], ""),
                    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 17, arrival[step, layer, rank], done[step, layer, rank],
                     f',"Collective name":"allreduce","In msg nelems":1000000,"Out msg nelems":1000000,"Group size":{size},'
                     f'"dtype":"BFloat16","Process Group Name":"{name}","Process Group Ranks":"{members}"')):
                if more:  # the collective's stream waits for the kernel
                    for call in ("cudaEventRecord", "cudaStreamWaitEvent"):
                        ids += 1
                        add(f'{{"ph":"X","cat":"cuda_runtime","name":"{call}","pid":9,"tid":9,"ts":{us(at)},"dur":1.000,"args":{{"correlation":{ids}}}}}')
                        at += 1_500
                ids += 1
                add(f'{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":{us(at)},"dur":4.000,"args":{{"correlation":{ids}}}}}')
                add(f'{{"ph":"X","cat":"kernel","name":"{what}","pid":0,"tid":{on},"ts":{us(begin)},"dur":{us(finish - begin)},'
                    f'"args":{{"device":0,"stream":{on},"correlation":{ids}{more}}}}}')
                at += 6_000
        ids += 1
        add(f'{{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":9,"tid":9,"ts":{us(at + 2_000)},"dur":{us(last - at - 2_500)},"args":{{"correlation":{ids}}}}}')
    head = (f'{{"schemaVersion":1,"baseTimeNanoseconds":1790857026000000000,"distributedInfo":{{"backend":"nccl","rank":{rank},"world_size":{options.ranks},'
            f'"pg_count":1,"pg_config":[{{"pg_name":"0","pg_desc":"default_pg","pg_size":{options.ranks},"ranks":{everyone}}}]}},\n')
    return head + SHARED[0] + ",\n".join(out) + SHARED[1]


def write_rank(rank):
    (STATE[0].out / f"rank{rank}.json").write_text(rank_text(rank))


def main():
    global STATE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--collectives", type=int, default=1250, help="of a step")
    parser.add_argument("--straggler", type=int)
    parser.add_argument("--tensor", type=int, help="a part of the ranks")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    STATE = options, simulate(options)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for _ in pool.imap_unordered(write_rank, range(options.ranks)):
            pass


if __name__ == "__main__":
    main()
