"""Treatments that share a launch: which may take turns in one JVM, or run side by side.

Duet: Bulej et al., "Duet benchmarking: improving measurement accuracy in the cloud", ICPE 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from pyrometer.errors import UsageError
from pyrometer.plan.experiment_source import Source
from pyrometer.plan.factors import find_factor, parse_cpus
from pyrometer.plan.treatments import Own, Treatment, Treatments
from pyrometer.run import topology
from pyrometer.run.own import is_own_command
from pyrometer.workload import registry

LIKE = ("workload", "spark", "jvm")
"""Scopes of factors that two treatments side by side may differ in."""

DISKS = ("spark.local.dir", "spark.master")


def may_toggle(factor: str, own: Own) -> bool:
    """Whether a factor can change between the iterations of one JVM.

    Examples
    --------
    >>> may_toggle("spark.sql.shuffle.partitions", {}), may_toggle("jvm.heap", {})
    (True, False)
    """
    if factor in own:
        return True
    return factor != "workload.scale" and not find_factor(factor).restart


def check_together(source: Source, made: Treatments, own: Own, blocks: int) -> None:
    """Check that the treatments of an experiment can share a launch, where it is to be so.

    Raises
    ------
    UsageError
        If they cannot, with the place in the file.
    """
    kind = source.experiment.design.kind
    if kind == "randomized-blocks":
        return
    if source.experiment.design.split:
        where = source.document.where(("design", "split"))
        raise UsageError(f"{where}: {kind} has nothing to keep together within a block", "leave it")
    if kind == "fixed-order":
        return
    {"toggle": _check_toggle, "duet": _check_duet}[kind](source, made, own)
    if kind == "duet" and blocks % 2:
        where = source.document.where(("blocks",))
        raise UsageError(
            f"{where}: {blocks} blocks: sides are swapped from one to the next",
            f"an even number: {blocks + 1}",
        )


def _check_toggle(source: Source, made: Treatments, own: Own) -> None:
    workload, where = source.experiment.workload, source.document.where(("design", "kind"))
    found = registry.get(workload)
    if is_own_command(workload) or found.engine != "spark":
        raise UsageError(f"{where}: {workload} has no iterations in a JVM to take turns in")
    _each_factor(
        source, made, lambda factor: may_toggle(factor, own), "needs a fresh JVM to change"
    )
    fixed = {name: _fixed(one, source) for name, one in made.run.items()}
    first = next(iter(fixed))
    for name, one in fixed.items():
        if one != fixed[first]:
            differ = sorted(dict(one.items() ^ fixed[first].items()))
            raise UsageError(
                f"{where}: {first} and {name} differ in {', '.join(differ)}, which no running JVM"
                " takes",
                "kind: randomized-blocks",
            )


def _fixed(one: Treatment, source: Source) -> Mapping[str, str]:
    """Give settings and limits that a workload's levels bring and no running JVM takes."""
    experiment = source.experiment
    workload = registry.get(experiment.workload)
    levels = {name: level for name, level in one.levels.items() if name in workload.variants}
    spec = registry.resolve(experiment.workload, levels, experiment.scale)
    settings = workload.spark_conf(spec)
    made = {key: value for key, value in settings.items() if not key.startswith("spark.sql.")}
    return made | {factor: str(level) for factor, level in workload.limits(spec).items()}


def _check_duet(source: Source, made: Treatments, own: Own) -> None:
    where = source.document.where(("design", "kind"))
    if len(made.run) != 2:
        raise UsageError(
            f"{where}: side by side run two treatments, the matrix has {len(made.run)}",
            "give one factor two levels, or kind: randomized-blocks",
        )
    _each_factor(
        source,
        made,
        lambda factor: factor in own or (find_factor(factor).scope in LIKE and factor not in DISKS),
        "side by side must have the same CPUs, memory, disks and kernel",
    )
    for factor, alone in (("co.run", "none"), ("memory.by", "cgroup")):
        if source.experiment.set.get(factor, alone) != alone:
            where = source.document.where(("set", factor))
            raise UsageError(
                f"{where}: {factor}: each side would start its own (duet)",
                "kind: randomized-blocks",
            )


def _each_factor(source: Source, made: Treatments, fits: Callable[[str], bool], why: str) -> None:
    kind = source.experiment.design.kind
    for factor in dict.fromkeys(name for one in made.run.values() for name in one.varied):
        if not fits(factor):
            where = source.document.where(("matrix", factor))
            raise UsageError(f"{where}: {factor}: {why} ({kind})", "kind: randomized-blocks")


def shares(allowed: frozenset[int], level: str | None = None, sides: int = 2) -> list[str]:
    """Share CPUs between sides: whole cores, neighbours together; what is left over stays idle.

    Parameters
    ----------
    allowed : frozenset of int
        CPUs that we may use.
    level : str, optional
        Of ``host.cpus``, where the file sets it.
    sides : int
        How many.

    Raises
    ------
    UsageError
        If there are fewer CPUs than sides.
    """
    wanted = len(allowed) if level is None else parse_cpus(level)
    machine = [cpu for cpu in topology.read().cpus if cpu.number in allowed]
    if isinstance(wanted, int):
        machine = machine[:wanted]
    else:
        machine = [cpu for cpu in machine if cpu.number in wanted]
    cores: dict[int, list[int]] = {}
    for cpu in machine:
        cores.setdefault(cpu.core, []).append(cpu.number)
    # Of one core its hardware threads are all there is to share.
    parts = list(cores.values()) if len(cores) > 1 else [[cpu.number] for cpu in machine]
    each = len(parts) // sides
    if each == 0:
        raise UsageError(
            f"side by side: {sides} CPUs are needed, one for each side", "kind: randomized-blocks"
        )
    return [_set(chain(*parts[at * each : (at + 1) * each])) for at in range(sides)]


def _set(cpus: Iterable[int]) -> str:
    """Write a set as a level of ``host.cpus``, where a lone number is how many.

    Examples
    --------
    >>> _set([1]), _set([0, 1, 4])
    ('1-1', '0-1,4')
    """
    text = topology.written(cpus)
    return f"{text}-{text}" if text.isdecimal() else text
