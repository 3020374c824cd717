"""A command that a ``workload.yaml`` names: how it is launched, and whether its result is right."""

from __future__ import annotations

from dataclasses import replace

from pyrometer.errors import UsageError
from pyrometer.plan import Trial
from pyrometer.probes.base import Needs
from pyrometer.run.launch import Launch, launch_command
from pyrometer.store.layout import RunPaths
from pyrometer.store.manifest import Result, Workload
from pyrometer.workload import registry
from pyrometer.workload.contract import Mismatch
from pyrometer.workload.own.yaml_command import OwnCommand, YamlCommand


def is_own_command(name: str) -> bool:
    """Whether a workload is a command: one launch of it is one iteration.

    Raises
    ------
    UsageError
        If there is no such workload.
    """
    return isinstance(registry.get(name), YamlCommand)


def launch_own(trial: Trial, needs: Needs, paths: RunPaths) -> Launch:
    """Decide how the command of a ``workload.yaml`` is started: as any command is.

    Raises
    ------
    UsageError, CapabilityError
        As :func:`pyrometer.run.launch.launch_command`; the file is wrong, or its output is there.
    """
    assert trial.name is not None
    workload = registry.get(trial.name)
    assert isinstance(workload, YamlCommand)
    levels = {n: str(v) for n, v in trial.treatment.items() if n in workload.variants}
    own = workload.command(registry.resolve(trial.name, levels), paths.root)
    if own.output is not None and own.output.exists():
        raise UsageError(
            f"{own.output} is there already: it would be taken for the output of this run",
            "remove it, or have the command write below {run}",
        )
    treatment = {**own.conf, **{n: v for n, v in trial.treatment.items() if n not in levels}}
    command = replace(trial, name=None, command=own.argv, treatment=treatment)
    launch = launch_command(command, needs, paths)
    return replace(launch, env={**launch.env, **own.env}, own=own)


def described(own: OwnCommand) -> Workload:
    """Say in the manifest what ran."""
    return Workload(
        name=own.spec.name,
        command=list(own.argv),
        variant=dict(own.spec.levels),
        scale=own.spec.scale,
        spec={"conf": dict(own.conf)},
    )


def result(own: OwnCommand, code: int | None) -> Result:
    """Judge the one iteration of a command by its exit code and what it wrote."""
    made = None
    if code != own.exit_code:
        if code != 0:
            return Result(iteration=0, status="failed")
        mismatch: Mismatch | None = Mismatch("exit code", str(own.exit_code), "0")
    else:
        try:
            made = own.result()
            mismatch = own.mismatch(made)
        except (OSError, UnicodeDecodeError) as error:
            mismatch = Mismatch("output", f"text in {own.output}", str(error))
    return Result(
        iteration=0,
        status="wrong_result" if mismatch else "ok",
        rows=made.rows if made else None,
        checksum=made.checksum if made else None,
        error=str(mismatch) if mismatch else None,
    )
