"""What agents shipped, read behind S3's own protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.hosts.agent import unpacked
from tests.support.hosts.shipping import APP, OTHER, Place, S, found, probe, times
from tests.support.stores.planned_store import files_below
from tests.support.stores.s3 import SECRET, environment_of, said, served

from pyrometer.store import Run, ingest_run
from pyrometer.store.manifest import read_manifest, write_manifest

ADDRESS = "s3://lab/agents"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("place")
    place = Place(folder, unpacked(tmp_path_factory.mktemp("agent")))
    place.executor("h", "1", 62, probe(times(300, 1500), 62))
    place.service("h", probe(times(0, 2000), 62, 99), [found(APP, "1", 62), found(OTHER, "1", 99)])
    other = place.raw("h")
    (other / "gc-99.log").write_text("not the run's\n" * 1000)
    place.ship(other, OTHER, "1", "h")
    # Not all that is there: what an agent that is gone left, of a time long ago.
    old = place.store / "host" / "host" / f"{place.now_ns - 9 * 24 * 3600 * S:x}" / "h" / "x.log"
    old.mkdir(parents=True)
    for number in range(150):
        (old / f"{number:012}.chunk").write_bytes(b"x")
    return place


@pytest.fixture(scope="module")
def endpoint(place: Place) -> Iterator[str]:
    with served({ADDRESS: place.store}) as address:
        yield address


@pytest.fixture
def run(place: Place, tmp_path: Path) -> Place:
    """The run, of which nothing is here but its event log."""
    return place.unshipped(tmp_path / "at")


@pytest.mark.slow
def test_ingest_takes_what_is_the_runs_and_shows_it_as_of_a_folder(
    place: Place, run: Place, endpoint: str, tmp_path: Path
) -> None:
    env = environment_of(endpoint, tmp_path)
    done = said(env, tmp_path, "ingest", run.paths.root, "--agents", ADDRESS)
    assert done.code == 0, done.stderr
    words = next(line for line in done.stderr.splitlines() if line.startswith("fetched")).split()
    whole = sum(one.stat().st_size for one in files_below(place.store) if one.is_file())
    assert 0 < int(words[1]) < whole
    assert 0 < int(words[3]) < 20
    assert 0 < int(words[8]) < 40
    for file in files_below(tmp_path):
        assert file.is_dir() or SECRET.encode() not in file.read_bytes()
    query = "SELECT * EXCLUDE (t_mono_ns) FROM os_series ORDER BY ALL"
    with Run.open(run.paths.root) as there:
        of_s3 = there.tables.query(query)
    manifest = read_manifest(run.paths.root)
    assert manifest.agents == [ADDRESS]
    manifest.agents = [str(place.store)]
    write_manifest(run.paths.root, manifest)
    ingest_run(run.paths.root)
    with Run.open(run.paths.root) as here:
        assert here.tables.query(query) == of_s3 != []


@pytest.mark.slow
def test_a_store_that_is_away_or_has_nothing_is_one_message(
    run: Place, endpoint: str, tmp_path: Path
) -> None:
    env = environment_of(endpoint, tmp_path)
    away = env | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}
    before = run.paths.manifest.read_bytes()
    done = said(away, tmp_path, "ingest", run.paths.root, "--agents", ADDRESS)
    assert done.code == 2, done.stderr
    assert f"{ADDRESS}: cannot be reached, tried 4 times" in done.stderr
    assert done.stderr.count("error:") == 1
    assert "Traceback" not in done.stderr
    assert run.paths.manifest.read_bytes() == before
    done = said(env, tmp_path, "ingest", run.paths.root, "--agents", "s3://lab/nothing")
    assert done.code == 0, done.stderr
    assert "s3://lab/nothing: no agent that runs as a service ships there" in done.stdout
