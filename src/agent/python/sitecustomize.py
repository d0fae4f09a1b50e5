# Arms the agent when PyTorch has been imported, in a program that knows nothing of it.
#
# `stepscope run` puts this folder first in PYTHONPATH, so Python imports this file at its start. It must not be noticed:
# it imports nothing that Python has not loaded by then, takes its folder out of sys.path, and runs the sitecustomize
# that Python would have found without it. PyTorch is watched for by a finder that takes itself away once it was asked
# for torch; the agent attaches on the importing thread, after torch's own code has run, never from a thread of its own.
# Any failure here is silent: the program goes on without operators, and the agent says at exit what is missing.
import sys


def _arm():
    try:
        import ctypes

        # PyDLL keeps the GIL: the agent looks at the frames of this thread.
        arm = ctypes.PyDLL(None).stepscope_agent_arm
        arm.restype = ctypes.c_int
        arm()
    except Exception:
        pass


def _finish():
    try:
        import ctypes

        ctypes.CDLL(None).stepscope_agent_finish()
    except Exception:
        pass


def _finish_at_every_end():
    """os._exit and a signal that Python dies of (Ctrl-C) run nothing of C's atexit, and the last second would be lost."""
    try:
        import atexit
        import os

        end = os._exit

        def _exit(status):
            _finish()
            end(status)

        _exit.__doc__ = end.__doc__
        os._exit = _exit
        atexit.register(_finish)  # the first one registered is the last one called
    except Exception:
        pass


def _start(name, torch):
    """A file beside this one, loaded by its path, since this folder is no longer on sys.path by then."""
    try:
        import importlib.util

        spec = importlib.util.spec_from_file_location("_" + name, _own_folder() + "/" + name + ".py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.start(torch)
    except Exception:
        pass


def _greet(torch):
    import os

    _arm()
    if "memory=1" in os.environ.get("STEPSCOPE_AGENT_OPTIONS", ""):
        _start("stepscope_memory", torch)
    _start("stepscope_optimizers", torch)  # last: a step ends when its memory has been looked at


class _TorchFinder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "torch":
            return None
        try:
            sys.meta_path.remove(cls)
        except ValueError:
            pass
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            spec = find_spec(name, path, target) if find_spec is not None else None
            if spec is not None:
                cls.watch(spec)
                return spec
        return None

    @staticmethod
    def watch(spec):
        try:
            loader = spec.loader
            execute = loader.exec_module

            def exec_module(module):
                # Before torch runs: what it and others see of its loader is again the loader's own.
                del loader.exec_module
                execute(module)
                _greet(module)

            loader.exec_module = exec_module
        except Exception:
            pass


def _own_folder():
    return __file__.rpartition("/")[0]


def _run_the_next():
    """The sitecustomize behind this one, as if this one were not there."""
    own = _own_folder()
    sys.path[:] = [entry for entry in sys.path if entry.rstrip("/") != own]
    this = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", None) != "sitecustomize":
            raise
        # There is none. Python takes this module out of sys.modules once more when this file has run.
        if this is not None:
            sys.modules["sitecustomize"] = this


_finish_at_every_end()
if "torch" in sys.modules:
    _greet(sys.modules["torch"])
else:
    sys.meta_path.insert(0, _TorchFinder)
_run_the_next()
