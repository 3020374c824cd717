"""The comparison as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.advisors.causes import NVIDIA, OURS, SPARK_ADVISOR, Fired
from benchmarks.advisors.compare import Ours, Row, Total
from pyrometer.core import units

MOST_STAGES = 3


def by_log(rows: Sequence[Row]) -> str:
    """One line for each log."""
    lines = [
        "| log | tasks | elapsed | Pyrometer shows | spark-advisor: rule, stages, seconds |"
        " NVIDIA tools: rule, stages, seconds | who agrees |",
        "|---|--:|--:|---|---|---|---|",
    ]
    for row in rows:
        cells = (
            f"`{row.log}`", str(row.tasks_count), units.duration(row.elapsed_ns),
            _findings(row), _advice(row, SPARK_ADVISOR), _advice(row, NVIDIA), _agreement(row),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def by_cause(found: Sequence[Total]) -> str:
    """One line for each cause, and a sum."""
    heads = (
        "cause", "we show", "we see, below the noise", "spark-advisor", "NVIDIA tools", "agreed",
        "they, and we below the noise", "only they", "of these two the largest saving, simulated",
        "only we",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---|" + "--:|" * (len(heads) - 1)]
    for one in found:
        counts = (one.shown, one.below, one.spark_advisor, one.nvidia, one.agreed, one.small)
        lines.append(
            f"| {one.cause} | {' | '.join(map(_count, counts))} | {_count(one.only_they)}"
            f" | {_percent(one)} | {_count(one.only_we)} |"
        )
    sums = [
        sum(getattr(one, name) for one in found)
        for name in ("shown", "below", "spark_advisor", "nvidia", "agreed", "small", "only_they")
    ]
    words = " | ".join(f"**{n}**" for n in sums)
    lines.append(f"| **all** | {words} | | **{sum(one.only_we for one in found)}** |")
    return "\n".join(lines)


def _count(n: int) -> str:
    return str(n) if n else ""


def _percent(one: Total) -> str:
    if not one.only_they + one.small:
        return ""
    return units.percent(one.largest_ratio) if one.largest_ratio is not None else "no time in a log"


def _findings(row: Row) -> str:
    if OURS in row.failed:
        return f"*{row.failed[OURS]}*"
    shown = "; ".join(_ours(one) for one in row.shown())
    return shown or f"nothing above {units.percent(row.noise_ratio)}"


def _ours(one: Ours) -> str:
    place = "" if one.stage is None else f", stage {one.stage}"
    return (
        f"`{one.code}`{place}: {units.duration(one.value)}"
        f" [{units.duration(one.low)}, {units.duration(one.high)}]"
    )


def _advice(row: Row, advisor: str) -> str:
    if advisor in row.failed:
        return f"*{row.failed[advisor]}*"
    said = [_rule(one, row.limits.get(one)) for one in row.fired if one.advisor == advisor]
    return "; ".join(said) or "nothing"


def _rule(one: Fired, ns: float | None) -> str:
    stages = ", ".join(map(str, one.stages[:MOST_STAGES]))
    more = "" if len(one.stages) <= MOST_STAGES else f" and {len(one.stages) - MOST_STAGES} more"
    seconds = "–" if ns is None else "0 s" if ns < 1e6 else units.duration(ns)
    return f"{one.rule}{'*' if one.hint else ''}{f' ({stages}{more})' if stages else ''} {seconds}"


def _agreement(row: Row) -> str:
    parts = (
        ("agreed", row.agreed()),
        ("below our noise", row.small()),
        ("only they", row.only_they()),
        ("only we", row.only_we()),
    )
    return "; ".join(f"{name}: {_names(causes)}" for name, causes in parts if causes) or "–"


def _names(causes: Iterable[str]) -> str:
    return ", ".join(sorted(causes))
