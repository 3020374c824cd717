"""What a report leaves out because the run does not have it: named once, with the reasons.

A page that repeats "not measured" in every corner hides what it does know. So figures and sections
without anything to show are left out, and one line names them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# What a section shows, by the names of the summary's parts; the label is for the middle of a list.
_SECTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "cpu": ("CPU by kind of work, operator and thread", ("categories", "operators", "cpu.roles")),
    "resources": (
        "memory and page faults",
        ("memory.allocation", "memory.faults", "memory.swap", "code"),
    ),
    "jvm": (
        "GC, JIT compilation and safepoints",
        ("jvm", "memory.allocation", "memory.live_heap", "memory.native"),
    ),
    "waits": ("waits and I/O latencies", ("waits", "io.disks", "io_latency")),
    "hardware": (
        "hardware counters",
        ("hardware.counters", "hardware.bandwidth.total_bytes", "hardware.placement.threads"),
    ),
}


def absent(
    summary: Mapping[str, Any], figures: Sequence[Mapping[str, Any]], flame: Mapping[str, Any]
) -> dict[str, Any]:
    """List what is left out of the page, and why.

    Parameters
    ----------
    summary : mapping
        ``pyrometer show --json`` of the run.
    figures : sequence of mapping
        Key figures; those with a reason are missing.
    flame : mapping
        Content of the flame graph; it has a reason where there is none.

    Returns
    -------
    dict
        ``event_log_only``; ``sections``: identifiers of sections; ``items``: a ``label`` and a
        ``reason`` each.
    """
    items = [
        {"label": _inside(figure["label"]), "reason": figure["reason"]}
        for figure in figures
        if figure["reason"]
    ]
    sections = []
    for name, (label, parts) in _SECTIONS.items():
        found = [_part(summary, path) for path in parts]
        if all(_silent(part) for part in found):
            sections.append(name)
            reason = next(filter(None, map(_reason, (summary.get(name), *found))), None)
            items.append({"label": label, "reason": reason or "Not recorded in this run."})
    ledger = summary.get("ledger") or {}
    views = {name: ledger.get(name) or {} for name in ("slot_view", "core_view")}
    if views["slot_view"].get("rows") and not views["core_view"].get("rows"):
        reason = views["core_view"].get("reason") or "It needs records of the operating system."
        items.append({"label": "what each CPU did (core view)", "reason": reason})
    if flame.get("reason"):
        sections.append("flame")
        items.append({"label": "flame graph", "reason": flame["reason"]})
    codes = {doubt.get("code") for doubt in summary.get("doubts") or []}
    return {"event_log_only": "event_log_only" in codes, "sections": sections, "items": items}


def _inside(label: str) -> str:
    """Give a label as it stands within a sentence: acronyms keep their capitals."""
    return label if label[1:2].isupper() else label[0].lower() + label[1:]


def _part(summary: Mapping[str, Any], path: str) -> Any:
    value: Any = summary
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _silent(value: Any) -> bool:
    """Tell whether nothing in there is known: reasons and empty lists say nothing."""
    if isinstance(value, Mapping):
        return all(_silent(v) for k, v in value.items() if not k.endswith("reason"))
    if isinstance(value, list | tuple):
        return all(_silent(item) for item in value)
    return value is None


def _reason(value: Any) -> str | None:
    """Give the first reason in there."""
    if not isinstance(value, Mapping):
        return None
    if value.get("reason"):
        return str(value["reason"])
    return next(filter(None, map(_reason, value.values())), None)
