"""Render report data to one HTML file that needs nothing else."""

from __future__ import annotations

import html
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from pyrometer._artifacts import BUNDLED
from pyrometer.errors import CapabilityError, UsageError
from pyrometer.report.bundle import assemble
from pyrometer.report.data import ReportData

_TITLE = "<title>Pyrometer report</title>"
_CONTENT = '<script type="application/json" id="content">{}</script>'
_PACK = '<script type="application/octet-stream;base64" id="pack-{name}"></script>'
_BUNDLED = BUNDLED / "report-page.html"
_WEB = Path(__file__).resolve().parents[3] / "web"


def render(data: ReportData) -> str:
    """Give the page as HTML.

    Data stands in ``<script>`` elements of types that no browser runs, with ``<``, ``>`` and ``&``
    written as escapes, so that no string of a log can end the element; the page's policy runs
    only its own script, by hash.
    """
    page = template()
    page = _put(page, _TITLE, f"<title>{html.escape(data.title)} · Pyrometer</title>")
    page = _put(page, _CONTENT, _CONTENT.replace("{}", script_json(data.content)))
    for name, text in data.packs.items():
        mark = _PACK.format(name=name)
        page = _put(page, mark, mark.replace("></", f">{text}</"))
    return page


def write_page(data: ReportData, path: str | Path) -> int:
    """Render to ``path`` through a temporary name; return the size in bytes.

    Raises
    ------
    UsageError
        If the file cannot be written; an older report then still stands.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    encoded = render(data).encode("utf-8", "replace")
    try:
        temporary.write_bytes(encoded)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(
            f"{target}: cannot write the report: {error.strerror}",
            "free space there, or name another place: pyrometer report RUN -o FILE",
        ) from error
    return len(encoded)


def script_json(value: Any) -> str:
    """JSON that may stand inside a script element: ASCII, without ``<``, ``>`` and ``&``."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@lru_cache(maxsize=1)
def template() -> str:
    """Give the page without data: from ``web/`` in a checkout, else as the wheel bundles it."""
    if (_WEB / "index.html").is_file():
        return assemble(_WEB)
    try:
        return _BUNDLED.read_text(encoding="utf-8")
    except OSError as error:
        raise CapabilityError(
            f"{_BUNDLED}: the report's page is missing from this installation ({error.strerror})",
            "pip install --force-reinstall pyrometer",
        ) from error


def _put(page: str, mark: str, text: str) -> str:
    head, found, tail = page.partition(mark)
    if not found:
        raise AssertionError(f"the page template lacks {mark}")
    return head + text + tail
