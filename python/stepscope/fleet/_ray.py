"""The engine `ray`: files are read by tasks where they lie, and summaries reduced as a tree, on an existing cluster.

A task reads one file and gives its summary (at most 256 KiB); every `FAN_IN` summaries are merged by a task, and so on.
Since merging is a union, the order in which tasks end changes no bit of the answer, and what is read twice after a lost
node counts once. Ray itself tries a task again whose worker or node was lost; what it gives up is named unreadable by
the merging task, which asks for each of its parts by itself, so that one lost part costs no other.

`per_node`: the files lie on each node's own disk. Then a task pinned to each node lists them, and they are read there.
A file of the same path, size and time on several nodes is a shared one: it is read once, anywhere.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from .. import _core
from ._files import Source, What, expand
from ._progress import Listener, Meter
from ._task import Asked, reader_died, summarize_or_say_why, unreadable

# At a fan-in of 32 two levels reach 1,024 ranks and three 32,768; larger groups make the last ranks of one wait longer.
FAN_IN = 32
# Files handed to the cluster ahead of its cores, so that none idles while the driver looks away.
_AHEAD = 4
# For the cluster's port to answer; across continents it is a tenth.
_KNOCK_S = 5.0


class RayUnavailable(RuntimeError):
    """Ray is missing, or the cluster cannot be reached or used: in words."""


@dataclass(frozen=True)
class _Part:
    """A file's or a group's summary in the cluster."""

    sources: tuple[Source, ...]
    ref: Any


def _ray() -> Any:
    try:
        import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise RayUnavailable("the engine ray needs Ray: pip install 'stepscope[ray]'") from None
    return ray


class _Quiet:
    """A stream that lets everybody write but Ray's own threads, which report lost nodes there."""

    def __init__(self, stream: TextIO, silent: set[int]) -> None:
        self._stream = stream
        self._silent = silent  # other threads that must not write now

    def write(self, text: str) -> int:
        if threading.current_thread().name.startswith("ray_") or threading.get_ident() in self._silent:
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _quiet() -> Iterator[set[int]]:
    """Keeps Ray off the program's streams. Gives the set of threads that are silent too."""
    silent: set[int] = set()
    was = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    ours = {name: _Quiet(stream, silent) for name, stream in was.items()}
    for name, stream in ours.items():
        setattr(sys, name, stream)
    try:
        yield silent
    finally:
        for name, stream in ours.items():
            # Somebody may have put a stream of their own over ours meanwhile.
            if getattr(sys, name) is stream:
                setattr(sys, name, was[name])


@contextlib.contextmanager
def _connected(ray: Any, address: str | None, jobs: int | None) -> Iterator[None]:
    """In a cluster: the caller's if there is a connection, else `address`, RAY_ADDRESS, one of this machine, or a new."""
    if ray.is_initialized():
        yield
        return
    # Nothing is sent anywhere; and Ray's hints are about programs that are not ours.
    for name, value in (("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")):
        os.environ.setdefault(name, value)
    common: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    with _quiet() as silent:
        try:
            _connect(ray, address, jobs, common)
        except Exception as error:
            where = address or os.environ.get("RAY_ADDRESS") or "this machine"
            text = " ".join(str(error).split())
            raise RayUnavailable(f"no Ray cluster at {where}: {text[:300]}") from None
        try:
            yield
        finally:
            silent.add(threading.get_ident())  # what was held back comes at the end, from whoever ends it
            ray.shutdown()


def _connect(ray: Any, address: str | None, jobs: int | None, common: Mapping[str, Any]) -> None:
    where = address or os.environ.get("RAY_ADDRESS")
    if where:
        _knock(where)
        ray.init(address=address, **common)
        return
    try:
        ray.init(address="auto", **common)
    except ConnectionError:
        ray.init(num_cpus=jobs, include_dashboard=False, **common)


def _knock(address: str) -> None:
    """Raises OSError where nobody listens: Ray itself would go on asking for a quarter of an hour."""
    found = re.fullmatch(r"(?:ray://)?\[?([^\[\]/]+?)\]?:([0-9]{1,5})", address)
    if found is not None:
        socket.create_connection((found.group(1), int(found.group(2))), timeout=_KNOCK_S).close()


def _check_version(wanted: str) -> None:
    if _core.__version__ != wanted:
        host = socket.gethostname()
        raise RuntimeError(f"{host} has stepscope {_core.__version__}, the caller {wanted}: install the same on all nodes")


# The bodies of the tasks.


def _list_here(what: What, storage_options: Mapping[str, Any], version: str) -> list[Source]:
    _check_version(version)
    try:
        return expand(what, storage_options)
    except FileNotFoundError:
        return []


def _read(source: Source, asked: Asked, version: str) -> bytes:
    _check_version(version)
    return summarize_or_say_why(source, asked)


def _merge(sources: Sequence[Source | None], refs: Sequence[Any], tries: int) -> bytes:
    """`sources`: None for a group, which cannot be given up."""
    ray = _ray()
    parts = []
    for source, ref in zip(sources, refs):
        try:
            parts.append(ray.get(ref))
        except ray.exceptions.RayError as error:
            if source is None or isinstance(error, ray.exceptions.RayTaskError):
                raise
            parts.append(_given_up(ray, source, error, tries))
    return _core.merge_summaries(parts)


def _given_up(ray: Any, source: Source, error: BaseException, tries: int) -> bytes:
    errors = ray.exceptions
    if isinstance(error, errors.WorkerCrashedError):
        return reader_died(source, tries)
    if isinstance(error, errors.OutOfMemoryError):
        return unreadable(source, "not enough memory to read it")
    return unreadable(source, "the node that holds it was lost")


class _Cluster:
    """The tasks of one run."""

    def __init__(self, ray: Any, asked: Asked) -> None:
        self.ray = ray
        self._asked = asked
        self._asked_ref = ray.put(asked)
        # Ray counts what comes after the first try.
        again = {"max_retries": asked.tries - 1}
        self._read = ray.remote(**again)(_read)
        # A merging task holds nothing that could take it down again and again: it is tried until it works.
        self._merge = ray.remote(max_retries=-1)(_merge)
        self._list = ray.remote(**again)(_list_here)

    def read(self, source: Source, node: str | None) -> _Part:
        task = self._read
        if node is not None:
            task = task.options(scheduling_strategy=self._on(node))
        elif not source.is_local or node is None:
            task = task.options(scheduling_strategy="SPREAD")
        return _Part((source,), task.remote(source, self._asked_ref, _core.__version__))

    def merge(self, parts: Sequence[_Part], level: int) -> _Part:
        sources = [part.sources[0] if level == 0 else None for part in parts]
        ref = self._merge.remote(sources, [part.ref for part in parts], self._asked.tries)
        return _Part(tuple(source for part in parts for source in part.sources), ref)

    def list_on_each_node(self, what: What) -> list[tuple[Source, str | None]]:
        """Every file and the node to which it is bound; None: it lies on several."""
        nodes = sorted(
            node["NodeID"] for node in self.ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) > 0
        )
        asked = dict(self._asked.storage_options)
        refs = [
            self._list.options(scheduling_strategy=self._on(node)).remote(what, asked, _core.__version__) for node in nodes
        ]
        found: dict[Source, list[str]] = {}
        for node, ref in zip(nodes, refs):
            try:
                for source in self.ray.get(ref):
                    found.setdefault(source, []).append(node)
            except self.ray.exceptions.RayTaskError:
                raise
            except self.ray.exceptions.RayError:
                continue  # the node is gone, and with it what only it had
        return [(source, on[0] if len(on) == 1 and source.is_local else None) for source, on in found.items()]

    def core_count(self) -> int:
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def _on(self, node: str) -> Any:
        from ray.util.scheduling_strategies import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
            NodeAffinitySchedulingStrategy,
        )

        return NodeAffinitySchedulingStrategy(node_id=node, soft=False)


class _Tree:
    """Merges parts as they come: FAN_IN of a level make one of the next."""

    def __init__(self, cluster: _Cluster) -> None:
        self._cluster = cluster
        self._levels: list[list[_Part]] = []

    def add(self, part: _Part, level: int = 0) -> None:
        while len(self._levels) <= level:
            self._levels.append([])
        self._levels[level].append(part)
        if len(self._levels[level]) == FAN_IN:
            full, self._levels[level] = self._levels[level], []
            self.add(self._cluster.merge(full, level), level + 1)

    def close(self) -> _Part:
        """The whole."""
        level = 0
        while True:
            parts = self._levels[level]
            is_last = level + 1 == len(self._levels)
            if is_last and level > 0 and len(parts) == 1:
                return parts[0]
            if parts:
                self._levels[level] = []
                if is_last:
                    self._levels.append([])
                self._levels[level + 1].append(self._cluster.merge(parts, level))
            level += 1


def summarize_all(
    what: What,
    asked: Asked,
    *,
    address: str | None,
    jobs: int | None,
    per_node: bool,
    progress: bool | Listener,
) -> bytes:
    """The summary of the run. Raises RayUnavailable, and FileNotFoundError where no node has a file.

    `jobs`: files read at a time, all cores of the cluster where None.
    """
    ray = _ray()
    with _connected(ray, address, jobs):
        try:
            return _summarize_all(_Cluster(ray, asked), what, asked, jobs, per_node, progress)
        except ray.exceptions.RayTaskError as error:
            raise _explained(error) from None


def _explained(error: Any) -> Exception:
    """What a task says about the whole run, without Ray's stack."""
    cause = error.cause if isinstance(getattr(error, "cause", None), Exception) else error
    text = str(cause).strip().splitlines()[-1] if str(cause).strip() else type(cause).__name__
    if "No module named 'stepscope" in str(error):
        return RayUnavailable(
            "stepscope is missing on a node of the cluster: install the same version there "
            f"(pip install 'stepscope[ray]'; here it is {_core.__version__})"
        )
    return cause if isinstance(cause, OSError) else RayUnavailable(text)


def _summarize_all(
    cluster: _Cluster, what: What, asked: Asked, jobs: int | None, per_node: bool, progress: bool | Listener
) -> bytes:
    if per_node:
        bound = cluster.list_on_each_node(what)
        if not bound:
            raise FileNotFoundError(2, "no trace, capture or summary there on any node", str(what))
    else:
        bound = [(source, None) for source in expand(what, asked.storage_options)]
    bound.sort(key=lambda each: -(each[0].size_bytes or 0))
    sizes = [source.size_bytes for source, _ in bound]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    meter = Meter(len(bound), total, progress)
    window = jobs or cluster.core_count() * _AHEAD
    tree = _Tree(cluster)
    under_way: dict[Any, _Part] = {}
    todo = iter(bound)
    try:
        while True:
            while len(under_way) < window and (next_one := next(todo, None)) is not None:
                part = cluster.read(*next_one)
                under_way[part.ref] = part
            if not under_way:
                break
            # Half a second: the line on the terminal goes on while nothing ends.
            ready, _ = cluster.ray.wait(list(under_way), num_returns=1, timeout=0.5, fetch_local=False)
            for ref in ready:
                part = under_way.pop(ref)
                tree.add(part)
                meter.finished(ref, part.sources[0].size_bytes)
            meter.tell()
        whole: bytes = cluster.ray.get(tree.close().ref)
        return whole
    finally:
        meter.close()
