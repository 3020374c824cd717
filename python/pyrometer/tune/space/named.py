"""Named spaces, bounded for a machine and a job."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pyrometer.core.errors import UsageError
from pyrometer.core.schema import spark_default
from pyrometer.experiments.plan.constraints import number_or_text, parse_amount, parse_constraint
from pyrometer.trial.factors import declaration, did_you_mean, find_factor
from pyrometer.tune.space.declared import Declared, of_space, spaces, unknown_to
from pyrometer.tune.space.levels import (
    as_special,
    bounds,
    read_level,
    without_exponent,
    write_level,
)
from pyrometer.tune.space.space import Knob, Space

Facts = Mapping[str, float | None]


def named_space(
    names: str | Sequence[str],
    facts: Facts,
    *,
    now: Mapping[str, str] | None = None,
    declared: Mapping[str, Sequence[str]] | None = None,
    refused: Mapping[str, str] | None = None,
    spark_version: str | None = None,
) -> Space:
    """Bound named spaces for a machine and a job.

    Parameters
    ----------
    names : str or sequence of str
        One or several of :func:`~pyrometer.tune.space.declared.spaces`.
    facts : mapping
        Of the machine: ``mem_total`` in bytes, ``cpus``; of the job, as far as a run of it is
        known: ``heap`` of a JVM in bytes, ``jvms``, ``jvm_cpus``, ``slots``, ``input_bytes``,
        ``shuffle_bytes`` of its largest shuffle.
    now : mapping, optional
        Levels that hold in the job as it is, by factor: they are the defaults, and inside the
        range whatever the machine is.
    declared : mapping, optional
        Factors that the workload declares, with their levels.
    refused : mapping, optional
        Factors that cannot be changed here, with the reason.
    spark_version : str, optional
        Of the job's Spark: it knows what holds where nothing is set.

    Raises
    ------
    UsageError
        If there is no such space.

    Examples
    --------
    >>> found = named_space("jvm", {"mem_total": 8 << 30, "cpus": 4.0, "heap": 2.0 * (1 << 30)})
    >>> knob = found.knob("jvm.heap")
    >>> knob.low / (1 << 30), round(knob.high / (1 << 30), 1), knob.first
    (1.0, 5.6, ('4g',))
    """
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in spaces():
            remedy = did_you_mean(name, spaces()) or f"use one of: {', '.join(spaces())}"
            raise UsageError(f"there is no space {name!r}", remedy)
    known = known_facts(facts)
    found, out = [], {}
    for one in dict.fromkeys(knob for name in wanted for knob in of_space(name)):
        knob = bounded(
            one, known, now=now, declared=declared, refused=refused, spark_version=spark_version
        )
        if isinstance(knob, Knob):
            found.append(knob)
        else:
            out[one.factor] = knob
    return Space("+".join(wanted), tuple(found), facts=known, left_out=out)


def known_facts(facts: Facts) -> dict[str, float]:
    """Leave out what is not known; slots and JVMs are those of a job in one JVM unless told."""
    known = {name: value for name, value in facts.items() if value is not None}
    known.setdefault("jvms", 1.0)
    if "cpus" in known:
        known.setdefault("slots", known["cpus"])
        known.setdefault("jvm_cpus", known["cpus"])
    return known


def bounded(
    one: Declared,
    facts: Mapping[str, float],
    *,
    now: Mapping[str, str] | None = None,
    declared: Mapping[str, Sequence[str]] | None = None,
    refused: Mapping[str, str] | None = None,
    spark_version: str | None = None,
) -> Knob | str:
    """Bound a declared knob; a text says why there is none here.

    Parameters are those of :func:`named_space`.
    """
    if one.factor in (refused or {}):
        return (refused or {})[one.factor]
    if one.only_if is not None and _holds(one.only_if, facts) is False:
        return one.otherwise or f"{one.only_if} does not hold here"
    if (why := unknown_to([one.factor], spark_version).get(one.factor)) is not None:
        return why
    own = one.factor in (declared or {})
    # What a workload declares itself need not be in schema/conf.toml.
    factor = declaration(one.factor) if own else find_factor(one.factor, declared)
    levels = tuple((declared or {}).get(one.factor, one.levels))
    if factor is not None and factor.scope == "workload" and not own:
        return "the workload does not declare it"
    default = (now or {}).get(one.factor, _default(one, facts, spark_version))
    low, high = (None, None) if one.kind == "choice" else _range(one, facts)
    draft = Knob(
        factor=one.factor, kind=one.kind, low=low, high=high, levels=levels, log=one.log,
        breaks=one.breaks, dear=factor is not None and factor.dear, unit=one.unit,
        special=one.special,
    )  # fmt: skip
    return _finished(one, draft, default, facts)


def _finished(
    one: Declared, draft: Knob, default: str | None, facts: Mapping[str, float]
) -> Knob | str:
    low, high, levels, special = draft.low, draft.high, draft.levels, draft.special
    if default is not None:
        default = as_special(default, special) or default
    if draft.kind == "choice":
        if default is not None and default not in levels:
            levels = (default, *levels)
        if len(levels) < 2:
            return f"there is one level only: {levels[0]}" if levels else "there is no level"
    elif low is not None and high is not None:
        value = None if default is None else read_level(draft, default)
        if value is not None and value <= 0 and draft.log:
            # Of such a range ratios count: what holds today has no place in it, and is kept beside.
            special, value = (*special, str(default)), None
        if value is not None:
            low, high = min(low, value), max(high, value)
        if low >= high:
            return f"there is no room: {write_level(draft, low)} is all that is safe here"
    knob = Knob(
        factor=draft.factor, kind=draft.kind, low=low, high=high, levels=levels, log=draft.log,
        default=default, breaks=draft.breaks, dear=draft.dear, unit=draft.unit, special=special,
    )  # fmt: skip
    first = tuple(dict.fromkeys(_first(knob, one, facts)))
    return Knob(**{**knob.__dict__, "first": tuple(text for text in first if text != default)})


def _range(one: Declared, facts: Mapping[str, float]) -> tuple[float, float]:
    least, most = (parse_amount(text).of(facts) for text in one.range)
    low, high = _amount(one.low, facts), _amount(one.high, facts)
    low = least if low is None else min(max(low, least), most)
    high = most if high is None else min(max(high, least), most)
    if one.kind == "int":
        low, high = math.ceil(low), math.floor(high)
    if one.kind == "size" and high >= 1 << 20:
        # Whole MiB, as options of a JVM take them.
        high = float(int(high) >> 20 << 20)
    return low, high


def _amount(texts: Sequence[str], facts: Mapping[str, float]) -> float | None:
    """Give the first amount whose facts are known."""
    for text in texts:
        amount = parse_amount(text)
        if amount.names <= facts.keys():
            return amount.of(facts)
    return None


def _default(one: Declared, facts: Mapping[str, float], spark: str | None) -> str | None:
    if one.default_if is not None and not _holds(one.default_if, facts):
        return None
    found = spark_default(one.factor, spark)
    if found is None:
        found = one.default
    if found is None or one.kind == "choice" or found in one.special:
        return found
    value = _value(found, facts)
    return None if value is None else _as_text(one, found, value)


def _holds(text: str, facts: Mapping[str, float]) -> bool | None:
    """Whether a condition holds; ``None`` where its facts are not known."""
    condition = parse_constraint(text)
    return condition.holds(facts) if condition.names <= facts.keys() else None


def _as_text(one: Declared, text: str, value: float) -> str:
    if not isinstance(number_or_text(text), str):
        return text
    return str(round(value)) if one.kind == "int" else without_exponent(value)


def _value(text: str, facts: Mapping[str, float]) -> float | None:
    amount = parse_amount(text)
    return amount.of(facts) if amount.names <= facts.keys() else None


def _first(knob: Knob, one: Declared, facts: Mapping[str, float]) -> list[str]:
    found = []
    for text in one.first:
        if knob.kind == "choice":
            found += [text] * (text in knob.levels)
        elif text in knob.special:
            found.append(text)
        else:
            value = _value(text, facts)
            low, high = bounds(knob)
            if value is not None and low <= value <= high:
                found.append(write_level(knob, value))
    return found
