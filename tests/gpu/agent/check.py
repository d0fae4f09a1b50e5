"""Do captures hold what the programs did? check.py PROGRAM FOLDER NAME...; exit status 1 where a count differs.

NAME.log holds the counts that the program printed (plain, soak), torch.json those of torch.profiler (agent, twice, between);
the captures are in NAME.captures. A capture's counts are those of its report: launches, GPU events, what was lost.
"""
import collections
import gzip
import json
import pathlib
import subprocess
import sys


def ask(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, check=False)
    if done.returncode not in (0, 4):
        sys.exit(f"{command}: {done.stderr.decode()}")
    return done.stdout


def events_of(program, capture):
    """Counts by category, kernels by name, and the sum of their times in us, from the trace that the capture converts to."""
    path = capture.with_suffix(".pt.trace.json.gz")
    ask(program, "convert", capture, "-o", path)
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    path.unlink()
    counts = collections.Counter(event.get("cat") for event in events if event.get("ph") == "X")
    kernels = [event for event in events if event.get("cat") == "kernel"]
    return counts, collections.Counter(event["name"] for event in kernels), sum(event["dur"] for event in kernels)


def both_windows(program, name, captures, wanted):
    """Two windows of one process, in one capture: together what torch.profiler saw of as many steps, nothing lost, and every
    kernel on the clock of the host: after its launch and within the window."""
    kernels, lost, kernel_us, strange = collections.Counter(), 0, 0, 0
    for capture in captures:
        _, names, us = events_of(program, capture)
        kernels += names
        kernel_us += us
        document = json.loads(ask(program, "report", capture, "--json"))
        ledger = document["ledger"]
        lost += ledger["launch_without_gpu_event_count"] + ledger["unlinked_gpu_event_count"] + ledger["duplicate_gpu_event_count"]
        strange += off_the_clock(program, capture)
    same = kernels == collections.Counter(wanted["names"])
    alike = abs(kernel_us / wanted["kernel_us"] - 1) < 0.1
    print(f"{name}: {len(captures)} captures, {kernels.total()} kernels ({wanted['kernels']} by torch.profiler), by name {'equal' if same else 'DIFFERENT'}; lost or odd {lost};",
          f"kernel time {kernel_us:,.0f} us ({wanted['kernel_us']:,.0f}); before their launch or after the window: {strange}")
    return same and lost == 0 and alike and strange == 0


def off_the_clock(program, capture):
    """How many GPU events begin before the launch that made them, or end after the window's last second."""
    path = capture.with_suffix(".clock.pt.trace.json.gz")
    ask(program, "convert", capture, "-o", path)
    with gzip.open(path) as file:
        events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    path.unlink()
    calls = {event["args"]["correlation"]: event["ts"] for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver")}
    end = max(event["ts"] + event["dur"] for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver", "cpu_op"))
    gpu = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    return sum(event["ts"] < calls.get(event["args"]["correlation"], event["ts"]) - 5 or event["ts"] + event["dur"] > end + 1e6 for event in gpu)


def killed(program, captures):
    """A process that SIGKILL ended in a window: its kernels are there, and the report speaks of a GPU."""
    document = json.loads(ask(program, "report", captures[0], "--json"))
    ledger = document["ledger"]
    text = ask(program, "report", captures[0]).decode()
    print(f"killed: {ledger['launch_count']:,} launches, {ledger['gpu_event_count']:,} GPU events, {document['status']}")
    print("\n".join("  | " + line for line in text.splitlines()[:12]))
    return ledger["gpu_event_count"] > 0 and document["status"] != "complete" and "CPU only" not in text


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    wrong = 0
    for name in sys.argv[3:]:
        captures = sorted((folder / f"{name}.captures").glob("*.stepscope"))
        if name in ("twice", "between"):
            wrong += not both_windows(program, name, captures, json.loads((folder / "torch.json").read_text()))
            continue
        if name == "killed" and captures:
            wrong += not killed(program, captures)
            continue
        if len(captures) != 1:
            print(f"{name}: {len(captures)} captures")
            wrong += 1
            continue
        document = json.loads(ask(program, "report", captures[0], "--json"))
        ledger = document["ledger"]
        lost = {key: ledger[key] for key in ("launch_without_gpu_event_count", "unlinked_gpu_event_count", "bad_duration_count", "duplicate_gpu_event_count") if ledger[key]}
        print(f"{name}: {ledger['launch_count']:,} launches, {ledger['gpu_event_count']:,} GPU events; lost or odd: {lost or 'nothing'};",
              f"notes: {[note['kind'] for note in document['notes'] if note['severity'] != 'info'] or 'none'}; steps {document['steps']['count']}, {document['status']}")
        wrong += bool(ledger["launch_without_gpu_event_count"])
        if name == "soak":
            wanted = json.loads((folder / "soak.log").read_text().splitlines()[-1])["kernels"]
            print(f"  {ledger['gpu_event_count']:,} of {wanted:,} kernels")
            wrong += ledger["gpu_event_count"] != wanted
        elif name == "plain":
            wanted = json.loads((folder / "plain.log").read_text().splitlines()[-1])
            counts, _, _ = events_of(program, captures[0])
            ours = {"kernels": counts["kernel"], "copies": counts["gpu_memcpy"], "sets": counts["gpu_memset"]}
            print(f"  {ours}, truly {wanted}")
            wrong += ours != wanted
        elif name == "agent":
            wanted = json.loads((folder / "torch.json").read_text())
            counts, names, kernel_us = events_of(program, captures[0])
            same = names == collections.Counter(wanted["names"])
            print(f"  kernels {counts['kernel']} ({wanted['kernels']} by torch.profiler), copies {counts['gpu_memcpy']} ({wanted['copies']}), "
                  f"kernel time {kernel_us:,.0f} us ({wanted['kernel_us']:,.0f}, {kernel_us / wanted['kernel_us'] - 1:+.2%}); by name {'equal' if same else 'DIFFERENT'}")
            wrong += not same or counts["gpu_memcpy"] != wanted["copies"]
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
