"""Reading an experiment file, with the files that it extends.

Writing one: the skeleton of `experiment new`, which explains each key, and the files that other
commands write for their experiments.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import yaml

from pyrometer.core.errors import UsageError
from pyrometer.core.user_files import user_text
from pyrometer.experiments.plan.file import Experiment
from pyrometer.trial import yaml_file
from pyrometer.trial.yaml_file import Document

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Merged(Document):
    """A document merged from several files; each part knows which one it comes from."""

    names: Mapping[yaml_file.Path, str]

    def where(self, path: Any) -> str:
        """Name a place as ``file:line:column``, in the file that says it."""
        steps = tuple(path)
        while steps not in self.marks and steps:
            steps = steps[:-1]
        line, column = self.marks.get(steps, (1, 1))
        return f"{self.names.get(steps, self.name)}:{line}:{column}"


@dataclass(frozen=True)
class Source:
    """An experiment file that was read.

    Attributes
    ----------
    path : Path
        The file.
    experiment : Experiment
        What it and those it extends say.
    document : Document
        Where they say it.
    files : tuple of Path
        All that were read, the most basic first.
    """

    path: Path
    experiment: Experiment
    document: Document
    files: tuple[Path, ...]


def read_source(path: Path, shared: Mapping[str, str] | None = None) -> Source:
    """Read an experiment file.

    Parameters
    ----------
    path : Path
        The file.
    shared : mapping, optional
        Levels that all treatments share, beside and instead of those of the file.

    Raises
    ------
    UsageError
        If it, or one that it extends, cannot be read or is not valid: with file, line and column.
        A factor of `shared` is one that the matrix varies.
    """
    files: list[Path] = []
    merged = _read(path, (), files)
    experiment = yaml_file.validate(Experiment, merged)
    for factor, levels in experiment.matrix.factors.items():
        if not isinstance(levels, list) or not levels:
            raise UsageError(
                f"{merged.where(('matrix', factor))}: {factor}: not a list of levels",
                f"{factor}: [1, 2]",
            )
        for at, level in enumerate(levels):
            if not isinstance(level, str):
                where = merged.where(("matrix", factor, at))
                raise UsageError(f"{where}: {factor}: a level is a word or a number")
    if shared:
        experiment = experiment.model_copy(update={"set": {**experiment.set, **shared}})
        _check_shared(path, experiment, shared)
    return Source(path, experiment, merged, tuple(files))


def _check_shared(path: Path, experiment: Experiment, shared: Mapping[str, str]) -> None:
    matrix = experiment.matrix
    words = [*matrix.factors, *(word for one in matrix.include for word in one)]
    varied = {word.removeprefix("workload.") for word in words}
    for factor in shared:
        if factor.removeprefix("workload.") in varied:
            raise UsageError(
                f"{factor} cannot be set: the matrix of {path} varies it",
                "set a factor that its treatments share, or copy the file and edit its matrix",
            )


def _read(path: Path, chain: tuple[Path, ...], files: list[Path]) -> Merged:
    real = path.resolve()
    if real in chain:
        names = " → ".join(one.name for one in (*chain[chain.index(real) :], real))
        raise UsageError(f"{path} extends itself: {names}")
    text = user_text(path, "pyrometer experiment new NAME makes one")
    document = yaml_file.parse(text, str(path))
    if not isinstance(document.value, dict):
        raise UsageError(f"{path}:1:1: not a mapping of keys", "pyrometer experiment new NAME")
    found = Merged(document.name, {}, {}, {})
    wanted = document.value.get("extends") or []
    for at, name in enumerate([wanted] if isinstance(wanted, str) else wanted):
        if not isinstance(name, str):
            raise UsageError(f"{document.where(('extends', at))}: extends: a file's name")
        other = path.parent / name
        # Of `os.path`: a name that is too long is of no file.
        if not os.path.isfile(other):
            raise UsageError(f"{document.where(('extends', at))}: there is no file {other}")
        found = _over(found, _read(other, (*chain, real), files))
    files.append(path)
    top = Merged(document.name, _absolute(document.value, path.parent), document.marks, {})
    return _over(found, top)


def _absolute(value: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Make the path of a workload's file absolute; drop ``extends``, which has been followed."""
    kept = {key: one for key, one in value.items() if key != "extends"}
    workload = kept.get("workload")
    if isinstance(workload, str) and os.path.exists(folder / workload):
        by_name = Path(workload).suffix in (*SUFFIXES, ".sql", ".py") or "/" in workload
        if by_name:
            kept["workload"] = str((folder / workload).absolute())
    return kept


def _over(base: Merged, top: Merged) -> Merged:
    """Merge one document into another: mappings are merged, all else is replaced."""
    marks = dict(base.marks)
    names = dict(base.names)

    def laid(below: Any, above: Any, path: yaml_file.Path) -> Any:
        if isinstance(below, dict) and isinstance(above, dict):
            merged = dict(below)
            for key, one in above.items():
                merged[key] = laid(below[key], one, (*path, key)) if key in below else one
            return merged
        for old in [one for one in marks if one[: len(path)] == path and one != path]:
            marks.pop(old)
            names.pop(old, None)
        return above

    value = laid(base.value, top.value, ())
    for path, mark in top.marks.items():
        marks[path] = mark
        names[path] = top.names.get(path, top.name)
    return Merged(top.name, value, marks, names)


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_TEXT = Template("""\
name: $name
workload: $workload              # pyrometer workloads; or a SQL file or workload.yaml
scale: test                      # test, default, seed, or a number

matrix:                          # every combination is a treatment; factors are those of --set
$matrix
  # exclude: [{jvm.heap: 1g, layout.tasks: 4}]
  # include: [{jvm.heap: 4g, jvm.gc: parallel}]
# set: {layout.tasks: 2}         # levels that all treatments share
constraints:                     # what no treatment may break
  - jvm.heap <= 0.9 * mem_total

blocks: 5                        # trials of each treatment, one a block, in random order
iterations: 3                    # measured iterations of a trial, all in one fresh JVM
warmup: auto
# baseline: {jvm.heap: 1g}       # compare the others with this one
margin: 2%                       # differences below it count as none
# seed: 1                        # without it one follows from this file
# timeout: 20m
# guard: {policy: repeat}        # wait, flag, or repeat what something else disturbed
# design: {kind: toggle}         # take turns in one JVM; or duet: two in parallel
# extends: base.yaml
""")


def write_skeleton(name: str, workload: str, path: Path) -> Path:
    """Write a skeleton to a file that is not there yet.

    Raises
    ------
    UsageError
        If the name is none, the file is there, or cannot be written.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} is not a name", "use letters, digits, dot, _ and -: heap-and-codec"
        )
    matrix = "  jvm.heap: [1g, 2g]"
    text = _TEXT.substitute(name=name, workload=workload, matrix=matrix)
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise UsageError(f"{path} is there already", "choose another file with -o") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "-o FILE") from error
    return path


def experiment_text(kind: str, workload: str, description: str, **keys: Any) -> str:
    """Write an experiment file.

    Parameters
    ----------
    kind : str
        First word of its name; the workload's is the rest.
    workload : str
        By name, or a file.
    description : str
        ``{}`` in it stands for the workload's name.
    **keys
        Other keys of the file; those that are ``None`` are left out.

    Examples
    --------
    >>> print(experiment_text("scale", "my job.v2", "How {} scales", blocks=3, seed=None), end="")
    name: scale-my-job
    description: How my-job scales
    workload: my job.v2
    blocks: 3
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(workload).stem).strip("-.") or "workload"
    by_file = Path(workload).suffix and os.path.exists(workload)
    fields: Mapping[str, Any] = {
        "name": f"{kind}-{name}",
        "description": description.format(name),
        "workload": str(Path(workload).absolute()) if by_file else workload,
        **keys,
    }
    kept = {key: one for key, one in fields.items() if one is not None}
    text: str = yaml.safe_dump(kept, sort_keys=False, allow_unicode=True)
    return text
