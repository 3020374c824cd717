"""What is told of workloads that ran together: from simulated trials of known slowdowns."""

from __future__ import annotations

import dataclasses
import io
import json
import math

import numpy as np
import pytest
from rich.console import Console
from tests.support import experiments
from tests.support.experiments import Machine

from pyrometer.accounts.ledger.schema import Row, View
from pyrometer.cli.main import run_verb
from pyrometer.collect.host import facts as topology
from pyrometer.collect.host.facts import Cpu
from pyrometer.collect.host.facts import Machine as Host
from pyrometer.core.errors import UsageError
from pyrometer.corun import terminal
from pyrometer.corun.analysis import corun_report, fairness, party_report
from pyrometer.corun.contention import Spent, advice, by_resource, contention, makespan
from pyrometer.corun.experiment import corun_plan
from pyrometer.corun.plan import members_of, parties
from pyrometer.corun.schema import CorunReport
from pyrometer.experiments.folder import Ended, read_plan
from pyrometer.experiments.journal import Entries, read_journal
from pyrometer.experiments.plan.file import Experiment
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.experiments.run.loop import begin, carry_out

TWO = ("parquet-scan", "pagerank")
ALONE = {"parquet-scan": 4.0, "pagerank": 10.0}
SLOWER = {
    ("parquet-scan", "pagerank", False): 1.5,
    ("pagerank", "parquet-scan", False): 1.8,
    ("parquet-scan", "pagerank", True): 2.0,
    ("pagerank", "parquet-scan", True): 2.4,
    ("parquet-scan", "cpu", False): 1.4,
    ("pagerank", "cpu", False): 1.0,
}


def two_cpus(monkeypatch):
    host = Host((Cpu(0, 0, 0), Cpu(0, 1, 1)), (0,))
    monkeypatch.setattr(topology, "read", lambda: host)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})


@pytest.fixture(autouse=True)
def _host(monkeypatch):
    two_cpus(monkeypatch)


def actions(seed, sd=0.01):
    """What simulates trials: blocks drift by tens of per cent, trials differ by one."""
    draw = np.random.default_rng(seed)
    launched = [0]

    def one(trial):
        beside = trial.co_running[0] if trial.co_running else trial.treatment.get("co.run")
        slower = SLOWER.get((trial.name, beside, "host.cpus" in trial.treatment), 1.0)
        drift = 1 + 0.01 * launched[0]
        seconds = ALONE[trial.name] * slower * drift * math.exp(draw.normal(0, sd))
        facts = TrialFacts((seconds,), seconds, 1, trial.name, trial.name)
        return Attempt("finished", seconds=seconds, facts=facts)

    def several(trials, watch):
        launched[0] += 1
        return [one(trial) for trial in trials]

    calm = Machine(1, 1).actions()
    return dataclasses.replace(
        calm, run_trial=lambda t, w: several([t], w)[0], run_parallel=several
    )


def spent(ended):
    """Slots × time, of which beside another what is more went into waiting for CPUs."""
    name = ended.treatment.split()[0]
    alone = ALONE[name]
    return Spent({"cpu_time": alone, "cpus": ended.seconds * 2 - alone}, ipc_reason="no PMU")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Give the folder of an experiment that is done."""
    with pytest.MonkeyPatch.context() as patch:
        two_cpus(patch)
        return ran(tmp_path_factory.mktemp("corun"))


@pytest.fixture(scope="module")
def made(root):
    """Give what is told of it."""
    return told(root)


def ran(tmp_path, blocks=5, seed=1):
    members = members_of(["parquet-scan", "pagerank"])
    rest = Experiment(
        name="e", workload="both", matrix={}, scale="test", blocks=blocks, warmup="1", seed=seed
    )
    root = tmp_path / f"corun-{seed}"
    begin(root, corun_plan(parties(members, ["cpu"]), rest, tmp_path))
    carry_out(root, actions=actions(seed))
    return root


def told(root):
    return corun_report(root, read_plan(root), read_journal(root), read=spent)


def test_slowdowns_are_found_within_blocks_and_the_whole_follows_from_them(made):
    assert (made.done_count, made.trials_count) == (40, 40)
    found = {(o.member, (o.beside or [o.neighbour])[0], o.own_cpus): o for o in made.encounters}
    assert found.keys() == SLOWER.keys()
    for key, slowdown in SLOWER.items():
        one = found[key]
        # The machine became a third slower meanwhile; within blocks that is nearly nothing.
        assert one.slowdown.value == pytest.approx(slowdown, rel=0.05)
        assert one.slowdown.low < one.slowdown.value < one.slowdown.high
        assert one.slowdown.n == 5
        assert (one.verdict == "slower") == (slowdown > 1)
    shared, own = made.parties
    assert (shared.own_cpus, own.own_cpus) == (False, True)
    assert shared.weighted_speedup.value == pytest.approx(1 / 1.5 + 1 / 1.8, rel=0.05)
    assert shared.harmonic_speedup.value == pytest.approx(2 / 3.3, rel=0.05)
    assert shared.fairness.value == pytest.approx(1.5 / 1.8, rel=0.05)
    (where,) = made.advice
    spans = {one.way: one.makespan_s.value for one in where.ways}
    # 14 in turn; together 6 s both, and two thirds of the 10 s are left for the other.
    assert spans["together"] / spans["in turn"] == pytest.approx((6 + 10 * 2 / 3) / 14, rel=0.05)
    assert spans["own CPUs"] / spans["in turn"] == pytest.approx(24 / 14, rel=0.05)
    assert where.best == ["together"]
    assert where.told.startswith("together on the same CPUs: one after the other takes ")


def test_what_grew_is_named_as_far_as_it_can_be_told(made):
    one = next(one for one in made.encounters if one.member == "pagerank" and one.own_cpus)
    grown = {growth.name: growth for growth in one.contention.grown}
    assert grown["cpus"].sure
    assert not grown["cpu_time"].sure
    assert grown["cpus"].share == 1.0
    assert one.contention.told == "tasks ready, waiting for a CPU (100% of what grew)"
    calm = next(one for one in made.encounters if one.member == "pagerank" and one.neighbour)
    assert calm.contention.told == "not surely slower: there is nothing to explain"


def test_it_is_printed_and_is_json(made):
    text = io.StringIO()
    terminal.show(Console(file=text, width=200), made)
    printed = text.getvalue()
    assert "slowdown of" in printed
    assert "pagerank beside parquet-scan, own CPUs: " in printed
    # Rows only of those that are surely slower.
    assert "so there is nothing to explain: pagerank beside cpu" in printed
    assert "an iteration of parquet-scan and pagerank: in turn 1" in printed
    document = made.model_dump(mode="json", by_alias=True)
    assert document["schema"] == "pyrometer/corun/1"
    assert CorunReport.model_validate(json.loads(json.dumps(document))) == made


def test_what_was_interrupted_is_told_as_far_as_it_went(root, tmp_path):
    part = tmp_path / "part"
    begin(part, read_plan(root))
    journal = part / "journal.ndjson"
    lines = (root / "journal.ndjson").read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[: len(lines) * 3 // 10]))
    half = told(part)
    assert 8 <= half.done_count < 16
    few = [one.message for one in half.doubts if one.code == "few_trials"]
    assert [one.split(":")[0] for one in few] == ["parquet-scan", "pagerank"]
    assert {one.slowdown.n for one in half.encounters} == {1}
    assert {one.verdict for one in half.encounters} == {"cannot tell"}
    assert half.advice[0].told.startswith("cannot tell: one after the other or together")
    journal.write_text("".join(lines[:2]))
    none = told(part)
    assert (none.encounters, none.parties, none.advice) == ([], [], [])
    assert none.reasons["pagerank"] == "two treatments with a finished trial are needed to compare"


def test_an_experiment_with_one_workload_has_no_company(root, tmp_path, capsys):
    plan = experiments.plan(["a", "b"], 1, 0)
    begin(tmp_path / "one", plan)
    assert run_verb(["corun", str(tmp_path / "one")]) == 2
    assert "nothing ran together" in capsys.readouterr().err
    assert run_verb(["experiment", "show", str(root)]) == 2
    assert "pyrometer corun DIR" in capsys.readouterr().err


def test_intervals_of_the_whole_cover_what_is_true():
    draw = np.random.default_rng(7)
    true, trials, covered = (1.3, 2.1), 400, np.zeros(3)
    truth = (1 / 1.3 + 1 / 2.1, 2 / 3.4, 1.3 / 2.1)
    for _ in range(trials):
        slowdowns = {
            name: [its * math.exp(draw.normal(0, 0.05)) for _ in range(5)]
            for name, its in zip("ab", true, strict=True)
        }
        found = party_report(slowdowns, False)
        for at, one in enumerate((found.weighted_speedup, found.harmonic_speedup, found.fairness)):
            covered[at] += one.low <= truth[at] <= one.high
    # Two standard errors of 95 % in 400 are 2.2 %.
    assert (abs(covered / trials - 0.95) < 0.03).all()


def test_who_is_slowed_alike_may_be_fair():
    draw = np.random.default_rng(8)
    fair = 0
    for _ in range(200):
        two = [[math.exp(draw.normal(0.5, 0.05)) for _ in range(5)] for _ in range(2)]
        fair += fairness(two).high == 1.0
    assert fair > 180
    three = fairness([[2.0, 2.02, 1.98], [1.0, 1.01, 1.02], [1.5, 1.51, 1.49]])
    assert three.high < 0.6
    assert fairness([[1.0], [2.0]]).low is None


def fluid(alone, beside, step=1e-3):
    """Time until two are done whose progress is what load lets them have, step by step."""
    left, time = [1.0, 1.0], 0.0
    while max(left) > 0:
        both = min(left) > 0
        for at in range(2):
            left[at] -= step / (beside[at] if both else alone[at])
        time += step
    return time


@pytest.mark.parametrize(
    ("alone", "beside"), [([4, 10], [6, 12]), ([3, 3], [5, 5.5]), ([1, 9], [9.5, 9.6])]
)
def test_who_is_left_goes_on_as_alone(alone, beside):
    assert makespan("together", alone, beside) == pytest.approx(fluid(alone, beside), abs=0.01)


@pytest.mark.parametrize(
    ("together", "own", "best", "words"),
    [
        (1.9, 1.2, ["own CPUs"], "at once, each on CPUs of its own: "),
        (2.6, 3.0, ["in turn"], "one after the other: together on the same CPUs takes "),
        (
            2.0,
            3.0,
            ["in turn", "together"],
            "one after the other or together on the same CPUs: the",
        ),
    ],
)
def test_the_way_that_is_surely_done_first_is_advised(together, own, best, words):
    draw = np.random.default_rng(3)

    def rows(seconds):
        return [[seconds * math.exp(draw.normal(0, 0.002)) for _ in range(2)] for _ in range(8)]

    times = {"in turn": rows(5.0), "together": rows(5.0 * together), "own CPUs": rows(5.0 * own)}
    found = advice(["a", "b"], times, 0.02)
    assert found.best == best
    assert found.told.startswith(words)


def view(**seconds):
    """A slot view of these rows."""
    made = View(window="measured")
    for name, value in seconds.items():
        path = name.replace("__", "/")
        parent = path.rpartition("/")[0] or None
        made.rows.append(Row(path=path, parent=parent, value_ns=round(value * 1e9)))
    return made


def test_resources_are_slots_times_time_without_a_rest():
    found = by_resource(
        view(
            task=10, task__on_cpu=4, task__run_queue=2, task__waiting=3, task__waiting__block_io=1,
            task__waiting__lock=1.5, idle=5, idle__driver=4, idle__stage_tail=1, deserialize=0.5,
        ),
        each=0.5,
    )  # fmt: skip
    assert found == pytest.approx(
        {
            "cpu_time": 2,
            "cpus": 1,
            "disk": 0.5,
            "waits": 1,
            "around": 0.75,
            "driver": 2,
            "idle": 0.5,
        }
    )
    assert sum(found.values()) == pytest.approx(15.5 / 2)


def grown(name, seconds, ipc=(None, None)):
    noise = (0.0, 0.01, -0.01, 0.005)
    alone = [Spent({"cpu_time": 4.0 + one, "cpus": 0.1}, {}, ipc[0], "no PMU") for one in noise]
    beside = [
        Spent({"cpu_time": 4.0, "cpus": 0.1, name: base + seconds + one}, {}, ipc[1], "no PMU")
        for one, base in zip(noise, [4.0 if name == "cpu_time" else 0.0] * 4, strict=True)
    ]
    return contention(alone, beside, slower=True)


def test_cpu_time_that_grows_is_explained_by_counters_or_not_at_all():
    assert "is not separable: no PMU" in grown("cpu_time", 1.0).told
    slower = grown("cpu_time", 1.0, (2.0, 1.5)).told
    assert "instructions per cycle are 0.75 times those alone" in slower
    assert "did not surely fall" in grown("cpu_time", 1.0, (2.0, 2.0)).told
    assert grown("disk", 2.0).told == "tasks waiting for a disk (100% of what grew)"
    assert "collectors did more or waited for something is not separable" in grown("gc", 1.0).told
    assert grown("gc", 0.0).told.startswith("what they contend for is unknown")


def test_the_driver_works_more_or_waits_for_a_cpu():
    noise = (0.0, 0.01, -0.01)
    alone = [Spent({"driver": 1.0 + one}, {"driver": 0.2, "jit": 1.0}) for one in noise]
    for queued, words in (
        (0.9, "the driver's threads waited 0.7 s more for a CPU"),
        (0.2, "whether the driver's threads did more or waited for something is not separable"),
    ):
        beside = [Spent({"driver": 2.0}, {"driver": queued + one, "jit": 1.0}) for one in noise]
        found = contention(alone, beside, slower=True)
        assert found.told.endswith(words)
        assert [one.sure for one in found.roles] == [queued > 0.5, False]


def test_without_a_probe_what_they_fight_over_is_not_told():
    why = Spent(reason="no probe: profile light or full")
    found = contention([why], [why], slower=True)
    assert (found.grown, found.reason) == ([], "no probe: profile light or full")


def test_of_emulated_machines_no_way_is_advised(root):
    entries = read_journal(root)
    for one in entries.ended.values():
        one.doubted = ["emulated"]
    report = corun_report(root, read_plan(root), entries, read=spent)
    (where,) = report.advice
    assert (where.best, where.pairs) == ([], [])
    assert where.told.startswith("no way is advised: all CPUs of an emulated machine take turns")
    assert [one.way for one in where.ways] == ["in turn", "together", "own CPUs"]
    codes = [one.code for one in report.doubts]
    assert codes.count("emulated_in_turn") == 1
    assert all(one.slowdown.value for one in report.encounters)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["parquet-scan"], "parquet-scan has nothing to run with"),
        (["parquet-scan", "pagerang"], "pagerang"),
        (["parquet-scan", "pagerank", "--neighbour", "gpu"], "co.run has no level 'gpu'"),
        (["parquet-scan", "pagerank", "--offset", "5"], "not of the form WORKLOAD:SECONDS"),
        (["parquet-scan", "pagerank", "--profile", "x"], "x"),
    ],
)
def test_mistakes_are_refused_before_anything_runs(
    tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    assert run_verb(["corun", *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "pyrometer-runs").exists()


def test_a_dry_run_shows_the_plan(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_verb(["corun", *TWO, "--offset", "pagerank:2", "--dry-run", "--json"]) == 0
    done = capsys.readouterr()
    plan = json.loads(done.out.splitlines()[-1])["plan"]
    assert (plan["kind"], plan["name"]) == ("corun", "corun-parquet-scan-pagerank")
    assert len(plan["trials"]) == 18
    assert plan["description"].endswith("; parquet-scan beside pagerank, own CPUs")
    assert "randomised blocks; workloads of a party run at once" in done.err
    assert "pagerank begins 2 s later" in done.err
    assert not (tmp_path / "pyrometer-runs").exists()


def test_after_a_kill_those_of_a_party_are_made_again_and_nothing_is_left(root, tmp_path, capsys):
    plan = read_plan(root)
    lines = (root / "journal.ndjson").read_text().splitlines(keepends=True)
    together = {one.number for one in plan.trials if one.launch is not None}
    begun = [json.loads(line) for line in lines]
    at = next(
        at for at, one in enumerate(begun) if one["k"] == "begin" and one["trial"] in together
    )
    part = tmp_path / "part"
    begin(part, plan)
    (part / "journal.ndjson").write_text("".join(lines[: at + 1]))
    (part / "trials" / ".barrier-x").mkdir(parents=True)
    entries = carry_out(part, actions=actions(2))
    assert not list((part / "trials").iterdir())
    assert entries.ended.keys() == {one.number for one in plan.trials}
    again = {one.attempt for one in entries.ended.values() if one.trial in together}
    assert again == {1, 2}
    capsys.readouterr()
    assert run_verb(["experiment", "resume", str(part), "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["schema"], len(found["encounters"])) == ("pyrometer/corun/1", len(SLOWER))
    assert (part / "report.html").is_file()


def test_to_resume_what_failed_altogether_is_exit_code_1(root, tmp_path, capsys):
    part, failed = tmp_path / "part", Attempt("failed", reason="no input")
    begin(part, read_plan(root))
    broken = dataclasses.replace(
        Machine(1, 1).actions(),
        run_trial=lambda t, w: failed,
        run_parallel=lambda t, w: [failed for _ in t],
    )
    carry_out(part, actions=broken)
    capsys.readouterr()
    assert run_verb(["experiment", "resume", str(part), "--json"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["done_count"] == 0


def test_a_workload_of_a_file_is_the_same_twice_and_must_not_change(tmp_path):
    path = tmp_path / "job.sql"
    path.write_text("SELECT 1\n")
    members = members_of([str(path), str(path)])
    assert [one.name for one in members] == ["job", "job#2"]
    rest = Experiment(name="e", workload="both", matrix={}, blocks=1, warmup="1", seed=1)
    begin(tmp_path / "out", corun_plan(parties(members), rest, tmp_path))
    seconds = Attempt("finished", 1.0, facts=TrialFacts((1.0,), 1.0, 1, "x", "x"))
    calm = dataclasses.replace(
        Machine(1, 1).actions(),
        run_trial=lambda t, w: seconds,
        run_parallel=lambda t, w: [seconds for _ in t],
    )
    assert len(carry_out(tmp_path / "out", actions=calm).ended) == 6
    path.write_text("SELECT 2\n")
    with pytest.raises(UsageError, match="has changed since"):
        carry_out(tmp_path / "out", actions=calm)


@pytest.mark.slow
def test_intervals_of_slowdowns_cover_what_is_true(root):
    plan, covered, draw = read_plan(root), [], np.random.default_rng(11)
    companies = {one.name: one.company for one in plan.treatments}
    for _ in range(60):
        entries = Entries()
        block = {number: draw.normal(0, 0.2) for number in range(1, plan.blocks + 1)}
        for one in plan.trials:
            its = companies[one.treatment]
            beside = (its.beside or [its.neighbour])[0]
            slower = SLOWER.get((its.member, beside, its.own_cpus), 1.0)
            noise = block[one.block] + draw.normal(0, 0.03)
            entries.ended[one.number] = Ended(
                trial=one.number, attempt=1, block=one.block, treatment=one.treatment,
                status="finished", folder=one.folder, wall_ns=0,
                seconds=ALONE[its.member] * slower * math.exp(noise),
            )  # fmt: skip
        for one in corun_report(root, plan, entries, read=spent).encounters:
            true = SLOWER[one.member, (one.beside or [one.neighbour])[0], one.own_cpus]
            covered.append(one.slowdown.low <= true <= one.slowdown.high)
    # 360 intervals, of which those of a workload share the time alone.
    assert abs(sum(covered) / len(covered) - 0.95) < 0.04
