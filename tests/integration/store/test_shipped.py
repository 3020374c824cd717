"""What the agent ships becomes files of a run: in time, later, and only what is of that run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.hosts.agent import unpacked
from tests.support.hosts.probes import Counter, ProbeOf

from pyrometer.store import Run, ingest_run
from pyrometer.store.locate import is_current
from pyrometer.store.manifest import (
    Host,
    Manifest,
    Shipped,
    Workload,
    read_manifest,
    write_manifest,
)
from pyrometer.store.paths import RunPaths
from pyrometer.store.services.chunk_files import is_last
from pyrometer.store.shipped import join_shipped, open_streams
from pyrometer.store.tables_folder import STAMP

GC = "".join(f"[{number}ns] line\n" for number in range(2000))
SECRET = "hunter2"


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("agent"))


class Place:
    """A run, a store elsewhere, and the folder of an executor."""

    def __init__(self, folder: Path, agent: Path) -> None:
        self.agent = agent
        self.paths = RunPaths(folder / "run")
        self.store = folder / "store"
        self.host = folder / "host"
        for made in (self.paths.raw, self.store, self.host):
            made.mkdir(parents=True)
        (self.host / "gc-7.log").write_text(GC)

    def describe(self, to: str | None = None, hostname: str = "h") -> None:
        manifest = Manifest(
            run_id="r",
            created_wall_ns=1,
            pyrometer_version="0",
            workload=Workload(),
            profile="light",
            host=Host(hostname=hostname),
            shipped=[Shipped(app_id="app-1", to=to or f"file://{self.store}")],
        )
        write_manifest(self.paths.root, manifest)

    def command(self, app: str, store: Path, *more: str) -> list[str]:
        options = {"to": store, "raw-dir": self.host, "app": app, "executor": "1", "host": "h"}
        words = [f"--{name}={value}" for name, value in options.items()]
        return [str(self.agent), "ship", *words, "--every=0.1", *more]

    def ship(self, app: str = "app-1", store: Path | None = None) -> None:
        """Ship all: its writer has ended."""
        ended = subprocess.Popen(["true"])
        ended.wait()
        command = self.command(app, store or self.store, f"--until-pid={ended.pid}")
        subprocess.run(command, check=True)

    def ship_some(self, store: Path) -> None:
        """Ship what is there, and be asked to stop: the writer goes on."""
        agent = subprocess.Popen(self.command("app-1", store))
        while not any(path.suffix == ".chunk" for path in listed(store)):
            time.sleep(0.05)
        agent.send_signal(signal.SIGTERM)
        assert agent.wait() == 0

    def made(self, file: str) -> Path:
        (path,) = self.paths.shipped.glob(f"app-1/1/*/h/{file}")
        return path

    def codes(self) -> set[str]:
        return {doubt.code for doubt in join_shipped(self.paths, time.time_ns())}


@pytest.fixture
def place(tmp_path: Path, agent: Path) -> Place:
    return Place(tmp_path, agent)


def listed(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_store_elsewhere_stays_and_only_the_runs_own_application_is_taken(place: Place) -> None:
    place.ship("app-1")
    (place.host / ".shipping.json").unlink()
    place.ship("other")
    place.describe()
    before = listed(place.store)
    assert open_streams(place.store / "app-1") == (2, 0)
    for _ in range(2):
        assert place.codes() == set()
        assert place.made("gc-7.log").read_text() == GC
        assert place.made("gc-7.log").stat().st_mode & 0o077 == 0
        assert [folder.name for folder in place.paths.shipped.iterdir()] == ["app-1"]
        assert listed(place.paths.chunks) == [], "a whole file needs its chunks no more"
    assert listed(place.store) == before


def test_what_is_larger_than_a_chunk_is_not_taken_whole(place: Place) -> None:
    place.describe()
    stream = place.store / "app-1" / "1" / "a" / "h" / "gc-7.log"
    stream.mkdir(parents=True)
    for name in ("000000000000.chunk", "notes.chunk"):
        with (stream / name).open("wb") as file:
            file.truncate(1 << 40)
    assert place.codes() == {"chunks_damaged"}
    (taken,) = listed(place.paths.chunks)
    assert taken.name == "000000000000.chunk"
    assert taken.stat().st_size < 17 << 20


def test_what_cannot_be_listed_is_named_and_the_rest_is_taken(place: Place) -> None:
    place.ship("app-1")
    (place.store / "app-0").write_text("no folder")
    place.describe()
    manifest = read_manifest(place.paths.root)
    manifest.shipped.insert(0, Shipped(app_id="app-0", to=str(place.store)))
    write_manifest(place.paths.root, manifest)
    (doubt,) = join_shipped(place.paths, time.time_ns())
    assert (doubt.code, doubt.message) == (
        "chunks_unjoined", f"{place.store / 'app-0'}: Not a directory",
    )  # fmt: skip
    assert place.made("gc-7.log").read_text() == GC


def test_links_are_not_followed_and_nothing_is_no_store(place: Place, tmp_path: Path) -> None:
    assert open_streams(place.store / "app-1") == (0, 0)
    place.ship()
    assert open_streams(place.store) == (2, 0), "the log, and the agent's report"
    (stream,) = place.store.glob("app-1/1/*/h/gc-7.log")
    links = tmp_path / "links"
    links.mkdir()
    (links / "folder").symlink_to(stream)
    (links / "000000000000.chunk").symlink_to(listed(stream)[0])
    assert open_streams(links) == (0, 0)


@pytest.mark.parametrize("name", ["chunks", "shipped"])
def test_what_a_link_in_a_run_leads_to_stays(place: Place, name: str, tmp_path: Path) -> None:
    place.ship()
    other = place.store if name == "chunks" else tmp_path / "other"
    other.mkdir(exist_ok=True)
    before = listed(other)
    place.describe(str(place.store))
    if name == "shipped":
        place.paths.chunks.mkdir()
    (place.paths.raw / name).symlink_to(other)
    assert place.codes() == {"chunks_unjoined"}
    assert listed(other) == before


def test_only_chunks_are_removed(place: Place) -> None:
    place.ship(store=place.store)
    place.describe()
    (stream,) = place.store.glob("app-1/1/*/h/gc-7.log")
    own = place.paths.chunks / stream.relative_to(place.store)
    own.mkdir(parents=True)
    (own / "notes.txt").write_text("mine")
    assert place.codes() == set()
    assert place.made("gc-7.log").read_text() == GC
    assert listed(place.paths.chunks) == [own / "notes.txt"]


def test_folders_without_end_are_named(place: Place) -> None:
    place.ship()
    place.describe()
    # A path is no longer than 4096 bytes: step by step it is.
    deep = os.open(place.store / "app-1", os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("d", dir_fd=deep)
        deeper = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = deeper
    os.close(deep)
    (doubt,) = join_shipped(place.paths, time.time_ns())
    assert doubt.code == "chunks_unjoined"
    assert "too many folders" in doubt.message
    assert place.made("gc-7.log").read_text() == GC
    assert open_streams(place.store) == (2, 0)
    subprocess.run(["rm", "-rf", place.store], check=True)


def test_what_comes_later_is_joined_by_the_next_ingest(place: Place) -> None:
    place.paths.chunks.mkdir()
    place.describe(str(place.paths.chunks))
    place.ship_some(place.paths.chunks)
    assert "chunks_open" in place.codes()
    assert place.made("gc-7.log").read_text() == GC
    chunks = [one for one in listed(place.paths.chunks) if "gc-7.log" in str(one)]
    assert chunks
    assert not any(map(is_last, chunks))

    with (place.host / "gc-7.log").open("a") as log:
        log.write("cut")
    place.ship(store=place.paths.chunks)
    assert place.codes() == set()
    assert place.made("gc-7.log").read_text() == GC + "cut"
    assert listed(place.paths.chunks) == []
    assert place.paths.chunks.is_dir(), "a late agent would find no store"


def test_tables_are_current_until_more_arrives(place: Place) -> None:
    place.ship_some(place.store)
    place.describe()
    ingest_run(place.paths.root)
    assert listed(place.paths.chunks), "the streams have no end: their chunks stay"
    assert is_current(place.paths.tables, place.paths.raw)
    stamp = json.loads((place.paths.tables / STAMP).read_text())
    assert stamp["raw_bytes"] == sum(path.stat().st_size for path in listed(place.paths.raw))
    place.ship(store=place.paths.chunks)
    assert not is_current(place.paths.tables, place.paths.raw)
    ingest_run(place.paths.root)
    assert is_current(place.paths.tables, place.paths.raw)


def test_two_that_join_at_once_lose_nothing(place: Place) -> None:
    for number in range(40):
        (place.host / f"gc-{number}.log").write_text(GC)
    place.ship()
    place.describe()
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda _: place.codes(), range(8)))
    assert codes == [set()] * 8
    assert all(place.made(f"gc-{number}.log").read_text() == GC for number in range(40))


def test_secrets_are_struck_out_of_joined_files_once_they_are_read(place: Place) -> None:
    record = (
        '{"k":"process","role":"executor","executor_id":"1","pid":7,"host":"h","app_id":"app-1",'
        f'"mono_ns":5,"wall_ns":6,"input_arguments":["-Dmy.password={SECRET}"]}}\n'
    )
    (place.host / "plugin-executor-1-7.ndjson").write_text(record)
    place.ship()
    place.describe()
    report = ingest_run(place.paths.root)
    assert report.tables["processes"] == 1
    with Run.open(place.paths.root) as run:
        assert run.tables.query("SELECT executor_id, pid FROM processes") == [("1", 7)]
    text = place.made("plugin-executor-1-7.ndjson").read_text()
    assert SECRET not in text
    assert "(redacted)" in text
    assert not any(SECRET.encode() in path.read_bytes() for path in listed(place.paths.root))


def test_chunks_that_are_kept_and_hold_a_secret_are_doubted(place: Place) -> None:
    def doubted() -> list[str]:
        doubts = ingest_run(place.paths.root).doubts
        return [doubt.message for doubt in doubts if doubt.code == "secrets_kept"]

    place.ship_some(place.store)
    place.describe()
    assert doubted() == [], "what is kept holds none"
    (stream,) = place.paths.chunks.glob("app-1/1/*/h/gc-7.log")
    with (place.host / "gc-7.log").open("a") as file:
        file.write(f"my.password={SECRET}\n")
    agent = subprocess.Popen(place.command("app-1", place.store))
    while len(listed(place.store / stream.relative_to(place.paths.chunks))) < 2:
        time.sleep(0.05)
    agent.send_signal(signal.SIGTERM)
    assert agent.wait() == 0
    for _ in range(2):
        (said,) = doubted()
        assert "of 1 stream(s)" in said
        assert f"hold a secret ({stream.relative_to(place.paths.chunks)})" in said
        assert SECRET not in place.made("gc-7.log").read_text()
    for chunk in listed(stream):
        chunk.write_bytes(b"no chunk")
    place.made("gc-7.log").unlink()
    (said,) = doubted()
    assert "cannot be looked into for secrets" in said


@pytest.mark.parametrize("driver", ["h", "other"])
def test_probes_beside_executors_are_read_whatever_their_host(place: Place, driver: str) -> None:
    of_host: dict[tuple[str, str], Counter] = {("host", "cpu_idle_ns"): lambda t: t}
    times = range(1_000, 2_000, 10)
    ProbeOf(times, of_host, processes={5: lambda t: t}).write(place.paths.raw, driver)
    ProbeOf(range(1_200, 1_800, 7), of_host, processes={7: lambda t: t}).write(place.host, "h")
    pace = {"asked_hz": 20, "mean_hz": 11.2, "budget_ratio": 0.01, "changes_count": 1}
    report = {"host": "h", "tier": "T2", "state": "finished", "hz": 20, "own_cpu_ns": 9,
              "tier_reason": "not root", "dropped_rows_count": 0, "passes_count": 3,
              "pace": pace}  # fmt: skip
    (place.host / "probe-h.report.json").write_text(json.dumps(report))
    place.ship()
    place.describe(hostname=driver)
    told = {doubt.code: doubt.message for doubt in ingest_run(place.paths.root).doubts}
    assert "executor 1 on h" in told["probe_slowed"]
    assert ("clock_unknown" in told) == (driver == "other")
    with Run.open(place.paths.root) as run:
        idle = run.tables.query(
            "SELECT host, count(*) FROM os_series WHERE scope = 'host' GROUP BY host ORDER BY host"
        )
        followed = run.tables.query(
            "SELECT DISTINCT host FROM os_series WHERE scope LIKE 'process/%' ORDER BY host"
        )
        passes = run.tables.query(
            "SELECT host, scope, count(*) FROM os_series WHERE name = 'passes_count'"
            " GROUP BY ALL ORDER BY ALL"
        )
        entries = [] if run.manifest is None else run.manifest.probes
    assert [(one.host, one.executor_id, one.tier) for one in entries] == [("h", "1", "T2")]
    assert entries[0].reason == "not root"
    if driver == "h":
        # The launcher's probe was there all the time.
        assert idle == [("h", len(times))]
        assert followed == [("h",)]
        assert passes == [("h", "probe", 100), ("h", "probe/1", 86)]
    else:
        assert idle == [("h", 86), ("other", len(times))]
        assert followed == [("h",), ("other",)]
        assert passes == [("h", "probe", 86), ("other", "probe", 100)]


def test_a_probe_that_went_on_after_another_adds_what_came_later(place: Place) -> None:
    of_host: dict[tuple[str, str], Counter] = {("host", "cpu_idle_ns"): lambda t: t}
    for times, number in ((range(1_000, 1_500, 10), ""), (range(1_700, 2_000, 10), ".2")):
        probe = ProbeOf(times, of_host, processes={7: lambda t: t})
        probe.write(place.host, "h", number)
        report = {"host": "h", "tier": "T2", "state": "finished", "hz": 20, "own_cpu_ns": 9,
                  "dropped_rows_count": 0, "passes_count": len(times)}  # fmt: skip
        (place.host / f"probe-h{number}.report.json").write_text(json.dumps(report))
    place.ship()
    place.describe()
    ingest_run(place.paths.root)
    with Run.open(place.paths.root) as run:
        rows = run.tables.query(
            "SELECT scope, count(*), count(DISTINCT t_mono_ns) FROM os_series"
            " WHERE name IN ('cpu_ns', 'cpu_idle_ns') GROUP BY scope ORDER BY scope"
        )
        passes = run.tables.query(
            "SELECT scope, max(value) FROM os_series WHERE name = 'passes_count'"
            " GROUP BY scope ORDER BY scope"
        )
        entries = [] if run.manifest is None else run.manifest.probes
    assert rows == [("host", 80, 80), ("process/7", 80, 80)]
    assert passes == [("probe", 49), ("probe/1", 29)]
    assert [(one.executor_id, one.got) for one in entries] == [
        ("1", "no rows in 30 passes"), ("1", "no rows in 50 passes"),
    ]  # fmt: skip


def test_what_is_no_report_of_a_probe_is_nobodys(place: Place) -> None:
    for name, text in {"a": "[]", "b": "{", "c": '{"pace": {"asked_hz": "x"}}'}.items():
        (place.host / f"probe-{name}.report.json").write_text(text)
    place.ship()
    place.describe()
    ingest_run(place.paths.root)
    with Run.open(place.paths.root) as run:
        assert run.manifest is not None
        assert run.manifest.probes == []


def test_a_store_that_cannot_be_read_from_here_is_named(place: Place) -> None:
    place.describe("s3://bucket/prefix")
    (doubt,) = join_shipped(place.paths, time.time_ns())
    assert doubt.code == "chunks_elsewhere"
    assert doubt.message == (
        "s3://bucket/prefix: no package that reads s3:// is installed;"
        f" {sys.executable} -m pip install s3fs"
    )
    assert "raw/chunks" in doubt.remedy
