"""A space that people write: YAML in the language of experiment files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pyrometer.core.errors import UsageError
from pyrometer.core.user_files import user_text
from pyrometer.experiments.plan.constraints import (
    Constraint,
    Value,
    number_or_text,
    parse_amount,
    parse_constraint,
)
from pyrometer.trial import yaml_file
from pyrometer.trial.factors import did_you_mean, find_factor, parse_level
from pyrometer.trial.yaml_file import Document, Text, empty_is_default
from pyrometer.tune.space.declared import Declared, knobs, spaces
from pyrometer.tune.space.levels import bounds
from pyrometer.tune.space.memory import ELSEWHERE
from pyrometer.tune.space.named import Facts, bounded, known_facts, named_space
from pyrometer.tune.space.space import Knob, Space

_OF_HOST = ("mem_total", "swap_total", "cpus", "numa_nodes")
"""Facts of this host."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    _empty = model_validator(mode="before")(empty_is_default)


class Range(_Part):
    """A range of levels; what is missing is as declared."""

    low: Annotated[
        Text | None, Field(alias="from", description="Smallest level: 1g, cpus / 2.")
    ] = None
    high: Annotated[Text | None, Field(alias="to", description="Largest level.")] = None
    log: Annotated[
        bool | None, Field(description="Whether ratios of levels count, not differences.")
    ] = None
    first: Annotated[list[Text], Field(description="Levels to try first.")] = []
    special: Annotated[
        list[Text], Field(description="Levels outside of the range: -1 for never.")
    ] = []
    default: Annotated[
        Text | None, Field(description="What holds where the factor is not set.")
    ] = None


class SpaceFile(_Part):
    """Named spaces to begin with, knobs of one's own, and constraints."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="Short name.")]
    description: str = ""
    spaces: Annotated[list[str], Field(description="Named spaces that it begins with.")] = []
    knobs: Annotated[
        dict[str, list[Text] | Range | None],
        Field(description="By factor: a list of levels, a range, or nothing: as declared."),
    ] = {}
    without: Annotated[list[str], Field(description="Factors that are left as they are.")] = []
    constraints: Annotated[
        list[str], Field(description="Conditions of factors and facts of the machine.")
    ] = []


def is_space_file(asked: str) -> bool:
    """Whether what is asked for is a file, not named spaces."""
    return asked.endswith((".yaml", ".yml")) or os.path.isfile(asked)


def knobs_of(asked: str) -> set[str]:
    """Name the factors that a space's own file varies, on any machine; of named spaces none.

    Raises
    ------
    UsageError
        If the file cannot be read or is not valid.
    """
    if not is_space_file(asked):
        return set()
    text = user_text(Path(asked), f"correct that, or use a named space: {', '.join(spaces())}")
    found = _asked(yaml_file.parse(text, asked))
    return found.knobs.keys() - {*found.without}


def read_space(
    path: Path,
    facts: Facts,
    *,
    now: Mapping[str, str] | None = None,
    declared: Mapping[str, Sequence[str]] | None = None,
    refused: Mapping[str, str] | None = None,
    spark_version: str | None = None,
) -> Space:
    """Read a space from a file; parameters are those of :func:`named_space`.

    Raises
    ------
    UsageError
        If it cannot be read or is not valid: with file, line and column.
    """
    text = user_text(path, f"correct that, or use a named space: {', '.join(spaces())}")
    return parse_space(
        text, str(path), facts, now=now, declared=declared, refused=refused,
        spark_version=spark_version,
    )  # fmt: skip


def parse_space(
    text: str,
    name: str,
    facts: Facts,
    *,
    now: Mapping[str, str] | None = None,
    declared: Mapping[str, Sequence[str]] | None = None,
    refused: Mapping[str, str] | None = None,
    spark_version: str | None = None,
) -> Space:
    """Read a space from text; `name` is the file's, for messages.

    Raises
    ------
        UsageError
            If it is not valid: with file, line and column.

    Examples
    --------
        >>> text = "{name: mine, knobs: {jvm.gc: [g1, parallel], jvm.heap: {from: 1g, to: 2g}}}"
    >>> found = parse_space(text, "mine.yaml", {"mem_total": 8.0 * (1 << 30), "cpus": 4.0})
    >>> [one.factor for one in found.knobs], found.knobs[1].high / (1 << 30)
    (['jvm.gc', 'jvm.heap'], 2.0)
    """
    document = yaml_file.parse(text, name)
    asked = _asked(document)
    known = known_facts(facts)
    _check_spaces(asked, document)
    begun = named_space(
        asked.spaces, facts, now=now, declared=declared, refused=refused,
        spark_version=spark_version,
    ) if asked.spaces else Space(asked.name, (), facts=known)  # fmt: skip
    found = {one.factor: one for one in begun.knobs}
    out = dict(begun.left_out)
    for factor, wish in asked.knobs.items():
        where = document.where(("knobs", factor))
        one = _wished(factor, wish, where, declared)
        try:
            for amount in (wish.low, wish.high) if isinstance(wish, Range) else ():
                _check_here(parse_amount(amount or "0").names, known)
            knob = bounded(
                one, known, now=now, declared=declared, refused=refused,
                spark_version=spark_version,
            )  # fmt: skip
        except UsageError as error:
            raise UsageError(f"{where}: {error.message}", error.remedy) from error
        out.pop(factor, None)
        found.pop(factor, None)
        if isinstance(knob, Knob):
            found[factor] = knob
        else:
            out[factor] = knob
    for at, factor in enumerate(asked.without):
        if factor not in found and factor not in out:
            remedy = did_you_mean(factor, found) or f"use one of: {', '.join(found)}"
            raise UsageError(f"{document.where(('without', at))}: no knob {factor!r}", remedy)
        if found.pop(factor, None) is not None:
            out[factor] = "the space's file leaves it out"
    if not found:
        raise UsageError(f"{name}:1:1: the space has no knobs", "spaces: [spark-sql]")
    return Space(
        asked.name, tuple(found.values()), _constraints(asked, document, found, known), known, out
    )


def _asked(document: Document) -> SpaceFile:
    if not isinstance(document.value, dict):
        where, remedy = f"{document.name}:1:1", "name: mine, knobs: {jvm.heap: }"
        raise UsageError(f"{where}: not a mapping of keys", remedy)
    return yaml_file.validate(SpaceFile, document)


def _check_spaces(asked: SpaceFile, document: Document) -> None:
    for at, name in enumerate(asked.spaces):
        if name not in spaces():
            remedy = did_you_mean(name, spaces()) or f"use one of: {', '.join(spaces())}"
            raise UsageError(f"{document.where(('spaces', at))}: no space {name!r}", remedy)


def _wished(
    factor: str,
    wish: list[Any] | Range | None,
    where: str,
    declared: Mapping[str, Sequence[str]] | None,
) -> Declared:
    base = next((one for one in knobs() if one.factor == factor), None)
    try:
        if base is None and factor not in (declared or {}):
            known = find_factor(factor, declared)
            if known.refused:
                raise UsageError(f"{factor} cannot be set: {known.refused}")
        if isinstance(wish, list):
            if len(wish) < 2:
                raise UsageError(f"{factor}: fewer than two levels", f"{factor}: [1, 2]")
            for text in wish:
                _check_level(factor, str(text), declared)
            levels = tuple(map(str, wish))
            return Declared(
                factor, (), "choice", levels=levels,
                default=base.default if base and base.kind == "choice" else None,
                default_if=base.default_if if base and base.kind == "choice" else None,
                breaks=base.breaks if base else None,
            )  # fmt: skip
        if base is None and (wish is None or wish.low is None or wish.high is None):
            raise UsageError(
                f"{factor}: nothing is declared of it", f"{factor}: {{from: 1, to: 8}}, or [1, 2]"
            )
        return base if base and wish is None else _ranged(factor, base, wish or Range(), declared)
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", error.remedy) from error


def _ranged(
    factor: str,
    base: Declared | None,
    wish: Range,
    declared: Mapping[str, Sequence[str]] | None,
) -> Declared:
    if base is not None and base.kind == "choice":
        raise UsageError(
            f"{factor} has levels, not a range", f"{factor}: [{', '.join(base.levels)}]"
        )
    for text in (wish.low, wish.high, *wish.first, wish.default):
        if text is not None and not isinstance(number_or_text(text), str):
            _check_level(factor, text, declared)
    kind = base.kind if base else _kind(wish)
    low, high = (wish.low,) if wish.low else None, (wish.high,) if wish.high else None
    if base is None:
        return Declared(
            factor, (), kind, range=(str(wish.low), str(wish.high)), log=bool(wish.log),
            special=tuple(wish.special), default=wish.default, first=tuple(wish.first),
        )  # fmt: skip
    return Declared(
        factor, base.spaces, kind, unit=base.unit, range=base.range, low=low or base.low,
        high=high or base.high, log=base.log if wish.log is None else wish.log,
        special=tuple(wish.special) or base.special,
        default=wish.default if wish.default is not None else base.default,
        default_if=None if wish.default is not None else base.default_if,
        first=tuple(wish.first) or base.first, breaks=base.breaks,
    )  # fmt: skip


def _kind(wish: Range) -> Any:
    texts = [str(one) for one in (wish.low, wish.high) if one is not None]
    if any(text[-1:].lower() in "kmgtb" for text in texts):
        return "size"
    return "float" if any("." in text for text in texts) else "int"


def _check_level(factor: str, text: str, declared: Mapping[str, Sequence[str]] | None) -> None:
    if factor in (declared or {}):
        return
    parse_level(find_factor(factor, declared), factor, text)


def _constraints(
    asked: SpaceFile, document: Document, found: Mapping[str, Knob], facts: Mapping[str, float]
) -> tuple[Constraint, ...]:
    constraints = []
    known = {*found, *facts}
    for at, text in enumerate(asked.constraints):
        where = document.where(("constraints", at))
        try:
            one = parse_constraint(text)
            _check_here(one.names, facts)
        except UsageError as error:
            raise UsageError(f"{where}: {error.message}", error.remedy) from error
        for name in sorted(one.names - known):
            remedy = did_you_mean(name, known) or f"use one of: {', '.join(sorted(known))}"
            raise UsageError(f"{where}: unknown name {name!r} in {text!r}", remedy)
        try:
            one.holds({**facts, **{name: _some_level(knob) for name, knob in found.items()}})
        except UsageError as error:
            raise UsageError(f"{where}: {error.message}", error.remedy) from error
        constraints.append(one)
    return tuple(constraints)


def _check_here(names: frozenset[str], facts: Mapping[str, float]) -> None:
    """Refuse facts of this host for executors that run on others."""
    if ELSEWHERE in facts and (names := names.intersection(_OF_HOST) - facts.keys()):
        raise UsageError(
            f"{', '.join(sorted(names))}: of this host, and executors run elsewhere",
            "write numbers: jvm.heap <= 8g",
        )


def _some_level(knob: Knob) -> Value:
    """Give a level, to see whether a constraint is a condition of such levels at all."""
    if knob.levels:
        return number_or_text(knob.levels[0])
    return bounds(knob)[1]
