"""Assemble ``web/`` into one page: modules, style sheet and template become a single HTML file.

A deliberately small bundler. The modules of ``web/src`` keep to a subset of ES module syntax
(named imports, ``export`` before a declaration), so that each becomes a function that returns its
exports, in dependency order, without comments and indentation. Output depends on the input files
alone.

Standard library only: the build of the wheel runs this file before any dependency is installed
(``python bundle.py WEB OUT``).
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from pathlib import Path

ENTRY = "src/main.js"
TEMPLATE = "index.html"
STYLE = "style.css"

_IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"(\.{1,2}/[^"]+)";[ \t]*$', re.MULTILINE)
_EXPORT = re.compile(
    r"^export\s+((?:async\s+)?function\*?|const|let|class)\s+([A-Za-z_$][\w$]*)", re.MULTILINE
)
_LEFTOVER = re.compile(r"^(?:import\b(?!\()|export\b).*$", re.MULTILINE)
_MARGIN = re.compile(r"^[ \t]+(?://.*)?|^//.*", re.MULTILINE)


class BundleError(ValueError):
    """A module uses syntax that the bundler does not support, or modules import in a circle."""


def assemble(web: Path) -> str:
    """Make the page without data: template with style sheet and script inlined, and its policy.

    Parameters
    ----------
    web : Path
        The folder with ``index.html``, ``style.css`` and ``src/``.

    Returns
    -------
    str
        HTML that shows "no data" when opened as it is. The policy allows this very script and
        style sheet by hash, and nothing else.
    """
    script = bundle(web, ENTRY)
    style = (web / STYLE).read_text(encoding="utf-8")
    page = (web / TEMPLATE).read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    for mark, text in (
        ('<link rel="stylesheet" href="style.css">', f"<style>{style}</style>"),
        (
            '<script type="module" async src="src/main.js"></script>',
            f'<script type="module" async>{script}</script>',
        ),
        ("<!-- policy -->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
    ):
        if page.count(mark) != 1:
            raise BundleError(f"{TEMPLATE}: expected exactly one {mark}")
        page = page.replace(mark, text)
    return page


def bundle(web: Path, entry: str) -> str:
    """All modules that ``entry`` needs, as one script, dependencies first."""
    order: list[Path] = []
    root = web.resolve()
    _visit(root / entry, root, order, [])
    names = {path: f"m{number}" for number, path in enumerate(order)}
    parts = [_wrap(path, names, path.relative_to(root).as_posix()) for path in order]
    text = "\n".join(parts) + "\n"
    if "</script" in text.lower() or "<!--" in text:
        raise BundleError("a module holds the text '</script' or '<!--': write it in two parts")
    return text


def _visit(path: Path, root: Path, order: list[Path], stack: list[Path]) -> None:
    if path in order:
        return
    if path in stack:
        circle = [*stack[stack.index(path) :], path]
        shown = " -> ".join(p.relative_to(root).as_posix() for p in circle)
        raise BundleError(f"modules import each other in a circle: {shown}")
    stack.append(path)
    for match in _IMPORT.finditer(path.read_text(encoding="utf-8")):
        _visit((path.parent / match[2]).resolve(), root, order, stack)
    stack.pop()
    order.append(path)


def _wrap(path: Path, names: dict[Path, str], shown: str) -> str:
    source = path.read_text(encoding="utf-8")
    exports = [match[2] for match in _EXPORT.finditer(source)]

    def imported(match: re.Match[str]) -> str:
        target = names[(path.parent / match[2]).resolve()]
        words = re.sub(r"\s+as\s+", ": ", " ".join(match[1].split()).rstrip(", "))
        # Line breaks are kept so that positions in the browser's console stay right.
        return f"const {{ {words} }} = {target};" + "\n" * match[0].count("\n")

    # The margin of a line is no part of the program, unless text in backquotes goes over it.
    for line, text in enumerate(source.splitlines(), start=1):
        if text.count("`") % 2:
            raise BundleError(f"{shown}:{line}: text in backquotes goes over several lines")
    body = _MARGIN.sub("", _EXPORT.sub(r"\1 \2", _IMPORT.sub(imported, source)))
    leftover = _LEFTOVER.search(body)
    if leftover:
        line = body.count("\n", 0, leftover.start()) + 1
        raise BundleError(f"{shown}:{line}: not supported by the bundler: {leftover[0].strip()}")
    head = f"// {shown}\nconst {names[path]} = (() => {{\n"
    return f"{head}{body}return {{ {', '.join(exports)} }};\n}})();"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(assemble(Path(sys.argv[1])), encoding="utf-8")
