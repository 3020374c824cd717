"""The wheel, installed where there is a Python and a JDK and nothing else, measures at once.

Builds it with `make wheel`; `PYROMETER_WHEEL` names one that is built already.
"""

from __future__ import annotations

import json
import os
import platform
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(2400)]

ROOT = Path(__file__).resolve().parents[2]
MACHINES = {"x86_64": 62, "aarch64": 183}
PT_INTERP = 3
BUILD_TOOLS = "cargo rustc rustup mvn clang cc gcc c++ g++ ld make uv pip"


@pytest.fixture(scope="module")
def wheel() -> Path:
    given = os.environ.get("PYROMETER_WHEEL")
    if given:
        return Path(given).resolve()
    subprocess.run(["make", "wheel"], cwd=ROOT, check=True)
    built = (ROOT / "dist").glob(f"*_{platform.machine()}.whl")
    return max(built, key=lambda path: path.stat().st_mtime)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of an empty environment into which the wheel and Spark were installed."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    spark = re.search(r"^pyspark==\S+", (ROOT / "requirements" / "dev.txt").read_text(), re.M)
    assert spark is not None
    # As pip does, but from the cache that `make setup` filled.
    command = [Path(sys.executable).parent / "uv", "pip", "install", wheel, spark[0]]
    subprocess.run(command, env={**os.environ, "VIRTUAL_ENV": str(folder)}, check=True)
    return folder / "bin"


def pyrometer(programs: Path, folder: Path, *arguments: str) -> Any:
    """Run it without a tool that builds anything on PATH; gives its JSON."""
    done = subprocess.run(
        ["sh", ROOT / "tools" / "hide_optional_tools.sh", programs / "pyrometer", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "HIDE": BUILD_TOOLS},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def elf_machine(content: bytes) -> int:
    assert content[:5] == b"\x7fELF\x02"
    return int(struct.unpack_from("<H", content, 18)[0])


def segments(content: bytes) -> list[int]:
    """Types of the program headers of an ELF file."""
    (offset,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    return [struct.unpack_from("<I", content, offset + i * size)[0] for i in range(count)]


def test_the_wheel_is_for_every_distribution_since_2018(wheel: Path) -> None:
    machine = wheel.stem.partition("manylinux_2_28_")[2]
    assert wheel.name.endswith(f"-cp311-abi3-manylinux_2_28_{machine}.whl")
    with ZipFile(wheel) as archive:
        core = archive.read("pyrometer/_core.abi3.so")
        probe = archive.read("pyrometer/_bundled/pyro-probe")
    assert elf_machine(core) == elf_machine(probe) == MACHINES[machine]
    needed = {tuple(map(int, each.split(b"."))) for each in re.findall(rb"GLIBC_(2\.\d+)\0", core)}
    assert max(needed) <= (2, 28)
    assert PT_INTERP not in segments(probe), "the probe is linked statically"


def test_licences_and_the_bill_of_materials_lie_where_installers_look(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (information,) = {n.split("/")[0] for n in archive.namelist() if ".dist-info/" in n}
        texts = {
            name: archive.read(f"{information}/licenses/{name}").decode()
            for name in ("LICENSE", "THIRD-PARTY.txt")
        }
        bills = [n for n in archive.namelist() if n.startswith(f"{information}/sboms/")]
        metadata = archive.read(f"{information}/METADATA").decode()
        (bill,) = (archive.read(name).decode() for name in bills)
    for name, text in texts.items():
        assert text == (ROOT / name).read_text()
        assert f"License-File: {name}" in metadata
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill) is None
    for each in json.loads(bill)["components"]:
        # Of everything inside it, the name is in the list of licences.
        if each["type"] == "library" and each["properties"][0]["value"] == "true":
            name = ":".join(filter(None, (each.get("group"), each["name"])))
            assert f"\n  {name}" in texts["THIRD-PARTY.txt"], name


def test_without_a_compiler_it_measures_at_the_best_tier_of_the_kernel(
    installed: Path, tmp_path: Path
) -> None:
    found = pyrometer(installed, tmp_path, "doctor", "--json")["probes"]
    tiers = [row["tier"] for row in found if row["name"] == "os" and row["available"]]
    refused = [row["reason"] for row in found if row["name"] == "os" and not row["available"]]
    assert not [reason for reason in refused if "without BPF" in reason]
    run = ("run", "parquet-scan", "--scale", "test", "-o", "first", "--json")
    assert pyrometer(installed, tmp_path, *run)["state"] == "finished"
    manifest = json.loads((tmp_path / "first" / "manifest.json").read_text())
    (os_probe,) = [entry for entry in manifest["probes"] if entry["name"] == "os"]
    assert os_probe["tier"] == min(tiers)
    assert (tmp_path / "first" / "report.html").stat().st_size > 100_000


def test_a_part_that_is_lost_comes_back_by_the_remedy_to_the_letter(
    installed: Path, tmp_path: Path
) -> None:
    (bundled,) = installed.parent.glob("lib/python*/site-packages/pyrometer/_bundled")
    # A file of its own: the installed one may be the installer's cache by another name.
    (bundled / "pyrometer-plugin.jar").unlink()
    (bundled / "pyrometer-plugin.jar").write_bytes(b"no jar any more")
    (plugin,) = [
        row
        for row in _doctor_that_fails(installed, tmp_path)
        if row["name"] == "package.plugin" and not row["available"]
    ]
    subprocess.run(["sh", "-c", plugin["remedy"]], check=True, stdout=subprocess.DEVNULL)
    found = pyrometer(installed, tmp_path, "doctor", "--json")["probes"]
    assert [row for row in found if row["name"] == "package.plugin" and row["available"]]


def _doctor_that_fails(programs: Path, folder: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [programs / "pyrometer", "doctor", "--json"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    probes: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])["probes"]
    return probes
