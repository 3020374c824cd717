"""Opening runs: whole, half, broken, too new; and ingest that no source can stop."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.tables import StageSpec, World

from pyrometer.core import schema
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.installation import upgrade
from pyrometer.core.redaction import REDACTED
from pyrometer.orchestrator.derive import redact_raw
from pyrometer.store import Run, Tables, ingest, ingest_eventlogs, ingest_run, write_rows
from pyrometer.store.paths import RunPaths
from pyrometer.store.tables_folder import STAMP


def answer(**tables: int) -> str:
    return json.dumps({"tables": tables, "doubts": [], "stats": {"bytes": 1}})


def fake_core(**functions: Any) -> SimpleNamespace:
    def nothing(*_: Any) -> str:
        return answer()

    names = ("eventlogs", "plugin", "gc", "jfr", "codegen", "probe")
    return SimpleNamespace(**{f"ingest_{n}": functions.get(n, nothing) for n in names})


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    (folder / "raw" / "eventlog").mkdir(parents=True)
    (folder / "raw" / "codegen").mkdir()
    for name in (
        "eventlog/local-1", "plugin-driver-driver-7.ndjson", "gc-7.log", "profile-driver-7.jfr",
        "probe-lab-threads.arrows", "probe-lab-series.arrows",
        "codegen/codegen-driver-driver-7.ndjson",
    ):  # fmt: skip
        (folder / "raw" / name).write_text("x")
    return folder


def test_a_source_that_fails_is_a_doubt_and_the_others_are_read(
    raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def explode(*_: Any) -> str:
        raise ValueError("page 3 is torn")

    def remember(name: str) -> Any:
        def read(*arguments: Any) -> str:
            seen.append(name)
            assert Path(arguments[2 if name == "jfr" else 1]).is_dir()
            doubt = {
                "code": "eventlog_truncated",
                "severity": "warning",
                "message": "cut at byte 9",
            }
            doubts = [doubt] if name == "gc" else []
            return json.dumps({"tables": {"gc_pauses": 2}, "doubts": doubts, "stats": {}})

        return read

    core = fake_core(
        eventlogs=explode, **{n: remember(n) for n in ("plugin", "gc", "jfr", "codegen", "probe")}
    )
    monkeypatch.setattr(ingest, "native", lambda: core)
    report = ingest_run(raw)
    # Generated code is read beside what follows.
    assert [name for name in seen if name != "codegen"] == ["plugin", "gc", "jfr", "probe"]
    assert seen.count("codegen") == 1
    assert [d.code for d in report.doubts] == ["ingest_source_failed", "eventlog_truncated"]
    assert "page 3 is torn" in report.doubts[0].message
    with Run.open(raw) as run:
        codes = [d.code for d in run.doubts]
        assert codes == ["manifest_unreadable", "ingest_source_failed", "eventlog_truncated"]
        assert all(d.remedy for d in run.doubts)


def test_what_is_read_beside_others_is_reported_in_its_place(
    raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe_was_read = threading.Event()

    def codegen(*_: Any) -> str:
        assert probe_was_read.wait(timeout=20)
        raise ValueError("no such class")

    def probe(*_: Any) -> str:
        probe_was_read.set()
        raise ValueError("page 3 is torn")

    monkeypatch.setattr(ingest, "native", lambda: fake_core(codegen=codegen, probe=probe))
    report = ingest_run(raw)
    said = [d.message for d in report.doubts if d.code == "ingest_source_failed"]
    assert ["no such class" in said[0], "page 3 is torn" in said[1]] == [True, True]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give one for each ingest."""
    calls: list[int] = []

    def count(*_: Any) -> str:
        calls.append(1)
        return answer()

    monkeypatch.setattr(ingest, "native", lambda: fake_core(eventlogs=count))
    return calls


def test_tables_are_made_once_and_anew_when_the_raw_streams_grew(
    raw: Path, calls: list[int]
) -> None:
    for _ in range(2):
        Run.open(raw).close()
    assert len(calls) == 1
    stamp = raw / "tables" / STAMP
    stamp.write_text(json.dumps(json.loads(stamp.read_text()) | {"started_wall_ns": 1}))
    Run.open(raw).close()
    assert len(calls) == 2


def test_what_is_brought_with_old_times_is_read(raw: Path, calls: list[int]) -> None:
    brought = raw / "raw" / "gc-8.log"
    for content in ("", "x", "xyz"):
        if content:
            brought.write_text(content)
            os.utime(brought, (1, 1))
        for _ in range(2):
            Run.open(raw).close()
    assert len(calls) == 3


def grown(log: Path) -> None:
    """Make a file longer without a time that says so."""
    log.write_text("xyz")
    os.utime(log, (1, 1))


def test_bytes_that_do_not_follow_what_was_struck_out_make_no_tables_old(
    raw: Path, calls: list[int]
) -> None:
    Run.open(raw).close()
    stamp = raw / "tables" / STAMP
    kept = json.loads(stamp.read_text())
    del kept["raw_bytes_follow_redaction"]
    stamp.write_text(json.dumps(kept))
    grown(raw / "raw" / "gc-7.log")
    Run.open(raw).close()
    assert len(calls) == 1


def test_more_bytes_alone_refuse_no_run_on_a_disk_that_cannot_be_written(
    raw: Path, calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    Run.open(raw).close()
    grown(raw / "raw" / "gc-7.log")
    with monkeypatch.context() as disk:
        disk.setattr(os, "access", lambda *_: False)
        Run.open(raw).close()
    assert len(calls) == 1
    Run.open(raw).close()
    assert len(calls) == 2


def test_a_file_of_the_future_is_read_once(raw: Path, calls: list[int]) -> None:
    tomorrow = time.time() + 86_400
    os.utime(raw / "raw" / "gc-7.log", (tomorrow, tomorrow))
    for _ in range(2):
        Run.open(raw).close()
    assert len(calls) == 1


def test_secrets_that_are_struck_out_make_no_tables_old(raw: Path, calls: list[int]) -> None:
    log = raw / "raw" / "gc-7.log"
    log.write_text("password=x1\n")
    Run.open(raw).close()
    record: Any = SimpleNamespace(paths=RunPaths(raw))
    redact_raw(record)
    assert REDACTED in log.read_text()
    Run.open(raw).close()
    assert len(calls) == 1


def test_iterations_are_read_and_bad_lines_are_doubts(
    raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "native", fake_core)
    lines = [
        {"k": "start", "iteration": 0, "warmup": True, "mono_ns": 10, "wall_ns": 1010},
        {"k": "end", "iteration": 0, "mono_ns": 20, "wall_ns": 1020, "status": "ok",
         "rows": 5, "checksum": "c"},
        {"k": "start", "iteration": 1, "warmup": False, "mono_ns": 30, "wall_ns": 1030},
    ]  # fmt: skip
    text = "\n".join(map(json.dumps, lines)) + '\n[1]\n{"iteration": 2}\n{"k": "st'
    (raw / "raw" / "iterations.ndjson").write_text(text)
    report = ingest_run(raw)
    assert [d.code for d in report.doubts] == ["iteration_line_unreadable"] * 3
    assert "line 4" in report.doubts[0].message
    with Tables(raw / "tables") as tables:
        found = tables.records("SELECT * FROM iterations ORDER BY iteration")
    first, second = found[:2]
    assert (first["warmup"], first["start_mono_ns"], first["end_mono_ns"]) == (True, 10, 20)
    assert (first["result_rows_count"], first["result_checksum"]) == (5, "c")
    assert first["status"] == "success"
    assert (second["status"], second["end_mono_ns"], second["start_wall_ns"]) == (
        "running", None, 1030,
    )  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_as_iterations_never_break_the_ingest(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder)
        (run / "raw").mkdir()
        (run / "raw" / "iterations.ndjson").write_bytes(content)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ingest, "native", fake_core)
            report = ingest_run(run)
    # No bytes are an iteration by chance: each line is a doubt, and none is lost.
    told = [doubt for doubt in report.doubts if doubt.code == "iteration_line_unreadable"]
    assert len(told) == sum(bool(line.strip()) for line in content.split(b"\n"))
    assert report.tables["iterations"] == 0


def test_a_newer_schema_is_refused_with_a_remedy(tmp_path: Path) -> None:
    World([StageSpec([10])]).write(tmp_path)
    stamp = tmp_path / "tables" / STAMP
    stamp.write_text(json.dumps({"schema_version": schema.schema_version() + 1}))
    with pytest.raises(UsageError, match="schema version") as refused:
        Run.open(tmp_path)
    assert refused.value.remedy == upgrade()


def test_samples_of_other_rules_are_sorted_again_or_doubted(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    log = tmp_path / "raw" / "iterations.ndjson"
    log.write_text("{}\n")
    ingest_run(tmp_path)
    stamp = tmp_path / "tables" / STAMP
    kept = json.loads(stamp.read_text())
    kept["rules"], kept["tables"]["samples"] = "others", 9
    stamp.write_text(json.dumps(kept))
    with Run.open(tmp_path) as run:
        assert "rules_differ" not in {doubt.code for doubt in run.doubts}
    assert json.loads(stamp.read_text())["rules"] == schema.rules_digest()

    # Tables of before rules had a name, and files were counted.
    stamp.write_text(json.dumps({k: v for k, v in kept.items() if k not in ("rules", "raw_files")}))
    with Run.open(tmp_path) as run:
        assert "rules_differ" not in {doubt.code for doubt in run.doubts}
    assert json.loads(stamp.read_text())["rules"] == schema.rules_digest()

    stamp.write_text(json.dumps(kept))
    log.unlink()  # what is gone is not made again: nothing would be left
    with Run.open(tmp_path) as run:
        assert "rules_differ" in {doubt.code for doubt in run.doubts}
    assert json.loads(stamp.read_text()) == kept


def test_a_newer_manifest_is_refused_and_a_half_one_is_a_doubt(tmp_path: Path) -> None:
    World([StageSpec([10])]).write(tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema_version": 99}')
    with pytest.raises(UsageError, match="schema version 99"):
        Run.open(tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema": "pyrometer/mani')
    with Run.open(tmp_path) as run:
        assert run.manifest is None
        assert [d.code for d in run.doubts] == ["manifest_unreadable"]


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        Run.open(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="neither a run directory nor an event log"):
        Run.open(tmp_path / "empty")
    with pytest.raises(UsageError, match="no such file"):
        ingest_eventlogs([tmp_path / "nowhere"], tmp_path / "out")


def test_of_a_run_that_is_not_there_one_with_such_a_name_is_offered(tmp_path: Path) -> None:
    (tmp_path / "nightly-2").mkdir()
    with pytest.raises(UsageError) as caught:
        Run.open(tmp_path / "nightly2")
    assert caught.value.message.endswith(f"; did you mean {tmp_path / 'nightly-2'}?")
    with pytest.raises(UsageError) as caught:
        Run.open(tmp_path / "weekly")
    assert caught.value.message.endswith("no such file or directory")


def test_a_file_that_is_no_event_log_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "native", lambda: fake_core(eventlogs=lambda *_: answer(apps=0)))
    log = tmp_path / "notes.txt"
    log.write_text("hello")
    with pytest.raises(UsageError, match="not a Spark event log"):
        ingest_eventlogs([log], tmp_path / "out")
    assert not (tmp_path / "out" / "tables").exists()


def test_a_torn_table_is_named_with_a_remedy(tmp_path: Path) -> None:
    World([StageSpec([10])]).write(tmp_path)
    path = tmp_path / "tables" / "tasks.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(UsageError, match=r"tasks\.parquet: not a readable table"):
        Run.open(tmp_path)


def test_missing_tables_and_columns_read_as_empty_and_null(tmp_path: Path) -> None:
    tmp_path.joinpath("tables").mkdir()
    write_rows(tmp_path / "tables", "jobs", [{"app_index": 0, "job_id": 1, "stage_ids": [1, 2]}])
    with Tables(tmp_path / "tables") as tables:
        assert tables.has("jobs")
        assert not tables.has("tasks")
        assert tables.query("SELECT count(*), sum(executor_run_time_ns) FROM tasks") == [(0, None)]
        assert tables.query("SELECT stage_ids, sql_id FROM jobs") == [([1, 2], None)]
        assert tables.columns("SELECT job_id FROM jobs")["job_id"].tolist() == [1]


def test_a_read_only_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(UsageError, match="Permission denied"):
        ingest.ingest_run(tmp_path)


def test_a_missing_native_part_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("pyrometer.core.native.import_module", absent)
    with pytest.raises(CapabilityError, match="native part") as missing:
        ingest.native()
    assert missing.value.remedy
