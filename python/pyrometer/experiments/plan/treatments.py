"""Treatments of a matrix: every combination of levels that the file and its constraints allow."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.experiments.plan.constraints import Constraint, Value, parse_constraint
from pyrometer.experiments.plan.source import Source
from pyrometer.guests.machine import machine_of
from pyrometer.trial.factors import Level, did_you_mean, parse_treatment

MOST_TREATMENTS = 1_000

Declared = Mapping[str, Iterable[str]]
"""Factors that a workload declares, with their levels."""


@dataclass(frozen=True)
class Treatment:
    """One combination of levels.

    Attributes
    ----------
    name : str
        The levels that vary, for people: ``data.codec=none, jvm.heap=1g``.
    levels : mapping
        As they were written, those that all treatments share included.
    parsed : mapping
        Parsed, as a trial takes them.
    varied : mapping
        Only those of the matrix.
    """

    name: str
    levels: Mapping[str, str]
    parsed: Mapping[str, Level]
    varied: Mapping[str, str]


@dataclass(frozen=True)
class LeftOut:
    """A treatment that is not run, and why; `varied` are its levels in the matrix."""

    name: str
    reason: str
    varied: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Treatments:
    """Treatments of a matrix: those that run, and those that do not."""

    run: dict[str, Treatment] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)


def combinations(
    source: Source, declared: Declared, facts: Mapping[str, float | None]
) -> Treatments:
    """Expand the matrix of an experiment into treatments.

    Parameters
    ----------
    source : Source
        The file.
    declared : mapping
        Factors that the workload declares, with their levels.
    facts : mapping
        Of the host, for constraints: mem_total and the like; ``None`` where not known.

    Raises
    ------
    UsageError
        Unknown factor or level (with file, line, column), a constraint without meaning, none or
        too many treatments.
    """
    _check_levels(source, declared)
    constraints = _constraints(source, declared, facts)
    matrix = source.experiment.matrix
    combined = _product(source, declared)
    excluded = [dict(short_names(one, declared)) for one in matrix.exclude]
    kept = [one for one in combined if not any(one.items() >= out.items() for out in excluded)]
    treatments = Treatments()
    for varied in _included(kept, [short_names(one, declared) for one in matrix.include]):
        levels = {**short_names(source.experiment.set, declared), **varied}
        name = ", ".join(f"{factor}={level}" for factor, level in varied.items())
        if name in treatments.run:
            continue
        try:
            parsed = parse_treatment([f"{k}={v}" for k, v in levels.items()], declared)
        except CapabilityError as error:
            treatments.left_out.append(LeftOut(name, error.message, varied))
            continue
        broken = _broken(constraints, parsed, facts_in(parsed, facts))
        if broken:
            treatments.left_out.append(LeftOut(name, broken, varied))
        else:
            treatments.run[name] = Treatment(name, levels, parsed, varied)
    if len(treatments.run) > MOST_TREATMENTS:
        raise UsageError(
            f"{len(treatments.run)} treatments: at most {MOST_TREATMENTS}", "exclude some"
        )
    if not treatments.run and not treatments.left_out:
        raise UsageError(f"{source.document.where(('matrix',))}: the matrix has no treatment")
    return treatments


def facts_in(
    levels: Mapping[str, Level], facts: Mapping[str, float | None]
) -> Mapping[str, float | None]:
    """Give the facts of the host in which a treatment applies: of its machine, where it has one.

    Examples
    --------
    >>> facts_in({"machine.numa": "2", "machine.cpus": 4}, {"cpus": 64.0, "numa_nodes": 1.0})
    {'cpus': 4, 'numa_nodes': 2, 'mem_total': 2147483648, 'swap_total': 0}
    """
    try:
        machine = machine_of(levels, int(facts.get("cpus") or 1))
    except (UsageError, CapabilityError):
        # Reported as the reason why it cannot be run here.
        return facts
    if machine is None:
        return facts
    return {
        **facts,
        "cpus": machine.cpus_count,
        "numa_nodes": len(machine.topology.nodes) if machine.topology else 1,
        "mem_total": machine.memory_bytes,
        "swap_total": machine.swap_bytes,
    }


def short_names(levels: Mapping[str, str], declared: Declared) -> dict[str, str]:
    """Write the factors that a workload declares in full: ``codec`` is ``data.codec``."""
    full = {name.rsplit(".", 1)[-1]: name for name in declared}
    return {full.get(name, name): level for name, level in levels.items()}


def _product(source: Source, declared: Declared) -> list[dict[str, str]]:
    factors = source.experiment.matrix.factors
    full = list(short_names(dict.fromkeys(factors, ""), declared))
    if len(full) < len(factors):
        where = source.document.where(("matrix",))
        raise UsageError(
            f"{where}: factor given twice, under two names", f"give each once: {', '.join(full)}"
        )
    size = 1
    for levels in factors.values():
        size *= len(levels)
    if size > 100 * MOST_TREATMENTS:
        raise UsageError(f"{source.document.where(('matrix',))}: {size} combinations are too many")
    if not factors:
        return []
    return [dict(zip(full, levels, strict=True)) for levels in itertools.product(*factors.values())]


def _included(
    combined: list[dict[str, str]], included: list[dict[str, str]]
) -> list[dict[str, str]]:
    extended = [dict(one) for one in combined]
    alone = []
    for extra in included:
        fits = [
            at
            for at, one in enumerate(combined)
            if all(one.get(factor, level) == level for factor, level in extra.items())
        ]
        for at in fits:
            extended[at].update(extra)
        if not fits:
            alone.append(extra)
    return [*extended, *alone]


def _check_levels(source: Source, declared: Declared) -> None:
    """Parse every level where it is written, so that an error names its line and column."""
    experiment, document = source.experiment, source.document
    matrix = experiment.matrix
    places: list[tuple[tuple[str | int, ...], str, str]] = []
    for factor, levels in matrix.factors.items():
        places += [(("matrix", factor, at), factor, level) for at, level in enumerate(levels)]
    for word, given in (("include", matrix.include), ("exclude", matrix.exclude)):
        for at, one in enumerate(given):
            places += [(("matrix", word, at, k), k, v) for k, v in one.items()]
    places += [(("set", k), k, v) for k, v in experiment.set.items()]
    places += [(("baseline", k), k, v) for k, v in (experiment.baseline or {}).items()]
    full = {name.rsplit(".", 1)[-1]: name for name in declared}
    for path, factor, level in places:
        try:
            parse_treatment([f"{factor}={level}"], declared)
        except CapabilityError:
            continue  # Reported for each treatment with it, which is left out.
        except UsageError as error:
            unknown = error.message.startswith("unknown factor")
            where = document.where(path[:2] if unknown and path[0] == "matrix" else path)
            if unknown and path[1] in ("include", "exclude"):
                where = document.where(path)
            raise UsageError(f"{where}: {error.message}", error.remedy) from error
        known = list(declared.get(full.get(factor, factor), ()))
        if known and level not in known and not level.isdecimal():
            remedy = did_you_mean(level, known) or f"use one of: {', '.join(known)}"
            raise UsageError(f"{document.where(path)}: {factor} has no level {level!r}", remedy)
    _check_named(source, declared)


def _check_named(source: Source, declared: Declared) -> None:
    experiment, document = source.experiment, source.document
    matrix = experiment.matrix
    varied = set(short_names(dict.fromkeys(matrix.factors, ""), declared))
    for one in matrix.include:
        varied |= set(short_names(one, declared))
    for at, factor in enumerate(
        short_names(dict.fromkeys(experiment.design.split or (), ""), declared)
    ):
        if factor not in varied:
            remedy = did_you_mean(factor, varied) or f"use one of: {', '.join(sorted(varied))}"
            where = document.where(("design", "split", at))
            raise UsageError(f"{where}: {factor!r} is not a factor of the matrix", remedy)
    for factor in short_names(experiment.baseline or {}, declared):
        if factor not in varied:
            remedy = did_you_mean(factor, varied) or f"use one of: {', '.join(sorted(varied))}"
            where = document.where(("baseline", factor))
            raise UsageError(f"{where}: {factor!r} is not a factor of the matrix", remedy)


def _constraints(
    source: Source, declared: Declared, facts: Mapping[str, float | None]
) -> list[tuple[Constraint, str]]:
    matrix = source.experiment.matrix
    known = set(matrix.factors) | set(source.experiment.set) | set(facts)
    for one in matrix.include:
        known |= set(one)
    known |= set(short_names(dict.fromkeys(known, ""), declared))
    constraints = []
    for at, text in enumerate(source.experiment.constraints):
        where = source.document.where(("constraints", at))
        try:
            found = parse_constraint(text)
        except UsageError as error:
            raise UsageError(f"{where}: {error.message}", error.remedy) from error
        for name in sorted(found.names):
            if name not in known:
                remedy = did_you_mean(name, known) or f"use one of: {', '.join(sorted(known))}"
                raise UsageError(f"{where}: unknown name {name!r} in {text!r}", remedy)
        constraints.append((found, where))
    return constraints


def _broken(
    constraints: list[tuple[Constraint, str]],
    parsed: Mapping[str, Level],
    facts: Mapping[str, float | None],
) -> str | None:
    values: dict[str, Value] = {k: v for k, v in facts.items() if v is not None}
    values |= parsed
    values |= {name.rsplit(".", 1)[-1]: v for name, v in parsed.items() if name not in values}
    for constraint, where in constraints:
        if not constraint.names <= values.keys():
            continue  # It uses a factor that this treatment does not set.
        try:
            if not constraint.holds(values):
                return f"constraint {constraint.text}"
        except UsageError as error:
            raise UsageError(f"{where}: {error.message}", error.remedy) from error
    return None


def baseline_of(source: Source, declared: Declared, treatments: Treatments) -> str | None:
    """Name of the treatment that has all levels of ``baseline``; ``None`` where none is asked for.

    Raises
    ------
    UsageError
        If none or several have them.
    """
    wanted = source.experiment.baseline
    if wanted is None:
        return None
    levels = short_names(wanted, declared)
    found = [name for name, one in treatments.run.items() if one.varied.items() >= levels.items()]
    if len(found) == 1:
        return found[0]
    where = source.document.where(("baseline",))
    if found:
        raise UsageError(
            f"{where}: {len(found)} treatments have these levels: {'; '.join(found[:4])}",
            "give a level of each factor",
        )
    raise UsageError(
        f"{where}: no treatment has these levels",
        f"choose one of: {'; '.join(treatments.run)}",
    )
