"""Event logs with any value anywhere: a result, with doubts where need be, or one message."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.support.cli import inside

RECORDED = Path(__file__).parents[2] / "fixtures" / "eventlog" / "recorded"
EXTREMES = (
    2**63 - 1, 2**63, 2**63 + 1, -(2**63), -(2**63) + 1, -(2**63) - 1, 2**64, 2**62, -(2**62),
    2**31, -(2**31) - 1, 10**30, 1e308, -1e308, 1e-320, 0.5, -1, 0, True, None, "", "NaN",
    "Infinity", "-1", str(2**63), "\x1b[2J\u202e\x00", "x" * 100_000, [], {}, [None],
)  # fmt: skip
DEEP = "[" * 3000 + "]" * 3000
# What everything is reckoned from: mutated more often than the rest.
TELLING = ("Time", "Metrics", "Bytes", "Records", "Memory", "time", "Cores", "Update", "Value")
VERBS = (["show", "--json"], ["show"], ["ledger"], ["simulate"], ["report"])


@pytest.fixture(scope="module")
def events() -> list[Any]:
    packed = (RECORDED / "scan-4.3.0.zstd").read_bytes()
    with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
        text = stream.read()
    return [json.loads(line) for line in text.splitlines()]


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths of the values that hold no others."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for at, inner in enumerate(value):
            yield from leaves(inner, (*path, at))
    else:
        yield path


def put(value: Any, path: tuple[str | int, ...], new: Any) -> None:
    """Replace the value at a path that is not empty."""
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = new


def mutated(events: list[Any], rng: random.Random, count: int) -> tuple[str, list[str]]:
    """The log with `count` values replaced, and which."""
    made = json.loads(json.dumps(events))
    done = []
    for _ in range(count):
        at = rng.randrange(len(made))
        places = [path for path in leaves(made[at]) if path != ("Event",)]
        telling = [path for path in places if any(word in str(path) for word in TELLING)]
        place = rng.choice(telling if telling and rng.random() < 0.7 else places)
        new = rng.choice(EXTREMES) if rng.random() < 0.97 else DEEP
        put(made[at], place, json.loads(json.dumps(new)))
        done.append(f"{made[at]['Event']} {place} = {str(new)[:60]!r}")
    lines = (json.dumps(event).replace(f'"{DEEP}"', DEEP) for event in made)
    return "".join(line + "\n" for line in lines), done


def survived(text: str, what: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Read a log with every verb that does; how many gave a result."""
    log, run = folder / "log", folder / "run"
    log.write_text(text, encoding="utf-8", errors="surrogatepass")
    done = inside(capsys, "ingest", str(log), "-o", str(run))
    assert done.code in (0, 2), (what, done.stderr)
    if done.code:
        assert done.stderr.strip(), what
        return 0
    good = 1
    for verb, *more in VERBS:
        done = inside(capsys, verb, str(run), *more)
        assert done.code in (0, 2, 3), (verb, more, what, done.stderr)
        assert done.code == 0 or done.stderr.strip(), (verb, what)
        assert "\x1b[2J" not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        good += done.code == 0
    return good


@pytest.mark.parametrize("seed", range(6))
def test_any_values_in_an_event_log(
    events: list[Any], tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(seed)
    text, what = mutated(events, rng, (3, 30, 300)[seed % 3])
    assert survived(text, what, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_values_in_event_logs(
    events: list[Any], tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(seed)
    text, what = mutated(events, rng, rng.choice((1, 2, 5, 20, 100, 1000)))
    survived(text, what, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("value", [2**63 - 1, -(2**63) + 1, 2**62, -(2**62)])
def test_the_same_extreme_in_every_task(
    events: list[Any], tmp_path: Path, value: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sums overflow where each value alone does not."""
    made = json.loads(json.dumps(events))
    for event in made:
        for part in ("Task Metrics", "Task Executor Metrics"):
            for place in leaves(event[part]) if event.get(part) else ():
                if place and place[0] != "Updated Blocks":
                    put(event[part], place, value)
    text = "".join(json.dumps(event) + "\n" for event in made)
    assert survived(text, [f"every metric of tasks is {value}"], tmp_path, capsys)
