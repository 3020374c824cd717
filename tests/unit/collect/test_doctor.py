"""What doctor says of a Java, of perf events, and of checks that fail."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from tests.support import experiments
from tests.support.cli import nobody_reads

from pyrometer.cli.begin.doctor import show
from pyrometer.cli.main import run_verb
from pyrometer.collect.doctor import examine, finding
from pyrometer.collect.doctor.finding import Finding, attempted
from pyrometer.collect.doctor.java import JVM_PROBES, find_java, jvm_probes
from pyrometer.collect.doctor.kernel import perf_remedy
from pyrometer.collect.doctor.machines import machines
from pyrometer.collect.host import card
from pyrometer.collect.host.room import room
from pyrometer.guests.parts import kernels

PROBE = Finding("os", "T0", True, "")
NAMES = {17: 'openjdk version "17.0.15" 2025-04-15', 11: 'openjdk version "11.0.2"',
         8: 'java version "1.8.0_392"'}  # fmt: skip


def make_java(home: Path, said: str, modules: str | None = None) -> dict[str, str]:
    """Make a Java that says something, whatever it is asked; give the environment that names it."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\n")
    java.chmod(0o755)
    if modules is not None:
        (home / "release").write_text(f'JAVA_VERSION="17.0.1"\nMODULES="{modules}"\n')
    return {"JAVA_HOME": str(home)}


@pytest.mark.parametrize(
    ("version", "works", "said"),
    [(8, False, "Pyrometer needs 11 or newer"), (11, True, "Spark 4 needs 17"), (17, True, "2025")],
)
def test_a_java_is_judged_by_what_pyrometer_needs(
    tmp_path: Path, version: int, works: bool, said: str
) -> None:
    _, found = find_java(make_java(tmp_path, NAMES[version]))
    assert (found.tier, found.available) == (str(version), works)
    assert found.reason.startswith(f"{tmp_path}/bin/java: {NAMES[version]}")
    assert said in found.reason
    assert ("Spark 4 needs 17" in found.reason) == (version == 11)


def test_an_old_java_is_too_old_and_nothing_is_tried_with_it(tmp_path: Path) -> None:
    java, old = find_java(make_java(tmp_path, NAMES[8]))
    rows = [PROBE, old, *jvm_probes(java)]
    assert {row.name for row in rows[2:]} == set(JVM_PROBES)
    assert all("openjdk-17" in str(row.remedy) for row in rows[1:])
    assert examine.verdict(rows) == "no run is possible: Java 8 is too old"
    rows.append(Finding("package.native", None, False, ""))
    assert examine.verdict(rows).endswith("Java 8 is too old; package.native is missing")


def test_a_java_linked_without_what_the_agent_needs_is_told(tmp_path: Path) -> None:
    java, found = find_java(make_java(tmp_path, NAMES[17], "java.base java.logging"))
    assert found.available
    for row in jvm_probes(java):
        assert "was linked without java.instrument" in row.reason
        assert "openjdk-17" in str(row.remedy)


def test_options_that_a_jvm_repeats_are_neither_version_nor_error(tmp_path: Path) -> None:
    repeated = "Picked up JAVA_TOOL_OPTIONS: -Djavax.net.ssl.keyStorePassword=plum9"
    _, found = find_java(make_java(tmp_path / "a", f"{repeated}\n{NAMES[17]}"))
    assert found.reason == f"{tmp_path}/a/bin/java: {NAMES[17]}"
    error = "Error: Could not find or load main class x"
    said = f"{repeated}\nNOTE: Picked up JDK_JAVA_OPTIONS: x\n{error}"
    _, found = find_java(make_java(tmp_path / "b", said))
    assert found.reason == f"{tmp_path}/b/bin/java: {error}"


def test_no_secret_is_in_the_table() -> None:
    console = Console(file=io.StringIO(), width=200)
    rows = [
        Finding("java", "17", True, "-Djavax.net.ssl.keyStorePassword=plum1"),
        Finding("spark", None, False, "none", "pyrometer run --set spark.x.password=plum2"),
    ]
    show(rows, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "keyStorePassword" in text
    assert "plum" not in text


@pytest.mark.parametrize(
    ("level", "user", "said"),
    [(2, 1000, "sysctl"), (None, 1000, "sysctl"), (1, 1000, "PERFMON"), (4, 0, "PERFMON")],
)
def test_perf_events_are_a_right_of_the_container_where_the_setting_would_allow_them(
    level: int | None, user: int, said: str
) -> None:
    assert said in perf_remedy(level, user)


def test_a_check_that_fails_is_a_finding_and_the_others_stand() -> None:
    def check() -> Iterator[Finding]:
        yield Finding("a", None, True, "works")
        raise OSError(28, "No space left on device")

    first, second = attempted(("a", "b"), check)
    assert first.available
    assert (second.name, second.available) == ("b", False)
    assert "No space left on device" in second.reason
    assert "TMPDIR" in str(second.remedy)


def test_a_jvm_that_gives_no_answer_costs_its_rows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_java(tmp_path, NAMES[17])
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(finding, "BRIEFLY_S", 0.2)
    rows = list(jvm_probes(str(java)))
    assert [row.name for row in rows] == list(JVM_PROBES)
    assert {row.available for row in rows} == {False}
    assert all("gave no answer within" in row.reason for row in rows)


def test_where_nothing_can_be_put_down_for_a_while_other_rows_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    rows = {row.name: row for row in examine.examine(tmp_path, {"PATH": ""})}
    assert rows["python"].reason.startswith("the check failed: ")
    assert rows["run_directory"].available


def test_the_card_is_kept_also_where_nobody_reads_what_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[object] = []
    made = SimpleNamespace(model_dump=lambda **_: {})
    monkeypatch.setattr(card, "measure", lambda say: made)
    monkeypatch.setattr(card, "keep", kept.append)
    monkeypatch.setattr("pyrometer.cli.begin.doctor.show_card", lambda *_: None)
    monkeypatch.setattr(examine, "examine", lambda *_: [PROBE])
    with nobody_reads():
        run_verb(["doctor", "--card"])
    assert kept == [made]


@pytest.mark.parametrize(
    ("known", "free_bytes", "available", "said"),
    [
        ("*", 8 << 30, True, "kernel linux-image-cloud-amd64=1"),
        ("none", 8 << 30, False, "machine.kernel=linux-image-cloud-amd64: No packages found"),
        ("*", 1 << 30, False, "a virtual machine with 2.00 GiB of memory"),
    ],
)
def test_machines_are_possible_where_one_could_boot(
    known: str, free_bytes: int, available: bool, said: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    experiments.makers_of_machines(tmp_path / "bin")
    experiments.knows_packages(tmp_path / "bin", known=known)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYROMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernels, "known", partial(kernels.known, boot=tmp_path / "boot"))
    free = replace(room(), free_bytes=free_bytes)
    monkeypatch.setattr("pyrometer.collect.doctor.machines.room", lambda: free)
    found = machines()
    assert (found.available, said in found.reason) == (available, True)
    assert found.remedy or available
    # Of use for one level alone: without it machines are possible.
    assert ("is missing (sudo apt-get install nbdkit)" in found.reason) == available
    shutil.copy(tmp_path / "bin" / "busybox", tmp_path / "bin" / "nbdkit")
    assert "nbdkit" not in machines().reason
