#!/usr/bin/env python3
"""Check that Rust modules and Java packages import one another in one direction only.

A Rust module must not import from a module above it either: what both need belongs in a sibling.
Tests are left out. Prints every circle and every such import; the exit code is 1 if there is any.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
Module = tuple[str, ...]
Graph = dict[Module, set[Module]]

# Comments, strings and characters, none of which import anything.
_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^']+|[^'\\])'""",
    re.DOTALL,
)
_TEST = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]")
_PATH = re.compile(r"\b(?:crate|super|self|[a-z_0-9]+)(?:\s*::\s*[A-Za-z_0-9]+)+")


def without_tests(source: str) -> str:
    """Remove every item that is compiled for tests alone."""
    while found := _TEST.search(source):
        end = found.end()
        while source[end] not in "{;":
            end += 1
        source = source[: found.start()] + source[_block_end(source, end) :]
    return source


def _block_end(source: str, at: int) -> int:
    """End of the block that opens at a place, or of the statement that ends there."""
    depth = 0
    while True:
        depth += {"{": 1, "}": -1}.get(source[at], 0)
        at += 1
        if depth == 0:
            return at


def inlined(source: str) -> str:
    """Give the paths in inline modules the meaning that they have in their file."""
    for found in list(re.finditer(r"\bmod\s+\w+\s*\{", source)):
        end = _block_end(source, found.end() - 1)
        body = re.sub(r"\bsuper::(?!super)", "self::", source[found.end() : end])
        body = re.sub(r"\bsuper::self::", "super::", body)
        source = source[: found.end()] + body.ljust(end - found.end()) + source[end:]
    return source


def used(tree: str, prefix: Module = ()) -> Iterator[Module]:
    """Yield every path of a tree of ``use``."""
    depth, start = 0, 0
    for at, letter in enumerate(tree + ","):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter != "," or depth:
            continue
        part, start = tree[start:at].strip(), at + 1
        head, brace, rest = part.partition("{")
        names = tuple(name.strip() for name in head.split(" as ")[0].split("::") if name.strip())
        if brace:
            yield from used(rest.rpartition("}")[0], prefix + names)
        elif part:
            yield prefix + names


def rust(folder: Path) -> Graph:
    """Return the imports between the modules of a crate."""
    files: dict[Module, Path] = {}
    for file in sorted(folder.rglob("*.rs")):
        name = file.relative_to(folder).with_suffix("").parts
        if "tests" not in name:
            files[name[:-1] if name[-1] in ("mod", "lib", "main") else name] = file
    graph: Graph = {module: set() for module in files}
    for module, file in files.items():
        source = inlined(without_tests(_TEXT.sub('""', file.read_text(encoding="utf-8"))))
        statements = re.findall(r"\buse\s+([^;]+);", source)
        paths = [path for tree in statements for path in used(tree)]
        rest = re.sub(r"\buse\s+[^;]+;", " ", source)
        paths += [tuple(re.split(r"\s*::\s*", path)) for path in _PATH.findall(rest)]
        for path in paths:
            target = resolved(path, module, files)
            if target is not None and target != module:
                graph[module].add(target)
    return graph


def resolved(path: Module, module: Module, files: dict[Module, Path]) -> Module | None:
    """Return the module that a path leads into; ``None`` if it leads out of the crate."""
    first, base = path[0], module
    if first == "crate":
        base, path = (), path[1:]
    elif first in ("self", "super"):
        while path and path[0] in ("self", "super"):
            base = base[:-1] if path[0] == "super" else base
            path = path[1:]
    elif (*module, first) not in files:
        return None
    whole = base + tuple(name for name in path if name != "self")
    return next(whole[:end] for end in range(len(whole), -1, -1) if whole[:end] in files)


def java(folder: Path) -> Graph:
    """Return the imports between the packages of a module."""
    graph: Graph = defaultdict(set)
    for file in sorted(folder.rglob("*.java")):
        text = file.read_text(encoding="utf-8")
        package = tuple(re.findall(r"^package ([\w.]+);", text, re.MULTILINE)[0].split("."))
        names = re.findall(
            r"^import (?:static )?(org\.pyrometer[\w.]*?)\.[A-Z]", text, re.MULTILINE
        )
        graph[package] |= {tuple(name.split(".")) for name in names} - {package}
    return graph


def circles(graph: Graph) -> list[list[Module]]:
    """Return the groups of modules that import one another, directly or not."""
    reached = {module: _reach(graph, module) for module in graph}
    groups = {
        frozenset(other for other in reached[module] if module in reached.get(other, ()))
        for module in graph
        if module in reached[module]
    }
    return [sorted(group) for group in sorted(groups, key=sorted)]


def _reach(graph: Graph, start: Module) -> set[Module]:
    seen: set[Module] = set()
    todo = [start]
    while todo:
        new = graph.get(todo.pop(), set()) - seen
        seen |= new
        todo += new
    return seen


def main() -> int:
    """Print what is wrong."""
    wrong = 0
    graphs = {folder: rust(folder) for folder in sorted(ROOT.glob("crates/*/src"))}
    upward = {
        folder: [(m, t) for m in graph for t in graph[m] if m[: len(t)] == t]
        for folder, graph in graphs.items()
    }
    graphs |= {folder: java(folder) for folder in sorted(ROOT.glob("jvm/*/src/main/java"))}
    for folder, graph in graphs.items():
        name = folder.relative_to(ROOT)
        found = [f"circle: {', '.join(map('::'.join, group))}" for group in circles(graph)]
        found += [
            f"upward: {'::'.join(m)} imports from {'::'.join(t) or 'the root'}"
            for m, t in upward.get(folder, [])
        ]
        wrong += len(found)
        for line in found:
            print(f"{name}: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
