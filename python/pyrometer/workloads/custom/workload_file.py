"""The format of a ``workload.yaml``, and reading one.

The models also define the published JSON Schema (``schema/workload.schema.json``).

Which YAML file a name means.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pyrometer.core.errors import UsageError
from pyrometer.core.user_files import user_text
from pyrometer.trial.yaml_file import Document, Text, empty_is_default, parse, validate
from pyrometer.workloads.custom.paths import yaml_path
from pyrometer.workloads.values import DataFile, Prepared, Variant

WORD = r"^[A-Za-z_][A-Za-z0-9_-]*$"

Word = Annotated[str, Field(pattern=WORD)]
Setting = Annotated[str, Field(pattern=r"^spark\.")]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    _empty = model_validator(mode="before")(empty_is_default)


class Level(_Part):
    """What a level changes."""

    doc: Annotated[str, Field(description="What the level is, in a line.")]
    argv: Annotated[
        tuple[Text, ...],
        Field(description="Words of the command that replace {VARIANT}."),
    ] = ()
    conf: Annotated[dict[Setting, Text], Field(description="Spark settings.")] = {}
    env: Annotated[dict[Variable, Text], Field(description="Variables of a command.")] = {}


class OwnVariant(_Part):
    """Something that can be varied: ``--set NAME=LEVEL``."""

    doc: Annotated[str, Field(description="What is varied, in a line.")]
    default: Annotated[Text, Field(description="The default level.")]
    levels: Annotated[dict[Text, Level], Field(min_length=1)]


class Data(_Part):
    """Existing data: read as it is, never written."""

    path: Annotated[str, Field(description="File or folder, relative to the workload's file.")]
    format: Annotated[
        str, Field(description="Format of Spark's reader, where SQL reads it as a table.")
    ] = "parquet"
    options: Annotated[dict[str, Text], Field(description="Options of that reader.")] = {}


class Verify(_Part):
    """What is known about the right result."""

    rows: Annotated[int | None, Field(ge=0, description="Rows of the result.")] = None
    checksum: Annotated[
        str | None,
        Field(pattern="^[0-9a-f]{16}$", description="Checksum of the result, as a run prints it."),
    ] = None
    repeats: Annotated[
        bool, Field(description="Whether every iteration of SQL must give what the first gave.")
    ] = True
    exit_code: Annotated[int, Field(ge=0, le=255, description="Exit code of the command.")] = 0
    output: Annotated[
        str | None,
        Field(
            description="Text file, or folder of text files, that the command writes: its lines"
            " are the rows."
        ),
    ] = None


class WorkloadFile(_Part):
    """A program of the user as a workload: a command or a file of SQL."""

    name: Annotated[str, Field(pattern=WORD, description="Short name, for people.")]
    summary: Annotated[str, Field(description="What it does, in a line.")]
    description: Annotated[str, Field(description="What it does, at length.")] = ""
    source: Annotated[str, Field(description="Where it comes from.")] = "Your own file."
    expectation: Annotated[str, Field(description="What to expect of a run.")] = ""
    command: Annotated[
        tuple[Text, ...] | None,
        Field(
            min_length=1,
            description="Words of a command; no shell reads them. {folder} is the folder of this"
            " file, {run} the run directory, {data.NAME} a path, {VARIANT} the words of its level.",
        ),
    ] = None
    sql: Annotated[
        str | None, Field(description="File of SQL statements, relative to this file.")
    ] = None
    parameters: Annotated[
        dict[Variable, Text], Field(description="Values of the parameters (:NAME) of the SQL.")
    ] = {}
    conf: Annotated[dict[Setting, Text], Field(description="Spark settings; --set wins.")] = {}
    data: Annotated[dict[Word, Data], Field(description="Data it reads, by name.")] = {}
    variants: Annotated[dict[Word, OwnVariant], Field(description="What can be varied.")] = {}
    verify: Annotated[Verify, Field(description="What the right result is.")] = Verify()


def read(name: str) -> WorkloadFile:
    """Read and check the file that `name` is, or that lies in that folder.

    Raises
    ------
    UsageError
        If it cannot be read or is not valid; the message has line and column.
    """
    path = yaml_path(name) or Path(name)
    text = user_text(path, "pyrometer workloads new NAME --kind yaml makes one")
    document = parse(text, str(path))
    parsed = validate(WorkloadFile, document)
    _check(parsed, document)
    return parsed


def folder(name: str) -> Path:
    """Folder to which the paths in a file are relative."""
    return (yaml_path(name) or Path(name)).absolute().parent


def variants(file: WorkloadFile) -> dict[str, Variant]:
    """Give the variants as every workload has them."""
    return {
        f"workload.{name}": Variant(
            {word: level.doc for word, level in variant.levels.items()},
            variant.default,
            variant.doc,
        )
        for name, variant in file.variants.items()
    }


def chosen(file: WorkloadFile, levels: Mapping[str, str]) -> dict[str, Level]:
    """Give the level of each variant, by the variant's short name."""
    return {
        name: variant.levels[levels[f"workload.{name}"]] for name, variant in file.variants.items()
    }


def conf(file: WorkloadFile, levels: Mapping[str, str]) -> dict[str, str]:
    """Merge the Spark settings of the file and of the levels, which win."""
    merged = dict(file.conf)
    for level in chosen(file, levels).values():
        merged.update(level.conf)
    return merged


def prepared(name: str, file: WorkloadFile) -> Prepared:
    """Find the data: every file with its size, without a hash.

    Raises
    ------
    UsageError
        If data is missing.
    """
    home, files, paths = folder(name), [], {}
    for word, data in file.data.items():
        path = home / data.path
        if not os.path.exists(path):
            raise UsageError(f"{name}: data {word}: there is no {path}", "correct data.*.path")
        paths[word] = str(path)
        found = sorted(one for one in path.rglob("*") if one.is_file()) or [path]
        files += [DataFile(os.path.relpath(f, home), f.stat().st_size, "") for f in found]
    return Prepared(paths, files, str(home))


def _check(parsed: WorkloadFile, document: Document) -> None:
    def refuse(path: tuple[str | int, ...], message: str, remedy: str) -> None:
        raise UsageError(f"{document.where(path)}: {message}", remedy)

    if (parsed.command is None) == (parsed.sql is None):
        refuse((), "a workload has either command or sql", "give one of the two")
    verify = parsed.verify
    if parsed.command is None:
        for key in ("output", "exit_code"):
            if key in verify.model_fields_set:
                refuse(("verify", key), f"{key} is of a command, and this is SQL", "remove it")
    else:
        if parsed.parameters:
            refuse(("parameters",), "parameters are of SQL, and this is a command", "use argv")
        if "repeats" in verify.model_fields_set:
            refuse(("verify", "repeats"), "a command runs once", "remove repeats")
        if verify.output is None and (verify.rows is not None or verify.checksum is not None):
            refuse(("verify",), "rows and checksum of a command need its output", "output: FILE")
    for number, text in enumerate(parsed.command or ()):
        known = {"folder", "run", *parsed.variants, *(f"data.{name}" for name in parsed.data)}
        for used in re.findall(r"\{([A-Za-z_][\w.-]*)\}", text):
            if used not in known:
                refuse(
                    ("command", number),
                    f"{{{used}}} means nothing here",
                    "use one of: " + ", ".join(sorted(known)),
                )
            if used in parsed.variants and text != f"{{{used}}}":
                refuse(
                    ("command", number),
                    f"{{{used}}} must be a word of its own",
                    "write the rest of the word into argv of its levels",
                )
    for name, variant in parsed.variants.items():
        if variant.default not in variant.levels:
            refuse(
                ("variants", name, "default"),
                f"{variant.default!r} is not a level of {name}",
                "use one of: " + ", ".join(variant.levels),
            )
        for word, level in variant.levels.items():
            at = ("variants", name, "levels", word)
            if parsed.command is None and (level.argv or level.env):
                refuse(at, "argv and env are of a command, and this is SQL", "use conf")
            if level.argv and f"{{{name}}}" not in (parsed.command or ()):
                refuse((*at, "argv"), f"no word of the command is {{{name}}}", "add it")
