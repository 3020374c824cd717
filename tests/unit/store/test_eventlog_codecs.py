"""Every codec Spark writes, whole, cut and damaged; rolling folders; refusals."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.support.eventlog.codecs import CODECS, xxhash32

from pyrometer import _core

TASKS = 40


def event(name: str, **fields: Any) -> dict[str, Any]:
    """Make an event; underscores in field names are blanks."""
    return {"Event": f"SparkListener{name}"} | {k.replace("_", " "): v for k, v in fields.items()}


def log(first: int = 0, last: int = TASKS) -> bytes:
    """Write a short log; ``first`` and ``last`` bound its tasks."""
    info = {"Stage ID": 0, "Stage Attempt ID": 0, "Submission Time": 1000, "Completion Time": 2000}
    events = []
    if first == 0:
        events += [
            event("LogStart", Spark_Version="4.0.0"),
            event("ApplicationStart", App_Name="ünïcode \U0001f525", App_ID="a", Timestamp=500),
            event("JobStart", Job_ID=0, Submission_Time=900, Stage_IDs=[0], Stage_Infos=[info]),
        ]
    events += [
        event(
            "TaskEnd",
            Stage_ID=0,
            Stage_Attempt_ID=0,
            Task_End_Reason={"Reason": "Success"},
            Task_Info={"Task ID": i, "Index": i, "Launch Time": 1000, "Finish Time": 1100 + i},
            Task_Metrics={"Executor Run Time": i, "Executor CPU Time": i * i},
        )
        for i in range(first, last)
    ]
    if last == TASKS:
        events += [
            event("StageCompleted", Stage_Info=info),
            event("ApplicationEnd", Timestamp=3000),
        ]
    return b"".join(json.dumps(e).encode() + b"\n" for e in events)


def ingest(out: Path, *paths: Path) -> dict[str, Any]:
    """Read logs into ``out``."""
    out.mkdir(exist_ok=True)
    report: dict[str, Any] = json.loads(_core.ingest_eventlogs([str(p) for p in paths], str(out)))
    return report


def codes(report: dict[str, Any]) -> list[str]:
    """Give the codes of the doubts."""
    return [doubt["code"] for doubt in report["doubts"]]


def test_our_xxhash_is_the_published_one() -> None:
    assert xxhash32(b"", 0) == 0x02CC5D05
    assert xxhash32(b"Nobody inspects the spammish repetition", 0) == 0xE2293B2F


@pytest.mark.parametrize("codec", CODECS)
def test_a_whole_log_reads_the_same_in_every_codec(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "application_1"  # told by content: the name says nothing
    path.write_bytes(CODECS[codec](log()))
    report = ingest(tmp_path / "out", path)
    assert report["doubts"] == []
    assert report["stats"]["uncompressed_bytes"] == len(log())
    assert report["tables"]["tasks"] == TASKS
    tasks = pq.read_table(tmp_path / "out" / "tasks.parquet").to_pydict()
    assert tasks["executor_cpu_time_ns"] == [i * i for i in range(TASKS)]
    app = pq.read_table(tmp_path / "out" / "apps.parquet").to_pylist()[0]
    assert app["app_name"] == "ünïcode \U0001f525"


@pytest.mark.parametrize("codec", list(CODECS))
@pytest.mark.parametrize("share", [0.35, 0.6, 0.97])
def test_a_cut_log_is_read_to_the_cut_and_doubted(codec: str, share: float, tmp_path: Path) -> None:
    whole = CODECS[codec](log())
    path = tmp_path / "app.inprogress"
    path.write_bytes(whole[: int(len(whole) * share)])
    report = ingest(tmp_path / "out", path)
    assert {"eventlog_truncated", "eventlog_no_application_end"} <= set(codes(report))
    cut = next(d for d in report["doubts"] if d["code"] == "eventlog_truncated")
    assert 0 < cut["byte_offset"] <= len(log())
    read = report["stats"]["uncompressed_bytes"]
    # Whole lines before the cut are all there.
    expected = log()[:read].count(b'"SparkListenerTaskEnd"')
    assert expected - 1 <= report["tables"]["tasks"] <= expected
    if codec != "gzip":  # one deflate block may hold a short log entirely
        assert report["tables"]["tasks"] > 0


@pytest.mark.parametrize("codec", ["lz4", "zstd", "snappy", "lzf", "gzip"])
def test_a_damaged_block_ends_the_reading_with_its_place(codec: str, tmp_path: Path) -> None:
    data = bytearray(CODECS[codec](log()))
    middle = len(data) * 2 // 3
    data[middle : middle + 40] = b"\xff" * 40
    path = tmp_path / "app"
    path.write_bytes(bytes(data))
    report = ingest(tmp_path / "out", path)
    found = {"eventlog_frame_corrupt", "eventlog_line_unreadable", "eventlog_truncated"}
    doubts = [d for d in report["doubts"] if d["code"] in found]
    assert doubts
    assert all(d["byte_offset"] is not None for d in doubts)
    if codec in ("lz4", "zstd", "snappy", "lzf"):
        assert "eventlog_frame_corrupt" in codes(report)
        assert 0 < report["tables"]["tasks"] < TASKS


def test_a_rolling_folder_is_one_application_in_numeric_order(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app"
    folder.mkdir()
    (folder / "appstatus_app").touch()
    for index, (first, last) in {2: (10, 20), 9: (20, 30), 10: (30, TASKS), 1: (0, 10)}.items():
        (folder / f"events_{index}_app.zstd").write_bytes(CODECS["zstd"](log(first, last)))
    report = ingest(tmp_path / "out", folder)
    # Files 3 to 8 are missing, and that is said.
    assert codes(report) == ["eventlog_part_missing"]
    tasks = pq.read_table(tmp_path / "out" / "tasks.parquet").to_pydict()
    assert tasks["task_attempt_id"] == list(range(TASKS))
    assert set(tasks["app_index"]) == {0}


def test_a_compacted_file_stands_for_what_came_before(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app"
    folder.mkdir()
    (folder / "events_1_app").write_bytes(log(0, 10))
    (folder / "events_2_app").write_bytes(log(10, 20))
    (folder / "events_2_app.compact").write_bytes(log(0, 20))
    (folder / "events_3_app").write_bytes(log(20, TASKS))
    report = ingest(tmp_path / "out", folder)
    assert codes(report) == ["eventlog_compacted"]
    assert report["tables"]["tasks"] == TASKS


def test_several_attempts_are_several_applications(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "app_1").write_bytes(log())
    (folder / "app_2").write_bytes(log())
    (folder / "notes.txt").write_text("not a log\n")
    report = ingest(tmp_path / "out", folder)
    assert codes(report) == ["eventlog_refused"]
    apps = pq.read_table(tmp_path / "out" / "apps.parquet").to_pydict()
    assert apps["app_index"] == [0, 1]
    assert [Path(json.loads(f)[0]).name for f in apps["source_files"]] == ["app_1", "app_2"]


def test_a_log_without_start_or_end_says_so(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(log(5, 10))
    report = ingest(tmp_path / "out", path)
    assert codes(report) == ["eventlog_no_application_start", "eventlog_no_application_end"]
    assert report["tables"]["tasks"] == 5


def test_errors_have_a_place_and_leave_no_tables(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    out = tmp_path / "out"
    with pytest.raises(ValueError, match=r"table\.csv: not a Spark event log: line 1, byte 0"):
        ingest(out, path)
    with pytest.raises(FileNotFoundError):
        ingest(out, tmp_path / "absent")
    (out / "tasks.parquet").mkdir()
    (tmp_path / "log").write_bytes(log())
    with pytest.raises(IsADirectoryError):
        ingest(out, tmp_path / "log")
    assert [p.name for p in out.iterdir() if p.suffix == ".tmp"] == []


def test_a_signal_stops_the_reading_and_leaves_no_tables(tmp_path: Path) -> None:
    path, out = tmp_path / "app", tmp_path / "out"
    line = log(5, 6)
    path.write_bytes(log(0, 5) + line * (120_000_000 // len(line)))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    out.mkdir()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            _core.ingest_eventlogs([str(path)], str(out))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("codec", ["lz4", "lzf", "snappy", "zstd", "gzip"])
def test_what_sparks_own_streams_wrote_is_read(codec: str, tmp_path: Path) -> None:
    # Made by tests/fixtures/eventlog/Compress.java with the libraries inside Spark.
    recorded = Path(__file__).parents[2] / "fixtures" / "eventlog" / f"whole.{codec}.log"
    report = ingest(tmp_path / "out", recorded)
    assert report["doubts"] == []
    assert report["stats"]["events_count"] == 45
    tasks = pq.read_table(tmp_path / "out" / "tasks.parquet").to_pydict()
    assert tasks["executor_cpu_time_ns"] == [i * i for i in range(TASKS)]
