"""Disks made of this host's files: everything that is needed, at the same path, and made once."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support import needs

from pyrometer.core.errors import CapabilityError
from pyrometer.guests.cache import staging
from pyrometer.guests.job import inside
from pyrometer.guests.machine import machine_of
from pyrometer.guests.parts import images
from pyrometer.guests.parts.closure import IN_MEMORY, Listing, collect, libraries_here
from pyrometer.guests.parts.images import image_of, key_of
from pyrometer.guests.parts.kernels import Kernel
from pyrometer.guests.parts.nameless import MAKERS, format_as, nameless, require_maker
from pyrometer.guests.parts.programs import python
from pyrometer.orchestrator.guest_files import GuestFiles, further_modules
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.trial import Trial

NOBODY = 65534


@pytest.fixture
def mke2fs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes disks; users have it beside their PATH."""
    monkeypatch.setenv("PATH", f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    needs.tool("mke2fs", "debugfs")


def test_links_are_followed_to_what_they_lead_to(tmp_path: Path) -> None:
    (tmp_path / "jdk/conf").mkdir(parents=True)
    (tmp_path / "etc/java").mkdir(parents=True)
    (tmp_path / "etc/java/security").write_text("x")
    (tmp_path / "jdk/conf/security").symlink_to("../../etc/java/security")
    (tmp_path / "default").symlink_to(tmp_path / "jdk")
    (tmp_path / "jdk/.git").mkdir()
    (tmp_path / "jdk/.git/config").write_text("x")
    found = collect([tmp_path / "default"], {})
    assert found.links[str(tmp_path / "default")] == str(tmp_path / "jdk")
    assert found.links[str(tmp_path / "jdk/conf/security")] == "../../etc/java/security"
    assert list(found.files) == [str(tmp_path / "etc/java/security")]
    assert str(tmp_path / "jdk/.git") not in found.folders


def test_links_in_circles_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "up").symlink_to("..")
    found = collect([tmp_path / "a", tmp_path / "up/up/x"], {})
    assert found.files == {}


def test_what_is_asked_for_and_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nothing")
    found = collect([tmp_path / "none", tmp_path / "dangling"], {})
    assert found.missing == [str(tmp_path / "none")]


def test_a_python_comes_with_its_loader_libraries_and_modules() -> None:
    found = collect(python(sys.executable).roots, libraries_here())
    assert os.path.realpath(sys.executable) in found.files
    names = {os.path.basename(path) for path in found.files}
    assert {"libc.so.6", "os.py"} <= names
    assert any(name.startswith("ld-linux") for name in names)


def test_modules_in_a_relative_folder_are_looked_for_where_we_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "own")
    found = python(sys.executable).path
    assert str(tmp_path / "own") in found
    assert not {"/", "/own", str(tmp_path)} & set(found)


def test_what_lies_on_another_disk_is_left_out(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    base = collect([tmp_path / "a"], {})
    assert list(collect([tmp_path], {}, base).files) == [str(tmp_path / "b")]


@contextlib.contextmanager
def without_roots_rights() -> Iterator[None]:
    """Be another user for a while: root reads everything."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_what_may_not_be_read_is_left_out_and_named() -> None:
    # Not pytest's folder: nobody but its owner may enter that.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "secret").write_text("x")
        (folder / "closed").mkdir()
        (folder / "closed/file").write_text("x")
        for one in ("secret", "closed"):
            (folder / one).chmod(0)
        with without_roots_rights():
            found = collect([folder], {})
        (folder / "closed").chmod(0o700)
    assert found.files == {}
    assert sorted(found.unreadable) == [f"{folder}/closed", f"{folder}/secret"]


def test_files_of_the_kernel_are_those_of_the_machines_kernel(tmp_path: Path) -> None:
    (tmp_path / "mounts").symlink_to("/proc/self/mounts")
    (tmp_path / "null").symlink_to("/dev/null")
    found = collect([tmp_path, "/proc/meminfo", "/sys/kernel", "/dev/shm"], {})
    assert found.files == {}
    assert set(found.links) == {f"{tmp_path}/mounts", f"{tmp_path}/null"}
    assert not [one for one in found.folders if one.startswith(("/proc", "/sys", "/dev"))]
    assert found.missing == []


def test_files_in_memory_are_left_out_and_those_asked_for_are_named(tmp_path: Path) -> None:
    if not os.access(IN_MEMORY, os.W_OK):
        needs.machine_lacks(f"a {IN_MEMORY} that can be written")
    with tempfile.NamedTemporaryFile(dir=IN_MEMORY) as file:
        link = tmp_path / "link"
        link.symlink_to(file.name)
        direct = collect([file.name, f"{IN_MEMORY}none"], {})
        linked, walked = collect([link], {}), collect([tmp_path], {})
    assert direct.in_memory == [file.name]
    assert linked.in_memory == [str(link)]
    assert (walked.in_memory, walked.missing) == ([], [])
    assert direct.files == linked.files == walked.files == {}


def test_compiled_python_makes_no_other_disk(tmp_path: Path) -> None:
    before = key_of(small(tmp_path))
    (tmp_path / "in/__pycache__").mkdir()
    os.utime(tmp_path / "in", (1, 1))
    (tmp_path / "in/__pycache__/x.pyc").write_bytes(b"x")
    listing = collect([tmp_path / "in"], {})
    assert str(tmp_path / "in/__pycache__/x.pyc") in listing.files
    assert key_of(listing) == before


def small(tmp_path: Path) -> Listing:
    (tmp_path / "in/deep").mkdir(parents=True)
    (tmp_path / "in/deep/file").write_bytes(b"content")
    (tmp_path / "in/run").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "in/run").chmod(0o755)
    (tmp_path / "in/link").symlink_to("deep/file")
    return collect([tmp_path / "in"], {})


@pytest.mark.usefixtures("mke2fs")
def test_a_disk_holds_what_was_listed_under_the_same_path(tmp_path: Path) -> None:
    listing = small(tmp_path)
    made = image_of(listing, tmp_path / "cache")

    def debugfs(command: str) -> str:
        return subprocess.run(
            ["debugfs", "-R", command, str(made)], capture_output=True, text=True, check=True
        ).stdout

    assert debugfs(f"cat {tmp_path}/in/deep/file") == "content"
    assert "Mode:  0755" in debugfs(f"stat {tmp_path}/in/run")
    assert 'Fast link dest: "deep/file"' in debugfs(f"stat {tmp_path}/in/link")
    assert [one.name for one in (tmp_path / "cache").iterdir()] == [made.name]
    assert made.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("mke2fs")
def test_a_disk_is_made_once_and_anew_where_a_file_changed(tmp_path: Path) -> None:
    listing = small(tmp_path)
    made = image_of(listing, tmp_path / "cache")
    first = made.stat().st_ino
    assert image_of(collect([tmp_path / "in"], {}), tmp_path / "cache").stat().st_ino == first
    (tmp_path / "in/deep/file").write_bytes(b"other content")
    changed = collect([tmp_path / "in"], {})
    assert key_of(changed) != key_of(listing)
    assert image_of(changed, tmp_path / "cache") != made


@pytest.mark.usefixtures("mke2fs")
def test_disks_that_were_not_used_for_longest_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "KEPT", 2)
    (tmp_path / "in").mkdir()
    made = []
    for number in range(3):
        (tmp_path / "in/file").write_text("x" * number)
        made.append(image_of(collect([tmp_path / "in"], {}), tmp_path / "cache"))
        os.utime(made[-1], (number, number))
    assert [one.exists() for one in made] == [False, True, True]


def test_what_a_killed_process_left_is_removed_and_what_another_makes_is_not(
    tmp_path: Path,
) -> None:
    left = tmp_path / ".making-left"
    (left / "stage").mkdir(parents=True)
    with staging(tmp_path) as first:
        (first / "file").write_text("x")
        assert not left.exists()
        with staging(tmp_path) as second:
            assert (first / "file").read_text() == "x"
            assert second != first
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "at", "magic"),
    [("ext4", 1080, b"\x53\xef"), ("xfs", 0, b"XFSB"), ("btrfs", 65600, b"_BHRfS_M")],
)
def test_a_file_without_a_name_is_given_a_file_system(
    kind: str, at: int, magic: bytes, mke2fs: None, tmp_path: Path
) -> None:
    needs.tool(MAKERS[kind].command[0])
    descriptor = nameless(tmp_path, 1 << 30)
    try:
        format_as(kind, descriptor)
        assert os.pread(descriptor, len(magic), at) == magic
    finally:
        os.close(descriptor)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("asked", "journal"), [(None, False), ("ext4", True)])
def test_ext4_has_a_journal_where_it_is_asked_for_by_name(
    asked: str | None, journal: bool, mke2fs: None, tmp_path: Path
) -> None:
    needs.tool("mke2fs")
    kernel = Kernel("6.1", tmp_path / "vmlinuz", tmp_path, "here")
    with GuestFiles(kernel, {}, b"", 0, tmp_path, asked).opened(tmp_path / "log") as disks:
        # s_feature_compat, COMPAT_HAS_JOURNAL: filesystems/ext4/super of the kernel's manual.
        features = int.from_bytes(os.pread(disks.descriptors[1], 4, 1024 + 0x5C), "little")
    assert bool(features & 4) == journal


def test_levels_say_which_modules_a_machine_needs() -> None:
    def needed(*levels: str) -> list[str]:
        treatment = parse_treatment(levels)
        machine = machine_of(treatment, 1)
        assert machine is not None
        return further_modules(
            machine, [inside(Trial(command=("true",), treatment=treatment), Path("/r"))]
        )

    assert needed("machine.memory=1g") == []
    assert needed("machine.filesystem=btrfs", "os.io_scheduler=kyber") == ["btrfs", "kyber_iosched"]


def test_a_file_system_that_cannot_be_made_here_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(MAKERS, "xfs", replace(MAKERS["xfs"], command=("mkfs.none",)))
    descriptor = nameless(tmp_path, 1 << 20)
    try:
        for attempt in (lambda: require_maker("xfs"), lambda: format_as("xfs", descriptor)):
            with pytest.raises(CapabilityError, match=r"mkfs\.none, which makes disks") as caught:
                attempt()
            assert caught.value.remedy == "sudo apt-get install xfsprogs"
    finally:
        os.close(descriptor)


def test_where_files_need_a_name_the_cache_is_to_be_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(CapabilityError, match="no files without a name") as caught:
        nameless(tmp_path / "none")
    assert "PYROMETER_CACHE" in (caught.value.remedy or "")


def test_a_cache_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with (
        pytest.raises(CapabilityError, match="cannot be written") as caught,
        staging(tmp_path / "cache"),
    ):
        pass
    assert "PYROMETER_CACHE" in (caught.value.remedy or "")
