"""Treatments that can be run here: what this host cannot honour is found before the first trial."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pyrometer.collect.host.placement import placed_here
from pyrometer.collect.host.room import room
from pyrometer.collect.launch.driver_place import INSTEAD, NO_TIME, driver_of_workload_away
from pyrometer.collect.launch.java import refused, require_java
from pyrometer.collect.launch.launch import without_spark
from pyrometer.collect.launch.treatment import apply_treatment, plan_host
from pyrometer.core.errors import PyrometerError
from pyrometer.experiments.plan.treatments import LeftOut, Treatment, Treatments
from pyrometer.experiments.run.versions import KERNEL_FACTOR
from pyrometer.guests.cache import kernel_cache
from pyrometer.guests.here import check_here
from pyrometer.guests.machine import split
from pyrometer.guests.parts import kernels
from pyrometer.trial.factors import Level
from pyrometer.trial.layout import resolve_layout
from pyrometer.workloads import registry


def honoured(treatments: Treatments, workload: str, folder: Path) -> Treatments:
    """Leave out treatments that this host cannot honour, each with the reason.

    Parameters
    ----------
    treatments : Treatments
        Those of the matrix.
    workload : str
        What runs.
    folder : Path
        Where runs are written: limits of input and output are for its disk.
    """
    kept, out = {}, list(treatments.left_out)
    no_kernel: dict[str | None, str | None] = {}
    for name, treatment in treatments.run.items():
        reason = _why_not(treatment, workload, folder)
        if reason is None and split(treatment.parsed)[0]:
            level = treatment.levels.get(KERNEL_FACTOR)
            if level not in no_kernel:
                no_kernel[level] = _why_no_kernel(level)
            reason = no_kernel[level]
        if reason is None:
            kept[name] = treatment
        else:
            out.append(LeftOut(name, reason, treatment.varied))
    return Treatments(kept, out)


def _why_not(treatment: Treatment, workload: str, folder: Path) -> str | None:
    levels = treatment.parsed
    try:
        found = registry.get(workload)
        if found.engine == "process":
            without_spark(workload, levels)
        variant = {name: str(level) for name, level in levels.items() if name in found.variants}
        spec = registry.resolve(workload, variant)
        if away := driver_of_workload_away(found, spec, levels):
            return f"{away}: {NO_TIME} ({INSTEAD})"
        machine, inside = split(levels)
        layout = resolve_layout(inside)
        if machine:
            # What applies to a host applies to the machine: it is looked at when it is there.
            check_here(levels, room().free_bytes)
        else:
            whole = {**found.limits(spec), **levels}
            plan_host(whole, placed_here(layout, whole), _existing(folder))
        applied = apply_treatment(inside, layout, None)
    except PyrometerError as error:
        return _reason(error)
    if any(name.startswith("jvm.") for name in levels):
        return _jvm_refuses(levels, applied.jvm_options)
    return None


def _reason(error: PyrometerError) -> str:
    """Write an error as the reason why something is left out, with what to do about it."""
    return f"{error.message} ({error.remedy})" if error.remedy else error.message


def _why_no_kernel(level: str | None) -> str | None:
    try:
        kernels.known(level, kernel_cache())
    except PyrometerError as error:
        return _reason(error)
    return None


def _existing(folder: Path) -> Path:
    return next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())


def _jvm_refuses(levels: Mapping[str, Level], options: tuple[str, ...]) -> str | None:
    """Ask the JVM itself: which collectors and options it has depends on its build."""
    heap = (f"-Xmx{levels['jvm.heap']}",) if "jvm.heap" in levels else ()
    home = levels.get("jvm.home")
    named = {} if home is None else {"JAVA_HOME": os.path.expanduser(str(home))}
    try:
        java = require_java({**os.environ, **named})
    except PyrometerError as error:
        return error.message
    assert java is not None
    return refused(java, (*heap, *options))
