"""Event logs of applications that nobody launched, joined with what their executors shipped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.cli import inside
from tests.support.hosts.agent import unpacked
from tests.support.hosts.shipping import APP, OTHER, Place, S, found, probe, times

from pyrometer.store import Run, ingest_run
from pyrometer.store.eventlog_run import ingest_shipped


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("agent"))


@pytest.fixture
def place(tmp_path: Path, agent: Path) -> Place:
    return Place(tmp_path, agent)


def log_of(place: Place, app: str = APP) -> Path:
    """Write the event log of an application that ended just now, of two seconds."""
    events = [
        {"Event": "SparkListenerLogStart", "Spark Version": "4.0.1"},
        {"Event": "SparkListenerApplicationStart", "App Name": "nightly", "App ID": app,
         "Timestamp": (place.now_ns - 2 * S) // 10**6, "User": "spark"},
        {"Event": "SparkListenerApplicationEnd", "Timestamp": place.now_ns // 10**6},
    ]  # fmt: skip
    log = place.folder / app
    log.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in events))
    return log


def test_what_executors_shipped_is_joined_with_their_log_also_later(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.executor("h1", "1", 62, probe(times(0, 2000), 62))
    run = place.folder / "nightly"
    done = inside(capsys, "ingest", log_of(place), "--agents", place.store, "-o", run, "--json")
    assert done.code == 0, done.stderr
    assert run.stat().st_mode & 0o077 == 0
    with Run.open(run) as opened:
        assert opened.tables.query("SELECT app_name FROM apps") == [("nightly",)]
        assert opened.tables.query("SELECT executor_id, host FROM processes") == [("1", "h1")]
        assert opened.tables.has("os_series")
        assert opened.manifest is not None
        assert (opened.manifest.started_wall_ns or 0) // 10**6 == (place.now_ns - 2 * S) // 10**6
    place.executor("h2", "2", 62, probe(times(0, 2000), 62))
    ingest_run(run)
    with Run.open(run) as opened:
        hosts = opened.tables.query("SELECT DISTINCT host FROM processes ORDER BY 1")
    assert hosts == [("h1",), ("h2",)]
    again = inside(capsys, "ingest", log_of(place), "--agents", place.store, "-o", run)
    assert again.code == 2
    assert "not empty" in again.stderr


def test_copies_of_logs_keep_no_secrets(place: Place) -> None:
    place.executor("h1", "1", 62, probe(times(0, 2000), 62))
    log = log_of(place)
    settings = {"spark.redaction.regex": "(?i)pin", "my.pin": "plum", "my.url": "db://u:pear@h/d"}
    event = {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": settings}
    log.write_text(log.read_text() + json.dumps(event, separators=(",", ":")) + "\n")
    ingest_shipped([log], place.folder / "nightly", str(place.store))
    copied = (place.folder / "nightly/raw/eventlog" / log.name).read_text()
    assert "plum" in log.read_text()
    assert "my.pin" in copied
    assert "plum" not in copied
    assert "pear" not in copied


def test_agents_that_run_as_services_are_read_from_the_same_store(place: Place) -> None:
    place.service("node", probe(times(0, 2000), 62), [found(APP, "1", 62)])
    ingest_shipped([log_of(place)], place.folder / "nightly", str(place.store))
    with Run.open(place.folder / "nightly") as opened:
        hosts = opened.tables.query("SELECT DISTINCT host FROM os_series")
    assert hosts == [("node",)]


def test_a_store_that_has_nothing_of_the_application_leaves_nothing(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.executor("h1", "1", 62, None)
    run = place.folder / "nightly"
    words = ("ingest", log_of(place, OTHER), "--agents", place.store)
    done = inside(capsys, *words, "-o", run)
    assert done.code == 2
    assert f"has nothing of {OTHER}" in " ".join(done.stderr.split())
    assert not run.exists()
    done = inside(capsys, *words)
    assert done.code == 2
    assert "needs a folder for it" in " ".join(done.stderr.split())


def test_the_environments_store_makes_no_run_of_an_event_log(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYROMETER_AGENTS", str(place.store))
    out = place.folder / "tables-alone"
    for _ in range(2):
        assert inside(capsys, "ingest", log_of(place), "-o", out).code == 0
    assert [path.name for path in out.iterdir()] == ["tables"]
