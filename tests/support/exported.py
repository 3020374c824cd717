"""Reads exported profiles back: the weight of each stack, its frames' names root first."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.support.profile_proto import fields, messages, packed, read_profile, texts, whole

Sums = Counter[tuple[str, ...]]


def read_exported(path: Path, kind: str) -> Sums:
    """Read a file of one of the formats that are exported."""
    return {
        "folded": _folded,
        "speedscope": _speedscope,
        "pprof": _pprof,
        "firefox": _firefox,
        "otlp": _otlp,
    }[kind](path)


def _folded(path: Path) -> Sums:
    sums: Sums = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        stack, weight = line.rsplit(" ", 1)
        sums[tuple(stack.split(";"))] += int(weight)
    return sums


def _speedscope(path: Path) -> Sums:
    data = json.loads(path.read_bytes())
    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [frame["name"] for frame in data["shared"]["frames"]]
    (profile,) = data["profiles"]
    assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
    sums: Sums = Counter()
    for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
        sums[tuple(names[at] for at in stack)] += weight
    return sums


def _pprof(path: Path) -> Sums:
    sums: Sums = Counter()
    for leaf_first, (_, weight), _ in read_profile(path.read_bytes()).samples:
        sums[tuple(name for name, _, _ in reversed(leaf_first))] += weight
    return sums


def _firefox(path: Path) -> Sums:
    data = json.loads(path.read_bytes())
    assert data["meta"]["preprocessedProfileVersion"] == 60
    shared = data["shared"]
    for table in ("stackTable", "frameTable", "funcTable"):
        columns = [value for value in shared[table].values() if isinstance(value, list)]
        assert {len(column) for column in columns} == {shared[table]["length"]}
    paths: list[tuple[str, ...]] = []
    stacks, functions = shared["stackTable"], shared["frameTable"]["func"]
    for frame, prefix in zip(stacks["frame"], stacks["prefix"], strict=True):
        name = shared["stringArray"][shared["funcTable"]["name"][functions[frame]]]
        paths.append((*(paths[prefix] if prefix is not None else ()), name))
    sums: Sums = Counter()
    for thread in data["threads"]:
        samples = thread["samples"]
        assert samples["time"] == sorted(samples["time"])
        scale = 1e6 if samples["weightType"] == "tracing-ms" else 1
        for stack, weight in zip(samples["stack"], samples["weight"] or [], strict=True):
            sums[paths[stack]] += round(weight * scale)
    return sums


def otlp_profile(path: Path) -> dict[str, Any]:
    """Read message ProfilesData: its tables, and the only profile of the only scope."""
    root = fields(path.read_bytes())
    (dictionary,) = messages(root, 2)
    (resource,) = messages(root, 1)
    (scope,) = messages(resource, 2)
    (profile,) = messages(scope, 2)
    # Entry 0 of every table is the empty one.
    for table in range(1, 8):
        first = dictionary[table][0]
        assert first == b"", table
    return {"dictionary": dictionary, "profile": profile, "strings": texts(dictionary, 5)}


def _otlp(path: Path) -> Sums:
    read = otlp_profile(path)
    dictionary, strings = read["dictionary"], read["strings"]
    assert len(set(strings)) == len(strings)
    functions = [strings[whole(f, 1)] for f in messages(dictionary, 3)]
    locations = [
        "".join(functions[whole(line, 1)] for line in messages(location, 3))
        for location in messages(dictionary, 2)
    ]
    stacks = [packed(stack, 1) for stack in messages(dictionary, 7)]
    sums: Sums = Counter()
    for sample in messages(read["profile"], 2):
        leaf_first = stacks[whole(sample, 1)]
        (weight,) = packed(sample, 4)
        sums[tuple(locations[at] for at in reversed(leaf_first))] += weight
    return sums
