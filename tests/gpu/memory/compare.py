"""Our answers for the snapshots of memory.sh against what PyTorch counted. Exit status 1 where a byte differs.

    compare.py PROGRAM FOLDER      snapshots: peaks, retries, out-of-memory; and each setting predicted from each other one
    compare.py PROGRAM FOLDER --run    captures of `stepscope run --memory`: peaks by step, the cost
"""
import json
import pathlib
import statistics
import subprocess
import sys


def ask(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, check=False)
    if done.returncode not in (0, 4):
        raise SystemExit(f"{program} {' '.join(map(str, arguments))}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def row(name, *cells):
    print(f"{name:<44}" + "".join(f"{cell:>20}" for cell in cells))


def peaks_of(truth):
    stats = truth["memory_stats"]
    return {"allocated": stats["allocated_bytes.all.peak"], "reserved": stats["reserved_bytes.all.peak"], "requested": stats.get("requested_bytes.all.peak"),
            "active": stats["active_bytes.all.peak"]}


def check_peaks(program, folder, truths):
    """The program `train` resets its peaks at each step, so its truth is the highest of them."""
    wrong = 0
    row("peaks", "allocated", "reserved", "requested", "active")
    for name, truth in truths.items():
        if not (folder / f"{name}.pickle").exists():
            continue
        device = ask(program, "memory", folder / f"{name}.pickle", "--json")["devices"][0]
        wanted = peaks_of(truth)
        if "peaks_by_step" in truth:
            wanted = {key: max(step[key] for step in truth["peaks_by_step"]) for key in ("allocated", "reserved")}
        cells = []
        for key in ("allocated", "reserved", "requested", "active"):
            if wanted.get(key) is None:
                cells.append("-")
                continue
            difference = device[key]["peak_bytes"] - wanted[key]
            wrong += difference != 0
            cells.append("equal" if difference == 0 else f"{difference:+,}")
        row(name, *cells)
    return wrong


def outcome(reserved_bytes, retries, failed_bytes):
    return (f"{reserved_bytes:,}" if reserved_bytes is not None else "served") + (f" retries {retries}" if retries else "") + (f" fails at {failed_bytes:,}" if failed_bytes else "")


def real_outcome(truth):
    stats = truth["memory_stats"]
    reserved = max(step["reserved"] for step in truth["peaks_by_step"]) if "peaks_by_step" in truth else stats["reserved_bytes.all.peak"]
    if truth["no_caching"]:
        reserved = None  # PyTorch counts nothing without its allocator's cache
    return outcome(reserved, stats["num_alloc_retries"], truth.get("failed_bytes"))


def check_predictions(program, folder, truths):
    """Recorded under A, asked for B, against what B really did: the peak, the retries, the request that no retry served.

    What a program asks for after an error is its own affair, so a recording that ends in one says nothing of settings that go on.
    """
    wrong = total = skipped = 0
    by_case = {}
    for name, truth in truths.items():
        if not (folder / f"{name}.pickle").exists():
            continue
        case = truth["case"]
        for other, wanted in truths.items():
            if wanted["case"] != case or other == name:
                continue
            if truth.get("failed_at") is not None and wanted.get("failed_at") != truth["failed_at"]:
                skipped += 1
                continue
            conf = "no_caching" if wanted["no_caching"] else wanted["conf"] or "default"
            capacity = ["--capacity", str(truth["cap_bytes"])] if "cap_bytes" in truth else []
            answer = ask(program, "memory", folder / f"{name}.pickle", "--what-if", conf, *capacity, "--json")["what_if"][0]
            ours = outcome(None if wanted["no_caching"] else answer["reserved_peak_bytes"], answer["retries"], (answer["oom"] or {}).get("request_bytes"))
            total += 1
            equal, count = by_case.get(case, (0, 0))
            by_case[case] = (equal + (ours == real_outcome(wanted)), count + 1)
            if ours != real_outcome(wanted):
                wrong += 1
                print(f"{name} -> {other}: {ours}, truly {real_outcome(wanted)}; replay {answer['replay_matched']}/{answer['replay_total']}")
    print(f"predictions: {total - wrong} of {total} equal, {skipped} not comparable;", ", ".join(f"{case} {a} of {b}" for case, (a, b) in by_case.items()))
    return wrong


def check_runs(program, folder, truths):
    wrong = 0
    for name, truth in truths.items():
        if "peaks_by_step" not in truth:
            continue
        captures = sorted((folder / f"{name}.captures").glob("*.stepscope"))
        if not captures:
            continue
        devices = ask(program, "report", captures[0], "--json")["memory"]["devices"]
        if not devices:  # recorded without --memory, for the cost
            continue
        memory = devices[0]
        ours = memory["allocated_peak_by_step_bytes"]
        theirs = [step["allocated"] for step in truth["peaks_by_step"]][-len(ours):]
        equal = sum(a == b for a, b in zip(ours, theirs))
        wrong += equal != len(ours)
        row(name, f"{equal} of {len(ours)} steps", f"process {memory['process_last_bytes']}", f"reserved {memory['reserved_last_bytes']}")
        for snapshot in sorted((folder / f"{name}.captures").glob("*.pickle")):
            row("  " + snapshot.name[-30:], f"{snapshot.stat().st_size:,} bytes", str(snapshot.with_name(snapshot.name[:-7] + ".tensors.json").exists()))
    medians = {}
    for name, truth in truths.items():
        if "step_seconds" in truth:
            medians.setdefault(name.rsplit("-", 1)[0], []).append(statistics.median(truth["step_seconds"][5:]) * 1e3)
    for way, values in medians.items():
        if way != "plain":
            ratios = sorted(b / a for a, b in zip(medians["plain"], values))
            print(f"{way}: {statistics.median(values):.2f} ms a step, {statistics.median(medians['plain']):.2f} without; of {len(ratios)} pairs the median is x{statistics.median(ratios):.3f}, from {ratios[0]:.3f} to {ratios[-1]:.3f}")
    return wrong


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    truths = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    if "--run" in sys.argv:
        sys.exit(1 if check_runs(program, folder, truths) else 0)
    sys.exit(1 if check_peaks(program, folder, truths) + check_predictions(program, folder, truths) else 0)


if __name__ == "__main__":
    main()
