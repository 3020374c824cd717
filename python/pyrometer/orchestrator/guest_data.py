"""Data and own files of a trial in a machine: which go along, and what is left out."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyrometer.collect.launch.launch import factors_of_workload, is_workload_command
from pyrometer.collect.launch.observe import Watch
from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.guests import job
from pyrometer.guests.parts import closure
from pyrometer.guests.parts.closure import Listing
from pyrometer.orchestrator.command_files import CommandFiles
from pyrometer.trial.factors import size_of
from pyrometer.trial.trial import Trial
from pyrometer.workloads.launch import SPEC_FILE, launch_spec

MOST_BYTES = "PYROMETER_MACHINE_FILES"
"""Variable that says how much a command may name."""
MOST_NAMED_BYTES = 16 << 30
MOST_DATA_BYTES = 256 << 30
_SHOWN = 3


def data_of(
    trial: Trial,
    command: CommandFiles,
    libraries: Mapping[str, str],
    base: Listing,
    watch: Watch,
) -> tuple[Listing, tuple[str, ...]]:
    """List the data and own files of a trial.

    Parameters
    ----------
    trial : Trial
        As it runs in the machine.
    command : CommandFiles
        What its command and its environment name.
    libraries : mapping
        Shared libraries by name.
    base : Listing
        What the machine has already.
    watch : Watch
        Who is shown how data are made.

    Returns
    -------
    (Listing, tuple of str)
        What goes along, and sentences on what does not.

    Raises
    ------
    UsageError
        If something that is named is not there, may not be read, or is too much.
    """
    file, around = _own(trial)
    asked = [*command.data, *file]
    environments: list[str] = []

    def passed_over(folder: str) -> bool:
        if _has(folder, *_OF_ENVIRONMENTS):
            environments.append(folder)
            return True
        return _has(folder, *_OF_EXPERIMENTS) or _has_all(folder, *_OF_RUNS)

    found = closure.collect(asked, libraries, base, left_out=closure.NO_DATA)
    found.add(closure.collect(around, libraries, base, passed_over, closure.NO_DATA))
    _check_size(found.size)
    prepared = _prepared(trial, watch)
    found.add(closure.collect(prepared, libraries, base))
    if found.missing:
        raise UsageError(f"{found.missing[0]} is not there", "give files that are there")
    unread = list(dict.fromkeys(found.unreadable))
    named = {os.path.realpath(one) for one in (*asked, *prepared)}
    for one in unread:
        inside = any(one.startswith(f"{os.path.realpath(root)}/") for root in prepared)
        if one in named or inside:
            raise UsageError(f"{one} may not be read", "leave it out, or chmod +r it")
    if found.size > MOST_DATA_BYTES:
        raise UsageError(
            f"the trial would take {units.size(found.size)} of files into its virtual machine",
            "choose a smaller scale",
        )
    # They are there, to be written to.
    found.folders |= {os.path.realpath(one) for one in command.too_wide}
    there = [*base.files, *found.files]
    absent = [e for e in sorted(environments) if not any(f.startswith(f"{e}/") for f in there)]
    return found, tuple(_left_out(unread, command, absent))


def _left_out(unread: list[str], command: CommandFiles, environments: list[str]) -> list[str]:
    said = []
    if variables := job.left_behind(os.environ):
        said.append(f"Variables that the machine does not have: {', '.join(variables)}.")
    if command.too_wide:
        said.append(
            f"Folders that are named and empty in the machine: {_listed(command.too_wide)}"
            " (what is to be read there must be named itself)."
        )
    if environments:
        said.append(
            f"Environments next to the workload that the machine does not have:"
            f" {_listed(environments)} (name what is needed, or its Python, in the command)."
        )
    if unread:
        said.append(f"Files that this user may not read: {_listed(unread)}.")
    return said


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + more


_OF_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")
_OF_EXPERIMENTS = ("experiment.json", "tuning.json")
_OF_RUNS = ("manifest.json", "raw")


def _has(folder: str, *names: str) -> bool:
    return any(os.path.exists(os.path.join(folder, name)) for name in names)


def _has_all(folder: str, *names: str) -> bool:
    return all(_has(folder, name) for name in names)


def _own(trial: Trial) -> tuple[list[str], list[str]]:
    """Give the file of a workload, and the folder that goes along with it."""
    path = Path(trial.name or "")
    if trial.name is None or not path.exists():
        return [], []
    return [str(path)], [str(path.parent)] if path.name == "workload.yaml" else []


def _check_size(size: int) -> None:
    text = os.environ.get(MOST_BYTES)
    most = size_of(MOST_BYTES, text) if text else MOST_NAMED_BYTES
    if size > most:
        raise UsageError(
            f"the command names {units.size(size)} of files and folders, and its virtual machine"
            f" is given {units.size(most)} at most",
            f"name files, or a smaller folder; or allow more: {MOST_BYTES}=64g",
        )


def check_in_memory(paths: Sequence[str]) -> None:
    """Refuse files of a trial that lie in memory, which a machine cannot have.

    Raises
    ------
    UsageError
        If there is one.
    """
    if paths:
        raise UsageError(
            f"{paths[0]} lies in {closure.IN_MEMORY}, which is empty in a virtual machine",
            "copy it to a folder on a disk, and name that",
        )


def _prepared(trial: Trial, watch: Watch) -> list[str]:
    """Give the files and folders of a workload's data, which are made here if need be."""
    roots: list[str] = []
    if trial.name is None or is_workload_command(trial.name):
        return roots
    declared = factors_of_workload(trial.name)
    with tempfile.TemporaryDirectory(prefix="pyrometer-guest-") as raw:
        launch_spec(
            trial.name,
            levels={n: str(v) for n, v in trial.treatment.items() if n in declared},
            scale=str(trial.treatment.get("workload.scale", trial.scale)),
            iterations=trial.iterations,
            warmup=trial.warmup,
            raw_dir=raw,
            spark_home=_text(trial.treatment.get("spark.home")),
            turns=trial.turns,
            progress=watch.progress,
        )
        spec = json.loads(Path(raw, SPEC_FILE).read_bytes())
    for one in [spec, *spec["turns"]]:
        prepared = one["prepared"]
        roots += [root for root in (prepared["root"], *prepared["paths"].values()) if root]
    return list(dict.fromkeys(roots))


def _text(level: object) -> str | None:
    return None if level is None else str(level)
