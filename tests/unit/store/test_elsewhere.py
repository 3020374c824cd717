"""Records that stayed on other hosts are one doubt, until they are brought."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path

import pytest

from pyrometer.collect.probes.plugin import PluginProbe
from pyrometer.core.doubt import Doubt
from pyrometer.store.elsewhere import CODE, FETCHED, SHOWN, told_once
from pyrometer.store.ingest import ingest_run
from pyrometer.store.paths import RunPaths


def said(executor: int, place: str) -> dict[str, object]:
    message = (
        f"executor {executor} on w-{executor} cannot write to /r: x/raw; its records are in"
        f" /tmp/pyrometer-app-{executor}-9: copy them into the raw folder and ingest again"
    )
    return {"k": "error", "where": place, "message": message, "count": 1}


def jvm(raw: Path, role: str, executor: str, *records: dict[str, object]) -> None:
    process = {
        "k": "process", "role": role, "executor_id": executor, "pid": 7, "host": f"w-{executor}",
        "app_id": "app", "mono_ns": 1, "wall_ns": 2,
    }  # fmt: skip
    bye = {"k": "bye", "mono_ns": 3, "written": 1, "dropped": 0, "own_cpu_ns": 1}
    text = "".join(
        json.dumps(one, separators=(",", ":")) + "\n" for one in (process, *records, bye)
    )
    (raw / f"plugin-{role}-{executor}-7.ndjson").write_text(text)


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    paths = RunPaths(tmp_path)
    paths.raw.mkdir()
    executors = [said(0, "executor/-1862760676"), said(1, "executor/892577667")]
    other = {"k": "error", "where": "write", "message": "No space left", "count": 2}
    jvm(paths.raw, "driver", "driver", *executors, other)
    return paths


def test_all_of_them_are_one_doubt(run: RunPaths) -> None:
    doubts = ingest_run(run.root).doubts
    assert [doubt.code for doubt in doubts] == ["plugin_error", CODE]
    assert doubts[1].severity == "error"
    assert doubts[1].message.endswith(
        "2 executor(s) kept their records on their hosts:"
        " executor 0: w-0:/tmp/pyrometer-app-0-9; executor 1: w-1:/tmp/pyrometer-app-1-9."
        " Why: cannot write to /r: x/raw. To fetch them: scp -r --"
        " 'w-0:/tmp/pyrometer-app-0-9/*' 'w-1:/tmp/pyrometer-app-1-9/*' RUN/raw/"
    )


def doubts_of(run: RunPaths) -> list[Doubt]:
    """Ingest, and give the doubts, but those of clocks: no message compares them here."""
    return [one for one in ingest_run(run.root).doubts if one.code != "clock_unknown"]


def test_what_was_brought_is_not_missing(run: RunPaths) -> None:
    jvm(run.raw, "executor", "1", said(1, "executor_raw_dir"))
    doubts = doubts_of(run)
    assert [doubt.code for doubt in doubts] == ["plugin_error", CODE]
    assert "1 executor(s)" in doubts[1].message
    assert "executor 0: w-0" in doubts[1].message
    jvm(run.raw, "executor", "0", said(0, "executor_raw_dir"))
    assert [doubt.code for doubt in doubts_of(run)] == ["plugin_error"]


def raised_by(*executors: int) -> list[dict[str, object]]:
    return [
        {
            "code": "plugin_error",
            "severity": "warning",
            "message": f"executor/{n}: {said(n, '')['message']}",
        }
        for n in executors
    ]


def command_of(message: str) -> list[str]:
    return shlex.split("scp" + message.partition(": scp")[2])


def test_of_many_the_first_are_named_and_all_are_fetched() -> None:
    many = FETCHED + 3
    (doubt,) = told_once(raised_by(*range(many)))
    assert f"{many} executor(s)" in doubt["message"]
    assert f"executor 4: w-4:/tmp/pyrometer-app-4-9; and {many - SHOWN} more." in doubt["message"]
    fetched = command_of(doubt["message"])[3:-1]
    assert fetched == [f"w-{n}:/tmp/pyrometer-app-{n}-9/*" for n in range(FETCHED)]
    assert "50 of them (pyrometer ingest RUN then names the other 3): scp" in doubt["message"]
    (doubt,) = told_once(raised_by(*range(40)))
    assert len(command_of(doubt["message"])) == 3 + 40 + 1


def test_of_a_host_without_a_name_nothing_can_be_fetched() -> None:
    nameless, known, address = raised_by(0, 1, 2)
    nameless["message"] = str(nameless["message"]).replace("w-0", "")
    address["message"] = str(address["message"]).replace("w-2", "fd00::2")
    (doubt,) = told_once([nameless])
    where = "executor 0: /tmp/pyrometer-app-0-9, on a host that did not give its name"
    assert where in doubt["message"]
    assert "scp" not in doubt["message"]
    (doubt,) = told_once([nameless, known, address])
    assert command_of(doubt["message"])[3:-1] == [
        "w-1:/tmp/pyrometer-app-1-9/*", "[fd00::2]:/tmp/pyrometer-app-2-9/*"
    ]  # fmt: skip


def test_a_hosts_name_is_inert_in_the_command() -> None:
    message = str(said(0, "")["message"]).replace("w-0", "$(id)';x")
    raised = {"code": "plugin_error", "severity": "warning", "message": f"executor/0: {message}"}
    (doubt,) = told_once([raised])
    command = doubt["message"].partition("To fetch them: ")[2]
    assert shlex.split(command)[3] == "$(id)';x:/tmp/pyrometer-app-0-9/*"


def test_why_there_is_no_agent_is_said_once() -> None:
    raised = []
    for n in (1, 2):
        told = str(said(n, "")["message"])
        words = "has no agent: the agent ended with code 1:\n no such store"
        message = f"executor/{n}: {told.replace('cannot write to /r: x/raw', words)}"
        raised.append({"code": "plugin_error", "severity": "warning", "message": message})
    (doubt,) = told_once(raised)
    assert doubt["code"] == CODE
    assert doubt["message"].startswith("2 executor(s) kept their records on their hosts: ")
    assert "9. Why: the agent ended with code 1: no such store. To" in doubt["message"]


def test_a_long_message_takes_no_long_time() -> None:
    text = "executor/1: executor a on b cannot write to " * 2000 + "; its records are in " * 2000
    raised = {"code": "plugin_error", "severity": "warning", "message": text}
    started_s = time.process_time()
    assert told_once([raised]) == [raised]
    assert time.process_time() - started_s < 5


def test_the_probe_says_what_it_did_not_get(run: RunPaths) -> None:
    failed = {
        "k": "error", "where": "executor/77", "count": 1,
        "message": "executor 2 on w-2: java.lang.OutOfMemoryError",
    }  # fmt: skip
    jvm(run.raw, "driver", "other", failed)
    jvm(run.raw, "executor", "3", said(3, "executor_raw_dir"))
    entry = PluginProbe().report(run)
    assert entry.reason == "records of 2 executor(s) are on the hosts where they ran"
    assert (entry.got or "").startswith("3 JVM(s)")
