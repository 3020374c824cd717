"""What may be launched: a configuration that breaks anything is refused before, with a reason."""

from __future__ import annotations

from collections.abc import Mapping

from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.experiments.plan.constraints import Value, number_or_text
from pyrometer.trial.factors import declaration, parse_treatment
from pyrometer.trial.layout import resolve_layout
from pyrometer.tune.space.levels import bounds, read_level
from pyrometer.tune.space.memory import memory_of, too_much
from pyrometer.tune.space.shares import crowded
from pyrometer.tune.space.space import Configuration, Knob, Space

YOUNG = 0.9
"""Largest share of the heap that the young generation may have: what lives on needs the rest."""

OWN_GENERATIONS = ("z", "shenandoah")


def infeasible(space: Space, configuration: Configuration) -> str | None:
    """Say why a configuration may not be launched; ``None``: it may.

    The empty configuration, the job as it is, may always be.

    Examples
    --------
    >>> heap = Knob("jvm.heap", "size", 1 << 30, 8 << 30)
    >>> space = Space("mine", (heap,), facts={"mem_total": 4.0 * (1 << 30), "cpus": 2.0})
    >>> infeasible(space, {"jvm.heap": "16g"})
    'jvm.heap=16g: from 1073741824 to 8589934592 bytes are safe here'
    >>> infeasible(space, {"jvm.heap": "5g"})[:36]
    '1 × (5.00 GiB heap + 512 MiB beside '
    """
    if not configuration:
        return None
    known = {one.factor: one for one in space.knobs}
    for factor, text in configuration.items():
        reason = (
            _outside(known[factor], text)
            if factor in known
            else f"{factor} is not a knob of the space"
        )
        if reason is not None:
            return reason
    facts = space.facts or {}
    return (
        too_much(configuration, facts)
        or _contradiction(configuration, facts)
        or crowded(configuration, _defaults(space), facts)
        or _broken(space, configuration)
    )


def _outside(knob: Knob, text: str) -> str | None:
    try:
        value = read_level(knob, text)
    except UsageError as error:
        return error.message
    if value is None or text == knob.default:
        return None
    low, high = bounds(knob)
    if low <= value <= high:
        return None
    unit = f" {knob.unit or ('bytes' if knob.kind == 'size' else '')}".rstrip()
    return f"{knob.factor}={text}: from {low:.12g} to {high:.12g}{unit} are safe here"


def _contradiction(configuration: Configuration, facts: Mapping[str, float]) -> str | None:
    collector = configuration.get("jvm.gc")
    young = configuration.get("jvm.young")
    if young is not None:
        if collector in OWN_GENERATIONS:
            return f"jvm.young: jvm.gc={collector} sizes its generations itself"
        size, heap = number_or_text(young), memory_of(configuration, facts).heap
        if isinstance(size, float) and size > YOUNG * heap:
            return f"jvm.young={young} leaves too little of a heap of {heap / (1 << 20):.0f}m"
    if collector == "serial" and "jvm.gc_threads" in configuration:
        return "jvm.gc_threads: the Serial collector has one thread"
    return _unlaid(configuration, facts)


def _unlaid(configuration: Configuration, facts: Mapping[str, float]) -> str | None:
    """Say what is wrong with the layout, or with any level, in the words of who launches it."""
    try:
        layout = resolve_layout(
            parse_treatment(
                f"{name}={one}"
                for name, one in configuration.items()
                if (known := declaration(name)) is not None and known.scope != "workload"
            )
        )
    except PyrometerError as error:
        return error.message
    cpus = facts.get("cpus")
    if layout.executors and layout.slots and cpus and layout.executors * layout.slots > 2 * cpus:
        return (
            f"{layout.executors} executors of {layout.slots} slots are more than twice the"
            f" {cpus:.0f} CPUs"
        )
    return None


def _defaults(space: Space) -> dict[str, str]:
    return {one.factor: one.default for one in space.knobs if one.default is not None}


def _broken(space: Space, configuration: Configuration) -> str | None:
    values: dict[str, Value] = {**(space.facts or {}), **_defaults(space), **configuration}
    for one in space.constraints:
        # It uses a factor of which neither level nor default is known.
        if not one.names <= values.keys():
            continue
        try:
            if not one.holds(values):
                return f"constraint {one.text}"
        except UsageError as error:
            return error.message
    return None
