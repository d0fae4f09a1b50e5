"""Run by test_wheel.py inside an environment that holds the wheel and nothing of the project else.

    python -P check_installed.py FOLDER_OF_TEST_DATA REPOSITORY [torch]

Says what it saw, one word a line, so that the caller can tell a check that was made from one that was left out.
"""

import contextlib
import io
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile

DATA = pathlib.Path(sys.argv[1])
ROOT = pathlib.Path(sys.argv[2])


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def check_import():
    before = set(sys.modules)
    import stepscope

    stepscope.load
    heavy = {"torch", "numpy", "pandas", "pyarrow", "polars"} & (set(sys.modules) - before)
    assert not heavy, heavy
    place = pathlib.Path(stepscope.__file__).resolve()
    assert ROOT.resolve() not in place.parents or "site-packages" in place.parts, place
    assert place.parent.joinpath("py.typed").exists()
    print("import", stepscope.__version__)


def check_trace():
    import pandas

    import stepscope

    trace = stepscope.load(DATA / "golden" / "conv.pt.trace.json.gz")
    assert trace.report().data["schema_version"] >= 1
    frame = trace.kernels().to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(trace.kernels()) > 0
    assert frame["duration_ns"].sum() > 0
    assert len(pickle.loads(pickle.dumps(trace)).kernels()) == len(frame)
    try:
        stepscope.load(DATA / "cases" / "A25_zero_bytes.json")
        raise AssertionError("an empty file was read")
    except stepscope.TraceError as error:
        assert error.file.endswith("A25_zero_bytes.json")
    snapshot = stepscope.memory.load(DATA / "memory" / "made" / "training.pickle")
    assert len(snapshot.live_by("line").to_pandas()) > 0
    print("trace", len(frame))


def check_command():
    program = pathlib.Path(sys.executable).parent / "stepscope"
    import stepscope

    assert stepscope.__version__ in run(program, "--version")
    assert run(program, "report", DATA / "golden" / "conv.pt.trace.json.gz", "--json").startswith("{")
    assert "allocated" in run(program, "memory", DATA / "memory" / "C01_basic_proto5.pickle", "--json")
    assert run(sys.executable, "-P" if sys.version_info >= (3, 11) else "-s", "-m", "stepscope", "--version") == run(program, "--version")
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        run(program, "view", DATA / "golden" / "conv.pt.trace.json.gz", "-o", page)
        assert page.stat().st_size > 100_000
    print("command")


def check_agent():
    """The agent loads without PyTorch and a GPU, and `stepscope run` finds it: the program below sees it in its process."""
    from stepscope import _agent

    program = pathlib.Path(sys.executable).parent / "stepscope"
    with tempfile.TemporaryDirectory() as folder:
        _agent.begin(folder, shapes=False, stacks=True, allocations=False, gpu=False)
        _agent.start()
        _agent.stop()
        path = _agent.end()
        assert path is None or pathlib.Path(path).exists(), path
        code = "import ctypes; print('armed', hasattr(ctypes.PyDLL(None), 'stepscope_agent_arm'))"
        said = run(program, "run", "--no-report", "--out", folder, "--", sys.executable, "-c", code)
        assert "armed True" in said, said
    print("agent")


def check_torch():
    import torch

    from stepscope.torch import profile, record_function, schedule

    model = torch.nn.Linear(64, 64)
    ready = []
    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=ready.append, record_shapes=True) as prof:
        for _ in range(4):
            with record_function("forward"):
                loss = model(torch.randn(32, 64)).sum()
            loss.backward()
            prof.step()
    assert len(ready) == 1
    counts = {row.key: row.count for row in prof.key_averages()}
    assert counts["aten::addmm"] == 2 and counts["forward"] == 2, counts
    program = pathlib.Path(sys.executable).parent / "stepscope"
    with tempfile.TemporaryDirectory() as folder:
        run(program, "run", "--no-report", "--out", folder, "--", sys.executable, ROOT / "examples" / "train_cpu.py", "--steps", "6", "--rows", "8")
        (capture,) = pathlib.Path(folder).rglob("*.stepscope")
        ops = json.loads(run(program, "ops", capture, "--json"))
        assert any(row["key"] == "aten::addmm" for row in ops["rows"])
    print("torch", torch.__version__)


def check_page():
    """The README's Python block, as printed, and docs/python/pytorch.md."""
    import re

    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / "examples" / "data-loader-stall.pt.trace.json.gz", pathlib.Path(folder) / "trace.pt.trace.json.gz")
        before = os.getcwd()
        os.chdir(folder)
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                for page in ("README.md", "docs/python/pytorch.md"):
                    names = {}
                    for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S):
                        if page != "README.md" or "import stepscope" in block:  # others are of PyTorch's own tools
                            exec(compile(block, page, "exec"), names)
        finally:
            os.chdir(before)
        assert "data-loader-stall" in out.getvalue()
    print("page")


check_import()
check_trace()
check_command()
check_agent()
if "torch" in sys.argv[3:]:
    check_torch()
    check_page()
