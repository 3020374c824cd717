"""Render report data to one HTML file that needs nothing else.

What a page shows.

Write a text file at once or not at all.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from pyrometer._artifacts import BUNDLED
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.installation import reinstall
from pyrometer.core.json_text import to_json
from pyrometer.core.redaction import redacted
from pyrometer.core.replacing import replacing
from pyrometer.pages.bundle import assemble
from pyrometer.pages.columns import Pack

MAX_TEXT = 4_000


@dataclass(frozen=True)
class ReportData:
    """Everything that the page shows.

    Attributes
    ----------
    title : str
        Name of the workload or application, as its author gave it.
    content : dict
        JSON for the page (``pyrometer/report/1``).
    packs : dict of str to str
        Columns of numbers, encoded (see `pyrometer.pages.columns`).
    """

    title: str
    content: dict[str, Any]
    packs: dict[str, str] = field(default_factory=dict)


def alone(
    schema: str,
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
    flame: Mapping[str, Any],
    pack: Pack,
    deep: Pack,
) -> ReportData:
    """Give the flame graph as a separate page.

    Parameters
    ----------
    schema : str
        By which the page knows what it is.
    summary : mapping
        ``apps`` and ``window``, as in a summary.
    manifest : mapping
        ``manifest.json`` of the run; empty where there is none.
    flame, pack, deep
        What `pyrometer.flame.pack.pack_flame` gave and filled.
    """
    title = _title(summary, manifest)
    content: dict[str, Any] = {
        "schema": schema,
        "title": title,
        "summary": dict(summary),
        "manifest": _environment(manifest),
        "flame": {**flame, "columns": pack.directory, "deep": deep.directory},
    }
    packs = {"flame": pack.encoded(), "flame-deep": deep.encoded()}
    return ReportData(title, _finite(content), packs)


def _title(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    workload = (manifest.get("workload") or {}).get("name") or (summary.get("run") or {}).get(
        "workload"
    )
    if isinstance(workload, Mapping):
        workload = workload.get("name")
    names = [app.get("app_name") for app in summary.get("apps") or []]
    command = (manifest.get("workload") or {}).get("command") or []
    named = next((n for n in names if n), None) or " ".join(command)
    return str(workload or named or (summary.get("run") or {}).get("name") or "Spark run")


def _environment(manifest: Mapping[str, Any]) -> dict[str, Any]:
    keys = (
        "run_id", "pyrometer_version", "created_wall_ns", "started_wall_ns", "ended_wall_ns",
        "state", "exit", "workload", "treatment", "treatment_origin", "profile", "iterations",
        "warmup", "host", "versions", "conf_overlay", "probes", "results",
    )  # fmt: skip
    shown = {key: manifest[key] for key in keys if key in manifest}
    if isinstance(shown.get("probes"), list):
        shown["probes"] = [_shown_of(probe) for probe in shown["probes"]]
    return {key: _cut_texts(value) for key, value in shown.items()}


# What each event of each of a thousand executors' probes was asked for is in the manifest.
_OF_PROBES = ("name", "host", "executor_id", "tier", "asked", "got", "dropped", "own_cpu_ns",
              "reason")  # fmt: skip


def _shown_of(probe: Any) -> Any:
    if not isinstance(probe, Mapping):
        return probe
    return {key: probe[key] for key in _OF_PROBES if key in probe}


# A page has a hundred thousand values, and most are of these: they are passed over without a call.
_NUMBERS = frozenset({int, float, bool, type(None)})
_ALWAYS_FINITE = frozenset({int, str, bool, type(None)})


def _cut_texts(value: Any) -> Any:
    """Cut every string to what a person may read; one that was cut says so."""
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]} … (cut: {len(value):,} characters)"
    if isinstance(value, dict):
        return {
            str(key): item if type(item) in _NUMBERS else _cut_texts(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [item if type(item) in _NUMBERS else _cut_texts(item) for item in value]
    return value


def _finite(value: Any) -> Any:
    """NaN and infinities as None: JSON has no word for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {
            key: item if type(item) in _ALWAYS_FINITE else _finite(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [item if type(item) in _ALWAYS_FINITE else _finite(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        return _finite(value.item())
    return value


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
    page = _put(page, _TITLE, f"<title>{html.escape(redacted(data.title))} · Pyrometer</title>")
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
    encoded = render(data).encode("utf-8", "replace")
    try:
        with replacing(target) as out:
            out.write(encoded)
    except OSError as error:
        raise UsageError(
            f"{target}: cannot write the report: {error.strerror}",
            "free space there, or name another place: pyrometer report RUN -o FILE",
        ) from error
    return len(encoded)


def script_json(value: Any) -> str:
    """JSON that may stand inside a script element: ASCII, without ``<``, ``>`` and ``&``."""
    text = redacted(to_json(value, ensure_ascii=True, separators=(",", ":")))
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
            reinstall(),
        ) from error


def _put(page: str, mark: str, text: str) -> str:
    head, found, tail = page.partition(mark)
    if not found:
        raise AssertionError(f"the page template lacks {mark}")
    return head + text + tail


def write_text(path: Path, text: str) -> Path:
    """Write a file through a temporary name, without the secrets in it.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    try:
        with replacing(path) as out:
            out.write(redacted(text).encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "name another") from error
    return path
