"""A trace's text with room for other times: written anew for each rank in some 20 ms.

Every "ts" and "dur" of the recorded text becomes a slot of fixed width, so that a rank is one copy of the text with its digits
put in at once by numpy. Blanks before a number are JSON as well. Writing 32,000 events number by number took ten times as long.
"""
import re

import numpy as np

# Every event's place and time. Metadata has its time before its place and is left alone.
TIMED = re.compile(r'("pid": ([^,]+), "tid": ([^,]+),\s*"ts": )([0-9]+)\.([0-9]{3})(?:(, "dur": )([0-9]+)\.([0-9]{3}))?')
RANK = re.compile(r'("distributedInfo": \{[^{}\[\]]*"rank": )([0-9]+)')
RANK_DIGITS = 7
GROUPS = {"ts": 6, "dur": 4}  # of three digits; the last is the part of a microsecond
FULL = np.array([list(f"{i:03d}".encode()) for i in range(1000)], np.uint8)
BLANK = np.array([list(f"{i:3d}".encode()) if i else [32, 32, 32] for i in range(1000)], np.uint8)
ONE = np.array([list(f"{i:3d}".encode()) for i in range(1000)], np.uint8)


def width(groups):
    return 3 * groups + 1


class TraceText:
    def __init__(self, text):
        places, starts, lengths, has_length = [], [], [], []
        pieces, slots = [], {"ts": [], "dur": []}
        rank = RANK.search(text)
        written = len(rank[1]) + rank.start()
        pieces.append(text[:written].encode() + b" " * RANK_DIGITS)
        self.rank_slot = len(pieces[0]) - RANK_DIGITS
        size, at = len(pieces[0]), rank.end()
        for match in TIMED.finditer(text):
            pieces.append(text[at:match.end(1)].encode())
            slots["ts"].append(size + len(pieces[-1]))
            pieces.append(b" " * width(GROUPS["ts"]))
            size = slots["ts"][-1] + len(pieces[-1])
            if match[7]:
                pieces.append(match[6].encode())
                slots["dur"].append(size + len(pieces[-1]))
                pieces.append(b" " * width(GROUPS["dur"]))
                size = slots["dur"][-1] + len(pieces[-1])
            places.append((match[2], match[3]))
            starts.append(int(match[4]) * 1000 + int(match[5]))
            lengths.append(int(match[7]) * 1000 + int(match[8]) if match[7] else 0)
            has_length.append(match[7] is not None)
            at = match.end()
        self.places = places  # (pid, tid) as text
        self.starts, self.ends = np.array(starts), np.array(starts) + np.array(lengths)
        self.has_length = np.array(has_length)
        self.bytes = np.frombuffer(b"".join(pieces) + text[at:].encode(), np.uint8)
        self.columns = {kind: np.array(found)[:, None] + np.arange(width(GROUPS[kind])) for kind, found in slots.items()}

    def write(self, rank, starts, ends):
        """The text as an array of bytes, with these times in ns."""
        out = self.bytes.copy()
        out[self.rank_slot:self.rank_slot + RANK_DIGITS] = list(f"{rank:{RANK_DIGITS}d}".encode())
        out[self.columns["ts"]] = digits(starts, GROUPS["ts"])
        out[self.columns["dur"]] = digits(np.maximum(ends - starts, 0)[self.has_length], GROUPS["dur"])
        return out


def digits(values, groups):
    """One line of characters for each: "  1234.005" for 1234005."""
    out = np.empty((len(values), width(groups)), np.uint8)
    rest, part = np.divmod(values, 1000)
    out[:, -3:] = FULL[part]
    out[:, -4] = ord(".")
    for group in range(groups - 2, -1, -1):
        rest, part = np.divmod(rest, 1000)
        table = ONE if group == groups - 2 else BLANK
        at = 3 * group
        out[:, at:at + 3] = np.where((rest > 0)[:, None], FULL[part], table[part])
    return out
