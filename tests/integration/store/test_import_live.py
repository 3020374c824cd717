"""Profiles between us and real tools: the JDK's own recorder writes, Go's pprof reads."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.integration.store.test_jfr_live import JAVAS, burn
from tests.support import needs
from tests.support.exported import read_exported
from tests.support.java.installed import NO_JAVA

from pyrometer.export import export_profile
from pyrometer.store import Run
from pyrometer.store.imported import import_profiles

FIXTURE = Path(__file__).parents[2] / "fixtures" / "jfr" / "profile-burn-20632.jfr"


@pytest.mark.slow
@pytest.mark.parametrize("java", JAVAS or NO_JAVA, ids=lambda path: path.parts[-3])
def test_a_recording_of_the_jdk_has_its_hot_method_on_top(java: Path, tmp_path: Path) -> None:
    # A number at the end of the name is not the process.
    recording = tmp_path / "mine-1.jfr"
    burn(java, f"-XX:StartFlightRecording=settings=profile,filename={recording}")
    import_profiles([recording], tmp_path / "run")
    with Run.open(tmp_path / "run") as run:
        (pid,) = {row[0] for row in run.tables.query("SELECT DISTINCT pid FROM samples")}
        events = {row[0] for row in run.tables.query("SELECT DISTINCT event FROM samples")}
    assert pid > 1
    # Whether threads meet at the lock depends on how busy the machine is.
    assert {"cpu", "alloc"} <= events
    export_profile(tmp_path / "run", "folded", tmp_path / "cpu.folded", "cpu")
    stacks = read_exported(tmp_path / "cpu.folded", "folded")
    total: Counter[str] = Counter()
    for path, weight in stacks.items():
        for name in set(path):
            total[name] += weight
    burning = [name for name in total if name in ("Burn.spinAlpha", "Burn.spinBeta")]
    assert sum(total[name] for name in burning) > sum(stacks.values()) / 2


@pytest.mark.slow
@pytest.mark.parametrize("event", ["cpu", "wall", "alloc"])
def test_pprof_of_go_adds_up_as_we_do(tmp_path: Path, event: str) -> None:
    go = needs.tool("go")
    import_profiles([FIXTURE], tmp_path / "run")
    export_profile(tmp_path / "run", "pprof", tmp_path / "out.pb.gz", event)
    truth: dict[str, tuple[int, int]] = {}
    for path, weight in read_exported(tmp_path / "out.pb.gz", "pprof").items():
        for name in set(path):
            flat, cum = truth.get(name, (0, 0))
            truth[name] = flat + weight * (path[-1] == name), cum + weight
    options = ["-top", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0"]
    unit = "B" if event == "alloc" else "ns"
    done = subprocess.run(
        [go, "tool", "pprof", *options, f"-unit={unit}", str(tmp_path / "out.pb.gz")],
        capture_output=True,
        text=True,
        check=True,
        timeout=400,
    )
    rows = [line.split(None, 5) for line in done.stdout.splitlines()]
    found = {
        row[5].removesuffix(" (inline)"): (
            int(float(row[0].removesuffix(unit))),
            int(float(row[3].removesuffix(unit))),
        )
        for row in rows
        if len(row) == 6 and row[1].endswith("%") and row[4].endswith("%")
    }
    assert found == truth
