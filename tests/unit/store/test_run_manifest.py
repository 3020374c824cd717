"""The manifest: written whole or not at all, read with care."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyrometer.core.errors import UsageError
from pyrometer.core.installation import upgrade
from pyrometer.store.launcher import Launcher, this_launcher
from pyrometer.store.manifest import (
    Host,
    Manifest,
    Workload,
    clock_pair,
    read_manifest,
    write_manifest,
)


def manifest(**more: object) -> Manifest:
    return Manifest.model_validate(
        {
            "run_id": "r",
            "created_wall_ns": 1,
            "pyrometer_version": "0",
            "workload": Workload(name="w"),
            "profile": "light",
            "host": Host(hostname="h"),
            "launcher": this_launcher(),
            **more,
        }
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    made = manifest(state="finished", treatment={"jvm.heap": 1 << 30}, clock_pairs=[clock_pair()])
    write_manifest(tmp_path, made)
    assert read_manifest(tmp_path) == made
    assert json.loads((tmp_path / "manifest.json").read_text())["schema"] == "pyrometer/manifest/1"
    assert os.listdir(tmp_path) == ["manifest.json"]


def test_what_is_not_utf8_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = manifest(state="finished", workload=Workload(command=["cat", "caf\udce9", "é"]))
    write_manifest(tmp_path, made)
    assert read_manifest(tmp_path) == made
    (tmp_path / "manifest.json").read_text("utf-8")


def test_a_run_that_goes_on_is_running(tmp_path: Path) -> None:
    write_manifest(tmp_path, manifest())
    assert read_manifest(tmp_path).state == "running"


@pytest.mark.parametrize(
    "keeper",
    [
        None,
        Launcher(pid=2**22 + 1, start_ticks=1, boot_id=this_launcher().boot_id),
        # The same pid, but a later process that took the number over.
        this_launcher().model_copy(update={"start_ticks": 1}),
        this_launcher().model_copy(update={"boot_id": "another"}),
    ],
)
def test_a_run_whose_keeper_is_gone_is_interrupted(tmp_path: Path, keeper: Launcher) -> None:
    write_manifest(tmp_path, manifest(launcher=keeper))
    found = read_manifest(tmp_path)
    assert found.state == "interrupted"
    assert [doubt.code for doubt in found.doubts] == ["run_interrupted"]
    assert found.exit.code is None


def test_the_end_of_an_application_is_known_if_it_was_seen(tmp_path: Path) -> None:
    write_manifest(tmp_path, manifest(launcher=None))
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "exit.json").write_text('{"code": 7, "signal": null, "end_mono_ns": 5}')
    found = read_manifest(tmp_path)
    assert (found.exit.code, found.ended_mono_ns) == (7, 5)


def test_a_newer_manifest_is_refused(tmp_path: Path) -> None:
    text = manifest().model_dump(mode="json", by_alias=True) | {"schema_version": 2}
    (tmp_path / "manifest.json").write_text(json.dumps(text))
    with pytest.raises(UsageError, match="version 2") as caught:
        read_manifest(tmp_path)
    assert upgrade() in str(caught.value.remedy)


def test_unknown_fields_survive_rewriting(tmp_path: Path) -> None:
    text = manifest(state="finished").model_dump(mode="json", by_alias=True) | {"later": {"x": 1}}
    (tmp_path / "manifest.json").write_text(json.dumps(text))
    write_manifest(tmp_path, read_manifest(tmp_path))
    assert json.loads((tmp_path / "manifest.json").read_text())["later"] == {"x": 1}


def test_no_run_directory_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a run directory"):
        read_manifest(tmp_path)


WHOLE = manifest().model_dump_json(by_alias=True).encode()


@settings(max_examples=200)
@given(st.integers(0, len(WHOLE)), st.binary(max_size=8))
@example(cut=0, noise=b"0")
@example(cut=0, noise=b"{}")
def test_a_damaged_manifest_is_an_error_that_says_so(
    tmp_path_factory: pytest.TempPathFactory, cut: int, noise: bytes
) -> None:
    folder = tmp_path_factory.mktemp("m")
    (folder / "manifest.json").write_bytes(WHOLE[:cut] + noise)
    refused = None
    try:
        read_manifest(folder)
    except UsageError as error:
        refused = error
    assert refused is None or ("manifest.json" in refused.message and refused.remedy)


def test_a_full_disk_leaves_the_former_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_manifest(tmp_path, manifest(state="finished"))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_manifest(tmp_path, manifest(state="failed"))
    assert read_manifest(tmp_path).state == "finished"
    assert os.listdir(tmp_path) == ["manifest.json"]
