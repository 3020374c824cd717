"""Paths that every reader of a JVM's options takes as they stand, and lists of options."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pyrometer.collect.launch import environment
from pyrometer.collect.launch.option_text import split_options
from pyrometer.collect.launch.treatment import Applied
from pyrometer.collect.probes.base import Needs, Probe, merge_needs
from pyrometer.collect.probes.plain_path import is_plain, plain, plain_for_all
from pyrometer.collect.probes.profile import parse_profile
from pyrometer.collect.probes.selection import make_probes
from pyrometer.core.errors import UsageError
from pyrometer.store.paths import RunPaths

ODD = [
    'a"b',
    "a'b",
    "a%pb",
    "a,b",
    "a=b",
    "a:b",
    "a b",
    "aüb",
    "a\nb",
    "a\\b",
    "a;b",
    "a$(b)",
    "a#",
]


@pytest.mark.parametrize("name", ODD)
def test_a_jvm_is_told_nothing_but_plain_paths(name: str, tmp_path: Path) -> None:
    paths = RunPaths(tmp_path / name / "run")
    paths.raw.mkdir(parents=True)
    needs = merge_needs(make_probes(parse_profile("full")), paths)
    words = [*needs.jvm_options, *needs.executor_options, *needs.environment.values()]
    words += [value for key, value in needs.agent.items() if "dir" in key]
    assert not [word for word in words if name in word]
    raw = Path(needs.agent["raw.dir"])
    assert is_plain(raw)
    (raw / "file").write_text("there")
    assert (paths.raw / "file").read_text() == "there"


def test_a_plain_path_stands_as_it_is(tmp_path: Path) -> None:
    assert plain(tmp_path / "run") == tmp_path / "run"
    assert not any(map(is_plain, map(Path, ODD)))


def test_links_end_with_the_process(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; import sys\n"
        "from pyrometer.collect.probes.plain_path import plain\n"
        "print(plain(Path(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a b")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    link = Path(done.stdout.strip())
    assert is_plain(link)
    assert link.parent.name.startswith("pyrometer-")
    assert not link.parent.exists()


def test_links_stay_while_a_process_lives_that_was_told_them(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; import subprocess, sys\n"
        "from pyrometer.collect.probes.plain_path import plain\n"
        "link = plain(Path(sys.argv[1]))\n"
        "sleeps = subprocess.Popen(['sleep', '600'], env={'LINK': str(link)},\n"
        "    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) if sys.argv[2:] else None\n"
        "print(link, sleeps and sleeps.pid)"
    )

    def told(*more: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "a b"), *more],
            env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return done.stdout.split()

    link, pid = told("starts")
    folder = Path(link).parent
    os.utime(folder, (0, 0))
    try:
        assert Path(link).is_symlink()
        told()
        assert Path(link).is_symlink()
    finally:
        os.kill(int(pid), signal.SIGKILL)
    told()
    assert not folder.exists()


@pytest.mark.parametrize("mode", ["file", "folder", None])
def test_a_file_that_others_cannot_read_is_copied_for_them(
    mode: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    place = Path(tempfile.mkdtemp(dir="/tmp"))
    place.chmod(0o755)
    (place / "inner").mkdir(mode=0o700 if mode == "folder" else 0o755)
    jar = place / "inner" / "x.jar"
    jar.write_bytes(b"jar")
    jar.chmod(0o600 if mode == "file" else 0o644)
    told = plain_for_all(jar)
    assert (told == jar) == (mode is None)
    assert told.read_bytes() == b"jar"
    assert all(folder.stat().st_mode & 0o001 for folder in told.parents)
    assert told.stat().st_mode & 0o004


def test_repeated_words_stay_in_their_order(tmp_path: Path) -> None:
    class Opens(Probe):
        name = "opens"

        def __init__(self, module: str) -> None:
            self.module = module

        def needs(self, paths: RunPaths) -> Needs:
            return Needs(("--add-opens", self.module), ("--add-opens", self.module))

    needs = merge_needs([Opens("a=b"), Opens("c=d")], RunPaths(tmp_path))
    assert needs.jvm_options == ("--add-opens", "a=b", "--add-opens", "c=d")
    keys = environment.agent_keys(needs, Applied(("-Dx=y z", '-Dq="'), (), (), {}, {}))
    text = keys["append.spark.executor.extraJavaOptions"]
    assert text == '--add-opens a=b --add-opens c=d "-Dx=y z" "-Dq=\\""'
    assert split_options(text) == [*needs.executor_options, "-Dx=y z", '-Dq="']


@pytest.mark.parametrize("text", ["'", '"', "-Da='b c", 'x "\\"'])
def test_a_quote_that_is_open_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="quote is not closed"):
        split_options(text)


def test_a_backslash_at_the_end_is_refused_where_spark_refuses_it() -> None:
    with pytest.raises(UsageError, match="nothing follows the last backslash"):
        split_options("-Da=b\\")
    assert split_options("-Da=b\\", "managers") == ["-Da=b\\"]
