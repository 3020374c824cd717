"""Causes of a change in words: names, evidence, sentences."""

from __future__ import annotations

from collections.abc import Sequence

from pyrometer.compare.cause_schema import Cause, Explanation, Part, Quantity
from pyrometer.compare.sampled_shares import EXPRESSION
from pyrometer.compare.stage_tasks import COLUMNS
from pyrometer.compare.stage_work import Work
from pyrometer.core import units
from pyrometer.summary.story import capital, short

_WORDS = {
    "executors": "waiting for executors",
    "driver/start": "driver, before the first query",
    "driver/in_query": "driver, within queries",
    "driver/jobs": "driver, number of jobs",
    "driver/between_queries": "the program, between queries",
    "driver/end": "after the last query",
    "alone/a": "stages that are gone",
    "alone/b": "new stages",
    "slots": "task slots",
    "tasks": "number of tasks",
    "input": "amount of input",
    "uneven_input": "how evenly the input is spread over tasks",
    "cpu": "CPU for the same input",
    "gc": "garbage collection",
    "fetch_wait": "waiting for shuffle data",
    "shuffle_write": "writing shuffle data",
    "waits": "waits within tasks",
    "waits/run_queue": "waiting for a CPU",
    "waits/behind_others": "waiting for a CPU that others had",
    "slow_host": "slow host",
    "retries": "attempts that were lost, and repeated",
    "unseen": "task time without metrics",
    "deserialise": "deserialising tasks",
    "scheduler_delay": "scheduling of tasks",
    "waiting_to_launch": "waiting to launch tasks",
    "finishing": "finishing stages",
    "result": "results of tasks",
    "other_stages": "slots taken by other stages",
    "overlap": "order and overlap of tasks and stages",
    "unknown": "stages whose tasks are unknown",
}
_SAME_INPUT = " for the same input"
_LEFT_OVER = ("overlap", "unknown", "unseen")
# What is shown beside a cause: key of the counts, words, unit.
_EVIDENCE: dict[str, Sequence[tuple[str, str, str]]] = {
    "slots": [("slots", "task slots", "count")],
    "tasks": [("tasks", "tasks", "count")],
    "input": [
        ("rows", "rows read", "count"), ("bytes", "bytes read", "bytes"),
        ("tasks", "tasks", "count"),
    ],
    "uneven_input": [("most_ratio", "largest task's input over the mean", "ratio")],
    "cpu": [("cpu_per_row_s", "CPU per row", "s"), ("cpu_s", "CPU of tasks", "s")],
    "gc": [("gc_s", "GC pauses in tasks", "s")],
    "fetch_wait": [("fetch_wait_s", "waits for shuffle data", "s"),
                   ("shuffle_bytes", "shuffle read", "bytes")],
    "shuffle_write": [("shuffle_write_s", "writes of shuffle data", "s"),
                      ("written_bytes", "shuffle written", "bytes")],
    "waits": [("waits_s", "waits in tasks", "s")],
    "slow_host": [("slow_host_s", "time of tasks that the host cost", "s")],
    "retries": [("lost_attempts", "lost attempts", "count"), ("retries_s", "their time", "s")],
    "deserialise": [("deserialise_s", "deserialising", "s")],
    "scheduler_delay": [("scheduler_delay_s", "scheduler delay", "s")],
    "result": [("result_s", "results", "s")],
    "unseen": [("unseen_s", "task time without metrics", "s")],
}  # fmt: skip
_SPLIT = ("cpu_s", "waits_s")
_ALWAYS = [("spilled_bytes", "spilled to disk", "bytes")]
_SPILLS = ("cpu", "waits", "gc", "shuffle_write", "input")


def family(cause: str) -> str:
    """Give the first word of a cause.

    Examples
    --------
    >>> family("cpu/HashAggregate"), family("gc")
    ('cpu', 'gc')
    """
    return cause.partition("/")[0]


def is_explained(cause: str) -> bool:
    """Whether a cause says more than that something is left over."""
    return cause not in _LEFT_OVER


def words(cause: str) -> str:
    """Say what a cause is.

    Examples
    --------
    >>> words("cpu/Filter"), words("waits/lock")
    ('CPU of Filter for the same input', 'waits within tasks: lock')
    """
    if cause in _WORDS:
        return _WORDS[cause]
    first, _, rest = cause.partition("/")
    if first == "cpu":
        operator, _, expression = rest.partition(EXPRESSION)
        inside = f", {short(expression, 60)}" if expression else ""
        return f"CPU of {operator}{inside} for the same input"
    return f"{_WORDS.get(first, first)}: {rest.replace('_', ' ')}"


def evidence_of(cause: str, a: Work | None, b: Work | None) -> list[Quantity]:
    """Give the quantities of a stage on both sides that a cause rests on."""
    rows = list(_EVIDENCE.get(family(cause), ()))
    if family(cause) in _SPILLS:
        rows += _ALWAYS
    found = []
    for key, what, unit in rows:
        x, y = _count(a, key, cause), _count(b, key, cause)
        if x or y:
            found.append(Quantity(what=what, unit=unit, a=x, b=y))
    return found


def _count(work: Work | None, key: str, cause: str) -> float | None:
    if work is None or not work.counts:
        return None
    counts = work.counts
    rows = counts["input_rows"] + counts["shuffle_rows"]
    if key == "rows":
        return rows
    if key == "bytes":
        return counts["input_bytes"] + counts["shuffle_bytes"]
    if key == "most_ratio":
        mean = counts["volume"] / max(1.0, counts["tasks"])
        return counts["most_volume"] / mean if mean > 0 else None
    if key == "cpu_per_row_s":
        return counts["cpu_s"] * _share(work, cause) / rows if rows > 0 else None
    value = counts.get(key)
    return value if value is None or key not in _SPLIT else value * _share(work, cause)


def _share(work: Work, cause: str) -> float:
    """Give the share of an operator, or of a class of waits, in its column of task time."""
    column, _, name = cause.partition("/")
    known = work.held.shares.get(COLUMNS.index(column)) if name and column in COLUMNS else None
    return known.get(name, 0.0) if known else 1.0


def sentence(cause: Cause) -> str:
    """Say what happened, with its numbers."""
    top = cause.parts[0]
    name = family(cause.cause)
    where = _where(cause)
    if name in ("driver", "executors"):
        return cause.what
    if name == "alone":
        side = "B" if cause.cause.endswith("b") else "A"
        return f"{_stages(cause)} only in {side}"
    numbers = _numbers(cause)
    own = {
        "input": f"{where} reads {_times(numbers) or 'a different amount'}",
        "slots": f"{where} ran on {_arrow(numbers, 'task slots')}",
        "tasks": f"{where} has {_arrow(numbers, 'tasks')}",
        "uneven_input": f"{where}: the largest task has {_arrow(numbers, '')} times the mean input",
        "slow_host": f"{where}: {_hosts(top)}",
        "retries": f"{where}: {_arrow(numbers, 'attempts lost')}",
    }
    if name in own:
        return own[name]
    if numbers and numbers.what == "CPU per row":
        what = cause.what.removesuffix(_SAME_INPUT)
        return f"{where}: {what} per row {_arrow(numbers, '')}{_spilled(top)}"
    if numbers:
        return f"{where}: {cause.what}, {_arrow(numbers, '')} in its tasks{_spilled(top)}"
    return f"{where}: {cause.what}"


def _where(cause: Cause) -> str:
    """Name the stage, or how many they are and the largest."""
    top = cause.parts[0]
    if len(cause.parts) == 1 or abs(top.seconds) > 0.5 * sum(abs(p.seconds) for p in cause.parts):
        return named(top)
    return f"{len(cause.parts)} stages, most of all {named(top)}"


def named(part: Part) -> str:
    """Name the stage of a part: its numbers on both sides, and where it comes from."""
    ids = [one for one in (part.a_stage_id, part.b_stage_id) if one is not None]
    place = short(part.place, 60)
    if not ids:
        return place
    number = f"stage {ids[0]}" + (f" (now {ids[-1]})" if ids[0] != ids[-1] else "")
    return number if place.startswith("stage ") else f"{number} ({place})"


def _stages(cause: Cause) -> str:
    count = len(cause.parts)
    if count == 1:
        return f"{named(cause.parts[0])} is"
    return f"{count} stages, most of all {named(cause.parts[0])}, are"


def _numbers(cause: Cause) -> Quantity | None:
    """Give the main evidence: of the stage, or added up where the cause is spread."""
    return cause.parts[0].evidence[0] if cause.parts[0].evidence else None


def _times(found: Quantity | None) -> str | None:
    if found is None or not found.a or not found.b:
        return (
            None if found is None else f"{_value(found, found.b)}, before {_value(found, found.a)}"
        )
    what = "rows" if found.unit == "count" else "bytes"
    ratio = found.b / found.a
    numbers = f"{_value(found, found.a)} → {_value(found, found.b)}"
    return f"{units.digits(ratio, 2)} times the {what} ({numbers})"


def _arrow(found: Quantity | None, what: str) -> str:
    if found is None:
        return f"a different number of {what}" if what else "a different amount"
    text = f"{_value(found, found.a)} → {_value(found, found.b)}"
    return f"{text} {what}".strip()


def _value(found: Quantity, value: float | None) -> str:
    if value is None:
        return "unknown"
    if found.unit == "s":
        return units.duration(value * 1e9)
    if found.unit == "bytes":
        return units.size(value)
    if found.unit == "ratio":
        return units.digits(value, 2)
    return units.count(round(value))


def _hosts(part: Part) -> str:
    side = "B" if part.seconds > 0 else "A"
    hosts = ", ".join(part.hosts) or "some hosts"
    return f"in {side} tasks take longer on {hosts} than elsewhere"


def _spilled(part: Part) -> str:
    found = next((one for one in part.evidence if one.what == "spilled to disk"), None)
    if found is None or not found.b or (found.a or 0) >= found.b:
        return ""
    return f"; they spilled {_value(found, found.b)}, {_value(found, found.a)} before"


def signed(seconds: float) -> str:
    """Write a change in seconds.

    Examples
    --------
    >>> signed(1.5), signed(-205.0), signed(0.0)
    ('+1.50 s', '−3 min 25 s', '0 s')
    """
    sign = "+" if seconds > 0 else "−" if seconds < 0 else ""
    return sign + units.duration(abs(seconds) * 1e9)


def answer(found: Explanation) -> list[str]:
    """Say why it changed: the causes that make up most of it, and what cannot be explained."""
    if not found.causes:
        return ["Nothing changed: elapsed time and what it consists of are the same."]
    whole = signed(found.seconds)
    if found.a_s > 0:
        whole += f" ({units.percent(found.seconds / found.a_s, signed=True).replace('-', '−')})"
    if found.low is not None and found.high is not None and found.low <= 0 <= found.high:
        whole += f", which may be chance ({signed(found.low)} … {signed(found.high)})"
    waited = found.b_waited_s - found.a_waited_s
    beside = abs(waited) > _SMALL * sum(abs(one.seconds) for one in found.causes)
    if beside:
        whole += f", including {signed(waited)} in the wait for executors"
    lines = [f"{whole}: {_largest(found)}"]
    if beside:
        lines.append(_without_waits(found))
    rest = [one for one in found.causes if not one.explained]
    left = sum(one.seconds for one in rest)
    if rest and abs(left) > _WORTH * max(abs(found.seconds), abs(found.causes[0].seconds)):
        names = ", ".join(f"{one.what} {signed(one.seconds)}" for one in rest)
        lines.append(f"{capital(_part(left, found))} cannot be explained: {names}.")
    return lines


def _without_waits(found: Explanation) -> str:
    """Say how much the rest changed: a queue is no property of a job."""
    a, b = found.a_s - found.a_waited_s, found.b_s - found.b_waited_s
    waits = " → ".join(units.duration(1e9 * one) for one in (found.a_waited_s, found.b_waited_s))
    rest = signed(b - a)
    if abs(b - a) < _ROUNDING_S:
        rest = "0 s"
    elif a > 0:
        rest += f" ({units.percent(b / a - 1, signed=True).replace('-', '−')})"
    return f"Without the wait for executors ({waits}) it is {rest}."


_ROUNDING_S = 1e-6
_SHOWN = 3
_WORTH = 0.02
_SMALL = 0.1


def _largest(found: Explanation) -> str:
    known = [one for one in found.causes if one.explained]
    if not known:
        return "none of it can be explained."
    texts = [
        f"{_part(one.seconds, found)}: {one.sentence}"
        for one in known[:_SHOWN]
        if abs(one.seconds) >= _SMALL * abs(known[0].seconds)
    ]
    return ". ".join([texts[0], *(capital(text) for text in texts[1:])]) + "."


def _part(seconds: float, found: Explanation) -> str:
    """Give a part as a share of the change; in seconds where parts cancel out."""
    gross = sum(abs(one.seconds) for one in found.causes)
    ratio = seconds / found.seconds if found.seconds else -1.0
    if not 0 <= ratio <= 1:
        return signed(seconds)  # it is no part of a smaller change, or of one the other way
    if abs(found.seconds) < _CANCELS * gross:
        return f"{signed(seconds)} of it"
    return f"{round(100 * ratio)} % of it"


_CANCELS = 0.2
"""Where the change is less than this part of all causes, regardless of sign, shares say nothing."""
