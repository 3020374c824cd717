"""Where executors are told to ship to, and how long a run waits for them."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.stores.planned_store import Store, own_cache, use

from pyrometer.collect.launch import shipping
from pyrometer.collect.launch.driver_elsewhere import DriverElsewhere
from pyrometer.collect.launch.environment import keys_here, ship_keys
from pyrometer.collect.launch.launch import Launch
from pyrometer.collect.launch.record import Record
from pyrometer.collect.launch.treatment import Applied
from pyrometer.collect.probes.base import Needs
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.store.manifest import Host, Manifest, Sender, Shipped, Workload
from pyrometer.store.paths import RunPaths
from pyrometer.store.shipped import join_shipped

FIXTURE = Path(__file__).parents[2] / "fixtures" / "chunks"
PATHS = RunPaths(Path("/runs/one"))
PLUGIN = Needs(agent={"plugin": "on"})
APPLIED = Applied((), (), (), {}, {})


def test_executors_of_a_cluster_ship_into_the_run() -> None:
    assert ship_keys(PLUGIN, PATHS, {}, {}, False) == {"ship.cluster.to": "/runs/one/raw/chunks"}
    assert ship_keys(PLUGIN, PATHS, {}, {}, True) == {}, "our own cluster is on this machine"
    assert ship_keys(Needs(agent={"plugin": "off"}), PATHS, {}, {}, False) == {}


@pytest.mark.parametrize("place", ["/mnt/shared", "file:///mnt/shared", "s3://bucket/prefix"])
def test_the_user_says_where_to(place: str) -> None:
    asked = {"PYROMETER_SHIP_TO": place}
    for ours in (True, False):
        assert ship_keys(PLUGIN, PATHS, asked, {}, ours) == {"ship.to": place}


def test_a_place_that_each_host_would_look_for_elsewhere_is_refused() -> None:
    with pytest.raises(UsageError, match="PYROMETER_SHIP_TO=chunks: "):
        ship_keys(PLUGIN, PATHS, {"PYROMETER_SHIP_TO": "chunks"}, {}, False)
    with pytest.raises(UsageError, match=r"spark\.pyrometer\.ship\.to=chunks: "):
        ship_keys(PLUGIN, PATHS, {}, {"spark.pyrometer.ship.to": "chunks"}, False)


@pytest.mark.parametrize(
    "place", ["hdfs://n/x", "viewfs://c/x", "s3a://b/x", "s3://b/x", "abfss://c@a/x", "gs://b/x"]
)
def test_what_hadoop_writes_to_is_left_to_it(place: str) -> None:
    yarn = {"spark.master": "yarn"}
    keys, doubts = keys_here(PLUGIN, APPLIED, PATHS, {"PYROMETER_SHIP_TO": place}, yarn, False)
    assert (keys["ship.to"], doubts) == (place, [])


@pytest.mark.parametrize("place", ["https://host/x", "nonsense://x"])
def test_a_store_that_nothing_writes_to_is_refused_before_the_start(place: str) -> None:
    yarn, setting = {"spark.master": "yarn"}, {"spark.pyrometer.ship.to": place}
    asked = {"PYROMETER_SHIP_TO": place}
    scheme = place.partition(":")[0]
    for env, settings, name in (
        (asked, yarn, "PYROMETER_SHIP_TO"),
        ({}, {**yarn, **setting}, "spark.pyrometer.ship.to"),
        (asked, {"spark.master": "local-cluster[2,1,1024]"}, "PYROMETER_SHIP_TO"),
    ):
        with pytest.raises(UsageError, match=f"that writes to {scheme}:// is known") as refused:
            keys_here(PLUGIN, APPLIED, PATHS, env, settings, False)
        remedy = refused.value.remedy or ""
        assert f"--conf spark.hadoop.fs.{scheme}.impl=CLASS" in remedy
        assert f"{name}=/mnt/shared" in remedy
        assert f"leave {name} out" in remedy
    own = {**yarn, f"spark.hadoop.fs.{scheme}.impl": "org.example.Store"}
    for fine in (
        {"spark.master": "local[2]"},
        {**yarn, "spark.pyrometer.ship.to": "/mnt/shared"},
        own,
    ):
        keys, doubts = keys_here(PLUGIN, APPLIED, PATHS, asked, fine, False)
        assert (keys["ship.to"], doubts) == (place, [])
    # A driver elsewhere decides that by the plugin that it is given.
    assert keys_here(PLUGIN, APPLIED, PATHS, asked, yarn, False, shipless=True)[1] == []
    off = Needs(agent={"plugin": "off"})
    assert "ship.to" not in keys_here(off, APPLIED, PATHS, asked, yarn, False)[0]


def test_a_store_that_nothing_writes_to_is_doubted_where_the_program_may_be_local() -> None:
    place = "nonsense://bucket/prefix"
    for env, said in (({"PYROMETER_SHIP_TO": place}, {}), ({}, {"spark.pyrometer.ship.to": place})):
        _, (doubt,) = keys_here(PLUGIN, APPLIED, PATHS, env, said, False)
        assert doubt.code == "ship_store_unwritable"
        assert doubt.message.startswith("No master is named: if the program sets one other than")
        assert f"cannot ship to {place}: no file system of Hadoop's that writes" in doubt.message
        assert "leave the store out" in doubt.remedy


@pytest.fixture
def record(tmp_path: Path) -> Record:
    paths = RunPaths(tmp_path / "run")
    paths.raw.mkdir(parents=True)
    manifest = Manifest(
        run_id="r", created_wall_ns=1, pyrometer_version="0", workload=Workload(),
        profile="light", host=Host(hostname="h"),
    )  # fmt: skip
    return Record(paths, manifest)


def driver(record: Record, to: str | None) -> None:
    """What the plugin of a driver says of itself."""
    said = {"k": "process", "role": "driver", "pid": 7, "app_id": "app-1", "ship_to": to}
    line = json.dumps(said, separators=(",", ":"))
    (record.paths.raw / "plugin-driver-driver-7.ndjson").write_text(f"{line}\n")


def glances(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Have waiting take no time, and count it. Other threads of the tests go on sleeping."""
    waited: list[float] = []
    clock = SimpleNamespace(**{**vars(time), "sleep": waited.append})
    monkeypatch.setattr("pyrometer.collect.launch.shipping.time", clock)
    return waited


def test_the_last_chunks_are_waited_for_within_bounds(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    shutil.copytree(FIXTURE, store)
    driver(record, f"file://{store}")
    waited = glances(monkeypatch)
    shipping.take(record, clock=iter(count(0.0, 1.0)).__next__)
    assert waited == [], "all streams have ended"
    assert record.manifest.shipped == [Shipped(app_id="app-1", to=f"file://{store}")]
    assert record.paths.gc_logs()[0].read_text().startswith("line 0\n")

    (last,) = store.glob("app-1/1/*/h/gc-7.log/*2.chunk")
    last.write_bytes(last.read_bytes().replace(b'"last":true', b'"last":null'))
    shipping.take(record, clock=iter(count(0.0, 1.0)).__next__)
    assert 8 <= len(waited) <= 10, "its end never came"


@pytest.mark.parametrize(("failed", "looks"), [(True, range(1, 4)), (False, range(8, 12))])
def test_a_driver_elsewhere_is_not_looked_for_long_where_nothing_was_started(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: bool, looks: range
) -> None:
    waited = glances(monkeypatch)
    there = DriverElsewhere(str(tmp_path), "one")
    shipping.take(record, there, failed=failed, clock=iter(count(0.0, 1.0)).__next__)
    assert len(waited) in looks
    (doubt,) = record.manifest.doubts
    assert doubt.code == "driver_unreachable"
    assert str(tmp_path) in doubt.message


def test_a_run_knows_where_its_driver_elsewhere_ships_to(record: Record) -> None:
    there = DriverElsewhere("/mnt/shared", "one")
    shipping.prepare(Launch(argv=("x",), env={}, agent={}, kind="submit", driver=there), record)
    assert record.manifest.driver == Sender(to="/mnt/shared", run_id="one")


def test_what_a_driver_ships_into_the_run_has_a_folder_after_it(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    glances(monkeypatch)
    record.paths.chunks.mkdir()
    there = DriverElsewhere(str(record.paths.chunks), "one")
    shipping.take(record, there, failed=True, clock=iter(count(0.0, 1.0)).__next__)
    assert record.paths.chunks.is_dir()


def test_a_run_whose_executors_ship_nothing_has_no_folder_for_it(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = glances(monkeypatch)
    launch = Launch(argv=("x",), env={}, agent={"ship.cluster.to": "/r"}, kind="submit")
    shipping.prepare(launch, record)
    assert record.paths.chunks.is_dir()
    driver(record, None)
    shipping.take(record)
    assert not record.paths.chunks.exists()
    assert (record.manifest.shipped, waited) == ([], [])


@pytest.mark.parametrize("to", [None, "s3://bucket/prefix"])
def test_a_store_is_doubted_only_until_the_driver_turns_out_to_be_local(
    record: Record, monkeypatch: pytest.MonkeyPatch, to: str | None
) -> None:
    glances(monkeypatch)
    record.doubt("ship_store_unwritable", "No master is named.")
    driver(record, to)
    shipping.take(record)
    assert [one.code for one in record.manifest.doubts].count("ship_store_unwritable") == bool(to)


def gone(folder: Path) -> OSError:
    return OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(folder))


def test_a_store_that_goes_away_ends_no_run(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def join(*_: object) -> None:
        raise gone(tmp_path)

    monkeypatch.setattr("pyrometer.collect.launch.shipping.join_shipped", join)
    driver(record, str(tmp_path))
    shipping.take(record)
    (doubt,) = record.manifest.doubts
    assert doubt.code == "chunks_unjoined"
    assert "Stale file handle" in doubt.message


def shut(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nobody look into a folder, as root may look into any."""

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any = ".", *more: Any, **named: Any) -> Any:
            if str(path).startswith(f"{folder}/"):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return real(path, *more, **named)

        return call

    for name in ("stat", "scandir"):
        monkeypatch.setattr(os, name, guarded(getattr(os, name)))


def test_a_folder_of_somebody_else_hides_only_what_is_in_it(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    (store / "lost+found").mkdir(parents=True)
    shut(store / "lost+found", monkeypatch)
    glances(monkeypatch)
    there = DriverElsewhere(str(store), "one")
    shipping.take(record, there, clock=iter(count(0.0, 1.0)).__next__)
    (doubt,) = record.manifest.doubts
    assert doubt.code == "driver_unreachable"
    assert doubt.message.endswith("lost+found/driver: Permission denied.")


def test_services_that_nobody_may_look_for_are_silent(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store" / "host").mkdir(parents=True)
    driver(record, None)
    record.manifest.agents = [str(tmp_path / "store")]
    record.save()
    shut(tmp_path / "store" / "host", monkeypatch)
    doubts = join_shipped(record.paths, time.time_ns())
    (said,) = [one.message for one in doubts if one.code == "agents_silent"]
    assert said.endswith("store/host/host: Permission denied.")


@pytest.mark.parametrize("whose", ["executors", "services"])
def test_what_cannot_be_waited_for_keeps_nothing_else_from_the_run(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    store = tmp_path / "store"
    shutil.copytree(FIXTURE, store)
    driver(record, f"file://{store}")
    waited = glances(monkeypatch)

    class Gone:
        def has_reached(self, wall_ns: int) -> bool:
            raise gone(tmp_path)

    def fail(_: Path) -> tuple[int, int]:
        raise gone(tmp_path)

    if whose == "executors":
        monkeypatch.setattr("pyrometer.collect.launch.shipping.open_streams", fail)
    else:
        monkeypatch.setattr("pyrometer.collect.launch.shipping.services_of", lambda *_: [Gone()])
    shipping.take(record, clock=iter(count(0.0, 1.0)).__next__)
    assert waited == []
    assert record.paths.gc_logs()[0].read_text().startswith("line 0\n")


def test_an_object_store_is_not_waited_for(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = glances(monkeypatch)
    driver(record, "s3://bucket/prefix")
    shipping.take(record)
    assert waited == []
    assert record.manifest.shipped[0].to == "s3://bucket/prefix"


def test_a_store_at_an_address_is_waited_for_and_fetched(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_cache(tmp_path, monkeypatch)
    store = use(Store())
    store.copy(FIXTURE, "bucket/agents")
    driver(record, "planned://bucket/agents")
    waited = glances(monkeypatch)
    shipping.take(record, clock=iter(count(0.0, 1.0)).__next__)
    assert waited == [], "all streams have ended"
    assert record.paths.gc_logs()[0].read_text().startswith("line 0\n")

    (last,) = (key for key in store.objects if key.endswith("gc-7.log/000000000002.chunk"))
    store.objects[last] = store.objects[last].replace(b'"last":true', b'"last":null')
    shipping.take(record, clock=iter(count(0.0, 1.0)).__next__)
    assert 8 <= len(waited) <= 10, "its end never came"
    assert set(waited) == {2.0}, "each look is many requests"


def test_a_store_at_an_address_that_is_away_is_not_waited_for(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_cache(tmp_path, monkeypatch)
    store = use(Store(failures=[OSError("no route to host")] * 99))
    driver(record, "planned://bucket/agents")
    record.manifest.agents = ["planned://bucket/agents"]
    waited = glances(monkeypatch)
    shipping.take(record, clock=iter(count(0.0, 1.0)).__next__)
    assert waited == []
    assert len(store.asked) == 3, "what joins and looks for services asks no more"


@pytest.mark.parametrize("name", ["PYROMETER_SHIP_TO", "PYROMETER_AGENTS"])
def test_addresses_with_credentials_are_refused_before_anything_is_launched(name: str) -> None:
    for place in ("s3://key:secret@bucket/x", "s3://bucket/x?X-Amz-Signature=secret"):
        with pytest.raises(UsageError, match="credentials do not belong") as refused:
            ship_keys(PLUGIN, PATHS, {name: place}, {}, False)
        assert "secret" not in str(refused.value)
        with pytest.raises(UsageError, match="credentials do not belong"):
            ship_keys(PLUGIN, PATHS, {}, {"spark.pyrometer.ship.to": place}, False)


def test_what_reads_the_store_of_agents_is_missing_before_anything_is_launched() -> None:
    with pytest.raises(CapabilityError, match="no package that reads s3://") as missing:
        ship_keys(PLUGIN, PATHS, {"PYROMETER_AGENTS": "s3://bucket/x"}, {}, False)
    assert missing.value.remedy == f"{sys.executable} -m pip install s3fs"


def test_where_services_ship_to_is_kept_and_waited_for(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="PYROMETER_AGENTS=agents: "):
        ship_keys(PLUGIN, PATHS, {"PYROMETER_AGENTS": "agents"}, {}, False)
    env = {"PYROMETER_AGENTS": str(tmp_path / "services")}
    launch = Launch(argv=("x",), env=env, agent={}, kind="submit")
    shipping.prepare(launch, record)
    assert record.manifest.agents == [str(tmp_path / "services")]
    record.manifest.agents = ["/elsewhere"]
    shipping.prepare(launch, record)
    assert record.manifest.agents == ["/elsewhere"], "what was asked for on the command line wins"

    waited = glances(monkeypatch)
    behind = iter([False, False, True])

    class Seen:
        def has_reached(self, wall_ns: int) -> bool:
            assert wall_ns > 1_700_000_000 * 10**9
            return next(behind)

    monkeypatch.setattr("pyrometer.collect.launch.shipping.services_of", lambda *_: [Seen()])
    driver(record, None)
    shipping.take(record)
    assert len(waited) == 2, "its last chunk came with the third look"
