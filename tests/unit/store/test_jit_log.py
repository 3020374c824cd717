"""JIT logs of Java 17 and 25, beside counts of the logs' own lines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyrometer.accounts.jvm.jvm import NO_REASONS, jit
from pyrometer.accounts.window import open_scope
from pyrometer.collect.probes.logs import JitProbe
from pyrometer.store import Run, ingest
from pyrometer.store.paths import RunPaths

LOGS = {
    path.stem.split("-")[1]: path
    for path in (Path(__file__).parents[2] / "fixtures/jitlog").glob("*.log")
}
BEGIN = re.compile(
    r"\] +(\d+) ([ %s!b]{5}) ([1-4]) +(\S+)::(\S+) (?:@ \d+ )?\((\d+) bytes\)$", re.M
)


@pytest.fixture(params=sorted(LOGS))
def log(request: pytest.FixtureRequest) -> Path:
    return LOGS[request.param]


def read(log: Path, out: Path) -> dict[str, list[dict[str, Any]]]:
    out.mkdir(exist_ok=True)
    report = json.loads(ingest.native().ingest_jit([str(log)], str(out)))
    assert report["doubts"] == []
    return {name: pq.read_table(out / f"{name}.parquet").to_pylist() for name in report["tables"]}


def test_compilations_are_those_of_the_log(log: Path, tmp_path: Path) -> None:
    text = "\n".join(line.rstrip() for line in log.read_text().splitlines())
    said = sorted(
        (int(n), "%" in flags, int(level), f"{owner}.{name}", int(size))
        for n, flags, level, owner, name, size in BEGIN.findall(text)
    )
    assert said
    rows = read(log, tmp_path / "out")["jit"]
    keys = ("compile_id", "osr", "level", "method", "bytecode_bytes")
    assert sorted(tuple(row[key] for key in keys) for row in rows) == said
    assert {row["compiler"] for row in rows} == {"c1", "c2"}
    done = [row for row in rows if row["succeeded"]]
    assert len(done) == text.count("] Installing ")
    assert all(0 < row["duration_ns"] < 10**9 for row in done)


def test_code_that_was_given_up(log: Path, tmp_path: Path) -> None:
    text = log.read_text()
    rows = read(log, tmp_path / "out")["deoptimisations"]
    invalidated = [row for row in rows if row["kind"] == "invalidated"]
    traps = [row for row in rows if row["kind"] == "trap"]
    assert len(invalidated) == text.count("made not entrant") > 0
    assert len(traps) == text.count("trap_bci=")
    assert {(row["method"], row["action"]) for row in traps} <= {("T.main", "reinterpret")}


def test_reasons_are_told_or_said_to_be_missing(log: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    text = log.read_text()
    (raw / "jit-7.log").write_text(text)
    stamps = [int(n) for n in re.findall(r"^\[(\d+)ns\]", text, re.M)]
    (raw / "iterations.ndjson").write_text(
        f'{{"k": "start", "iteration": 0, "mono_ns": {min(stamps)}, "wall_ns": 1}}\n'
        f'{{"k": "end", "iteration": 0, "mono_ns": {max(stamps) + 1}, "wall_ns": 2,'
        ' "status": "ok"}\n'
    )
    with Run.open(tmp_path) as run:
        found = jit(open_scope(run, None))
    given_up = found.deoptimisations
    last = re.findall(r" 4 +T::main @ 43 \(134 bytes\)   made not entrant", text)
    assert given_up.invalidated_count == len(last) > 0
    assert given_up.methods[0].reason == "T.main"
    if "jdk25" in log.name:
        assert "unstable_if → reinterpret" in {one.reason for one in given_up.by_reason}
        assert given_up.traps_count == text.count("trap_bci=")
    else:
        assert given_up.by_reason == []
        assert given_up.traps_count is None
        assert given_up.reason == NO_REASONS


def test_the_probe_is_switched_on_by_the_agent_alone(tmp_path: Path) -> None:
    needs = JitProbe().needs(RunPaths(tmp_path))
    assert needs.jvm_options == ()  # a tag that this Java does not have would stop it
    assert needs.agent["jitlog.what"].startswith("jit+compilation=debug")
    assert "no JVM" in (JitProbe().report(RunPaths(tmp_path)).reason or "")
