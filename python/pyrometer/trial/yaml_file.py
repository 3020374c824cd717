"""YAML that people write: plain values, each with its line and column for messages.

Also what the models of such files have in common.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError, WithJsonSchema

from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import did_you_mean

Model = TypeVar("Model", bound=BaseModel)
Path = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """Every scalar is the text as written (`off`, `007`, `1:30`); nothing, or ~, is null.

    The model that reads a value decides its type: YAML's rules turn words into truth values.
    """

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012


_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"~?\Z"), ["~", ""])

KEPT_COUNT = 16
KEPT_CHARACTERS = 65536
"""Documents that are not parsed again, and how long each may be: a plan reads its workload's file
for every treatment."""

# All that is not written with a tag has one of these; what others mean is not text as written.
_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "null", "map", "seq")}


@dataclass(frozen=True)
class Document:
    """A value, and where each of its parts was written.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    value : Any
        Mappings, lists, text, null.
    marks : mapping
        Line and column (from 1) by path; of a mapping's item, those of its key.
    """

    name: str
    value: Any
    marks: Mapping[Path, tuple[int, int]]

    def where(self, path: Iterable[str | int]) -> str:
        """Location of a part as ``file:line:column``; if it is missing, of the nearest one."""
        steps = tuple(path)
        while steps not in self.marks and steps:
            steps = steps[:-1]
        line, column = self.marks.get(steps, (1, 1))
        return f"{self.name}:{line}:{column}"


def parse(text: str, name: str) -> Document:
    r"""Read one document.

    Raises
    ------
    UsageError
        If it is no YAML, has a key twice, or uses aliases or tags; the message says where.

    Examples
    --------
    >>> found = parse("a: 1\nb: [off, 2.5]", "x.yaml")
    >>> found.value, found.where(["b", 1])
    ({'a': '1', 'b': ['off', '2.5']}, 'x.yaml:2:10')
    """
    if len(text) > KEPT_CHARACTERS:
        return _parse(text, name)
    found = _kept(text, name)
    # Models may keep parts of it.
    return replace(found, value=copy.deepcopy(found.value))


def _parse(text: str, name: str) -> Document:
    marks: dict[Path, tuple[int, int]] = {}
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is not None:
            _mark(node, (), marks, name, set())
        value = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        raise UsageError(f"{where}: not YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"{name}: not YAML: {error}") from error
    except RecursionError as error:
        raise UsageError(
            f"{name}: nested too deeply", "use fewer levels: an experiment needs four"
        ) from error
    return Document(name, value, marks)


_kept = lru_cache(KEPT_COUNT)(_parse)


def validate(model: type[Model], document: Document) -> Model:
    """Parse a document into `model`.

    Raises
    ------
    UsageError
        With the first problem, its place, and for an unknown key the nearest known one.
    """
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        found = error.errors()
        first = next((e for e in found if e["type"] == "extra_forbidden"), found[0])
        where = document.where(first["loc"])
        if first["type"] == "extra_forbidden":
            key = str(first["loc"][-1])
            known = _known(model)
            remedy = did_you_mean(key, known)
            raise UsageError(f"{where}: unknown key {key!r}", remedy) from error
        path = ".".join(map(str, first["loc"]))
        raise UsageError(f"{where}: {path + ': ' if path else ''}{first['msg']}") from error


def _known(model: type[BaseModel]) -> set[str]:
    schema = model.model_json_schema()
    parts = [schema, *schema.get("$defs", {}).values()]
    return {key for part in parts for key in part.get("properties", {})}


def _mark(
    node: yaml.Node, path: Path, marks: dict[Path, tuple[int, int]], name: str, seen: set[int]
) -> None:
    line, column = node.start_mark.line + 1, node.start_mark.column + 1
    if id(node) in seen:
        raise UsageError(f"{name}:{line}:{column}: aliases (*name) are not used here")
    seen.add(id(node))
    _refuse_tag(node, name)
    marks.setdefault(path, (line, column))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            place = (key.start_mark.line + 1, key.start_mark.column + 1)
            where = f"{name}:{place[0]}:{place[1]}"
            if not isinstance(key, yaml.ScalarNode):
                raise UsageError(f"{where}: a key must be a word")
            _refuse_tag(key, name)
            if (*path, key.value) in marks:
                raise UsageError(f"{where}: {key.value!r} is given twice")
            marks[*path, key.value] = place
            _mark(value, (*path, key.value), marks, name, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _mark(value, (*path, index), marks, name, seen)


def _refuse_tag(node: yaml.Node, name: str) -> None:
    if node.tag not in _TAGS:
        where = f"{name}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"
        raise UsageError(f"{where}: tags (!!name) are not supported")


Text = Annotated[str, WithJsonSchema({"type": ["string", "number", "boolean"]})]
"""Read as the text as written; editors that apply YAML's rules may see another type."""


def empty_is_default(cls: type, value: Any) -> Any:
    """Take a key with nothing after it, a null in YAML, as if it were not there."""
    if isinstance(value, dict):
        return {key: one for key, one in value.items() if one is not None}
    return {} if value is None else value
