#!/usr/bin/env python3
"""Checks that includes follow the arrows of ARCHITECTURE.md.

The arrows are the stepscope_room(...) lines of CMakeLists.txt, read here so that they are written once.
Fails on: an include of a room that is not in DEPENDS; two rooms that include each other; a file of a leaf list
(importers, rules, outputs, commands) that includes another member of its list; a CUDA header outside src/agent.
A room's files that serve its list without being members of it are named in ARCHITECTURE.md, in lines
"shared by ROOM: name, name".

    check_layers.py [ROOT]
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
ROOM = re.compile(r"^stepscope_room\((\w+)\s+DEPENDS\s*([\w\s]*?)(?:\s+LIBRARIES[^)]*)?\)", re.M)
CUDA = re.compile(r"^(cuda|cupti|nvtx|nvml)", re.I)
# The file that lists the members of a room; a member is one file stem or one folder.
LISTS = {"import": "importers", "rules": "rules", "cli": "commands"}


def rooms_of(cmake_text):
    return {name: set(depends.split()) for name, depends in ROOM.findall(cmake_text)}


def shared_files(architecture_text):
    return {room: {n.strip() for n in names.split(",")} for room, names in re.findall(r"shared by (\w+): ([\w, ]+)", architecture_text)}


def member_of(inside):
    return re.sub(r"(_test)?\.(h|cpp)$", "", inside.split("/")[0])


def check_file(relative, text, allowed, shared, used):
    room, inside = relative.split("/", 1)
    if room not in allowed:
        yield f"src/{relative}: room {room} is not in CMakeLists.txt"
        return
    free = shared.get(room, set()) | {LISTS.get(room)}
    for include in INCLUDE.findall(text):
        if CUDA.match(include) and room not in ("agent", "timing"):
            yield f"src/{relative}: includes {include}: CUDA headers belong to src/agent"
        target, _, rest = include.partition("/")
        if not rest or target not in allowed:
            continue
        if target != room:
            used.setdefault(room, set()).add(target)
            if target not in allowed[room]:
                yield f"src/{relative}: includes {include}, but {room} may not use {target}"
        elif room in LISTS:
            mine, other = member_of(inside), member_of(rest)
            if mine != other and mine not in free and other not in free:
                yield f"src/{relative}: includes {include}: members of a leaf list never include each other"


def check(root):
    root = pathlib.Path(root)
    allowed = rooms_of((root / "CMakeLists.txt").read_text())
    architecture = root / "ARCHITECTURE.md"
    shared = shared_files(architecture.read_text()) if architecture.exists() else {}
    problems, used = [], {}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in (".h", ".cpp"):
            problems += check_file(path.relative_to(root / "src").as_posix(), path.read_text(), allowed, shared, used)
    for room, targets in used.items():
        problems += [f"rooms {room} and {t} include each other" for t in targets if room in used.get(t, set()) and room < t]
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    for problem in found:
        print(problem)
    print("check_layers:", f"{len(found)} problems" if found else "clean")
    sys.exit(1 if found else 0)
