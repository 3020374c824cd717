"""A trial on its way into a machine, and the machine's side of the conversation."""

from __future__ import annotations

import os
import pty
import threading
import tty
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pyrometer.core.errors import UsageError
from pyrometer.guests import frames, job
from pyrometer.guests.frames import Decoder, Piece
from pyrometer.guests.talk import Talk
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.trial import Trial

TRIAL = Trial(
    name="sort-text",
    treatment=parse_treatment(["machine.memory=1g", "jvm.heap=512m", "os.swappiness=3"]),
    iterations=2,
    warmup=0,
    scale="test",
    turns=(({"spark.sql.ansi.enabled": "true"}, (0, 2)), ({}, (1, 3))),
)


def test_a_trial_arrives_as_it_was_sent_without_its_machine(tmp_path: Path) -> None:
    inner = job.inside(TRIAL, tmp_path)
    assert inner == replace(
        TRIAL,
        treatment={"jvm.heap": 512 << 20, "os.swappiness": 3},
        run_dir=tmp_path,
        captured=True,
    )
    assert job.read(job.write([inner])) == [inner]


def test_those_that_run_together_arrive_as_they_were_sent(tmp_path: Path) -> None:
    command = Trial(command=("java", "-cp", "a b", "é"), timeout_s=2.5, tier="T1")
    beside = replace(TRIAL, overlap=(0.0, 1.5), co_running=("pagerank",), barrier=("/m", 1, 2))
    inner = [job.inside(command, tmp_path / "a"), job.inside(beside, tmp_path / "b")]
    assert job.read(job.write(inner)) == inner


def test_variables_that_change_what_spark_does_go_along_and_others_are_named() -> None:
    ours = {
        "SPARK_DRIVER_MEMORY": "2g", "SPARK_EXECUTOR_CORES": "2", "SPARK_DAEMON_JAVA_OPTS": "-Da",
        "PYSPARK_SUBMIT_ARGS": "--conf a=b pyspark-shell", "HADOOP_CONF_DIR": "/etc/hadoop",
        "AWS_SECRET_ACCESS_KEY": "x", "LD_PRELOAD": "/a.so", "HADOOP_HOME": "/opt/hadoop",
        "SPARK_LOG_DIR": "",
    }  # fmt: skip
    kept = job.environment(ours, None)
    assert set(ours) - set(kept) == {
        "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "HADOOP_HOME", "SPARK_LOG_DIR"
    }  # fmt: skip
    assert job.left_behind(ours) == ["HADOOP_HOME", "LD_PRELOAD"]


def test_what_no_machine_can_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no network"):
        job.inside(replace(TRIAL, push="http://localhost:4040"), tmp_path)


class Host:
    """The other end of a machine's port."""

    def __init__(self) -> None:
        self.near, far = pty.openpty()
        tty.setraw(far)
        tty.setraw(self.near)
        self.port = Path(os.ttyname(far))
        self._far = far
        self._decoder = Decoder()
        self.heard: list[dict[str, Any] | Piece] = []

    def ask(self, **message: Any) -> None:
        os.write(self.near, frames.say(message))

    def hear_until(self, event: str) -> dict[str, Any]:
        while True:
            for one in self.heard:
                if isinstance(one, dict) and one["event"] == event:
                    return one
            self.heard += self._decoder.feed(os.read(self.near, 4096))

    def close(self) -> None:
        os.close(self.near)
        os.close(self._far)


@pytest.fixture
def host() -> Any:
    found = Host()
    yield found
    found.close()


@pytest.mark.timeout(60)
def test_a_machine_answers_ships_its_files_and_waits_for_the_last_word(
    host: Host, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "raw").mkdir(parents=True)
        (tmp_path / name / "raw/log").write_bytes(b"one\n")
    with Talk(host.port, [tmp_path / "a", tmp_path / "b"]) as talk:
        talk.say("machine", cpus_count=1)
        assert host.hear_until("machine")["cpus_count"] == 1
        host.ask(ask="time", number=7)
        answer = host.hear_until("time")
        assert answer["number"] == 7
        assert answer["mono_ns"] > 0
        with (tmp_path / "b/raw/log").open("ab") as file:
            file.write(b"two\n")
        words = [{"event": "finished", "trial": 0}, {"event": "refused", "trial": 1}]
        ended = threading.Thread(target=talk.finish, args=(words,))
        ended.start()
        assert host.hear_until("finished")["trial"] == 0
        assert host.hear_until("refused")["trial"] == 1
        sent: dict[str, bytes] = {}
        for one in host.heard:
            if isinstance(one, Piece):
                sent[one.name] = sent.get(one.name, b"") + one.data
        assert sent == {"0/raw/log": b"one\n", "1/raw/log": b"one\ntwo\n"}
        assert ended.is_alive()
        host.ask(ask="end")
        ended.join(30)
        assert not ended.is_alive()
