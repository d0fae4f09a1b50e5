#!/usr/bin/env python3
"""Checks that includes follow the arrows of ARCHITECTURE.md.

The arrows are the stepscope_room(...) lines of CMakeLists.txt, read here so that they are written once.
Fails on: an include of a room that is not in DEPENDS; two rooms that include each other; a file of a leaf list
(importers, rules, outputs, commands) that includes another member of its list; a CUDA header outside src/agent; a public header (include/stepscope) that includes a
header of src/, that no room's PUBLIC names, or that includes one of a room that its own may not use.
Fails also on two files that define a type of one name in one named namespace: a program that links both has two types
under one symbol, and no compiler or linker says so (it happened between rooms three times).
A room's files that serve its list without being members of it are named in ARCHITECTURE.md, in lines
"shared by ROOM: name, name".

    check_layers.py [ROOT]
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
ROOM = re.compile(r"^\s*stepscope_(?:room|python_module)\((\w+)\s+DEPENDS\s*([\w\s]*?)(?:\s*PUBLIC\s+([\w.\s]*?))?(?:\s*LIBRARIES[^)]*)?\)", re.M)
CUDA = re.compile(r"^(cuda|cupti|nvtx|nvml)", re.I)
# The file that lists the members of a room; a member is one file stem or one folder.
LISTS = {"import": "importers", "rules": "rules", "cli": "commands"}


def rooms_of(cmake_text):
    return {name: set(depends.split()) for name, depends, _ in ROOM.findall(cmake_text)}


def public_headers_of(cmake_text):
    """Header of include/stepscope -> the room that implements it."""
    return {header: name for name, _, headers in ROOM.findall(cmake_text) for header in headers.split()}


def shared_files(architecture_text):
    return {room: {n.strip() for n in names.split(",")} for room, names in re.findall(r"shared by (\w+): ([\w, ]+)", architecture_text)}


def member_of(inside):
    return re.sub(r"(_test)?\.(h|cpp)$", "", inside.split("/")[0])


def check_file(where, text, allowed, public, shared, used):
    is_public = where.startswith("include/")
    room, inside = where.split("/", 1)[1].split("/", 1)
    if is_public:
        room = public.get(inside, room)
    if room not in allowed:
        yield f"{where}: {'no PUBLIC names it' if is_public else f'room {room} is not'} in CMakeLists.txt"
        return
    free = shared.get(room, set()) | {LISTS.get(room)}
    for include in INCLUDE.findall(text):
        if CUDA.match(include) and room not in ("agent", "timing"):
            yield f"{where}: includes {include}: CUDA headers belong to src/agent"
        target, _, rest = include.partition("/")
        if target == "stepscope":
            target = public.get(rest, target)
            rest = f"stepscope/{rest}"
            if target == "stepscope":
                yield f"{where}: includes {include}, which no room's PUBLIC names"
        elif rest and is_public and target in allowed:
            yield f"{where}: a public header that includes {include}: it would not compile where it is installed"
        if not rest or target not in allowed:
            continue
        if target != room:
            used.setdefault(room, set()).add(target)
            if target not in allowed[room]:
                yield f"{where}: includes {include}, but {room} may not use {target}"
        elif room in LISTS:
            mine, other = member_of(inside), member_of(rest)
            if mine != other and mine not in free and other not in free:
                yield f"{where}: includes {include}: members of a leaf list never include each other"


STRIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*',
    re.S | re.M)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s*([\w:]*)(?:\s*\[\[.*\]\])?$")
TYPE = re.compile(r"(?:template\s*<.*>\s*(?:requires\b.*)?)?(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+"
                  r"(?:\[\[.*?\]\]\s*|alignas\([^)]*\)\s*)*(\w+)(?:\s+final)?(?:\s*:(?!:).*)?$", re.S)


def types_defined(text):
    """Types at the level of a named namespace, as "namespace::Name". Specializations and members are none of them."""
    # A scope is the name of a namespace, or None for anything else (a body, a type, an unnamed namespace).
    scopes, begin = [], 0
    text = STRIPPED.sub(" ", text)
    for mark in re.finditer(r"[{};]", text):
        statement = text[begin:mark.start()].strip()
        begin = mark.end()
        if mark.group() == "}" and scopes:
            scopes.pop()
        if mark.group() != "{":
            continue
        namespace, defined = NAMESPACE.match(statement), TYPE.match(statement)
        if defined and None not in scopes:
            yield "::".join([*scopes, defined.group(1)])
        scopes.append(namespace.group(1) or None if namespace else None)


def check_types(root):
    """One definition of each type: those of headers and of sources, whichever room."""
    places = {}
    for path in sorted((root / "src").rglob("*")) + sorted((root / "include").rglob("*")):
        if path.suffix in (".h", ".cpp"):
            for name in types_defined(path.read_text()):
                places.setdefault(name, []).append(path.relative_to(root).as_posix())
    for name, where in sorted(places.items()):
        if len(set(where)) > 1:
            yield f"{where[0]}: {name} is also defined in {', '.join(where[1:])}: one name, two types"


def check(root):
    root = pathlib.Path(root)
    cmake_text = (root / "CMakeLists.txt").read_text()
    allowed, public = rooms_of(cmake_text), public_headers_of(cmake_text)
    architecture = root / "ARCHITECTURE.md"
    shared = shared_files(architecture.read_text()) if architecture.exists() else {}
    problems, used = [], {}
    for path in sorted((root / "src").rglob("*")) + sorted((root / "include").rglob("*")):
        if path.suffix in (".h", ".cpp"):
            problems += check_file(path.relative_to(root).as_posix(), path.read_text(), allowed, public, shared, used)
    problems += check_types(root)
    for room, targets in used.items():
        problems += [f"rooms {room} and {t} include each other" for t in targets if room in used.get(t, set()) and room < t]
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    for problem in found:
        print(problem)
    print("check_layers:", f"{len(found)} problems" if found else "clean")
    sys.exit(1 if found else 0)
