"""Fuzz targets by turns, for so many executions each, and keep what came of it.

`make fuzz` (targets in `fuzz/fuzz_targets`; needs a nightly Rust, whose sanitizer coverage they
use, and nothing else), and `documents`, whose readers are Python's (needs atheris in Pyrometer's
own environment; without it that target is left out). The corpus of a target is kept in
`fuzz/corpora/<target>.tar.xz`: it is unpacked, grown, minimised (inputs that reach nothing new are
left out) and packed again. Each campaign is a line of `fuzz/campaigns.csv`: executions, seconds,
coverage, findings. Inputs that failed stay in `fuzz/artifacts/<target>/`.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import astuple, dataclass, fields
from pathlib import Path

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
CORPORA = FUZZ / "corpora"
CAMPAIGNS = FUZZ / "campaigns.csv"
ARTIFACTS = FUZZ / "artifacts"
TARGET = f"{platform.machine()}-unknown-linux-gnu"
# What cargo-fuzz passes (`fuzz/cover.sh` says to which crates); `--cfg fuzzing`, to all, leaves out
# the encoding of tables.
COVERAGE = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Cdebug-assertions",
]
# Longer inputs reach little more and take as much longer; recordings and objects have tables.
LONG = {"jfr": 65536, "btf": 16384, "probe": 16384, "documents": 16384, "eventlog": 8192}
LENGTH = 4096
# Where to begin: files of the tests, and raw streams of a run (`--run`).
FIXTURES = {
    "agent": ["agent/*"],
    "chunks": ["chunks/*/*/*/*/*/*.chunk"],
    "eventlog": ["eventlog/whole.*", "eventlog/recorded/*"],
    "eventlog_values": [],
    "json": ["eventlog/recorded/*.inprogress"],
    "gclog": ["gclog/*.log", "gcage/*.log"],
    "jitlog": ["jitlog/*.log"],
    "jfr": ["jfr/*.jfr"],
    "kernel": ["topology/*.tree", "sysfs/*.tree"],
    "perf": ["sysfs/*.tree"],
}
RAW = {
    "codegen": ["codegen/*"],
    "gclog": ["gc-*.log"],
    "jitlog": ["jit-*.log"],
    "jfr": ["*.jfr"],
    "json": ["iterations.ndjson", "plugin-*.ndjson"],
    "plugin": ["plugin-*.ndjson"],
    "probe": ["probe-*.arrows"],
}
TIMEOUT_S = 20
DOCUMENTS = "documents"
NO_ATHERIS = "documents: left out without atheris. Install: .venv/bin/python -m pip install atheris"


@dataclass(frozen=True)
class Campaign:
    """A line of `campaigns.csv`; `edges_count` and `features_count` are libFuzzer's cov and ft."""

    day: str
    target: str
    sanitizer: str
    executions_count: int
    seconds: int
    edges_count: int
    features_count: int
    corpus_inputs_count: int
    findings_count: int


def targets() -> list[str]:
    """Names of all targets: as the manifest lists them, and the documents."""
    manifest = tomllib.loads((FUZZ / "Cargo.toml").read_text(encoding="utf-8"))
    return [*(str(one["name"]) for one in manifest["bin"]), DOCUMENTS]


def program(name: str, folder: Path) -> list[str]:
    """Give the words that start a target; compiled ones lie in `folder`."""
    if name != DOCUMENTS:
        return [str(folder / name)]
    own = FUZZ.parent / ".venv" / "bin" / "python"
    return [str(own if own.is_file() else sys.executable), str(FUZZ / "python" / "documents.py")]


def has_atheris() -> bool:
    """Whether the Python that runs the documents has atheris."""
    python = program(DOCUMENTS, FUZZ)[0]
    return subprocess.run([python, "-c", "import atheris"], capture_output=True).returncode == 0


def build(names: list[str], sanitizer: str) -> Path:
    """Compile the targets and say where they are."""
    if subprocess.run(["cargo", "+nightly", "--version"], capture_output=True).returncode != 0:
        raise SystemExit("A nightly Rust is missing. Install: rustup toolchain install nightly")
    flags = ["--cfg fuzzing", *(() if sanitizer == "none" else [f"-Zsanitizer={sanitizer}"])]
    folder = FUZZ / "target" / sanitizer
    command = ["cargo", "+nightly", "build", "--locked", "--release", "--target", TARGET]
    command += ["--target-dir", str(folder)]
    for name in names:
        command += ["--bin", name]
    env = {**os.environ, "RUSTFLAGS": " ".join(flags), "PYROMETER_COVERAGE": " ".join(COVERAGE)}
    env["RUSTC_WRAPPER"] = str(FUZZ / "cover.sh")
    if subprocess.run(command, cwd=FUZZ, env=env).returncode != 0:
        raise SystemExit("The targets do not compile: see above.")
    return folder / TARGET / "release"


def unpack(name: str, into: Path) -> None:
    """Lay the inputs that are kept into a folder."""
    archive = CORPORA / f"{name}.tar.xz"
    if archive.is_file():
        with tarfile.open(archive) as kept:
            kept.extractall(into, filter="data")


def begin(name: str, into: Path, run: Path | None) -> None:
    """Lay real inputs into a folder: text in pieces of whole lines, the rest as it is, or cut."""
    length = LONG.get(name, LENGTH)
    places = [(FUZZ.parent / "tests" / "fixtures", FIXTURES), (run and run / "raw", RAW)]
    for folder, globs in places:
        files = [f for one in globs.get(name, ()) for f in folder.glob(one)] if folder else []
        for file in sorted(file for file in files if file.is_file()):
            data = file.read_bytes()
            for number, piece in enumerate(pieces(data, length)):
                (into / f"{file.name}-{number}").write_bytes(piece)


def pieces(data: bytes, length: int) -> list[bytes]:
    r"""Cut text into whole lines of a length together; of anything else give the beginning.

    Examples
    --------
    >>> pieces(b"ab\ncd\nef\n", 6)
    [b'ab\ncd\n', b'ef\n']
    >>> pieces(b"\0\1\2", 2)
    [b'\x00\x01']
    """
    if b"\0" in data:
        return [data[:length]]
    found = [b""]
    for line in data.splitlines(keepends=True):
        if len(found[-1]) + len(line) > length:
            found.append(b"")
        found[-1] += line[:length]
    return [piece for piece in found if piece]


def pack(name: str, folder: Path) -> int:
    """Keep the inputs of a folder; the same inputs make the same bytes."""
    CORPORA.mkdir(exist_ok=True)
    archive = CORPORA / f"{name}.tar.xz"
    temporary = archive.with_suffix(".tmp")
    files = sorted(folder.iterdir())
    with tarfile.open(temporary, "w:xz", preset=9) as kept:
        for file in files:
            data = file.read_bytes()
            entry = tarfile.TarInfo(file.name)
            entry.size = len(data)
            kept.addfile(entry, io.BytesIO(data))
    temporary.replace(archive)
    return len(files)


def fuzzed(name: str, folder: Path, given: argparse.Namespace) -> Campaign:
    """Run one target until it is done, time is up or it failed, and minimise its corpus."""
    length = LONG.get(name, LENGTH)
    with tempfile.TemporaryDirectory(prefix=f"fuzz-{name}-", dir=given.scratch) as scratch:
        corpus, small, temporary = (Path(scratch, part) for part in ("corpus", "small", "tmp"))
        for part in (corpus, small, temporary):
            part.mkdir()
        unpack(name, corpus)
        begin(name, corpus, given.run)
        failed = ARTIFACTS / name
        failed.mkdir(parents=True, exist_ok=True)
        before = len(list(failed.iterdir()))
        began = time.monotonic()
        env = {**os.environ, "TMPDIR": str(temporary)}
        common = [f"-max_len={length}", f"-timeout={TIMEOUT_S}", "-rss_limit_mb=2048"]
        runs = [f"-runs={given.executions}", f"-max_total_time={round(given.minutes * 60)}"]
        started = program(name, folder)
        command = [*started, *common, *runs, "-print_final_stats=1", "-reload=0"]
        command += [f"-artifact_prefix={failed}/", str(corpus)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace")
        seconds = round(time.monotonic() - began)
        said = done.stderr
        if done.returncode != 0:
            print(f"{name}: failed; its input is in {failed}", file=sys.stderr)
            print("\n".join(said.splitlines()[-25:]), file=sys.stderr)
        merge = [*started, *common, "-merge=1", str(small), str(corpus)]
        merged = subprocess.run(merge, env=env, capture_output=True, text=True, errors="replace")
        if merged.returncode != 0:
            print(f"{name}: its corpus could not be minimised, all of it is kept", file=sys.stderr)
        kept = pack(name, small if merged.returncode == 0 else corpus)
    return Campaign(
        day=time.strftime("%Y-%m-%d", time.gmtime()),
        target=name,
        sanitizer="none" if name == DOCUMENTS else given.sanitizer,
        executions_count=last(r"stat::number_of_executed_units:\s*(\d+)", said),
        seconds=seconds,
        edges_count=last(r"^#\d+\s.* cov: (\d+) ft: ", said),
        features_count=last(r"^#\d+\s.* cov: \d+ ft: (\d+)", said),
        corpus_inputs_count=kept,
        # One that ended by itself without leaving its input failed all the same.
        findings_count=max(len(list(failed.iterdir())) - before, int(done.returncode != 0)),
    )


def last(pattern: str, text: str) -> int:
    """Read the last number that a pattern finds; 0 if there is none."""
    found = re.findall(pattern, text, re.MULTILINE)
    return int(found[-1]) if found else 0


def note(campaign: Campaign) -> None:
    """Put a campaign behind those before."""
    new = not CAMPAIGNS.is_file()
    with CAMPAIGNS.open("a", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        if new:
            lines.writerow([field.name for field in fields(Campaign)])
        lines.writerow(astuple(campaign))


def total() -> str:
    """Add campaigns up, a line for each target: the table of the documentation."""
    sums: dict[str, list[int]] = {}
    edges: dict[str, str] = {}
    with CAMPAIGNS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            sums.setdefault(row["target"], [0, 0, 0])
            columns = ("executions_count", "seconds", "findings_count")
            for at, column in enumerate(columns):
                sums[row["target"]][at] += int(row[column])
            edges[row["target"]] = row["edges_count"]
    lines = ["target | executions | hours | edges | findings", "---|---|---|---|---"]
    for name, (executions, seconds, findings) in sorted(sums.items()):
        lines.append(
            f"{name} | {executions:.3g} | {seconds / 3600:.2f} | {edges[name]} | {findings}"
        )
    return "\n".join(lines)


def main() -> int:
    """Fuzz what was asked for; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="default: all")
    parser.add_argument("--executions", type=int, default=10**8, help="of each (default: 1e8)")
    parser.add_argument("--minutes", type=float, default=60, help="of each, at most (default: 60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets at once")
    parser.add_argument(
        "--sanitizer", choices=("none", "address"), default="none", help="default: none"
    )
    parser.add_argument(
        "--run",
        type=Path,
        help="run directory whose raw streams to begin with; pieces of them stay in the corpora",
    )
    parser.add_argument("--scratch", default="/dev/shm", help="where files lie (default: /dev/shm)")
    parser.add_argument("--total", action="store_true", help="add up the campaigns so far")
    given = parser.parse_args()
    if given.total:
        print(total())
        return 0
    unknown = [name for name in given.targets if name not in targets()]
    if unknown:
        parser.error(f"unknown target {unknown[0]}: one of {', '.join(targets())}")
    names = given.targets or targets()
    if DOCUMENTS in names and not has_atheris():
        print(NO_ATHERIS, file=sys.stderr)
        names = [name for name in names if name != DOCUMENTS]
        if not names:
            return 3
    compiled = [name for name in names if name != DOCUMENTS]
    folder = build(compiled, given.sanitizer) if compiled else FUZZ
    failed = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for done in as_completed([pool.submit(fuzzed, name, folder, given) for name in names]):
            campaign = done.result()
            note(campaign)
            failed += campaign.findings_count
            print(campaign, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
