from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyrometer.core.errors import CapabilityError
from pyrometer.workloads import data_cache as cache_module
from pyrometer.workloads.data_cache import MANIFEST, DataCache, default_root

RECIPE = {"generator": "thing/1", "rows": 3}


def build(folder, progress):
    (folder / "table").mkdir()
    (folder / "table" / "a.bin").write_bytes(b"abc")
    return {"rows": 3}


def never(folder, progress):
    raise AssertionError("must not be built")


def ensure(cache, builder=build, needed=10):
    return cache.ensure("thing", RECIPE, builder, bytes_needed=needed)


def test_dataset_is_made_once_and_described(tmp_path):
    cache = DataCache(tmp_path)
    made = ensure(cache)
    assert [(f.path, f.bytes) for f in made.files] == [("table/a.bin", 3)]
    assert made.files[0].sha256.startswith("ba7816bf")
    assert made.bytes == 3
    assert made.facts == {"rows": 3}
    assert ensure(cache, never) == made
    assert DataCache(tmp_path, verify=True).find("thing", RECIPE) == made


def test_another_recipe_is_another_dataset(tmp_path):
    cache = DataCache(tmp_path)
    assert cache.path_of("thing", RECIPE) != cache.path_of("thing", {**RECIPE, "rows": 4})


def test_damage_by_size_is_seen_at_once_and_by_content_on_demand(tmp_path):
    cache = DataCache(tmp_path)
    path = Path(ensure(cache).root) / "table" / "a.bin"
    path.write_bytes(b"abd")
    assert cache.find("thing", RECIPE) is not None
    assert DataCache(tmp_path, verify=True).find("thing", RECIPE) is None
    path.write_bytes(b"ab")
    assert cache.find("thing", RECIPE) is None
    ensure(cache)
    assert path.read_bytes() == b"abc"


def test_failure_leaves_nothing(tmp_path):
    def fail(folder, progress):
        (folder / "half").write_bytes(b"x")
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        ensure(DataCache(tmp_path), fail)
    assert list((tmp_path / "data").iterdir()) == []


def test_too_little_room_is_said_before_anything_is_written(tmp_path):
    with pytest.raises(CapabilityError) as caught:
        ensure(DataCache(tmp_path), never, needed=10**18)
    assert "needs about 888 PiB" in caught.value.message
    assert "PYROMETER_CACHE" in caught.value.remedy
    assert not (tmp_path / "data").exists()


def test_a_cache_that_cannot_be_a_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CapabilityError, match="cannot be written below"):
        ensure(DataCache(tmp_path / "file"))


def test_full_disk_while_building_is_a_clear_error(tmp_path):
    def full(folder, progress):
        raise OSError(28, "No space left on device")

    with pytest.raises(CapabilityError, match="No space left on device"):
        ensure(DataCache(tmp_path), full)
    assert list((tmp_path / "data").iterdir()) == []


def _race(root, log):
    def slow(folder, progress):
        with open(log, "a") as out:
            out.write("built\n")
        time.sleep(0.3)
        return build(folder, progress)

    ensure(DataCache(root), slow)


def test_two_processes_build_once(tmp_path):
    context = multiprocessing.get_context("fork")
    log = tmp_path / "log"
    both = [context.Process(target=_race, args=(tmp_path / "c", log)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(30)
    assert [process.exitcode for process in both] == [0, 0]
    assert log.read_text() == "built\n"


def test_what_a_killed_process_left_is_removed(tmp_path):
    code = f"""
import sys, time
from pyrometer.workloads.data_cache import DataCache
def build(folder, progress):
    (folder / "half").write_bytes(b"x" * 100)
    print("writing", flush=True)
    time.sleep(60)
DataCache({str(tmp_path)!r}).ensure("thing", {RECIPE!r}, build, bytes_needed=1)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "writing\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    cache = DataCache(tmp_path)
    assert [p.name for p in (tmp_path / "data").iterdir()] == [
        f".{cache.path_of('thing', RECIPE).name}.partial"
    ]
    made = ensure(cache)
    assert [p.name for p in (tmp_path / "data").iterdir()] == [Path(made.root).name]


def test_manifest_of_an_unknown_version_is_not_trusted(tmp_path):
    cache = DataCache(tmp_path)
    manifest = Path(ensure(cache).root) / MANIFEST
    value = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**value, "schema": "pyrometer/dataset/2"}))
    assert cache.find("thing", RECIPE) is None


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PYROMETER_CACHE": "/a/b", "XDG_CACHE_HOME": "/x"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/pyrometer"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/u/.cache/pyrometer"),
        ({}, "/home/u/.cache/pyrometer"),
    ],
)
def test_where_the_cache_is(monkeypatch, environment, expected):
    for name in ("PYROMETER_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/u", **environment}.items():
        monkeypatch.setenv(name, value)
    assert str(default_root()) == expected


def test_progress_names_the_wait_for_another_process(tmp_path, monkeypatch):
    calls = []

    def flock(handle, flags):
        calls.append(flags)
        if len(calls) == 1:
            raise BlockingIOError

    monkeypatch.setattr(cache_module.fcntl, "flock", flock)
    told = []
    DataCache(tmp_path).ensure(
        "thing", RECIPE, build, bytes_needed=1, progress=lambda *report: told.append(report)
    )
    assert told[0] == ("waiting for another process that makes this data", 0, 0)
