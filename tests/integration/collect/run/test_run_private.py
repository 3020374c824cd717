"""A run keeps no secret of its command, and is its owner's alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.support.cli import opened, pyrometer
from tests.support.redaction.planted import PLANTED

from pyrometer.core.redaction import REDACTED


def everything(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_no_secret_of_a_command_is_written_or_shown(tmp_path: Path) -> None:
    words = [word for one in PLANTED for word in one.words]
    script = "echo begun; exit 3"
    done = pyrometer(
        "run", "--profile", "off", "--json", "-o", "run", "--", "sh", "-c", script, "app", *words,
        cwd=tmp_path,
    )  # fmt: skip
    assert (done.code, done.json["exit_code"]) == (3, 3)
    shown = pyrometer("show", "run", cwd=tmp_path)
    data = pyrometer("show", "run", "--json", cwd=tmp_path)
    assert (shown.code, data.code) == (0, 0)
    kept = everything(tmp_path / "run")
    texts = {
        "the run": kept.decode("utf-8", "replace"),
        "run": done.stdout + done.stderr,
        "show": shown.stdout + shown.stderr,
        "show --json": data.stdout + data.stderr,
    }
    found = [(one.kind, where) for one in PLANTED for where in texts if one.secret in texts[where]]
    assert found == []
    assert len(PLANTED) >= 30
    # What it was started with is still told, but for them.
    command = opened(tmp_path / "run").workload.command
    assert command[:3] == ["sh", "-c", script]
    assert len(command) == 4 + len(words)
    assert sum(REDACTED in word for word in command) == len(PLANTED)


def test_a_traceback_that_is_kept_holds_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pyrometer.cli.main import run_verb
    from pyrometer.orchestrator import run as orchestrator

    def fails(*_: object, **__: object) -> None:
        raise LookupError("--password hunter22 is what it was")

    monkeypatch.setattr(orchestrator, "run", fails)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    words = [word for one in PLANTED for word in one.words]
    assert run_verb(["run", "--", "true", *words]) == 4
    (kept,) = tmp_path.glob("pyrometer-error-*.txt")
    text = kept.read_text()
    assert "LookupError" in text
    assert [one.kind for one in PLANTED if one.secret in text] == []
    assert "hunter22" not in text
    assert "hunter22" not in capsys.readouterr().err


@pytest.mark.parametrize("mask", [0o022, 0o000])
def test_a_run_is_its_owners_alone_and_the_commands_files_are_as_it_makes_them(
    tmp_path: Path, mask: int
) -> None:
    before = os.umask(mask)
    try:
        done = pyrometer("run", "-o", "run", "--", "sh", "-c", "echo x > mine; umask", cwd=tmp_path)
    finally:
        os.umask(before)
    assert done.code == 0
    assert done.stdout.strip() == f"{mask:04o}"
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o666 & ~mask
    run = tmp_path / "run"
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    modes = {
        str(path.relative_to(run)): oct(stat.S_IMODE(path.stat().st_mode))
        for path in run.rglob("*")
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    }
    assert modes == {}
    assert (run / "report.html").stat().st_size > 0


def test_an_empty_folder_that_is_there_becomes_its_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o2777)
    assert pyrometer("run", "--profile", "off", "-o", "run", "--", "true", cwd=tmp_path).code == 0
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) & 0o777 == 0o700
    assert stat.S_IMODE((tmp_path / "run" / "manifest.json").stat().st_mode) == 0o600
