"""``pyrometer tune apply``: what was found, as the job is to run from now on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyrometer.cli.shared import tuning as shared
from pyrometer.cli.shared.run_named import local_path
from pyrometer.core.errors import PyrometerError
from pyrometer.core.redaction import Redactor
from pyrometer.terminal.console import JsonOption, emit_json, err, human

if TYPE_CHECKING:
    from pyrometer.tune.judge.applied import Deployed
    from pyrometer.tune.trials.folder import Tuning


def apply(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", parser=local_path, help="Folder of a tuning.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="A spark-defaults.conf to write; in an existing one these settings are replaced.",
        ),
    ] = None,
    unconfirmed: Annotated[
        bool, typer.Option("--unconfirmed", help="Print the winner even if it is not confirmed.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the winner as a part of spark-defaults.conf, and the job's command with its options.

    What the command or the program sets itself, and so wins over the file, is named. With -o, what
    changes in FILE is shown as a diff; nothing else is written.

    Exit code: 1 if nothing was confirmed.
    """
    from pyrometer.collect.launch.launch import factors_of_workload
    from pyrometer.collect.launch.settings_before import settings_of_levels
    from pyrometer.tune.judge.applied import beside, defaults, deployed, difference, merged
    from pyrometer.tune.judge.report import tuning_report
    from pyrometer.tune.trials.folder import read_tuning

    tuning = read_tuning(folder)
    if tuning.online is not None:
        best, told = shared.incumbent(folder)
    else:
        report = tuning_report(folder, causes=False)
        best, told = shared.confirmed(folder, report, unconfirmed=unconfirmed), report.told
    declared, said = factors_of_workload(tuning.workload), _said(tuning, best)
    ours = deployed(best, declared, {**said, **settings_of_levels(tuning.shared, declared)})
    found = beside(ours, said)
    command, warnings = _command(folder, tuning, best, found, ours, said)
    before, change = "", ""
    if output is not None:
        before = shared.read_text(output) if output.exists() else ""
        after = merged(before, ours.settings) if before else found.conf
        shared.write_text(output, after)
        change = difference(before, after, str(output))
        err().print(f"written: {output}", markup=False, soft_wrap=True)
    for warning in warnings:
        err().print(f"warning: {warning}", markup=False, soft_wrap=True)
    out = human(as_json)

    def say(text: str) -> None:
        out.print(text, markup=False, soft_wrap=True)

    redact = Redactor().setting
    # A file has what its owner wrote; a screen has no secrets.
    shown = replace(found, settings={k: redact(k, one) for k, one in found.settings.items()})
    say(f"# {told}")
    say(f"\n# spark-defaults.conf\n{shown.conf}")
    say(f"# or: {command or f'spark-submit {shown.options}'}\n")
    if found.executors is not None:
        say(f"# executors: {found.executors}, which need the manager of a cluster: {_MANAGER}")
    for name, level in found.otherwise.items():
        say(f"# in addition to Spark's settings: {name}={level}")
    if tuning.shared:
        levels = ", ".join(f"{name}={redact(name, one)}" for name, one in tuning.shared.items())
        say(f"# every trial had: {levels}")
    today = defaults(best, {one.factor: one.default for one in tuning.space.read().knobs})
    for line in today.splitlines():
        say(f"# today: {line}")
    out.print(change, markup=False, soft_wrap=True, end="")
    if as_json:
        emit_json(
            {
                "schema": "pyrometer/tuning-apply/1",
                "configuration": best,
                "settings": shown.settings,
                "otherwise": found.otherwise,
                "executors": found.executors,
                "spark_submit": shown.options,
                "command": command,
                "warnings": warnings,
                "diff": change,
                "file": None if output is None else str(output),
            }
        )


_MANAGER = (
    "--master yarn, k8s://…, or spark://…, where spark.cores.max takes the place of instances;"
    " trials had them on one machine (local-cluster, which is for tests)"
)


def _said(tuning: Tuning, best: Mapping[str, str]) -> Mapping[str, str]:
    """Give what the job's own command, files and environment say, with the levels that won."""
    from pyrometer.collect.launch.settings_before import settings_of_workload

    try:
        return settings_of_workload(tuning.workload, {**tuning.shared, **best}, tuning.scale)
    except PyrometerError:
        return {}  # Its file is gone: what was found stands.


def _command(
    folder: Path,
    tuning: Tuning,
    best: Mapping[str, str],
    found: Deployed,
    ours: Deployed,
    said: Mapping[str, str],
) -> tuple[str | None, list[str]]:
    """Give the job's command as it is to be typed, and what wins over a file of settings."""
    from pyrometer.collect.launch.command import understand
    from pyrometer.collect.launch.said_settings import PYSPARK, settings_typed
    from pyrometer.tune.judge.applied import overruled, to_type
    from pyrometer.tune.known import held_as_it_is
    from pyrometer.workloads import registry
    from pyrometer.workloads.custom.yaml import YamlCommand

    try:
        workload = registry.get(tuning.workload)
        levels = {**tuning.shared, **best}
        chosen = {name: one for name, one in levels.items() if name in workload.variants}
        spec = registry.resolve(tuning.workload, chosen, tuning.scale)
    except PyrometerError:
        return None, []
    own = workload.known_command(spec) if isinstance(workload, YamlCommand) else None
    if own is None:
        return None, []
    env = {**os.environ, **own.env}
    line = to_type(own.argv, found, ours, env.get(PYSPARK))
    theirs = {**settings_typed(understand(own.argv), env), **own.conf}
    # What held in the job as it is says nothing of another of its commands.
    held = {} if chosen.keys() & best.keys() else held_as_it_is(folder)
    return line, overruled(found.settings, theirs, said, held)
