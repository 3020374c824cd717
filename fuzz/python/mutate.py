"""Mutations of documents: a value somewhere in a valid one, or bytes as they come."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import yaml

VALUES: tuple[Any, ...] = (
    2**63, -(2**63) - 1, 10**30, -1, 0, 1e308, True, None, "", "abc", "9" * 400, "x" * 5000, "-",
    "\x00", "\x1b[2J", "\ud800", "é" * 200, "../../etc/passwd", [], {}, [[[]]], {"a": {"b": []}},
    "1.5h", "2%", "auto", "1e999", [None], ["", {}], {"": ""},
)  # fmt: skip
TAGS = (
    "int",
    "float",
    "bool",
    "null",
    "timestamp",
    "binary",
    "set",
    "omap",
    "pairs",
    "merge",
    "map",
)
YAML = ("experiment", "space", "study", "workload", "yaml")
LINES = ("iterations", "journal")
Path = tuple[str | int, ...]
# In C where that is there: what makes documents is not what is to be covered.
LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def mutated(name: str, data: bytes, rng: random.Random, plain: Callable[[bytes], bytes]) -> bytes:
    """Give another document: of another structure two times of three, else `plain`'s."""
    if rng.random() < 1 / 3 or name == "constraint":
        return plain(data)
    try:
        if name in YAML:
            return _yaml(data, rng)
        if name in LINES:
            return _lines(data, rng)
        return json.dumps(_changed(json.loads(data), rng)).encode("utf-8", "surrogatepass")
    except (ValueError, yaml.YAMLError, RecursionError, TypeError, AttributeError, LookupError):
        return plain(data)


def _yaml(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        # Before a value: a tag, an anchor or the name of one.
        text = data.decode("utf-8")
        places = [at + 1 for at in range(len(text)) if text[at : at + 1] in (" ", "[", ",")]
        at = rng.choice(places or [0])
        word = rng.choice([f"!!{rng.choice(TAGS)} ", "!own ", "&a ", "*a ", "? ", "- ", "<<: "])
        return (text[:at] + word + text[at:]).encode()
    value = _changed(yaml.load(data, LOADER), rng)
    return yaml.dump(value, None, DUMPER, allow_unicode=True, sort_keys=False).encode(
        "utf-8", "replace"
    )


def _lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines()
    at = rng.randrange(len(lines))
    action = rng.randrange(5)
    if action == 0:
        del lines[at]
    elif action == 1:
        lines.insert(at, rng.choice(lines))
    elif action == 2:
        lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
    else:
        changed = json.dumps(_changed(json.loads(lines[at]), rng))
        lines[at] = changed.encode("utf-8", "surrogatepass")
    return b"\n".join(lines) + rng.choice([b"\n", b""])


def _changed(value: Any, rng: random.Random) -> Any:
    """Put another value somewhere, take one away, or give a key another name."""
    places = list(_places(value))
    path = rng.choice(places)
    if not path:
        return rng.choice(VALUES)
    around = value
    for step in path[:-1]:
        around = around[step]
    action = rng.randrange(6)
    if action == 0:
        del around[path[-1]]
    elif action == 1 and isinstance(around, dict):
        around[rng.choice(["", "a\x00", "k" * 300, "schema_version", "é", *map(str, path)])] = (
            around.pop(path[-1])
        )
    elif action == 2:
        other = value
        for step in rng.choice(places):
            other = other[step]
        around[path[-1]] = json.loads(json.dumps(other))
    else:
        around[path[-1]] = rng.choice(VALUES)
    return value


def _places(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _places(inner, (*path, at))
