"""The agent's hooks (probe.cpp) as Python functions."""
import collections
import ctypes
import os

# PyDLL keeps the GIL during calls, as the agent's import hook does; CDLL gives it up, as PyTorch's operators do.
held = ctypes.PyDLL(os.environ["STEPSCOPE_PROBE"])
free = ctypes.CDLL(os.environ["STEPSCOPE_PROBE"])
for library in (held, free):
    for name in ("stack_text", "remarks", "events", "torch_version"):
        getattr(library, "probe_" + name).restype = ctypes.c_char_p
    library.probe_stack_of.argtypes = [ctypes.c_long]
    library.probe_stack_cost.restype = library.probe_look_cost.restype = ctypes.c_double
    library.probe_look_cost.argtypes = [ctypes.c_long, ctypes.c_int]
    library.probe_lost.restype = library.probe_forget_events.restype = ctypes.c_long
    library.probe_ring_cap.argtypes = [ctypes.c_long]

Event = collections.namedtuple("Event", "thread kind flags start end sequence forward stack name detail")


def events():
    records = held.probe_events().decode().split("\x1e")[:-1]
    fields = [record.split("\x1f") for record in records]
    return [Event(*map(int, f[:8]), *f[8:]) for f in fields]


def stack_lines(number):
    return held.probe_stack_text(number).decode().splitlines()
