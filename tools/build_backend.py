"""PEP 517 backend: maturin builds the wheel of Python package and extension; the rest is added.

Added are the static probe, the jars (plugin, workloads), the page of the report, the declarations
of ``schema/`` and ``studies/``, which a checkout reads where they are, and the bill of materials.
`make wheel` builds a wheel for all current distributions; `pip install .` one for this machine.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import maturin
from maturin import *  # noqa: F403

from supply import sbom

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "python" / "pyrometer" / "_bundled"
BUNDLED = "pyrometer/_bundled"
PLUGIN = "pyrometer-plugin.jar"

# What the tag of a wheel ends with, and where the plugin's jar has the programs for that machine.
NATIVES = {"_x86_64": "linux-x64", "_aarch64": "linux-arm64"}
PROGRAMS = ("pyro-agent", "pyro-probe")


def parts() -> Iterator[tuple[str, Path]]:
    """Give what is added to the wheel: name there, file here."""
    # PYROMETER_PROBE: one that was compiled for another machine.
    yield f"{BUNDLED}/pyro-probe", Path(os.environ.get("PYROMETER_PROBE", BUILT / "pyro-probe"))
    for name in (PLUGIN, "pyrometer-workloads.jar", "report-page.html"):
        yield f"{BUNDLED}/{name}", BUILT / name
    for folder in ("schema", "studies"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file():
                yield f"{BUNDLED}/{path.relative_to(ROOT).as_posix()}", path


def add(wheel: Path, files: list[tuple[str, Path]]) -> None:
    """Put the files into the wheel, and their hashes into its RECORD."""
    with ZipFile(wheel) as built:
        entries = [(info, built.read(info)) for info in built.infolist()]
    ((record, lines),) = [each for each in entries if each[0].filename.endswith("/RECORD")]
    changed = wheel.with_suffix(".tmp")
    with ZipFile(changed, "w", ZIP_DEFLATED) as out:
        for info, content in entries:
            if info is not record:
                out.writestr(info, content, ZIP_DEFLATED)
        for name, path in files:
            content = path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            lines += f"{name},sha256={digest.decode()},{len(content)}\n".encode()
            info = ZipInfo(name)
            info.external_attr = (0o100755 if os.access(path, os.X_OK) else 0o100644) << 16
            out.writestr(info, content, ZIP_DEFLATED)
        out.writestr(record, lines, ZIP_DEFLATED)
    changed.replace(wheel)


def lacking(wheel: str, jar: Path) -> list[str]:
    """List the programs that executors start, for the machine of a wheel, and that a jar lacks."""
    with ZipFile(jar) as plugin:
        there = plugin.namelist()
    machines = [name for end, name in NATIVES.items() if wheel.endswith(f"{end}.whl")]
    wanted = [f"org/pyrometer/natives/{name}/{file}" for name in machines for file in PROGRAMS]
    return [name for name in wanted if name not in there]


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel (PEP 517). Its parts are built first, unless make has just done so."""
    if os.environ.get("PYROMETER_STAGED") != "1":
        subprocess.run(["make", "bundled"], cwd=ROOT, check=True)
    files = list(parts())
    missing = [str(path) for _, path in files if not path.is_file()]
    if missing:
        raise SystemExit(f"missing: {', '.join(missing)}. Run: make bundled")
    name: str = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    if absent := lacking(name, BUILT / PLUGIN):
        (Path(wheel_directory) / name).unlink()
        raise SystemExit(
            f"{BUILT / PLUGIN} is not for the machine of {name}: it has no {', '.join(absent)}."
            " Remove it, and run: make wheel ARCH=…"
        )
    information = "-".join(name.split("-")[:2]) + ".dist-info"
    with tempfile.TemporaryDirectory() as folder:
        bill = Path(folder) / sbom.FILE
        bill.write_text(sbom.text())
        # Where PEP 770 has it.
        files.append((f"{information}/sboms/{sbom.FILE}", bill))
        add(Path(wheel_directory) / name, files)
    return name
