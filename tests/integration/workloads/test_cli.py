"""`pyrometer workloads`: list, show and prepare, as users type them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.support.cli import environment, pyrometer, start

from pyrometer.core.errors import CapabilityError
from pyrometer.core.liveness import runs
from pyrometer.workloads.contract import GROUPS
from pyrometer.workloads.data import tpcds


@pytest.fixture
def call(tmp_path):
    env = environment(PYROMETER_CACHE=str(tmp_path / "cache"))
    return lambda *words: pyrometer("workloads", *words, cwd=tmp_path, env=env)


@pytest.mark.parametrize("words", [(), ("list",)])
def test_list_names_workloads_and_their_variants(call, words):
    done = call(*words)
    assert done.code == 0
    assert "parquet-scan" in done.stdout
    assert "variant = decimal, timestamp" in done.stdout
    assert "query = all, q01, q02, …, q22" in done.stdout


def test_list_is_in_groups_and_starts_no_pyspark(tmp_path):
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text("raise SystemExit('pyspark was imported')")
    env = environment(PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    done = pyrometer("workloads", "list", cwd=tmp_path, env=env)
    assert done.code == 0, done.stderr
    assert done.stdout.startswith(GROUPS["catalogue"])


def test_list_as_json(call):
    value = call("list", "--json").json
    assert value["schema"] == "pyrometer/workloads/1"
    names = [one["name"] for one in value["workloads"]]
    assert names == sorted(names)
    assert {one["group"] for one in value["workloads"]} <= set(GROUPS)
    assert {"parquet-scan", "interval-join"} <= set(names)
    assert value["broken"] == []


def test_a_package_that_cannot_be_loaded_hides_no_other(tmp_path):
    info = tmp_path / "site" / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pyrometer.workloads]\nbad = no_such_package:Bad\n")
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    done = pyrometer("workloads", "list", "--json", cwd=tmp_path, env=environment(PYTHONPATH=path))
    assert done.code == 0
    (broken,) = done.json["broken"]
    assert broken["name"] == "bad"
    assert "No module named 'no_such_package'" in broken["error"]
    assert len(done.json["workloads"]) >= 2


def test_show_tells_what_to_expect(call):
    done = call("show", "parquet-scan")
    assert done.code == 0
    for text in ("data.codec", "snappy", "(default)", "1 079 971 165", "rows of web_sales"):
        assert text in done.stdout.replace("\u202f", " ").replace("\u2009", " "), text
    assert (
        call("show", "parquet-scan", "--json").json["variants"]["data.codec"]["default"] == "snappy"
    )


def test_show_tells_the_parameters_of_a_sql_file(call, tmp_path):
    (tmp_path / "q.sql").write_text("select :day")
    done = call("show", "q.sql")
    assert done.code == 0, done.stderr
    assert "sql.day" in done.stdout
    assert "must give what the first one gave" in " ".join(done.stdout.split())
    (tmp_path / "q.sql").write_text("select 'day")
    done = call("show", "q.sql")
    assert done.code == 2
    assert "q.sql, line 1: the quote ' does not end" in done.stderr


@pytest.mark.slow
def test_prepare_makes_data_once_and_repairs_it(call):
    words = ("prepare", "interval-join", "--scale", "500", "--json")
    first = call(*words).json
    assert first["schema"] == "pyrometer/prepared/1"
    assert first["bytes"] == sum(file["bytes"] for file in first["files"])
    one = Path(first["root"]) / first["files"][0]["path"]
    sound = one.read_bytes()
    one.write_bytes(bytes(len(sound)))
    assert call(*words).json == first  # sizes agree
    assert one.read_bytes() != sound
    assert call(*words, "--verify-data").json == first
    assert one.read_bytes() == sound


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "parquet-scam"), "did you mean 'parquet-scan'?"),
        (("prepare", "interval-join", "--set", "variant=decimel"), "did you mean 'decimal'?"),
        (("prepare", "interval-join", "--set", "variant"), "not of the form variant=level"),
        (("prepare", "interval-join", "--scale", "huge"), "use one of test, default, seed"),
    ],
)
def test_bad_words_are_named_with_what_there_is(call, words, message):
    done = call(*words)
    assert done.code == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_too_little_disk_is_a_missing_capability(call):
    done = call("prepare", "interval-join", "--scale", "1e14")
    assert done.code == 3
    assert "are free" in done.stderr
    assert "PYROMETER_CACHE" in done.stderr


def test_ctrl_c_ends_the_making_of_data_at_once_and_leaves_nothing(tmp_path):
    env = environment(PYROMETER_CACHE=str(tmp_path / "cache"))
    child = start(
        "workloads", "prepare", "parquet-scan", cwd=tmp_path, env=env, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 60
    # The generator, which takes twenty seconds and more, has been started.
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    while not children.read_text():
        assert time.monotonic() < until
        time.sleep(0.05)
    (generator,) = children.read_text().split()
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode != 0
    assert "Traceback" not in said
    assert "internal error" not in said
    assert list((tmp_path / "cache" / "data").iterdir()) == []
    assert not runs(int(generator))


def test_a_generator_that_fails_is_told(tmp_path):
    with pytest.raises(CapabilityError, match=r"failed at scale factor 0\.01: .*no_such_table"):
        tpcds.generate("no_such_table", ("x",), 0.01, tmp_path / "x.parquet")
