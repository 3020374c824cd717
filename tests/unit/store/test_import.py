"""Profiles of other tools as run directories."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.support.exported import Sums
from tests.support.imported import pprof_bytes, speedscope_bytes, sums_of
from typer.testing import CliRunner

from pyrometer import _core
from pyrometer.cli.measure.import_ import app
from pyrometer.core.errors import UsageError
from pyrometer.export.pprof import PprofWriter, ValueType
from pyrometer.store import Run
from pyrometer.store.imported import detect, import_profiles
from pyrometer.store.manifest import read_manifest
from pyrometer.summary.summary import summary

JFR = Path(__file__).parents[2] / "fixtures" / "jfr" / "profile-burn-20632.jfr"
FOLDED = "java/lang/Thread.run;Main.spin_[j];memcpy 12\njava/lang/Thread.run 3\n"
PERF = """\
java 4242/4250 [001]  123.456789:   10000000 cpu-clock:
\tffffffff81000000 do_syscall_64+0x10 ([kernel.kallsyms])
\t    7f0000001000 JVM_Sleep+0x20 (/usr/lib/jvm/lib/server/libjvm.so)

"""
STACKS: Sums = Counter({("main", "a.B.run"): 7, ("main",): 5, ("main", "f", "f"): 1 << 40})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (FOLDED.encode(), "folded"),
        (PERF.encode(), "perf-script"),
        (pprof_bytes(STACKS), "pprof"),
        (gzip.decompress(pprof_bytes(STACKS)), "pprof"),
        (b"\x48\x01" + gzip.decompress(pprof_bytes(STACKS)), "pprof"),  # as Go's begin
        (b"\n" + FOLDED.encode(), "folded"),
        (speedscope_bytes(STACKS), "speedscope"),
        (gzip.compress(speedscope_bytes(STACKS), mtime=0), "speedscope"),
        (JFR.read_bytes()[:5000], "jfr"),
    ],
)
def test_formats_are_told_by_content(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "profile"
    path.write_bytes(content)
    assert detect(path) == expected


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"PERFILE2\x00\x00", "perf script"),
        (b"<svg xmlns=", "folded"),
        (b"nothing of the kind\n", "--format"),
        (gzip.compress(FOLDED.encode(), mtime=0), "gunzip"),
        (b"", "--format"),
    ],
)
def test_what_is_no_profile_is_told_with_what_to_do(
    tmp_path: Path, content: bytes, told: str
) -> None:
    path = tmp_path / "profile"
    path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        import_profiles([path], tmp_path / "run")
    assert str(path) in error.value.message
    assert told in str(error.value.remedy)
    assert not (tmp_path / "run").exists()


def test_a_recording_becomes_a_run(tmp_path: Path) -> None:
    import_profiles([JFR], tmp_path / "run")
    manifest = read_manifest(tmp_path / "run")
    assert (manifest.state, manifest.profile) == ("finished", "imported")
    assert (manifest.workload.name, manifest.workload.command) == (None, [])
    assert manifest.host.hostname is None
    (source,) = manifest.imported
    assert source.source == str(JFR)
    assert source.sha256 == hashlib.sha256(JFR.read_bytes()).hexdigest()
    assert (tmp_path / "run" / "raw" / source.file).read_bytes() == JFR.read_bytes()
    assert (tmp_path / "run" / "raw" / source.file).stat().st_mode & 0o077 == 0
    (tmp_path / "direct").mkdir()
    direct = json.loads(_core.ingest_jfr([str(JFR)], [], str(tmp_path / "direct"), "h"))
    with Run.open(tmp_path / "run") as run:
        assert run.tables.rows_count("samples") == direct["tables"]["samples"]
        assert run.tables.query("SELECT DISTINCT host FROM samples") == [(None,)]
        # The process is the recording's own, not a number in the file's name.
        assert run.tables.query("SELECT DISTINCT pid FROM samples") == [(20632,)]
        told = summary(run)
    assert told.totals is not None
    assert "profile_imported" in {doubt.code for doubt in told.doubts}
    shutil.rmtree(tmp_path / "run" / "tables")
    with Run.open(tmp_path / "run") as again:
        assert again.tables.rows_count("samples") == direct["tables"]["samples"]


def test_every_value_of_a_profile_is_an_event(tmp_path: Path) -> None:
    out = io.BytesIO()
    types = [ValueType("inuse_objects", "count"), ValueType("delay", "milliseconds")]
    profile = PprofWriter(out, types, time_ns=1_700_000_000_000_000_000, duration_ns=5)
    labels = {"thread": "Executor task launch worker-1", "stage": "0", "tier": "web"}
    profile.sample([profile.location("f", "/lib/libz.so.1", 9)], [3, -2], labels)
    profile.sample([], [1, 0], {"operator": "Sort", "task": "77", "iteration": "2"})
    path = tmp_path / "profile.pb"
    path.write_bytes(out.getvalue())
    report = import_profiles([path], tmp_path / "run")
    assert [d.message for d in report.doubts if "'tier'" in d.message or '"tier"' in d.message]
    with Run.open(tmp_path / "run") as run:
        rows = run.tables.query(
            "SELECT event, unit, weight, role, stage_id, operator, task_attempt_id, iteration,"
            " java_stack, source FROM samples ORDER BY event, weight"
        )
        frames = run.tables.query("SELECT class_name, method, line, library, kind FROM frames")
    worker = ("task", 0, None, None, None, 0, "pprof")
    assert rows == [
        ("delay", "ns", -2_000_000, *worker),
        ("inuse_objects", "count", 1, "task", None, "Sort", 77, 2, None, "pprof"),
        ("inuse_objects", "count", 3, *worker),
    ]
    assert frames == [(None, "f", 9, "/lib/libz.so.1", "native")]
    assert read_manifest(tmp_path / "run").started_wall_ns == 1_700_000_000_000_000_000


def test_several_files_are_one_run(tmp_path: Path) -> None:
    (tmp_path / "a.pb.gz").write_bytes(pprof_bytes(STACKS))
    (tmp_path / "b.json").write_bytes(speedscope_bytes(STACKS))
    (tmp_path / "c.folded").write_text(FOLDED)
    files = [tmp_path / name for name in ("a.pb.gz", "b.json", "c.folded")]
    import_profiles(files, tmp_path / "run", event="alloc", unit="bytes")
    with Run.open(tmp_path / "run") as run:
        assert sums_of(run, "cpu") == STACKS + STACKS
        assert sums_of(run, "alloc")[("java.lang.Thread.run",)] == 3
        units = dict(run.tables.query("SELECT DISTINCT event, unit FROM samples"))
        assert units == {"cpu": "ns", "alloc": "bytes"}
        twins = run.tables.query(
            "SELECT stack_id FROM stacks GROUP BY 1 HAVING count(*) > 1"
            " UNION ALL SELECT frame_id FROM frames GROUP BY 1 HAVING count(*) > 1"
        )
        assert twins == []


@pytest.mark.parametrize("about", [{"event": "alloc"}, {"unit": "bytes"}])
def test_what_a_profile_says_itself_is_not_taken_from_options(
    tmp_path: Path, about: dict[str, str]
) -> None:
    (tmp_path / "a.pb.gz").write_bytes(pprof_bytes(STACKS))
    with pytest.raises(UsageError, match=r"is for folded stacks: .*a\.pb\.gz \(pprof\)"):
        import_profiles([tmp_path / "a.pb.gz"], tmp_path / "run", **about)
    assert not (tmp_path / "run").exists()


def test_weights_of_several_units_are_several_events(tmp_path: Path) -> None:
    (tmp_path / "a.folded").write_text(FOLDED)
    (tmp_path / "b.pb.gz").write_bytes(pprof_bytes(STACKS))
    import_profiles([tmp_path / "a.folded", tmp_path / "b.pb.gz"], tmp_path / "run")
    with Run.open(tmp_path / "run") as run:
        found = run.tables.query(
            "SELECT event, unit, sum(weight)::BIGINT FROM samples GROUP BY ALL"
        )
        assert sorted(found) == [
            ("cpu", "ns", sum(STACKS.values())),
            ("cpu (samples)", "samples", 15),
        ]


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("cut.pb.gz", pprof_bytes(STACKS)[:-20], None),
        ("cut.pb", gzip.decompress(pprof_bytes(STACKS))[:-1], None),
        ("cut.json", speedscope_bytes(STACKS)[:-3], None),
        ("text", b"a;b twelve\n", "folded"),
        ("empty", b"", "folded"),
        ("x.jfr", b"no recording", "jfr"),
    ],
)
def test_a_bad_file_is_named_and_nothing_stays(
    tmp_path: Path, name: str, content: bytes, kind: str | None
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as error:
        import_profiles([tmp_path / name], tmp_path / "run", kind)
    assert str(tmp_path / name) in error.value.message
    assert error.value.remedy
    assert not (tmp_path / "run").exists()
    (tmp_path / "there").mkdir()
    before = (tmp_path / "there").stat().st_ino
    with pytest.raises(UsageError):
        import_profiles([tmp_path / name], tmp_path / "there", kind)
    assert (tmp_path / "there").stat().st_ino == before
    assert list((tmp_path / "there").iterdir()) == []


@pytest.mark.parametrize("name", ['of "mine"', "back\\slash"])
def test_a_doubt_names_the_file_by_the_letter(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    path = tmp_path / name / "cut.jfr"
    path.write_bytes(JFR.read_bytes()[:-3])
    report = import_profiles([path], tmp_path / "run")
    told = {doubt.code: doubt.message for doubt in report.doubts}
    assert str(path) in told["jfr_truncated"]


def test_the_verb(tmp_path: Path) -> None:
    (tmp_path / "p.folded").write_text(FOLDED)
    target = tmp_path / "run"
    arguments: list[Any] = [str(tmp_path / "p.folded"), "-o", str(target), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout.splitlines()[-1])
    assert (told["schema"], told["run_dir"]) == ("pyrometer/import/1", str(target))
    assert told["tables"]["samples"] == 2
    again = CliRunner().invoke(app, arguments)
    assert isinstance(again.exception, UsageError)
    assert "not empty" in again.exception.message
