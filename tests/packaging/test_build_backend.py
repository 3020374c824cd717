"""What maturin leaves out is added to the wheel, executable where it was, and recorded."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAME = "pyrometer-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl"
RECORD = "pyrometer-0.1.0.dist-info/RECORD"
BILL = "pyrometer-0.1.0.dist-info/sboms/pyrometer.cdx.json"


def make_plugin(jar: Path, machine: str) -> None:
    with ZipFile(jar, "w") as plugin:
        for program in ("pyro-agent", "pyro-probe"):
            plugin.writestr(f"org/pyrometer/natives/{machine}/{program}", machine)


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The backend, with a maturin that builds a wheel of two files."""

    def build_wheel(folder: str, settings: object, metadata: object) -> str:
        with ZipFile(Path(folder) / NAME, "w") as wheel:
            wheel.writestr("pyrometer/__init__.py", "# here\n")
            wheel.writestr(RECORD, f"pyrometer/__init__.py,sha256=x,7\n{RECORD},,\n")
        return NAME

    maturin = ModuleType("maturin")
    maturin.build_wheel = build_wheel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "maturin", maturin)
    # As a front end of PEP 517 does (backend-path).
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location(
        "build_backend", ROOT / "tools" / "build_backend.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv("PYROMETER_STAGED", "1")
    monkeypatch.setattr(module, "BUILT", tmp_path / "built")
    module.BUILT.mkdir()
    for name in ("pyro-probe", "pyrometer-workloads.jar"):
        (module.BUILT / name).write_bytes(name.encode())
    make_plugin(module.BUILT / "pyrometer-plugin.jar", "linux-x64")
    (module.BUILT / "report-page.html").write_text("<html>")
    (module.BUILT / "pyro-probe").chmod(0o755)
    return module


def test_the_wheel_holds_all_parts_and_its_record_tells_the_truth(
    backend: ModuleType, tmp_path: Path
) -> None:
    assert backend.build_wheel(str(tmp_path)) == NAME
    with ZipFile(tmp_path / NAME) as wheel:
        names = wheel.namelist()
        rows = {row[0]: row[1:] for row in csv.reader(wheel.read(RECORD).decode().splitlines())}
        parts = [name for name in names if name.startswith("pyrometer/_bundled/")]
        bill = json.loads(wheel.read(BILL))
        for name in [*parts, BILL]:
            content = wheel.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
            assert rows[name] == [f"sha256={digest.rstrip('=')}", str(len(content))]
        probe = wheel.getinfo("pyrometer/_bundled/pyro-probe")
        page = wheel.getinfo("pyrometer/_bundled/report-page.html")
    assert len(names) == len(set(names))
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "pyrometer"
    assert set(rows) == set(names)
    assert probe.external_attr >> 16 == 0o100755
    assert page.external_attr >> 16 == 0o100644
    for folder in ("schema", "studies"):
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
        assert files
        for path in files:
            assert f"pyrometer/_bundled/{path.relative_to(ROOT).as_posix()}" in parts


def test_a_probe_for_another_machine_takes_the_place_of_ours(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "pyro-probe"
    other.write_bytes(b"for aarch64")
    monkeypatch.setenv("PYROMETER_PROBE", str(other))
    backend.build_wheel(str(tmp_path))
    with ZipFile(tmp_path / NAME) as wheel:
        assert wheel.read("pyrometer/_bundled/pyro-probe") == b"for aarch64"


def test_no_wheel_without_a_part(backend: ModuleType, tmp_path: Path) -> None:
    (backend.BUILT / "report-page.html").unlink()
    with pytest.raises(SystemExit, match=r"report-page\.html\. Run: make bundled"):
        backend.build_wheel(str(tmp_path))
    assert not (tmp_path / NAME).exists()


def test_no_wheel_with_a_jar_for_another_machine(backend: ModuleType, tmp_path: Path) -> None:
    make_plugin(backend.BUILT / "pyrometer-plugin.jar", "linux-arm64")
    with pytest.raises(SystemExit, match=r"it has no org/pyrometer/natives/linux-x64/pyro-agent"):
        backend.build_wheel(str(tmp_path))
    assert not (tmp_path / NAME).exists()
