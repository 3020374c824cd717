"""The command that a ``workload.yaml`` names: how it is described, and whether it did its work."""

from __future__ import annotations

from pyrometer.store.manifest import Result, Workload
from pyrometer.workloads.custom.yaml import OwnCommand
from pyrometer.workloads.values import Mismatch


def describe_command(command: OwnCommand) -> Workload:
    """Say in the manifest what ran."""
    return Workload(
        name=command.spec.name,
        command=list(command.argv),
        variant=dict(command.spec.levels),
        scale=command.spec.scale,
        spec={"conf": dict(command.conf)},
    )


def result_of_command(command: OwnCommand, code: int | None) -> Result:
    """Judge the one iteration of a command by its exit code and what it wrote."""
    output = None
    if code != command.exit_code:
        if code != 0:
            return Result(iteration=0, status="failed")
        mismatch: Mismatch | None = Mismatch("exit code", str(command.exit_code), "0")
    else:
        try:
            output = command.result()
            mismatch = command.mismatch(output)
        except (OSError, UnicodeDecodeError) as error:
            mismatch = Mismatch("output", f"text in {command.output}", str(error))
    return Result(
        iteration=0,
        status="wrong_result" if mismatch else "ok",
        rows=output.rows if output else None,
        checksum=output.checksum if output else None,
        error=str(mismatch) if mismatch else None,
    )
