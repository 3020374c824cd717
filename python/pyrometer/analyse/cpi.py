"""Where cycles went: top-down level 1, by the events that the PMU itself names for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyrometer.analyse.ipc import CYCLES, INSTRUCTIONS, Sums
from pyrometer.analyse.model.hardware import CpiBreakdown, CpiPart
from pyrometer.analyse.perf_counts import ratio, scaled

NO_MODEL = (
    "the counters of this CPU have no model that Pyrometer knows: it needs slots and topdown-*"
    " (Intel), or stalled-cycles-* or stall_* beside cycles"
)
Counts = Mapping[str, float]


@dataclass(frozen=True)
class Model:
    """A breakdown of cycles.

    Parameters
    ----------
    name : str
        What it is called.
    events : tuple of str
        Events that it needs.
    shares : callable
        Shares of cycles by part, from their counts.
    source : str
        Where the formula comes from.
    """

    name: str
    events: tuple[str, ...]
    shares: Callable[[Counts], dict[str, float]]
    source: str


def _metrics(c: Counts) -> dict[str, float]:
    parts = {
        "retiring": c["topdown-retiring"],
        "bad speculation": c["topdown-bad-spec"],
        "frontend bound": c["topdown-fe-bound"],
        "backend bound": c["topdown-be-bound"],
    }
    # The four metrics add up to the slots but for their eight bits of resolution.
    total = sum(parts.values())
    return {name: value / total for name, value in parts.items()} if total else {}


def _slots(c: Counts) -> dict[str, float]:
    total = c["topdown-total-slots"]
    if not total:
        return {}
    retiring = c["topdown-slots-retired"] / total
    frontend = c["topdown-fetch-bubbles"] / total
    wasted = c["topdown-slots-issued"] - c["topdown-slots-retired"]
    bad = (wasted + c["topdown-recovery-bubbles"]) / total
    return {
        "retiring": retiring,
        "bad speculation": bad,
        "frontend bound": frontend,
        "backend bound": 1 - retiring - bad - frontend,
    }


def _stalls(frontend: str, backend: str) -> Callable[[Counts], dict[str, float]]:
    def shares(c: Counts) -> dict[str, float]:
        if not c[CYCLES]:
            return {}
        front, back = c[frontend] / c[CYCLES], c[backend] / c[CYCLES]
        return {
            "stalled, frontend": front,
            "stalled, backend": back,
            "not stalled": 1 - front - back,
        }

    return shares


_YASIN = "Yasin, A top-down method for performance analysis and counters architecture, ISPASS 2014"
MODELS = (
    Model(
        "top-down level 1",
        ("topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"),
        _metrics,
        f"{_YASIN}; PERF_METRICS: Intel 64 and IA-32 manual, vol. 3B",
    ),
    Model(
        "top-down level 1",
        (
            "topdown-total-slots", "topdown-slots-issued", "topdown-slots-retired",
            "topdown-fetch-bubbles", "topdown-recovery-bubbles",
        ),
        _slots,
        f"{_YASIN}, table 1; backend bound by complement",
    ),
    Model(
        "stalled cycles",
        (CYCLES, "stall_frontend", "stall_backend"),
        _stalls("stall_frontend", "stall_backend"),
        "Arm architecture, PMUv3 events STALL_FRONTEND and STALL_BACKEND; the rest by complement",
    ),
    Model(
        "stalled cycles",
        (CYCLES, "stalled-cycles-frontend", "stalled-cycles-backend"),
        _stalls("stalled-cycles-frontend", "stalled-cycles-backend"),
        "perf's generic events stalled-cycles-*; the rest by complement",
    ),
)  # fmt: skip


def breakdown(sums: Sums, no_pmu: str | None) -> CpiBreakdown:
    """Split cycles per instruction by the first model whose events were all counted.

    Parameters
    ----------
    sums : dict
        Count, enabled and running time by event.
    no_pmu : str or None
        Why there is no hardware counter at all.
    """
    counts = {event: value for event, of in sums.items() if (value := scaled(*of)) is not None}
    for model in MODELS:
        if not all(event in counts for event in model.events):
            continue
        shares = model.shares(counts)
        if not shares:
            continue
        cycles, instructions = counts.get(CYCLES), counts.get(INSTRUCTIONS)
        cpi = cycles / instructions if cycles and instructions else None
        ratios = [ratio(*sums[event][1:]) for event in model.events]
        return CpiBreakdown(
            model=model.name,
            source=model.source,
            parts=[
                CpiPart(part=part, share=share, cpi=None if cpi is None else share * cpi)
                for part, share in shares.items()
            ],
            running_ratio=min((r for r in ratios if r is not None), default=None),
        )
    return CpiBreakdown(reason=no_pmu or NO_MODEL)
