"""The smallest fair experiment on a finding: its treatments, its size, and what is refused."""

from __future__ import annotations

import math

import pytest
import yaml
from tests.support.explain.tried_findings import COMMAND, WORKLOAD, S, edit, finding, ran, setting

from pyrometer.core.redaction import REDACTED
from pyrometer.experiments.run.planned import plan_of
from pyrometer.explain.schema import Record, Remedy
from pyrometer.explain.words import LEAST_BIAS, biased
from pyrometer.statistics.power import power
from pyrometer.verification.plan import (
    AS_IT_WAS,
    FEWEST_BLOCKS,
    REMEDY,
    Proposal,
    Refusal,
    propose,
)
from pyrometer.verification.trial_files import command_file, experiment_file, named
from pyrometer.workloads import registry

HOUR = 3600.0


def proposed(one=None, of=WORKLOAD, budget_s=HOUR, noise=0.02, changed=()):
    found = propose(one or finding(), of, budget_s, noise, changed)
    assert isinstance(found, Proposal), found
    return found


def refused(one=None, of=WORKLOAD, budget_s=HOUR, noise=0.02, changed=()):
    found = propose(one or finding(), of, budget_s, noise, changed)
    assert isinstance(found, Refusal), found
    return found


def plan(tmp_path, one, workload="parquet-scan"):
    file = tmp_path / "verify.yaml"
    file.write_text(experiment_file(one, workload))
    return named(plan_of(file, tmp_path / "out"))


def test_two_treatments_differ_by_the_remedy_alone(tmp_path):
    found = plan(tmp_path, proposed(), "parquet-scan")
    levels = {one.name: one.levels for one in found.treatments}
    assert levels == {
        AS_IT_WAS: {"data.codec": "snappy"},
        REMEDY: {"data.codec": "snappy", "spark.sql.shuffle.partitions": "8"},
    }
    assert found.baseline == AS_IT_WAS
    assert (found.kind, found.canaries, found.scale) == (
        "randomized-blocks",
        "iteration",
        "default",
    )
    assert found.guard["policy"] == "wait"
    assert (found.iterations, found.warmup) == (3, 1)
    assert {one.treatment for one in found.trials} == {AS_IT_WAS, REMEDY}
    assert len(found.trials) == 2 * found.blocks
    assert len({one.folder for one in found.trials}) == len(found.trials)


def test_all_levels_of_a_remedy_are_set_and_what_the_user_set_gives_way(tmp_path):
    remedy = setting("jvm.heap", "1g", **{"jvm.gc": "parallel"})
    before = {"spark.driver.memory": "512m", "jvm.gc": "serial"}
    one = proposed(finding(2.0, remedy), ran(levels=before))
    levels = {one.name: one.levels for one in plan(tmp_path, one).treatments}
    # A heap of Spark's own would win over that of the JVM.
    assert levels[REMEDY] == {"jvm.gc": "parallel", "jvm.heap": "1g"}
    assert levels[AS_IT_WAS] == before


def test_the_first_remedy_that_needs_no_human_is_tried():
    found = proposed(finding(2.0, edit(), setting("spark.x", "1"), setting("spark.y", "2")))
    assert found.remedy == {"spark.x": "1"}


@pytest.mark.parametrize("saves_s", [4.0, 2.0, 1.0, 0.5])
def test_blocks_are_as_many_as_find_the_predicted_saving(saves_s):
    found = proposed(finding(saves_s), budget_s=100 * HOUR, of=ran(iterations_s=()), noise=0.1)
    change = -math.log1p(-saves_s / 10)
    assert power(change, found.sd, found.blocks, blocks=True) >= 0.8 or found.blocks == 3
    if found.blocks > FEWEST_BLOCKS:
        assert power(change, found.sd, found.blocks - 1, blocks=True) < 0.8
    assert found.detectable <= math.exp(change) - 1 + 1e-6


def test_less_saving_and_more_noise_take_more_blocks():
    by_saving = [proposed(finding(s), budget_s=100 * HOUR).blocks for s in (4.0, 0.4, 0.2)]
    by_noise = [
        proposed(of=COMMAND, noise=noise, budget_s=100 * HOUR).blocks for noise in (0.1, 0.3, 0.6)
    ]
    for blocks in (by_saving, by_noise):
        assert blocks[0] < blocks[1] < blocks[2]


def test_the_noise_is_that_of_the_iterations_where_there_are_some():
    calm, noisy = (proposed(of=ran(iterations_s=x)).sd for x in ((1, 1.01, 1), (1, 1.5, 1)))
    assert calm == 0.02
    assert noisy == pytest.approx(0.234, abs=0.001)


@pytest.mark.parametrize("of", [WORKLOAD, COMMAND])
def test_a_rule_that_saved_nothing_so_far_can_be_tried(of):
    one = finding(2.0 * LEAST_BIAS)
    one.record = Record(tried_count=10, jobs_count=10, error_ratio=0.1, bias_ratio=LEAST_BIAS)
    assert proposed(one, of).predicted_ratio == pytest.approx(0.2)
    assert "saved at most 5.00 % of" in biased(one.record)
    one = finding(2.0)
    one.record = Record(tried_count=10, jobs_count=10, error_ratio=0.1, bias_ratio=0.5)
    assert proposed(one, of).predicted_ratio == pytest.approx(0.2)


def test_a_saving_of_all_the_time_can_be_tried():
    assert proposed(finding(10.0)).blocks == FEWEST_BLOCKS


def test_many_iterations_are_not_repeated_in_every_trial():
    found = proposed(of=ran(iterations=10, iterations_s=(2.0,) * 10, length_s=30.0))
    assert found.iterations == 3
    # 30 s less ten and a warm-up of 2 s; and three and one again.
    assert found.trial_s == pytest.approx(8 + 8)


def test_a_budget_too_small_makes_the_data_smaller_with_the_reason():
    whole = proposed()
    small = proposed(budget_s=whole.total_s * 0.8)
    assert whole.smaller is None
    assert small.blocks == whole.blocks
    assert 100 <= int(small.scale) < 1000
    assert small.total_s <= 0.9 * small.budget_s
    assert small.smaller == (
        f"at scale {small.scale} instead of 1000: 3 blocks take about 3 min 00 s, and the budget"
        " is 2 min 24 s"
    )


def test_data_of_almost_the_same_size_are_not_made_for_a_budget_that_almost_suffices():
    whole = proposed()
    assert int(proposed(budget_s=whole.total_s * 1.08).scale) == 800


@pytest.mark.parametrize("of", [WORKLOAD, COMMAND])
def test_a_budget_smaller_than_any_fair_experiment_refuses_and_says_which_would_do(of):
    found = refused(of=of, budget_s=30.0)
    assert "blocks take about" in found.reason
    minutes = int(found.by_hand.split("--budget ")[1])
    assert proposed(of=of, budget_s=60.0 * minutes)


def test_a_saving_below_any_noise_is_refused():
    assert "no experiment sees" in refused(finding(0.001), of=ran(COMMAND), noise=1.0).reason


@pytest.mark.parametrize(
    ("one", "of", "why", "hand"),
    [
        (finding(2.0, edit()), COMMAND, "edit of the code", "--verify --with -- COMMAND"),
        (finding(2.0, edit()), WORKLOAD, "edit of the code", "pyrometer compare"),
        (finding(2.0, Remedy(kind="machine", text="a faster disk")), WORKLOAD, "no setting",
         "a faster disk"),
        (finding(), ran(COMMAND, command=()), "not known", "pyrometer run --set"),
        (finding(), ran(levels={"spark.sql.shuffle.partitions": "8"}), "had spark", "compare"),
        (finding(), ran(COMMAND, command=("a", f"--password={REDACTED}")), "secret", "run"),
        (finding(), ran(levels={"spark.x": REDACTED}), "secret", "run"),
        (finding(), ran(COMMAND, command=("a", "--to={run}/b")), "{run} stands in", "run"),
        (finding(), ran(length_s=None), "not known", "run"),
        (finding(), ran(whole_ns=0), "not known", "run"),
        (finding(0.0), WORKLOAD, "no saving is predicted", "run"),
        (finding(2.0, setting("cpu.quota", "4")), ran(COMMAND, master="yarn"),
         "master yarn), and it would apply to this host alone: it cannot be tried here",
         "on the hosts of its executors; then: pyrometer run"),
        (finding(2.0, setting("spark.driver.memory", "2g")), ran(COMMAND, command=("java", "M")),
         "starts the driver's JVM itself", "-Xmx2g"),
    ],
)  # fmt: skip
def test_what_cannot_be_tried_says_why_and_what_to_do(one, of, why, hand):
    found = refused(one, of)
    assert why in found.reason
    assert hand in found.by_hand


def test_a_changed_command_is_of_commands_alone():
    assert "--with is for runs of a command" in refused(changed=("python", "b.py")).reason


def test_the_remedy_of_a_command_is_set_or_is_the_changed_command(tmp_path):
    for changed in ((), ("python", "new.py", "{x}")):
        one = proposed(of=ran(COMMAND, levels={"spark.a": "1"}), changed=changed)
        (tmp_path / "command.yaml").write_text(command_file(one))
        found = plan(tmp_path, one, str(tmp_path / "command.yaml"))
        levels = {one.name: one.levels for one in found.treatments}
        same, more = levels[AS_IT_WAS], levels[REMEDY]
        assert same["spark.a"] == more["spark.a"] == "1"
        assert (found.iterations, found.warmup) == (1, 0)
        if changed:
            assert (same["workload.remedy"], more["workload.remedy"]) == ("as-it-was", "made")
        else:
            assert more == {**same, "spark.sql.shuffle.partitions": "8"}
    variants = yaml.safe_load(command_file(one))["variants"]["remedy"]["levels"]
    assert variants["as-it-was"]["argv"] == ["python", "app.py"]
    assert variants["made"]["argv"] == ["python", "new.py", "{x}"]


def test_words_in_braces_reach_the_trials_of_a_command_as_they_were_typed(tmp_path):
    words = ("spark-submit", "app.py", "--out={date}", "{{APP_ID}}", "{remedy}")
    one = proposed(of=ran(COMMAND, command=words))
    file = tmp_path / "command.yaml"
    file.write_text(command_file(one))
    found = plan(tmp_path, one, str(file))
    assert [treatment.name for treatment in found.treatments] == [AS_IT_WAS, REMEDY]
    command = registry.get(str(file)).command(registry.resolve(str(file), {}), tmp_path)
    assert command.argv == words


@pytest.mark.parametrize(
    "words",
    [
        ("spark-submit", "--driver-memory", "1g", "a.py", "1g"),
        ("spark-submit", "--conf", "spark.driver.memory=1g", "a.py", "1g"),
    ],
)
def test_a_heap_that_the_command_itself_names_is_changed_there(words):
    one = finding(2.0, setting("spark.driver.memory", "2g"))
    found = proposed(one, of=ran(COMMAND, command=words))
    assert found.changed == (*(word.replace("1g", "2g") for word in words[:-1]), "1g")
    assert found.remedy == {}
    assert proposed(one, of=COMMAND).remedy == {"spark.driver.memory": "2g"}


def test_what_the_host_cannot_honour_is_said(tmp_path):
    one = proposed(finding(2.0, setting("numa.nodes", "77")))
    found = plan(tmp_path, one)
    assert isinstance(found, str)
    assert "77" in found


def test_a_trial_may_take_a_few_times_as_long_as_the_run(tmp_path):
    found = plan(tmp_path, proposed(of=ran(length_s=100.0)))
    assert found.timeout_s == 500
    assert found.margin == 0.02
    assert plan(tmp_path, proposed(finding(0.3), budget_s=9 * HOUR)).margin == pytest.approx(0.015)
    assert WORKLOAD.whole_ns == 10 * S
