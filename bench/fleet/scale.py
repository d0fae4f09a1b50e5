#!/usr/bin/env python3
"""What many ranks cost: measured on what is here, reckoned for what is asked. The figures of docs/scale.md.

    bench/repeat_trace.py tests/data/h200/ddp_rank0.pt.trace.json.gz big.json 200000000; gzip -k big.json
    bench/fleet/make_ranks.py ranks --ranks 4096 --seed 7
    bench/fleet/scale.py --file big.json --file big.json.gz --ranks ranks --counts 8,64,256,1024,4096

Times are CPU seconds (user and system) of the process that works, so that other work on the machine changes them little;
memory is the high-water mark of resident memory (VmHWM), begun anew before each measurement. Each measurement runs in a
process of its own. PYTHONPATH names the package.
"""
import argparse
import json
import os
import pathlib
import pickle
import statistics
import subprocess
import sys
import tempfile
import time


class Meter:
    """CPU seconds and peak memory of this process from here on."""

    def __init__(self):
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        self.before_bytes = self.status("VmRSS")
        self.before_s = time.process_time()

    @staticmethod
    def status(name):
        for line in open("/proc/self/status"):
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
        raise SystemExit("scale.py needs Linux's /proc")

    def read(self):
        return {"cpu_s": time.process_time() - self.before_s, "peak_bytes": self.status("VmHWM"), "before_bytes": self.before_bytes}


def here(function, *arguments):
    """Runs one of the functions below in a process of its own."""
    command = [sys.executable, __file__, "--do", json.dumps([function, *arguments])]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def do_read(path):
    from stepscope import fleet

    meter = Meter()
    summary = fleet.summarize(path, threads=1)
    return {**meter.read(), "bytes": os.path.getsize(path), "summary_bytes": len(summary.summary)}


def do_stream(path):
    """The same through the pipe of a store, from memory: what streaming adds."""
    from stepscope import _core
    from stepscope.fleet import _stream

    content = pathlib.Path(path).read_bytes()
    view = memoryview(content)

    def blocks():
        for at in range(0, len(view), _stream.BLOCK_BYTES):
            yield bytes(view[at : at + _stream.BLOCK_BYTES])

    meter = Meter()
    _stream.through_pipe(blocks(), lambda pipe: _core.summarize(pipe, source=b"made", threads=1))
    return meter.read()


def do_summaries(folder, count, out):
    from stepscope import fleet

    # rank2 before rank10
    paths = sorted(map(str, pathlib.Path(folder).glob("rank*")), key=lambda path: (len(path), path))[:count]
    meter = Meter()
    parts = [fleet.summarize(path, threads=1).summary for path in paths]
    told = meter.read()
    pathlib.Path(out).write_bytes(pickle.dumps(parts))
    return {**told, "sizes": [len(part) for part in parts]}


def do_merge(path, count):
    from stepscope import _core

    parts = pickle.loads(pathlib.Path(path).read_bytes())[:count]
    meter = Meter()
    whole = _core.merge_summaries(parts)
    merged = meter.read()
    del parts
    meter = Meter()
    _core.fleet_report(whole, as_json=True)
    return {"merge": merged, "report": meter.read(), "whole_bytes": len(whole)}


def megabytes(count):
    return f"{count / 1e6:,.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", action="append", default=[], help="a trace of the size that is reckoned with")
    parser.add_argument("--ranks", help="a folder of make_ranks.py")
    parser.add_argument("--counts", default="8,256,1024", help="ranks to merge")
    parser.add_argument("--do", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.do:
        function, *arguments = json.loads(asked.do)
        print(json.dumps(globals()["do_" + function](*arguments)))
        return
    print("| file | MB stored | CPU s | MB/s | peak MB | summary kB | CPU s through a pipe |\n|---|---|---|---|---|---|---|")
    for path in asked.file:
        told = [here("read", path) for _ in range(5)]
        best = statistics.median(one["cpu_s"] for one in told)
        peak = max(one["peak_bytes"] for one in told)
        streamed = statistics.median(here("stream", path)["cpu_s"] for _ in range(5))
        size = told[0]["bytes"]
        print(f"| {os.path.basename(path)} | {megabytes(size)} | {best:.2f} | {size / best / 1e6:,.0f} | {megabytes(peak)} "
              f"| {told[0]['summary_bytes'] / 1e3:.1f} | {streamed:.2f} |", flush=True)
    if not asked.ranks:
        return
    counts = [int(count) for count in asked.counts.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        kept = os.path.join(folder, "parts")
        told = here("summaries", asked.ranks, max(counts), kept)
        sizes = told["sizes"]
        print(f"\n{len(sizes)} ranks summarized: {told['cpu_s'] / len(sizes) * 1e3:.1f} ms of CPU each; a summary has "
              f"{statistics.median(sizes):,.0f} bytes (median), {max(sizes):,} at most\n")
        print("| ranks | MB of summaries | merged MB | merge CPU s | ms a rank | merge peak MB | report CPU s | ms a rank | report peak MB |")
        print("|---|---|---|---|---|---|---|---|---|")
        for count in counts:
            one = here("merge", kept, count)
            merge, report = one["merge"], one["report"]
            print(f"| {count:,} | {megabytes(sum(sizes[:count]))} | {megabytes(one['whole_bytes'])} | {merge['cpu_s']:.2f} "
                  f"| {merge['cpu_s'] / count * 1e3:.2f} | {megabytes(merge['peak_bytes'])} | {report['cpu_s']:.2f} "
                  f"| {report['cpu_s'] / count * 1e3:.2f} | {megabytes(report['peak_bytes'])} |", flush=True)


if __name__ == "__main__":
    main()
