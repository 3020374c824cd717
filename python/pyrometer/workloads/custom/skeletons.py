"""Skeletons of workloads: commented files to begin with, for each way of writing one."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from pyrometer.core.errors import UsageError

HOME = Path(__file__).with_name("skeleton")
ENDING = ".txt"
KINDS = ("python", "sql", "yaml")
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def write(name: str, kind: str, folder: Path) -> list[Path]:
    """Write a skeleton into a new or empty folder and return the files.

    Parameters
    ----------
    name : str
        Name of the workload: small letters, digits and hyphens.
    kind : str
        One of `KINDS`.
    folder : Path
        Where to.

    Raises
    ------
    UsageError
        If the name or kind is none, or the folder is not empty or cannot be written.
    """
    if NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} is not a name for a workload",
            "use small letters, digits and hyphens: my-query",
        )
    if kind not in KINDS:
        raise UsageError(f"--kind {kind}: unknown kind", f"use one of: {', '.join(KINDS)}")
    words = {
        "name": name,
        "module": name.replace("-", "_"),
        "class_name": "".join(part.capitalize() for part in name.split("-")),
    }
    written = []
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} exists and is not an empty folder", "give another with -o")
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted((HOME / kind).glob(f"*{ENDING}")):
            target = folder / source.name.removesuffix(ENDING).replace("MODULE", words["module"])
            text = Template(source.read_text(encoding="utf-8")).substitute(words)
            target.write_text(text, encoding="utf-8")
            written.append(target)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written: {error.strerror}", "give a writable folder with -o"
        ) from error
    return written
