"""Factors and levels: what `--set factor=level` takes, checked against ``schema/conf.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.schema import schema_folder, spark_unit

Level = str | int | float

_SIZE = re.compile(r"([0-9]{1,19})([kmgt]?)b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(frozen=True)
class Factor:
    """One declaration of ``schema/conf.toml``; `doc`, `refused` and `needs` are text for users.

    A switch of the kernel has `files`, its names in older kernels after the present one, ``*`` for
    each disk; `written` says what stands there for a level, where that is not the level itself.
    """

    name: str
    type: str
    scope: str
    restart: bool
    doc: str
    dear: bool = False
    unit: str | None = None
    range: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    refused: str | None = None
    pattern: str | None = None
    example: str | None = None
    files: tuple[str, ...] = ()
    written: Mapping[str, str] = field(default_factory=dict, hash=False)
    needs: str | None = None

    def matches(self, name: str) -> bool:
        """Whether this declaration is about the factor `name`."""
        if self.name.endswith("*"):
            return name.startswith(self.name[:-1]) and len(name) >= len(self.name)
        return name == self.name


@cache
def factors() -> tuple[Factor, ...]:
    """Every declared factor; exact names come before the families they belong to."""
    text = (schema_folder() / "conf.toml").read_text(encoding="utf-8")
    return tuple(
        Factor(
            **{
                **body,
                "range": tuple(body["range"]) if "range" in body else None,
                "choices": tuple(body.get("choices", ())),
                "files": tuple(body.get("files", ())),
            }
        )
        for body in tomllib.loads(text)["factor"]
    )


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Nearest known word, as a question; ``None`` if nothing is near."""
    near = _nearest(word, known)
    return f"did you mean {near!r}?" if near else None


def _nearest(word: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.5)), None)


def declaration(name: str) -> Factor | None:
    """Give the declaration of a factor; ``None`` where there is none, as of a workload's own.

    Examples
    --------
    >>> declaration("jvm.gc").scope, declaration("workload.time")
    ('jvm', None)
    """
    return next((factor for factor in factors() if factor.matches(name)), None)


def find_factor(name: str, declared: Mapping[str, Iterable[str]] | None = None) -> Factor:
    """Find the declaration of a factor.

    Raises
    ------
    UsageError
        If there is no such factor.
    """
    found = declaration(name)
    if found is not None:
        return found
    known = {f.name for f in factors() if not f.name.endswith("*")} | set(declared or ())
    if members := _members(family := f"{name.partition('.')[0]}.", known):
        # What all of a family begin with makes no two of them alike.
        near = _nearest(name.removeprefix(family), members)
        there = f"{family}* has {', '.join(sorted(members))}"
        raise UsageError(
            f"unknown factor {name!r}", f"did you mean '{family}{near}'?" if near else there
        )
    remedy = did_you_mean(name, known | {word.rsplit(".", 1)[-1] for word in declared or ()})
    raise UsageError(
        f"unknown factor {name!r}",
        remedy or "use a known factor: " + ", ".join(sorted(known)) + ", spark.<any Spark setting>",
    )


def _members(family: str, known: Iterable[str]) -> set[str]:
    return {one.removeprefix(family) for one in known if one.startswith(family)}


def parse_treatment(
    settings: Iterable[str], declared: Mapping[str, Iterable[str]] | None = None
) -> dict[str, Level]:
    """Read ``factor=level`` settings into a treatment.

    Parameters
    ----------
    settings : iterable of str
        As given with ``--set``.
    declared : mapping, optional
        Factors that a built-in workload declares, with their levels; the last word of such a
        factor (``variant`` for ``workload.variant``) is enough.

    Raises
    ------
    UsageError
        Unknown factor or level, a factor given twice.
    CapabilityError
        A factor that this version cannot honour.

    Examples
    --------
    >>> parse_treatment(["jvm.heap=2g", "layout.tasks=2", "spark.sql.adaptive.enabled=false"])
    {'jvm.heap': 2147483648, 'layout.tasks': 2, 'spark.sql.adaptive.enabled': 'false'}
    """
    levels = {name: list(known) for name, known in (declared or {}).items()}
    short = {name.rsplit(".", 1)[-1]: name for name in levels}
    treatment: dict[str, Level] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = short.get(name.strip(), name.strip())
        if not equals or not name:
            raise UsageError(
                f"--set {setting!r} is not of the form factor=level",
                "for example --set jvm.heap=2g",
            )
        if name in treatment:
            raise UsageError(f"factor {name!r} is set twice", "give each factor once")
        treatment[name] = _level(name, text.strip(), levels)
    return treatment


def _level(name: str, text: str, declared: Mapping[str, list[str]]) -> Level:
    if name in declared:
        # Left to the workload, which knows its levels (integers among them) and reports wrong ones.
        return text
    factor = find_factor(name, declared)
    if factor.refused:
        _misspelt(factor, name)
        raise CapabilityError(f"factor {name!r} cannot be set: {factor.refused}")
    if factor.scope == "workload" and factor.name != "workload.scale":
        known = f" (it has {', '.join(declared)})" if declared else ""
        raise UsageError(
            f"factor {name!r} is for workloads that declare it{known}",
            "pyrometer workloads show NAME lists what a workload declares",
        )
    return parse_level(factor, name, text)


def _misspelt(family: Factor, name: str) -> None:
    # A family (cgroup.*) matches every name with its prefix, misspelt ones included.
    if not family.name.endswith("*"):
        return
    front = family.name[:-1]
    members = _members(front, (f.name for f in factors())) - {"*"}
    near = _nearest(name.removeprefix(front), members)
    if near:
        raise UsageError(f"unknown factor {name!r}", f"did you mean '{front}{near}'?")


def parse_level(factor: Factor, name: str, text: str) -> Level:
    """Read one level of a factor.

    Raises
    ------
    UsageError
        If the text is no level of this factor, with the levels it has.
    """
    if not text and factor.type != "text":
        raise UsageError(f"factor {name!r} has no level", f"give one: {factor.doc}")
    if factor.choices and text not in factor.choices:
        remedy = did_you_mean(text, factor.choices) or f"use one of: {', '.join(factor.choices)}"
        raise UsageError(f"{name} has no level {text!r}", remedy)
    if factor.type in ("int", "float"):
        return _in_range(factor, name, _number(factor, name, text), text)
    if factor.type == "size":
        return _in_range(factor, name, size_of(name, text), text)
    if factor.type == "cpus":
        parse_cpus(text)
    if factor.pattern and not re.fullmatch(factor.pattern, text):
        raise UsageError(f"{name} has no level {text!r}", f"for example {factor.example}")
    return text


def _number(factor: Factor, name: str, text: str) -> int | float:
    try:
        return int(text) if factor.type == "int" else float(text)
    except ValueError:
        raise UsageError(
            f"{name}={text}: not a number of {factor.unit}",
            f"for example --set {name}={factor.example or 2}",
        ) from None


def size_of(name: str, text: str) -> int:
    """Read a size in bytes; a number alone has the unit that Spark gives it in that setting.

    Examples
    --------
    >>> size_of("jvm.heap", "2g"), size_of("spark.executor.memory", "2048")
    (2147483648, 2147483648)

    Raises
    ------
    UsageError
        If it is none.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"{name}={text}: not a size", f"for example --set {name}=2g")
    unit = spark_unit(name) if text.isdigit() else match[2].lower()
    return int(match[1]) * _UNITS[unit]


def _in_range(factor: Factor, name: str, value: int | float, text: str) -> int | float:
    if factor.range and not factor.range[0] <= value <= factor.range[1]:
        low, high = (_written(factor, bound) for bound in factor.range)
        unit = "" if factor.type == "size" else factor.unit or ""
        raise UsageError(
            f"{name}={text}: out of range", f"give from {low} to {high} {unit}".rstrip()
        )
    return value


def _written(factor: Factor, value: float) -> str:
    """Write a bound as people write levels: a size with the largest unit that divides it."""
    if factor.type != "size" or not value:
        return str(value) if isinstance(value, int) else f"{value:g}"
    units = sorted(_UNITS.items(), key=lambda one: -one[1])
    return next(f"{int(value) // of}{unit}" for unit, of in units if int(value) % of == 0)


def parse_cpus(text: str) -> int | frozenset[int]:
    """Read a number of CPUs or a set of them.

    Examples
    --------
    >>> parse_cpus("2"), sorted(parse_cpus("0,2-3"))
    (2, [0, 2, 3])

    Raises
    ------
    UsageError
        If it is neither.
    """
    wrong = UsageError(f"host.cpus={text}: neither a number nor a set of CPUs", "2, or 0,2-3")
    if re.fullmatch(r"[0-9]{1,5}", text):
        if int(text) == 0:
            raise wrong
        return int(text)
    cpus: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", part)
        if match is None:
            raise wrong
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise wrong
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


def parse_numbers(text: str) -> list[int]:
    r"""Read a list of numbers as the kernel writes it.

    Examples
    --------
    >>> parse_numbers("0-2,8\n"), parse_numbers("\n")
    ([0, 1, 2, 8], [])
    """
    found: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def write_numbers(found: Iterable[int]) -> str:
    """Write numbers as the kernel does.

    Examples
    --------
    >>> write_numbers([8, 0, 1, 2])
    '0-2,8'
    """
    parts: list[list[int]] = []
    for number in sorted(found):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def write_cpus(cpus: int | frozenset[int]) -> str:
    """Write a number of CPUs, or a set of them, as a level of ``host.cpus``.

    Examples
    --------
    >>> write_cpus(2), write_cpus(frozenset([1])), write_cpus(frozenset([0, 1, 4]))
    ('2', '1-1', '0-1,4')
    """
    if isinstance(cpus, int):
        return str(cpus)
    text = write_numbers(cpus)
    # A lone number would mean how many CPUs.
    return f"{text}-{text}" if text.isdecimal() else text
