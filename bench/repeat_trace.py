#!/usr/bin/env python3
"""Makes a long recording of a short one: repeat_trace.py TRACE[.gz] OUT BYTES

The events are written again and again, each time later by the length of the recording, with numbers (correlation,
external id, sequence, flow, step) moved on so that every link stays inside its repetition.
"""
import gzip
import json
import sys

MOVED_ARGUMENTS = ("correlation", "External id", "Sequence number")
STEP = "ProfilerStep#"


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return json.load(file)


def largest(numbers):
    return max([n for n in numbers if isinstance(n, int)], default=0)


def main(source, target, wanted):
    document = load(source)
    events = document.pop("traceEvents")
    timed = [e for e in events if e["ph"] != "M" and "ts" in e]
    length = max(e["ts"] + e.get("dur", 0) for e in timed) - min(e["ts"] for e in timed) + 1000
    stride = 1 + largest(e.get("args", {}).get(key) for e in events for key in MOVED_ARGUMENTS)
    stride = max(stride, 1 + largest(e.get("id") for e in events))
    steps = sorted({int(e["name"][len(STEP):]) for e in timed if e["name"].startswith(STEP)})
    written = repetition = 0
    with open(target, "w") as out:
        out.write(json.dumps(document)[:-1] + ', "traceEvents": [\n')
        while written < wanted:
            for event in events if repetition == 0 else timed:
                event = dict(event)
                if event["ph"] != "M" and "ts" in event:
                    event["ts"] = round(event["ts"] + repetition * length, 3)
                if isinstance(event.get("id"), int):
                    event["id"] += repetition * stride
                if event["name"].startswith(STEP):
                    event["name"] = STEP + str(int(event["name"][len(STEP):]) + repetition * len(steps))
                if "args" in event:
                    event["args"] = {k: v + repetition * stride if k in MOVED_ARGUMENTS and isinstance(v, int) and v > 0 else v
                                     for k, v in event["args"].items()}
                line = (",\n" if written else "") + json.dumps(event)
                out.write(line)
                written += len(line)
            repetition += 1
        out.write("\n]}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(float(sys.argv[3])))
