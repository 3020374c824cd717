"""Compile the probe's BPF programs into `crates/pyro-probe/bpf`, or check what is committed there.

The objects are committed, so that nobody needs clang to build the probe. Whoever changes a source
runs `make bpf` and commits the objects with it; CI compiles them once more and compares the bytes.
They depend on nothing but the sources and clang: paths are mapped away, debug information is
stripped (the type information that loaders need, BTF, stays).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

CRATE = Path(__file__).resolve().parents[1] / "crates" / "pyro-probe"
SOURCES = CRATE / "src" / "bpf"
OBJECTS = CRATE / "bpf"
MANIFEST = OBJECTS / "manifest.txt"
# Another version emits other instructions, which are untested with the oldest kernels' verifiers.
CLANG_MAJOR = 14
ARCHITECTURES = {"x86_64": "x86", "aarch64": "arm64"}
FLAGS = (
    *("-target", "bpf", "-mcpu=v3", "-O2", "-g", "-fno-addrsig"),
    *("-Wall", "-Wextra", "-Werror"),
    # Helpers of the kernel that a program does not call.
    *("-Wno-unused-variable", "-Wno-unused-function"),
)


def sources_hash() -> str:
    """FNV-1a (64 bits) of names and contents of all C files, as `build.rs` computes it."""
    value = 0xCBF29CE484222325
    for path in sorted(p for p in SOURCES.iterdir() if p.suffix in (".c", ".h")):
        for byte in path.name.encode() + b"\0" + path.read_bytes() + b"\0":
            value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def tool(variable: str, name: str) -> str:
    """Find a tool of LLVM: by environment variable, else of the right version, else any."""
    for candidate in (os.environ.get(variable), f"{name}-{CLANG_MAJOR}", name):
        found = candidate and shutil.which(candidate)
        if found:
            return found
    raise SystemExit(f"{name} is missing. Install: apt-get install clang-14 llvm-14")


def clang_version(clang: str) -> str:
    """Give the version of clang; refuse another major version than that of the objects."""
    text = subprocess.run([clang, "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"clang version (\d+)\.(\d+\.\d+)", text)
    if not match:
        raise SystemExit(f"{clang} is no clang: {text.splitlines()[:1]}")
    if int(match[1]) != CLANG_MAJOR:
        raise SystemExit(
            f"{clang} is version {match[1]}.{match[2]}; the committed objects are built with clang "
            f"{CLANG_MAJOR}, and another version makes other bytes. "
            "Install: apt-get install clang-14 llvm-14, or set CLANG and LLVM_STRIP"
        )
    return f"{match[1]}.{match[2]}"


def build(into: Path) -> Iterator[Path]:
    """Compile every program for every architecture; gives paths below `into`."""
    clang, strip = tool("CLANG", "clang"), tool("LLVM_STRIP", "llvm-strip")
    version = clang_version(clang)
    for architecture, define in ARCHITECTURES.items():
        (into / architecture).mkdir(parents=True, exist_ok=True)
        for source in sorted(SOURCES.glob("*.bpf.c")):
            target = into / architecture / source.with_suffix(".o").name
            mapped = (f"-ffile-prefix-map={SOURCES}=.", f"-D__TARGET_ARCH_{define}")
            command = [clang, *FLAGS, *mapped, "-c", source.name, "-o", str(target)]
            subprocess.run(command, cwd=SOURCES, check=True)
            subprocess.run([strip, "-g", str(target)], check=True)
            yield target.relative_to(into)
    (into / MANIFEST.name).write_text(f"sources {sources_hash()}\nclang {version}\n")


def check() -> list[str]:
    """Compile everything elsewhere; gives what differs from what is committed."""
    with tempfile.TemporaryDirectory(prefix="bpf-") as folder:
        built = set(build(Path(folder)))
        committed = {path.relative_to(OBJECTS) for path in OBJECTS.glob("*/*.o")}
        differing = [
            f"{path}: " + ("not committed" if path not in committed else "not as clang makes it")
            for path in sorted(built)
            if path not in committed
            or (OBJECTS / path).read_bytes() != (Path(folder) / path).read_bytes()
        ]
    return differing + [f"{path}: has no source" for path in sorted(committed - built)]


def stale() -> list[str]:
    """Without clang: whether the sources are those that the objects were compiled from."""
    written = dict(line.split() for line in MANIFEST.read_text().splitlines())
    return [] if written["sources"] == sources_hash() else ["src/bpf changed since"]


def main() -> None:
    """Build or check."""
    parser = argparse.ArgumentParser(description="BPF objects of the probe")
    parser.add_argument("--check", action="store_true", help="compile and compare; write nothing")
    parser.add_argument("--check-sources", action="store_true", help="compare hashes; no clang")
    arguments = parser.parse_args()
    if arguments.check or arguments.check_sources:
        problems = check() if arguments.check else []
        problems += stale()
        for problem in problems:
            print(f"crates/pyro-probe/bpf: {problem}", file=sys.stderr)
        if problems:
            raise SystemExit(
                "The committed BPF objects are not those of the sources. Run: make bpf"
            )
        print(f"BPF objects: as {'clang makes them' if arguments.check else 'the sources say'}")
        return
    with tempfile.TemporaryDirectory(prefix="bpf-") as folder:
        built = list(build(Path(folder)))
        shutil.rmtree(OBJECTS, ignore_errors=True)
        shutil.copytree(folder, OBJECTS)
    for path in built:
        print(f"crates/pyro-probe/bpf/{path}  {(OBJECTS / path).stat().st_size} bytes")


if __name__ == "__main__":
    main()
