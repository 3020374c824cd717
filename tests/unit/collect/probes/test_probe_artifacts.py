"""Bundled parts that are missing, damaged or of another version."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from pyrometer import _artifacts
from pyrometer.collect.probes.os import OsProbe, capabilities
from pyrometer.core.errors import CapabilityError

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_artifacts, "BUNDLED", tmp_path)
    _artifacts.plugin_jar.cache_clear()
    _artifacts.workloads_jar.cache_clear()
    return tmp_path


def script(path: Path, text: str, mode: int = 0o755) -> None:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(mode)


def test_what_is_missing_is_named_with_the_command_that_makes_it(bundle: Path) -> None:
    for find in (_artifacts.probe_binary, _artifacts.plugin_jar, _artifacts.workloads_jar):
        with pytest.raises(CapabilityError, match="is missing") as caught:
            find()
        assert f"make -C {ROOT} rebuild" == caught.value.remedy
    (problem,) = OsProbe().check()
    assert problem.fatal
    assert str(bundle) in problem.reason


def test_a_probe_of_another_version_is_refused(bundle: Path) -> None:
    script(bundle / "pyro-probe", "echo pyro-probe 0.0.9\n")
    with pytest.raises(CapabilityError, match=r"the probe is version 0\.0\.9, the package"):
        capabilities()


@pytest.mark.parametrize(
    "text", ["exit 3\n", 'case $1 in --version) echo "pyro-probe $V";; *) echo "{";; esac\n']
)
def test_a_probe_that_does_not_answer_is_a_problem_not_a_traceback(
    bundle: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("V", _artifacts.__version__)
    script(bundle / "pyro-probe", text)
    (problem,) = OsProbe().check()
    assert problem.fatal
    assert problem.remedy


def test_a_probe_that_is_slow_to_answer_is_not_called_broken(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrometer.collect.probes.os.patient", lambda _: 0.1)
    script(bundle / "pyro-probe", "exec sleep 60\n")
    with pytest.raises(CapabilityError, match=r"gave no answer within .* very busy") as caught:
        capabilities()
    assert "PYROMETER_PATIENCE" in str(caught.value.remedy)


@pytest.mark.parametrize("name", ["plugin", "workloads"])
def test_a_jar_that_is_none_or_of_another_version_is_refused(bundle: Path, name: str) -> None:
    find = {"plugin": _artifacts.plugin_jar, "workloads": _artifacts.workloads_jar}[name]
    jar = bundle / f"pyrometer-{name}.jar"
    jar.write_bytes(b"no zip")
    with pytest.raises(CapabilityError, match="not a readable jar"):
        find()
    for manifest, version in (("Implementation-Version: 9.9", r"9\.9"), ("A: b", "unknown")):
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\n{manifest}\r\n")
        with pytest.raises(CapabilityError, match=f"is version {version}"):
            find()
