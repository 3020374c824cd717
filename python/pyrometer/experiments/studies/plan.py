"""A study: published values, the runs of ours that reproduce them, and how both compare.

The published JSON Schema is generated from these models (``schema/study.schema.json``).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from pyrometer.core.errors import UsageError
from pyrometer.core.schema import schema_folder
from pyrometer.core.user_files import user_text
from pyrometer.trial.factors import did_you_mean
from pyrometer.trial.yaml_file import Document, Text, parse, validate

UNITS = {
    "ns": 1.0,
    "ms": 1e6,
    "s": 1e9,
    "min": 60e9,
    "bytes": 1.0,
    "MB": 1e6,
    "GB": 1e9,
    "MB/s": 1.0,
    "count": 1.0,
    "ratio": 1.0,
}
"""Factor from a published unit to that of our field (``_ns``, ``_bytes``, …)."""

Unit = Literal["ns", "ms", "s", "min", "bytes", "MB", "GB", "MB/s", "count", "ratio"]
_PATH = r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_:/-]+)+"
_EVIDENCE = r"(?:series|ledger|manifest)(?:\.[A-Za-z0-9_:/-]+)+"
_OURS = re.compile(rf"(?P<rest>1 - )?(?P<over>{_PATH})(?: / (?P<under>{_PATH}))?")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StudyRun(_Part):
    """One of our runs."""

    workload: str
    scale: Text = "default"
    iterations: Annotated[int, Field(ge=1)] = 3
    warmup: Annotated[
        str,
        Field(pattern=r"^(auto|[0-9]+)$"),
        WithJsonSchema({"anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 0}]}),
    ] = "auto"
    profile: str = "light"
    set: Annotated[dict[str, Text], Field(description="Levels by factor.")] = {}
    ask: Annotated[
        dict[str, str], Field(description="Factors that only the user can give, and what for.")
    ] = {}


class Evidence(_Part):
    """What the kernel and the accounts of each trial show, compared between treatments."""

    what: str
    ours: Annotated[
        str,
        Field(
            description="series.SCOPE.NAME, ledger.ROW or manifest.FIELD of a trial's run, 'A / B'"
            " or '1 - A / B'.",
            pattern=rf"^(1 - )?{_EVIDENCE}( / {_EVIDENCE})?$",
        ),
    ]
    unit: Unit = "count"


class StudyExperiment(_Part):
    """One of our experiments: a file next to the study, which can also run alone."""

    file: Annotated[str, Field(description="An experiment file, relative to the study.")]
    calibrate: Annotated[
        bool,
        Field(description="Find the knobs of memory.condition by a pilot before it is planned."),
    ] = False
    emulated: Annotated[
        str | None,
        Field(
            description="What emulation does to its times: effects of emulated machines are then"
            " shown, and nothing is claimed."
        ),
    ] = None
    untimed: Annotated[
        str | None,
        Field(description="Why its times show nothing of what was published, wherever it runs."),
    ] = None
    evidence: list[Evidence] = []


class Effect(_Part):
    """A published change from one treatment to another, next to ours."""

    what: str
    place: Annotated[str, Field(description="Where it stands in the source.")]
    published: Annotated[
        float | tuple[float, float] | None,
        Field(description="Relative change (less time: below zero), or its least and largest."),
    ]
    derived: Annotated[
        str | None, Field(description="How it follows from published numbers, if it does.")
    ] = None
    experiment: Annotated[str, Field(description="One of the experiments.")]
    a: Annotated[dict[str, Text], Field(description="Levels that one treatment has.")]
    b: Annotated[dict[str, Text], Field(description="Levels of the one that is compared with it.")]
    note: str | None = None


class Value(_Part):
    """One published value next to ours."""

    what: str
    place: Annotated[str, Field(description="Where it stands in the source.")]
    published: Annotated[
        float | tuple[float, float] | None,
        Field(description="A number, or its least and largest; null where the source has words."),
    ]
    unit: Unit = "ratio"
    derived: Annotated[
        str | None, Field(description="How it follows from published numbers, if it does.")
    ] = None
    ours: Annotated[
        str,
        Field(
            description="RUN.FIELD of show's or characterise's JSON, 'A / B' or '1 - A / B'.",
            pattern=rf"^(1 - )?{_PATH}( / {_PATH})?$",
        ),
    ]
    within: Annotated[
        float | None,
        Field(gt=0, description="Relative distance that agrees; none: not to be compared."),
    ] = None
    note: str | None = None


class Column(_Part):
    """One column of a published table."""

    name: str
    unit: Unit | Literal["text", "truth"] = "ratio"
    ours: Annotated[str, Field(description="Field of a part in characterise's JSON.")]
    compare: Annotated[
        Literal["share", "equal", "none"],
        Field(description="share: of the column's sum, which is free of scale and machine."),
    ] = "none"
    within: Annotated[float | None, Field(gt=1, description="Factor that agrees.")] = None

    @model_validator(mode="after")
    def _share_needs_a_factor(self) -> Column:
        if (self.compare == "share") != (self.within is not None):
            raise ValueError("compare: share and within (a factor) belong together")
        return self


class PublishedTable(_Part):
    """A published table with a row for each query of one run."""

    title: str
    run: str
    columns: Annotated[list[Column], Field(min_length=1)]
    rows: Annotated[
        dict[str, list[Text | None]], Field(description="By query: a cell for each column.")
    ]


class Study(_Part):
    """What was published, and our runs for it."""

    title: str
    source: str
    machine: Annotated[str, Field(description="What the published values were measured on.")]
    differences: Annotated[list[str], Field(description="What differs here, and matters.")] = []
    runs: dict[str, StudyRun] = {}
    experiments: dict[str, StudyExperiment] = {}
    values: list[Value] = []
    effects: list[Effect] = []
    tables: list[PublishedTable] = []

    @model_validator(mode="after")
    def _has_something_to_run(self) -> Study:
        if not (self.runs or self.experiments):
            raise ValueError("a study has runs, experiments, or both")
        return self


def operands(ours: str) -> tuple[bool, str, str | None]:
    """Parse ``1 - A / B``: whether the rest to 1 is meant, A, and B if there is one.

    Examples
    --------
    >>> operands("1 - cold.totals.x / cold.totals.y")
    (True, 'cold.totals.x', 'cold.totals.y')
    >>> operands("warm.cpu.ratio")
    (False, 'warm.cpu.ratio', None)
    """
    match = _OURS.fullmatch(ours)
    if match is None:
        raise ValueError(ours)
    return match["rest"] is not None, match["over"], match["under"]


def studies_folder() -> Path:
    """Folder of the studies that come with Pyrometer: in the package, else in the source tree."""
    return schema_folder().parent / "studies"


def known_studies() -> dict[str, Path]:
    """Files of the studies that come with Pyrometer, by name."""
    return {path.stem: path for path in sorted(studies_folder().glob("*.yaml"))}


def study_file(name: str) -> Path:
    """Return the file of a study that comes with Pyrometer, else the name as a path."""
    return known_studies().get(name, Path(name))


def read_study(name: str) -> Study:
    """Read a study by its name, or from a file.

    Raises
    ------
    UsageError
        If there is none, or the file is not valid: with line and column.
    """
    known = known_studies()
    path = study_file(name)
    if path.suffix not in (".yaml", ".yml"):
        remedy = did_you_mean(name, known) or f"use one of: {', '.join(known)}; or a file"
        raise UsageError(f"unknown study {name!r}", remedy)
    document = parse(user_text(path, "pyrometer study list"), str(path))
    study = validate(Study, document)
    _check(study, document)
    return study


def _check(study: Study, document: Document) -> None:
    def known(run: str, path: tuple[str | int, ...]) -> None:
        if run not in study.runs:
            remedy = did_you_mean(run, study.runs) or f"use one of: {', '.join(study.runs)}"
            raise UsageError(f"{document.where(path)}: no run {run!r}", remedy)

    for part in ("runs", "experiments"):
        for name in getattr(study, part):
            if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
                raise UsageError(
                    f"{document.where((part, name))}: {name!r} is not the name of a run",
                    "use small letters, digits and -: it names a folder",
                )
    for index, effect in enumerate(study.effects):
        if effect.experiment not in study.experiments:
            raise UsageError(
                f"{document.where(('effects', index, 'experiment'))}: no experiment"
                f" {effect.experiment!r}",
                did_you_mean(effect.experiment, study.experiments)
                or f"use one of: {', '.join(study.experiments)}",
            )
    for index, value in enumerate(study.values):
        for path in operands(value.ours)[1:]:
            if path:
                known(path.split(".")[0], ("values", index, "ours"))
    for index, table in enumerate(study.tables):
        known(table.run, ("tables", index, "run"))
        for row, cells in table.rows.items():
            where = document.where(("tables", index, "rows", row))
            if len(cells) != len(table.columns):
                raise UsageError(
                    f"{where}: {len(cells)} cells in row {row}, {len(table.columns)} columns"
                )
            for cell, column in zip(cells, table.columns, strict=True):
                if not _fits(cell, column.unit):
                    raise UsageError(
                        f"{where}: {column.name}: {cell!r} is not a value of unit {column.unit}"
                    )


def _fits(cell: str | None, unit: str) -> bool:
    if cell is None or unit == "text":
        return True
    if unit == "truth":
        return cell in ("true", "false")
    return re.fullmatch(r"[0-9]+(\.[0-9]+)?", cell) is not None
