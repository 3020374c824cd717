"""The agent in a JVM that is no Spark: whatever becomes of it, the program's words are its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from pyrometer import _artifacts

PROGRAM = """
public class Program {
  public static void main(String[] args) throws Exception {
    System.out.print("begun\\n");
    Thread.sleep(Long.parseLong(args[0]));
    System.out.print("no newline at the end");
    System.exit(7);
  }
}
"""


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "Program.java").write_text(PROGRAM)
    subprocess.run(["javac", folder / "Program.java"], check=True, capture_output=True)
    return folder


def start(classes: Path, properties: Path, sleep_ms: int = 300) -> subprocess.Popen[bytes]:
    agent = f"-javaagent:{_artifacts.plugin_jar()}={properties}"
    return subprocess.Popen(
        ["java", agent, "-cp", str(classes), "Program", str(sleep_ms)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def assert_untouched(process: subprocess.Popen[bytes]) -> None:
    out, err = process.communicate(timeout=60)
    assert (out, err) == (b"begun\nno newline at the end", b"")
    assert process.returncode == 7


def records(raw: Path) -> list[dict[str, Any]]:
    (file,) = raw.glob("plugin-driver-driver-*.ndjson")
    return [json.loads(line) for line in file.read_text().splitlines()]


def write_properties(folder: Path, raw: Path) -> Path:
    file = folder / "agent.properties"
    file.write_text(
        f"raw.dir={raw}\n"
        "gclog.what=gc*,safepoint\n"
        "asprof.command=start,event=cpu,interval=10ms,wall=50ms,alloc=512k,lock=10ms,"
        "clock=monotonic,chunktime=10s\n"
    )
    return file


def test_everything_is_collected_in_silence(classes: Path, tmp_path: Path) -> None:
    raw = tmp_path / "a, b=c %d é" / "raw"
    raw.mkdir(parents=True)
    assert_untouched(start(classes, write_properties(raw.parent, raw)))
    found = {record["k"]: record for record in records(raw)}
    assert {"process", "clock", "mx", "profiler", "bye"} == set(found)
    assert found["profiler"]["started"], found["profiler"]["error"]
    pid = found["process"]["pid"]
    assert (raw / f"profile-driver-{pid}.jfr").read_bytes()[:4] == b"FLR\0"
    assert b"safepoint" in (raw / f"gc-driver-{pid}.log").read_bytes()
    assert found["bye"]["dropped"] == 0


@pytest.mark.parametrize("case", ["no properties", "no folder", "a file", "nonsense"])
def test_an_agent_that_cannot_work_is_not_noticed(case: str, classes: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    if case == "a file":
        raw.write_text("")
    properties = write_properties(tmp_path, raw)
    if case == "no properties":
        properties.unlink()
    if case == "nonsense":
        properties.write_bytes(b"raw.dir=\\uZZZZ\n\xff\xfe\x00=")
    assert_untouched(start(classes, properties))
    assert sorted(path.name for path in tmp_path.iterdir()) in (
        [], ["agent.properties"], ["agent.properties", "raw"],
    )  # fmt: skip


def test_a_folder_that_vanishes_is_not_noticed(classes: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    process = start(classes, write_properties(tmp_path, raw), sleep_ms=2000)
    until = time.monotonic() + 30
    while not list(raw.glob("profile-*.jfr")):
        assert time.monotonic() < until
        time.sleep(0.02)
    shutil.rmtree(raw)
    assert_untouched(process)
