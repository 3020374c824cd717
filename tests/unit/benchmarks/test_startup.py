"""Arms of the benchmark of a JVM's start: each loads what it says, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

from benchmarks.startup import arms


def test_each_arm_adds_to_the_one_before(tmp_path: Path) -> None:
    alone, agent, logs, full = arms("java", tmp_path)
    assert alone.command == ("java", "-version")
    folders = {
        next(word for word in arm.command if "-javaagent:" in word) for arm in (agent, logs, full)
    }
    assert len(folders) == 3
    told = [
        next(folder.rglob("agent.properties")).read_text() for folder in sorted(tmp_path.iterdir())
    ]
    assert ["gclog.what" in text for text in told] == [False, True, True]
    assert ["asprof.command" in text for text in told] == [False, False, True]
