"""A panic of the native core is an error of ours like any other: one message, and exit code 4."""

from __future__ import annotations

import pytest

from pyrometer import _core
from pyrometer.cli.main import run_verb


def test_a_panic_is_an_ordinary_exception() -> None:
    with pytest.raises(RuntimeError, match="the native core failed: asked for by a test"):
        _core.panic_for_tests()


def test_the_command_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path
) -> None:  # type: ignore[no-untyped-def]
    log = tmp_path / "log"
    log.write_text('{"Event":"SparkListenerLogStart","Spark Version":"4.0.0"}\n')
    monkeypatch.setattr(_core, "ingest_eventlogs", lambda *_: _core.panic_for_tests())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert run_verb(["ingest", str(log), "-o", str(tmp_path / "run")]) == 4
    shown = capsys.readouterr().err
    assert "error: internal error: RuntimeError: the native core failed" in shown
    assert "Traceback" not in shown
