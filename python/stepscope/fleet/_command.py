"""`stepscope report|summarize|merge` where files are URLs or an engine is named.

What is printed is the compiled program's: the same words, options and exit statuses (0 read whole, 2 wrong usage, 3 nothing
usable, 4 something was lost). One trace behind a URL goes through a named pipe into the program itself.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

from .. import _core
from .._program import path as program_path
from . import FleetReport, load, report
from ._files import SUMMARY_ENDINGS, Source, StoreError, expand, is_url, names_here, open_at, redact, refuse_output, write_whole
from ._progress import Line
from ._ray import RayUnavailable
from ._pool import WorkerFailed
from ._stream import BLOCK_BYTES, read_blocks
from ._task import WrongAsked, _is_permanent, why

_USAGE, _UNUSABLE, _PARTIAL = 2, 3, 4
# Of thousands of unusable files the first ones say what is the matter.
_MOST_NAMED = 8

_EXAMPLES = """\
Examples:
  stepscope report s3://bucket/run1/                       every rank of a run
  stepscope report 's3://bucket/run1/*rank1?.json.gz'      some of them
  stepscope report /shared/run1 --engine ray               on the cluster at RAY_ADDRESS
  stepscope report /local/trace --engine ray --address head:6379 --per-node
  stepscope report s3://bucket/run1/ --save run1.sss; stepscope report run1.sss --json
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(_USAGE, f"stepscope: {redact(message)}\nType `{self.prog} --help` for the options and examples.\n")


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, not {text}")
    return int(text)


def _number(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text}")
    return int(text)


def _columns(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 60 <= int(text) <= 400:
        raise argparse.ArgumentTypeError(f"must be a whole number from 60 to 400, not {text}")
    return int(text)


_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}


def _amount(text: str) -> float:
    found = re.fullmatch(r"([0-9.]+(?:e[0-9]+)?) ?([A-Za-z]*?)(?:B|FLOP/s|FLOPS)?", text)
    try:
        value = float(found.group(1)) * _UNITS[found.group(2)] if found else 0.0
    except (KeyError, ValueError):
        value = 0.0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be an amount such as 989T or 16GB, not {text}")
    return value


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError("must be NAME=VALUE")
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    return name, words.get(value.lower(), value)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("FILE", nargs="+", help="files, folders, patterns, URLs: traces, captures, summaries (.sss)")
    parser.add_argument("--steps", metavar="NAME", default="", help="the span that is one step, if not ProfilerStep#N")
    parser.add_argument("--device", metavar="N", type=int, help="device to report on; else the one that worked most")
    parser.add_argument("--peak", "--peak-flops", metavar="X", type=_amount, help="FLOP/s of one GPU, dense, for MFU: 989T")
    parser.add_argument("--tries", metavar="N", type=_count, default=3, help="before a file counts as unreadable (3)")
    parser.add_argument(
        "--store", metavar="NAME=VALUE", type=_option, action="append", default=[],
        help="an option of fsspec's file system: anon=true, endpoint_url=http://...; keys belong in the environment",
    )  # fmt: skip


def _add_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--engine", choices=("local", "ray"), default="local", help="this machine's cores, or a Ray cluster")
    parser.add_argument("--address", metavar="HOST:PORT", help="of the Ray cluster; else RAY_ADDRESS, else this machine's")
    parser.add_argument("--per-node", action="store_true", help="the files lie on each node's own disk (Ray)")
    parser.add_argument("--jobs", metavar="N", type=_count, help="files read at a time (all cores)")
    parser.add_argument("--memory", metavar="BYTES", type=_amount, help="for all readers together: 16GB (70 %% of what is free)")


def _report_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="stepscope report",
        description="All ranks of a run together, read where they lie: URLs, other engines.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_reading(parser)
    _add_engine(parser)
    parser.add_argument("--save", metavar="FILE", help="keep the run's summary (.sss), a URL too")
    parser.add_argument("--json", action="store_true", help="a versioned document")
    parser.add_argument("--top", metavar="N", type=_number, help="rows of each table")
    parser.add_argument("--width", metavar="N", type=_columns, help="columns of text")
    parser.add_argument("--color", "--colour", metavar="WHEN", choices=("auto", "always", "never"), help="auto, always, never")
    for name, meaning in (("--finding", "the proof of finding N"), ("--rank", "only this rank"), ("--threads", "for reading")):
        parser.add_argument(name, metavar="N", type=_number, help=f"{meaning} (one trace)")
    parser.add_argument("--window", metavar="WHICH", choices=("steps", "all"), help="steps or all (one trace)")
    parser.add_argument("--html", metavar="FILE", help="write a page too; -: only it")
    return parser


_OF_ONE_TRACE = ("finding", "rank", "threads", "window")


def _printing(asked: argparse.Namespace) -> list[str]:
    words = ["--json"] if asked.json else []
    for name in ("top", "finding", "rank", "threads", "width", "window", "html", "color"):
        value = getattr(asked, name)
        if value is not None:
            words += [f"--{name}={value}"]
    return words


def _reading(asked: argparse.Namespace) -> list[str]:
    words = [f"--steps={asked.steps}"] if asked.steps else []
    words += [f"--device={asked.device}"] if asked.device is not None else []
    return words + ([f"--peak={asked.peak!r}"] if asked.peak is not None else [])


def _say(text: str) -> None:
    print(f"stepscope: {redact(text)}", file=sys.stderr)


def _report(arguments: Sequence[str]) -> int:
    parser = _report_parser()
    asked = parser.parse_args(arguments)
    store = dict(asked.store)
    if asked.engine == "local" and not asked.save:
        sources = expand(asked.FILE, store)
        if len(sources) == 1 and not sources[0].is_local and not sources[0].name.endswith(SUMMARY_ENDINGS):
            return _report_one(sources[0], asked, store)
    for name in _OF_ONE_TRACE:
        if getattr(asked, name) is not None:
            parser.error(f"--{name} needs one trace")
    if asked.html == "-" and asked.json:
        parser.error("--html - gives standard output to the page: --json apart")
    if asked.html == "-" and sys.stdout.isatty():
        parser.error("--html - would write to the terminal; name a file")
    if asked.save:
        _refuse_output(parser, asked.save, asked)
    if asked.html and asked.html != "-":
        _refuse_output(parser, asked.html, asked, is_summary=False)
    run = _read(parser, asked)
    if asked.save:
        run.save(asked.save, store)
    if asked.html and asked.html != "-":
        write_whole(asked.html, _page_of(run, asked), store)
    return _print_run(run, asked)


def _page_of(run: FleetReport, asked: argparse.Namespace) -> bytes:
    return run.page(asked.top or 0).encode("utf-8", "surrogateescape")


def _refuse_output(parser: argparse.ArgumentParser, output: str, asked: argparse.Namespace, is_summary: bool = True) -> None:
    """Before anything is read: reading a run takes long."""
    try:
        refuse_output(output, names_here(asked.FILE), dict(asked.store), is_summary)
    except FileExistsError as error:
        parser.error(f"{error.filename}: {error.strerror}")


def _read(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> FleetReport:
    if asked.engine == "local" and (asked.per_node or asked.address):
        parser.error("--address and --per-node need --engine ray")
    line = Line()
    try:
        run = report(
            asked.FILE,
            engine=asked.engine,
            address=asked.address,
            jobs=asked.jobs,
            memory_bytes=None if asked.memory is None else int(asked.memory),
            per_node=asked.per_node,
            tries=asked.tries,
            steps=asked.steps,
            device=asked.device,
            peak_flops=asked.peak,
            storage_options=dict(asked.store),
            progress=line,
        )
    finally:
        line.close()
    for remark in run.remarks:
        _say(remark)
    return run


def _print_run(run: FleetReport, asked: argparse.Namespace) -> int:
    _say_unreadable(run)
    style = _style(asked)
    if asked.html == "-":
        content = _page_of(run, asked)
    else:
        text = _core.fleet_report(run.summary, as_json=asked.json, row_count=asked.top or 0, **style)
        content = text.encode("utf-8", "surrogateescape")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter would complain at its end
        return _UNUSABLE
    return {"complete": 0, "partial": _PARTIAL}.get(str(run["status"]), _UNUSABLE)


def _style(asked: argparse.Namespace) -> dict[str, Any]:
    """How the program writes, by the same rules (src/cli/console.cpp)."""
    is_terminal = sys.stdout.isatty()
    is_dumb = os.environ.get("TERM") == "dumb"
    colour = is_terminal and not os.environ.get("NO_COLOR") and not is_dumb
    if asked.color is not None and asked.color != "auto":
        colour = asked.color == "always"
    width = asked.width
    if width is None:
        width = min(max(shutil.get_terminal_size().columns, 60), 120) if is_terminal else 80
    charset = next((os.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "")
    is_utf8 = "." not in charset or charset.split(".", 1)[1].lower().startswith("utf")
    return {"width": width, "colour": colour, "ascii": (is_dumb and is_terminal) or not is_utf8}


def _say_unreadable(run: FleetReport) -> None:
    for source, reason in run.unreadable[:_MOST_NAMED]:
        _say(f"{source}: {reason}")
    if len(run.unreadable) > _MOST_NAMED:
        print(f"and {len(run.unreadable) - _MOST_NAMED} more files that cannot be used", file=sys.stderr)


def _report_one(source: Source, asked: argparse.Namespace, store: dict[str, Any]) -> int:
    """One trace: the whole report of it, streamed into the program through a named pipe."""
    with tempfile.TemporaryDirectory(prefix="stepscope-") as folder:
        pipe = os.path.join(folder, re.sub(r"[^\w.@+-]", "_", source.name.rsplit("/", 1)[-1]) or "trace")
        os.mkfifo(pipe)
        blocks = read_blocks(
            lambda offset: open_at(source, store, offset, BLOCK_BYTES), source.size_bytes, asked.tries, _is_permanent
        )
        try:
            first = next(blocks, b"")
        except Exception as error:
            _say(f"{source.name}: {why(error, source)}")
            return _UNUSABLE
        program = subprocess.Popen([str(program_path()), "report", pipe, *_reading(asked), *_printing(asked)])
        failure: list[BaseException] = []

        def feed() -> None:
            try:
                with open(pipe, "wb", buffering=0) as into:
                    rest = memoryview(first)
                    while rest:
                        rest = rest[into.write(rest) or 0 :]
                    for block in blocks:
                        rest = memoryview(block)
                        while rest:
                            rest = rest[into.write(rest) or 0 :]
            except BrokenPipeError:
                pass  # it has seen enough
            except BaseException as error:
                failure.append(error)
                program.kill()  # before it can take the break for the end

        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        status = program.wait()
        if failure:
            _say(f"{source.name}: {why(failure[0], source)}")
            return _UNUSABLE
        # A program that ended before it opened the pipe (wrong usage) leaves the feeder at the door.
        try:
            os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
        except OSError:
            pass
        return status


def _summarize(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="stepscope summarize",
        description="What is kept of each rank when many are looked at together: from and to URLs, by other engines.",
        allow_abbrev=False,
    )
    _add_reading(parser)
    _add_engine(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="summary to write, a URL too")
    asked = parser.parse_args(arguments)
    _refuse_output(parser, asked.output, asked)
    return _write(_read(parser, asked), asked)


def _merge(arguments: Sequence[str]) -> int:
    parser = _Parser(prog="stepscope merge", description="Summaries as one: from and to URLs.", allow_abbrev=False)
    parser.add_argument("FILE", nargs="+", help="summaries (.sss), folders, patterns, URLs of them")
    parser.add_argument("--engine", choices=("local",), default="local", help=argparse.SUPPRESS)
    parser.add_argument("--store", metavar="NAME=VALUE", type=_option, action="append", default=[])
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="summary to write, a URL too")
    asked = parser.parse_args(arguments)
    store = dict(asked.store)
    # Of a folder its summaries, also where traces lie beside them.
    files = [_pattern_of(name) for name in asked.FILE]
    names = [source.url if source.path is None else source.name for source in expand(files, store)]
    asked.FILE = names
    _refuse_output(parser, asked.output, asked)
    return _write(load(names, storage_options=store), asked)


def _pattern_of(name: str) -> str:
    return name.rstrip("/") + "/*.sss" if is_url(name) and name.endswith("/") else name


def _write(run: FleetReport, asked: argparse.Namespace) -> int:
    """As the program does: what could not be read is said, and nothing is written where there is no rank."""
    _say_unreadable(run)
    if len(run) == 0:
        return _UNUSABLE
    run.save(asked.output, dict(asked.store))
    ranks = _core.summary_ranks(run.summary)
    is_whole = not run.unreadable and not any(ranks.column("lost_count")) and not any(ranks.column("withheld"))
    return 0 if is_whole else _PARTIAL


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    commands = {"report": _report, "summarize": _summarize, "merge": _merge}
    try:
        return commands[arguments[0]](arguments[1:])
    except (StoreError, FileNotFoundError) as error:
        _say(f"{error.filename}: {error.strerror}")
    except WrongAsked as error:
        _say(str(error))
        return _USAGE
    except (RayUnavailable, WorkerFailed, _core.TraceError, ValueError) as error:
        _say(str(error))
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        return 130
    return _UNUSABLE
