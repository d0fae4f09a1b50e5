# What tells the agent of the steps of optimizers inside a PyTorch program: the global hooks of torch.optim.
#
# Why not PyTorch's spans, and what becomes of what is told here: src/agent/optimizer_calls.h. Loaded by the import hook
# once torch has been imported. Nothing here may reach the program: a failure is a step that is not counted, and where the
# hooks cannot be installed (an older torch) the agent hears spans as ever.
#
# torch.compile traces hooks into the program's graph. It knows what is_compiling() says while it compiles, so of ours
# nothing is left: the same graphs, breaks and guards that fail as without them (tests/cli/test_run_optimizers.py). For that the
# question stands first, outside `try`, and the hooks are closures: a name of this module's would make Dynamo import the
# module by its name for its guards. Hooks are torch.optim's own, not an optimizer's, so no copy or pickle of
# one takes them along.
import sys


def names():
    """"SGD" -> b"Optimizer.step#SGD.step", as PyTorch calls its span. By name, so that no class is kept alive."""
    known = {}

    def name_of(optimizer):
        name = type(optimizer).__name__
        text = known.get(name)
        if text is None:
            text = known[name] = f"Optimizer.step#{name}.step".encode("utf-8", "replace")
        return text

    return name_of


def numbers(forget):
    """A number an optimizer, counted up from 1, no number twice; 0: it allows no weak references. Of one that is gone the
    agent is told at the next call, since it may go anywhere, while the agent holds a lock too."""
    from itertools import count
    from weakref import ref

    known, gone = {}, []
    following = count(1)

    def tell_gone():
        try:
            while True:
                forget(gone.pop())
        except IndexError:  # another thread may be here too
            pass

    def number_of(optimizer):
        if gone:
            tell_gone()
        key = id(optimizer)
        found = known.get(key)
        if found is not None:
            return found[0]
        number = next(following)
        try:
            known[key] = number, ref(optimizer, lambda _: (known.pop(key, None), gone.append(number)))
        except TypeError:
            return 0
        return number

    return number_of


def count_around(frame):
    """Calls of the same function around this one."""
    code, count, frame = frame.f_code, 0, frame.f_back
    while frame is not None:
        count += frame.f_code is code
        frame = frame.f_back
    return count


def start(torch):
    import ctypes

    # PyDLL keeps the GIL: the agent looks at the frames of this thread.
    agent = ctypes.PyDLL(None)
    if not agent.stepscope_agent_wants_optimizer_steps():
        return
    begin, keep = agent.stepscope_agent_begin_optimizer_step, agent.stepscope_agent_keep_optimizer_steps
    end, forget = agent.stepscope_agent_end_optimizer_step, agent.stepscope_agent_forget_optimizer
    begin.argtypes, begin.restype = [ctypes.c_char_p, ctypes.c_ulonglong], ctypes.c_int
    keep.argtypes, keep.restype = [ctypes.c_int], None
    end.argtypes, end.restype = [ctypes.c_ulonglong], None
    forget.argtypes, forget.restype = [ctypes.c_ulonglong], None
    is_compiling = torch.compiler.is_compiling
    name_of, number_of, frame_of, around = names(), numbers(forget), sys._getframe, count_around

    def before(optimizer, args, kwargs):
        if is_compiling():
            return
        try:
            if begin(name_of(optimizer), number_of(optimizer)):
                keep(around(frame_of(1)))  # others are open: inside them, or they raised
        except Exception:
            pass

    def after(optimizer, args, kwargs):
        if is_compiling():
            return
        try:
            end(number_of(optimizer))
        except Exception:
            pass

    optim = sys.modules["torch.optim.optimizer"]
    install_before, install_after = optim.register_optimizer_step_pre_hook, optim.register_optimizer_step_post_hook
    install_after(after)
    install_before(before)
