"""Whether two sides can be compared at all: what must be alike, or else is doubted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pyrometer.compare.sides import Side, what_ran
from pyrometer.core.doubt import Doubt
from pyrometer.core.schema import doubt
from pyrometer.guests.described import host_described, how_it_ran
from pyrometer.summary.schema import Summary

_MOST_NAMED = 3
_LONG = 60
"""Characters; of longer values only what differs is said."""


def differences_of_kind(a: Side, b: Side) -> list[Doubt]:
    """Doubts about a comparison of unlike sides, the gravest first.

    What the treatment varies on purpose is no doubt: levels of factors, settings.
    """
    return list(_doubts(a, b))


def _doubts(a: Side, b: Side) -> Iterator[Doubt]:
    for code, what, value in _CHECKS:
        ours, theirs = (_values(side, value) for side in (a, b))
        if ours and theirs and ours != theirs:
            ours, theirs = _apart(ours, theirs)
            yield doubt(code, f"{what}: {_words(ours)} on one side, {_words(theirs)} on the other")
    results = [_results(side) for side in (a, b)]
    same = _values(a, what_ran) == _values(b, what_ran) and _values(a, _scale) == _values(b, _scale)
    if same and all(results) and results[0] != results[1]:
        yield doubt("different_results", f"{a.name}: {_words(results[0])}; {b.name}: "
                    f"{_words(results[1])}")  # fmt: skip


def _values(side: Side, value: Callable[[Summary], str | None]) -> list[str]:
    found = {value(one) for one in side.summaries}
    return sorted(one for one in found if one is not None)


def _words(values: Sequence[str]) -> str:
    more = len(values) - _MOST_NAMED
    return ", ".join(values[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _apart(a: list[str], b: list[str]) -> tuple[list[str], list[str]]:
    """Leave out the words that two long values start with.

    Examples
    --------
    >>> command = "spark-submit --master local[2] --conf spark.ui.enabled=false app.py"
    >>> _apart([f"{command} one"], [f"{command} two"])
    (['… one'], ['… two'])
    >>> _apart(["a one"], ["a two"])
    (['a one'], ['a two'])
    """
    if len(a) != 1 or len(b) != 1 or max(len(a[0]), len(b[0])) <= _LONG:
        return a, b
    ours, theirs = a[0].split(), b[0].split()
    pairs = zip(ours, theirs, strict=False)
    same = next((n for n, (x, y) in enumerate(pairs) if x != y), min(len(ours), len(theirs)))
    if not same:
        return a, b
    one, other = (" ".join(["…", *words[same:]]) for words in (ours, theirs))
    return [one], [other]


def _scale(summary: Summary) -> str | None:
    return None if summary.run.scale is None else str(summary.run.scale)


def _host(summary: Summary) -> str | None:
    """Name the machine; of a virtual one, whose size is a treatment, how it ran and its host."""
    machine = summary.run.machine
    if machine is not None and (on := host_described(machine)) is not None:
        return f"a virtual machine ({how_it_ran(machine) or 'not known how'}) on {on}"
    host = summary.run.host
    parts = [str(host[key]) for key in ("hostname", "cpu_model", "cpus_count") if host.get(key)]
    return " · ".join(parts) or None


def _window(summary: Summary) -> str:
    return "one iteration" if summary.window.iterations else "the whole application"


def _results(side: Side) -> list[str]:
    """Rows and checksums of measured iterations, as the workload gave them."""
    found = {
        f"{it.result_rows_count} rows, checksum {it.result_checksum}"
        for one in side.summaries
        for it in one.iterations
        if not it.warmup and it.result_checksum is not None
    }
    return sorted(found)


_CHECKS: tuple[tuple[str, str, Callable[[Summary], str | None]], ...] = (
    ("different_workloads", "Different programs ran", what_ran),
    ("different_windows", "Times are of different windows", _window),
    ("different_scales", "Different amounts of data", _scale),
    ("different_profiles", "Different profiles were measured with", lambda s: s.run.profile),
    ("different_hosts", "Different machines", _host),
    ("different_spark", "Different versions of Spark", lambda s: s.run.spark_version),
)
