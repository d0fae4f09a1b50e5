#!/usr/bin/env python3
"""make_snapshot.py OUT.pickle ENTRIES [DEPTH]: a memory snapshot of any size, written opcode by opcode in constant memory.

The layout is what torch.cuda.memory._dump_snapshot writes (protocol 4): shared frames, a list of frames for each entry, its own
object of the text N/A. 400 stacks of DEPTH (24) frames on average, 148 bytes an entry; allocations of up to 2 MiB take slots of 20 MiB
segments, so that levels, blocks and segments agree. pickle.dumps of such an object would need 6 GB for 1 GB.
"""
import random
import struct
import sys

SLOT = 2 << 20
SLOTS_OF_SEGMENT = 10


class Writer:
    """The few opcodes that a snapshot needs, and the memo's numbers."""

    def __init__(self, file):
        self.file, self.count, self.words = file, 0, {}
        file.write(b"\x80\x04")

    def memo(self):
        self.count += 1
        return b"\x94"

    @staticmethod
    def get(number):
        return b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number)

    def text(self, text, share=True):
        if share and text in self.words:
            return self.get(self.words[text])
        self.words.setdefault(text, self.count)
        encoded = text.encode()
        return b"\x8c" + bytes([len(encoded)]) + encoded + self.memo()

    @staticmethod
    def integer(number):
        if 0 <= number < 256:
            return b"K" + bytes([number])
        if 0 <= number < 65536:
            return b"M" + struct.pack("<H", number)
        if -(1 << 31) <= number < 1 << 31:
            return b"J" + struct.pack("<i", number)
        size = (number.bit_length() + 8) // 8
        return b"\x8a" + bytes([size]) + number.to_bytes(size, "little", signed=True)

    def begin_dict(self):
        return b"}" + self.memo() + b"("

    def begin_list(self):
        return b"]" + self.memo() + b"("


class Snapshot:
    def __init__(self, file, entries, depth):
        self.random = random.Random(1)
        self.writer, self.file, self.entries = Writer(file), file, entries
        frames = [(f"function_{i}", f"/home/u/train/part{i % 9}.py", 10 + i) for i in range(300)]
        frames[250:] = [(f"call_{i}", f"/opt/lib/python3.12/site-packages/torch/part{i % 9}.py", i) for i in range(50)]
        self.frames = [[frame, None] for frame in frames]  # and the frame's number in the memo
        self.stacks = [[self.random.randrange(300) for _ in range(self.random.randint(depth - 8, depth + 8))] for _ in range(400)]
        self.time_us = 1_773_000_000_000_000
        self.free, self.live, self.segments = [], {}, []

    def stack(self, number):
        writer = self.writer
        out = writer.begin_list()
        for at in self.stacks[number]:
            (name, file, line), known = self.frames[at]
            if known is not None:
                out += writer.get(known)
                continue
            self.frames[at][1] = writer.count
            out += (writer.begin_dict() + writer.text("name") + writer.text(name) + writer.text("filename") + writer.text(file) +
                    writer.text("line") + writer.integer(line) + b"u")
        return out + b"e"

    def entry(self, action, address, size, stack):
        writer = self.writer
        self.time_us += self.random.randrange(1, 40)
        out = writer.begin_dict()
        out += writer.text("action") + writer.text(action)
        for key, number in (("addr", address), ("size", size), ("stream", 0), ("time_us", self.time_us)):
            out += writer.text(key) + writer.integer(number)
        out += writer.text("compile_context") + writer.text("N/A", share=False)
        out += writer.text("user_metadata") + writer.text("")
        out += writer.text("frames") + self.stack(stack) + b"u"
        return out

    def next_entries(self):
        random_ = self.random
        if self.live and (len(self.live) > 600 or random_.random() < 0.49):
            address, (size, stack) = self.live.popitem() if random_.random() < 0.7 else self.oldest()
            self.free.append(address)
            other = random_.randrange(len(self.stacks))
            return self.entry("free_requested", address, size, other) + self.entry("free_completed", address, size, other), 2
        out, count = b"", 1
        if not self.free:
            base = 0x7F2000000000 + len(self.segments) * SLOT * SLOTS_OF_SEGMENT
            self.segments.append(base)
            self.free = [base + i * SLOT for i in range(SLOTS_OF_SEGMENT)]
            out, count = self.entry("segment_alloc", base, SLOT * SLOTS_OF_SEGMENT, 0), 2
        address, size, stack = self.free.pop(), random_.randrange(512, SLOT), random_.randrange(len(self.stacks))
        self.live[address] = (size, stack)
        return out + self.entry("alloc", address, size, stack), count

    def oldest(self):
        address = next(iter(self.live))
        return address, self.live.pop(address)

    def write_entries(self):
        written = 0
        self.file.write(self.writer.begin_list())
        while written < self.entries:
            out, count = self.next_entries()
            # Python's pickler ends a batch after a thousand items; here every 998th to 1000th.
            if written // 1000 != (written + count) // 1000 and written:
                self.file.write(b"e(")
            self.file.write(out)
            written += count
        self.file.write(b"e")
        return written

    def segment(self, base):
        # In the order in which it is written: the memo counts.
        writer = self.writer
        addresses = range(base, base + SLOT * SLOTS_OF_SEGMENT, SLOT)
        live = [self.live[address] for address in addresses if address in self.live]
        out = writer.begin_dict()
        for key, number in (("device", 0), ("address", base), ("total_size", SLOT * SLOTS_OF_SEGMENT),
                            ("allocated_size", SLOT * len(live)), ("active_size", SLOT * len(live)),
                            ("requested_size", sum(size for size, _ in live)), ("stream", 0)):
            out += writer.text(key) + writer.integer(number)
        out += writer.text("segment_type") + writer.text("large")
        out += writer.text("segment_pool_id") + writer.integer(0) + writer.integer(0) + b"\x86"
        out += writer.text("is_expandable") + b"\x89" + writer.text("blocks") + writer.begin_list()
        for address in addresses:
            size, stack = self.live.get(address, (0, None))
            out += writer.begin_dict() + writer.text("address") + writer.integer(address)
            out += writer.text("size") + writer.integer(SLOT) + writer.text("requested_size") + writer.integer(size)
            out += writer.text("state") + writer.text("active_allocated" if size else "inactive") + writer.text("frames")
            out += (self.stack(stack) if size else b"]") + b"u"
        return out + b"e" + writer.text("frames") + b"]u"

    def write(self):
        writer, file = self.writer, self.file
        file.write(writer.begin_dict() + writer.text("device_traces") + writer.begin_list())
        written = self.write_entries()
        file.write(b"e" + writer.text("segments") + writer.begin_list())
        for base in self.segments:
            file.write(self.segment(base))
        file.write(b"eu.")
        return written


def main():
    out, entries = sys.argv[1], int(float(sys.argv[2]))
    depth = int(sys.argv[3]) if len(sys.argv) > 3 else 24
    with open(out, "wb", buffering=1 << 20) as file:
        written = Snapshot(file, entries, depth).write()
    print(f"{out}: {written} entries")


if __name__ == "__main__":
    main()
