"""Verdicts that are kept: in one folder, by many, with lines that others damaged."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.explain.tried_findings import COMMAND, S, estimate, finding, ran

from pyrometer.core.errors import CapabilityError
from pyrometer.explain.schema import tried
from pyrometer.verification.record import (
    Verdict,
    folder_of,
    keep,
    proofs,
    read,
    records,
)
from pyrometer.verification.run import prepare, verdict_of
from pyrometer.verification.verdict import Outcome


def verdict(number=1, how="proven", predicted_s=2.0, measured_s=1.6, **more):
    return Verdict(
        id=f"{number:016d}", code="gc.heap-too-small", place=finding().place.key, run_id="run",
        workload="kmeans", verdict=how, predicted_ns=estimate(predicted_s * S),
        measured_ns=None if measured_s is None else estimate(measured_s * S),
        wall_ns=number, pyrometer_version="0", **{"experiment": f"/{number}", **more},
    )  # fmt: skip


def only(folder: Path) -> Path:
    (path,) = folder.glob("*.ndjson")
    return path


def test_what_is_kept_is_read_again(tmp_path):
    folder = tmp_path / "team" / "verdicts"
    assert not read(folder).verdicts
    assert keep(folder, verdict(2))
    assert keep(folder, verdict(1))
    assert not keep(folder, verdict(2))
    assert [one.id[-1] for one in read(folder).verdicts] == ["1", "2"]
    assert read(folder).verdicts[1] == verdict(2)
    assert only(folder).stat().st_mode & 0o077 == 0
    assert json.loads(only(folder).read_text().splitlines()[0])["schema"] == "pyrometer/verdict/1"


def test_files_of_several_hosts_are_one_record(tmp_path):
    keep(tmp_path, verdict(1))
    only(tmp_path).rename(tmp_path / "other.ndjson")
    assert not keep(tmp_path, verdict(1))
    keep(tmp_path, verdict(2))
    assert len(read(tmp_path).verdicts) == 2


@pytest.mark.parametrize("rights", [0o700, 0o750, 0o755])
def test_who_may_read_the_folder_may_read_its_verdicts(tmp_path, rights):
    team = tmp_path / "team"
    keep(team, verdict(1))
    assert only(team).stat().st_mode & 0o777 == 0o600
    team.chmod(rights)
    keep(team, verdict(2))
    assert only(team).stat().st_mode & 0o777 == 0o600 | (rights & 0o044)


def test_users_of_a_host_write_a_file_each_and_all_are_read(tmp_path, monkeypatch):
    keep(tmp_path, verdict(1))
    (mine,) = tmp_path.iterdir()
    # That of an earlier version, which only the first user of the host could write to.
    mine.rename(tmp_path / f"{mine.stem.rpartition('-')[0]}.ndjson")
    keep(tmp_path, verdict(2))
    user = os.geteuid()
    monkeypatch.setattr("pyrometer.verification.record.os.geteuid", lambda: user + 1)
    assert keep(tmp_path, verdict(3))
    assert not keep(tmp_path, verdict(1))
    assert len(list(tmp_path.iterdir())) == 3
    assert [one.id[-1] for one in read(tmp_path).verdicts] == ["1", "2", "3"]


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path):
    keep(tmp_path / "team", verdict(1))
    precious, mine = tmp_path / "precious", only(tmp_path / "team")
    mine.rename(precious)
    before = precious.read_bytes()
    mine.symlink_to(precious)
    with pytest.raises(CapabilityError):
        keep(tmp_path / "team", verdict(2))
    assert precious.read_bytes() == before


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "not a verdict"),
        (b"\xff\xfe", "not a verdict"),
        (b"[1, 2]", "not a verdict"),
        (b'{"schema": "pyrometer/verdict/2", "id": "x"}', "a newer Pyrometer"),
        (b'{"schema": "pyrometer/verdict/1", "id": "x"}', "not a verdict"),
    ],
)
def test_a_damaged_line_is_skipped_and_told(tmp_path, line, why):
    keep(tmp_path, verdict(1))
    with only(tmp_path).open("ab") as out:
        out.write(line)  # and no end of the line: a kill in the middle of a write
    keep(tmp_path, verdict(2))
    found = read(tmp_path)
    assert len(found.verdicts) == 2
    (told,) = found.unread
    assert f"{only(tmp_path)}:2: " in told
    assert why in told


def test_a_folder_that_cannot_be_written_is_an_error_with_another_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CapabilityError) as caught:
        keep(tmp_path / "file", verdict())
    assert "--verdicts" in str(caught.value.remedy)


WRITER = """
import sys
from pathlib import Path
from tests.unit.verification.test_record import keep, verdict
for number in range(20):
    # Every second one is a verdict that the others write, too.
    keep(Path(sys.argv[1]), verdict(number if number % 2 else 100 * int(sys.argv[2]) + number))
"""


@pytest.mark.slow
def test_writers_at_the_same_time_lose_and_repeat_nothing(tmp_path):
    root = str(Path(__file__).parents[3])
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(one)], cwd=root)
        for one in (1, 2, 3)
    ]
    assert [one.wait(120) for one in writers] == [0, 0, 0]
    found = read(tmp_path)
    assert not found.unread
    assert len(found.verdicts) == 10 + 3 * 10
    assert len(only(tmp_path).read_text().splitlines()) == 40


def test_a_record_counts_what_was_tried():
    tried = [
        verdict(1, measured_s=1.6),  # off by a fifth of what was predicted
        verdict(2, measured_s=2.0),
        verdict(3, measured_s=4.0),  # by all of it
        verdict(4, "refuted", measured_s=-1.0),
        verdict(5, "no_difference", measured_s=0.01),
        verdict(6, "not_testable", measured_s=2.0),
    ]
    found = records(tried)["gc.heap-too-small"]
    assert (found.tried_count, found.proven_count) == (5, 3)
    assert found.error_ratio == pytest.approx(1.5)
    assert records(tried[:2])["gc.heap-too-small"].error_ratio == pytest.approx(0.2)
    assert not records(tried[5:])


def test_an_experiment_that_went_on_counts_once_with_its_last_verdict():
    on = [verdict(number, measured_s=1.0 + number, experiment="/x") for number in (1, 2, 3)]
    found = records(on)["gc.heap-too-small"]
    assert (found.tried_count, found.proven_count, found.error_ratio) == (1, 1, 1.0)
    assert not records([*on, verdict(4, "not_testable", experiment="/x")])
    elsewhere = on[0].model_copy(update={"place": "stage 7"})
    assert records([*on, elsewhere])["gc.heap-too-small"].tried_count == 2


def test_a_rule_that_saved_twice_what_it_predicted_is_off_by_all_that_it_predicts():
    tried = [verdict(number, predicted_s=10.0, measured_s=20.0) for number in range(3)]
    assert records(tried)["gc.heap-too-small"].error_ratio == 1.0


def test_the_error_of_few_trials_is_the_largest_and_of_many_that_of_nine_in_ten():
    tried = [verdict(number, predicted_s=10.0, measured_s=10.0 + number) for number in range(19)]
    assert records(tried[:9])["gc.heap-too-small"].error_ratio == pytest.approx(0.8)
    assert records(tried)["gc.heap-too-small"].error_ratio == pytest.approx(1.7)


def test_what_could_not_be_measured_is_off_by_all_that_was_predicted():
    lost = verdict(1, "refuted", measured_s=None)
    assert records([lost])["gc.heap-too-small"].error_ratio == 1.0


@pytest.mark.parametrize(
    ("command", "jobs"),
    [
        ("spark-submit --conf spark.a={0} --jars a.jar job.py 2026-11-{0}", 1),
        ("spark-submit --class org.Main {0}.jar", 1),
        ("spark-submit --class org.Main{0} app.jar", 3),
        ("spark-sql --hiveconf day={0} -f report.sql", 1),
        ("java -cp a{0}.jar -Xmx{0}g org.Main {0}", 1),
        ("java -jar app{0}.jar", 3),
        ("timeout {0} python -u -m etl {0}", 1),
        ("/opt/etl/daily.sh {0}", 1),
        ("bash -euo pipefail -c 'cd /etl; A={0} spark-submit etl.py {0} > log'", 1),
        ("nice bash -lc 'python -m etl{0} && echo done'", 3),
        ("bash -c \"sh -c 'java -jar etl.jar {0}'\"", 1),
        ("sh -c '/opt/etl/daily.sh; echo {0}'", 1),
        ("bash -c 'etl {0}'", 3),
        ("bash -c 'exec \"$@\"' -- python etl.py {0}", 1),
        ("bash -c 'spark-submit --packages \"\" etl{0}.py'", 3),
        ("bash /opt/etl {0}", 3),
        ("python -c 'import etl' {0}", 3),
        ("python -uc 'import etl' {0}", 3),
    ],
)
def test_a_command_is_the_same_job_whatever_its_arguments(tmp_path, command, jobs):
    kept = []
    for day in (1, 2, 3):
        line = command.format(day)
        test = prepare(
            finding(), ran(COMMAND, command=tuple(shlex.split(line))), run_id=f"run {day}",
            noise_ratio=0.02, budget_s=3600.0, home=tmp_path,
        )  # fmt: skip
        measured = Outcome("proven", measured_ns=estimate(S))
        kept.append(verdict_of(test, measured, f"run {day}", line))
    assert records(kept)["gc.heap-too-small"].jobs_count == jobs


def test_a_rule_that_saved_nothing_can_recover():
    ten = [verdict(number, "refuted", measured_s=-1.0, job=f"{number}.py") for number in range(10)]
    bias = records(ten)["gc.heap-too-small"].bias_ratio
    assert bias > 0
    now = verdict(11, predicted_s=2.0 * bias, measured_s=2.0, bias_ratio=bias)
    assert now.saved_ratio == pytest.approx(1.0)


def test_trials_of_less_data_say_nothing_of_the_error():
    found = records([verdict(1, of_run=False)])["gc.heap-too-small"]
    assert (found.tried_count, found.proven_count, found.error_ratio) == (1, 1, None)


def proof_of(one, run_id, verdicts):
    return proofs(verdicts).get(run_id, {}).get(tried(one.code, one.place))


def test_the_latest_verdict_on_the_same_place_of_the_same_run_is_its_proof():
    found = proof_of(finding(), "run", [verdict(1, "refuted"), verdict(2, "proven")])
    assert found.verdict == "proven"
    assert found.measured.value == 1.6 * S
    assert proof_of(finding(), "other", [verdict()]) is None
    elsewhere = verdict().model_copy(update={"place": "stage 7"})
    assert proof_of(finding(), "run", [elsewhere]) is None


def test_a_verdict_that_did_not_decide_hides_none_that_did():
    undecided = verdict(2, "not_testable", measured_s=None)
    assert proof_of(finding(), "run", [verdict(1), undecided]).verdict == "proven"
    assert proof_of(finding(), "run", [undecided]).verdict == "not_testable"
    # The same experiment went on, and its trials can no longer tell.
    went_on = verdict(2, "not_testable", measured_s=None, experiment="/1")
    assert proof_of(finding(), "run", [verdict(1), went_on]).verdict == "not_testable"


def test_a_verdict_is_of_the_application_that_was_tried():
    second = finding()
    second.place = second.place.model_copy(update={"app": 1})
    first = second.model_copy(update={"place": second.place.model_copy(update={"app": 0})})
    of_second = verdict(2, "refuted", app=1)
    assert proof_of(second, "run", [verdict(1)]) is None
    assert proof_of(second, "run", [verdict(1), of_second]).verdict == "refuted"
    assert proof_of(first, "run", [verdict(1), of_second]).verdict == "proven"


def test_a_verdict_that_names_no_application_is_of_the_first(tmp_path):
    keep(tmp_path, verdict())
    line = json.loads(only(tmp_path).read_text())
    del line["app"]
    only(tmp_path).write_text(json.dumps(line))
    assert [one.app for one in read(tmp_path).verdicts] == [0]


def test_the_folder_is_asked_for_or_named_or_the_users_own(tmp_path):
    named = {"PYROMETER_VERDICTS": "/team"}
    assert folder_of(tmp_path, named) == tmp_path
    assert folder_of(None, named) == Path("/team")
    assert folder_of(None, {}) == Path.home() / ".local/share/pyrometer/verdicts"
