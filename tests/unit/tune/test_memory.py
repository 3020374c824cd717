"""Earlier tunings: kept, found again by how alike jobs are, overcome where they mislead."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.tuning import PARTITIONS, SPACE, Simulated, seconds_of, tuning

from pyrometer.core.errors import CapabilityError
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.tune.advise.engines import engine
from pyrometer.tune.carry import confirm_winner, remember, search
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.memory.recall import FEWEST, NEAR, recalled
from pyrometer.tune.memory.remembered import (
    Remembered,
    RememberedTrial,
    beside,
    keep,
    read,
    remembered,
)
from pyrometer.tune.portrait import Portrait, distance
from pyrometer.tune.trials.folder import begin
from pyrometer.tune.trials.records import Known

JOIN = Portrait(
    operators={"loads": 4, "sort_merge_joins": 3, "aggregates": 1},
    shares={"on_cpu": 0.8, "run_queue": 0.1},
    sizes={"input_bytes": 1e9, "shuffle_written_bytes": 4e8},
)
SCAN = Portrait(
    operators={"loads": 1, "aggregates": 1},
    shares={"on_cpu": 0.3, "block_io": 0.6},
    sizes={"input_bytes": 1e10, "shuffle_written_bytes": 1e3},
)


def _like(portrait: Portrait, **sizes: float) -> Portrait:
    return portrait.model_copy(update={"sizes": {**portrait.sizes, **sizes}})


def _other(name: str, portrait: Portrait, trials: int = 8, **more: Any) -> Remembered:
    seen = [RememberedTrial(configuration={}, value=1e9)]
    seen += [
        RememberedTrial(configuration={PARTITIONS: str(10 * at)}, value=1e9 + 1e7 * at)
        for at in range(1, trials)
    ]
    keys = {"job": name, "scale": "test", "objective": "elapsed", "folder": f"/runs/{name}"}
    whole = {"id": name, "portrait": portrait, "trials": seen, "wall_ns": 1, **keys, **more}
    return Remembered(**whole)


def test_alike_is_what_does_the_same_at_any_size_and_not_what_is_only_as_large() -> None:
    larger = _like(JOIN, input_bytes=1e10, shuffle_written_bytes=4e9)
    assert distance(JOIN, JOIN) == 0.0
    assert (distance(JOIN, larger) or 1) < NEAR / 2
    assert (distance(JOIN, _like(SCAN, **JOIN.sizes)) or 0) > NEAR
    assert distance(JOIN, SCAN) == distance(SCAN, JOIN)
    # Sizes alone say nothing of what a job does.
    assert distance(Portrait(sizes={"input_bytes": 1.0}), JOIN) is None


def test_operators_of_which_there_are_none_say_nothing_of_a_job() -> None:
    none = Portrait(operators={"loads": 0})
    assert distance(none, JOIN) is None
    assert distance(none, none) is None
    busy = Portrait(operators=none.operators, shares=SCAN.shares)
    assert distance(busy, JOIN) == distance(Portrait(shares=SCAN.shares), JOIN)


def test_the_nearest_are_recalled_with_what_differs() -> None:
    here = tuning(machine={"cpu_model": "A", "cpus_count": 4})
    far = _other("scan", SCAN)
    near = _other("near", _like(JOIN, input_bytes=5e9), machine={"cpu_model": "B", "cpus_count": 8})
    same = _other("simulated", JOIN, machine=here.machine, winner={PARTITIONS: "10", "gone": "1"})
    few = _other("few", JOIN, trials=FEWEST - 1)
    memory = _other("memory", JOIN, objective="memory")
    found = recalled(JOIN, here, SPACE, [far, near, same, same, few, memory])
    assert [one.job for one in found.similar] == ["simulated", "near"]
    assert found.similar[0].differs == []
    assert found.similar[1].differs == [
        "the job", "the machine (B, 8 CPUs)", "the data (4.66 GiB read, 954 MiB here)",
    ]  # fmt: skip
    assert [one.levels for one in found.priors] == [{PARTITIONS: "10"}]
    assert {one.of for one in found.earlier} == {"simulated", "near"}
    assert len(found.earlier) == 16


def test_trials_of_a_space_that_is_another_one_are_not_recalled() -> None:
    foreign = _other("simulated", JOIN)
    for one in foreign.trials[1:]:
        one.configuration["spark.of.theirs"] = "1"
    assert recalled(JOIN, tuning(), SPACE, [foreign]).similar == ()


def _tuned(root: Path, store: Path, portrait: Portrait, **more: Any) -> Any:
    """Tune a job whose portrait is known, with what a store knows."""
    seconds = more.pop("seconds", seconds_of)
    begin(root, tuning("25", memory=str(store), **more))

    def known() -> Known:
        one = tuning("25", **more)
        found = recalled(portrait, one, SPACE, [*read(store).tunings, *beside(root)])
        return Known(
            portrait=portrait, priors=list(found.priors), earlier=list(found.earlier),
            similar=list(found.similar), wall_ns=1,
        )  # fmt: skip

    machine = Simulated(seconds=seconds, known=known)
    history = search(
        root, lambda one: engine("own", SPACE, seed=one.seed, budget=17), actions=machine.actions()
    )
    remember(root)
    return history, tuning_report(root, causes=False, measure=machine.actions().measure)


@pytest.mark.slow
def test_a_tuning_is_kept_and_warms_the_next_with_the_doubt_named(tmp_path: Path) -> None:
    store = tmp_path / "store"
    first, report = _tuned(tmp_path / "a/one", store, JOIN)
    assert [one.code for one in report.doubts if one.code == "warm_start"] == []
    (kept,) = read(store).tunings
    assert kept == remembered(tmp_path / "a/one")
    assert kept.winner == first.settled.configuration
    second, report = _tuned(tmp_path / "b/two", store, _like(JOIN, input_bytes=2e10))
    told = [one for one in report.doubts if one.code == "warm_start"]
    assert len(told) == 1
    assert "of 1 other tuning came first; they differ in the data" in told[0].message
    assert report.similar[0].of.endswith("one")
    # The other's winner is in the first block.
    tried = [one.asked.configuration for one in second.steps[:6]]
    assert any(kept.winner.items() <= one.items() for one in tried)
    # Whoever begins beside it needs no store.
    assert [one.folder for one in beside(tmp_path / "a/three")] == [kept.folder]


@pytest.mark.parametrize("fails", [True, False])
def test_a_winner_that_its_confirmation_refuted_is_not_suggested(
    tmp_path: Path, fails: bool
) -> None:
    store, root = tmp_path / "store", tmp_path / "a/one"
    _tuned(root, store, JOIN)

    def behaviour(levels: Any, count: int) -> Attempt | None:
        return Attempt("failed", reason="exit code 1") if fails and levels else None

    confirm_winner(root, actions=Simulated(behaviour).actions())
    before = read(store).tunings[0]
    remember(root)
    (kept,) = read(store).tunings
    assert (before.verdict, kept.verdict) == (None, "failed" if fails else "confirmed")
    # Whichever copy knows the verdict counts.
    for known in ([kept, before], [before, kept], beside(tmp_path / "a/two")):
        found = recalled(JOIN, tuning(), SPACE, known)
        assert (found.priors == ()) is fails
        assert found.earlier


def test_a_tuning_is_the_same_from_every_host_and_under_every_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, place = tmp_path / "store", tmp_path / "mount/one"
    _tuned(place, store, JOIN)
    (kept,) = read(store).tunings
    monkeypatch.setattr("platform.node", lambda: "another")
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "mount").rename(elsewhere)
    (there,) = beside(elsewhere / "three")
    assert there.id == kept.id
    # A version that named tunings by their host has kept it, too, with fewer trials.
    old = kept.model_copy(update={"id": "of-a-host", "trials": kept.trials[:-1]})
    keep(store, old)
    again = read(store).tunings
    assert {one.id for one in again} == {kept.id}
    found = recalled(JOIN, tuning(), SPACE, [there, *again])
    assert [one.trials for one in found.similar] == [len(kept.trials)]
    # Another tuning of the same job is another one.
    _tuned(tmp_path / "b/two", tmp_path / "other", JOIN, seconds=lambda levels: 3.0)
    assert {one.id for one in read(tmp_path / "other").tunings}.isdisjoint({kept.id})


@pytest.mark.slow
def test_earlier_work_that_misleads_is_overcome(tmp_path: Path) -> None:
    """The other job likes many partitions, this one few; all else of them is alike."""

    def many(levels: Any) -> float:
        return 13.0 - int(levels.get(PARTITIONS, "200")) / 40

    store = tmp_path / "store"
    _tuned(tmp_path / "a/one", store, JOIN, seconds=many)
    cold, _ = _tuned(tmp_path / "c/cold", tmp_path / "empty", JOIN)
    found, report = _tuned(tmp_path / "b/two", store, JOIN)
    assert report.similar
    best, without = (seconds_of(one.settled.configuration) for one in (found, cold))
    assert best < 1.05 * without
    assert best < 0.85 * seconds_of({})


def test_a_store_that_is_damaged_or_full_stops_nothing(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / "bad.json").write_text('{"schema": "pyrometer/tuning-memory/1"')
    (store / "old.json").write_text(json.dumps({"schema": "pyrometer/tuning-memory/9"}))
    found = read(store)
    assert found.tunings == ()
    assert [one.partition(": ")[2] for one in found.unread] == [
        "no pyrometer/tuning-memory/1",
        "no pyrometer/tuning-memory/1",
    ]
    assert read(tmp_path / "nowhere").tunings == ()
    (tmp_path / "file").write_text("")
    with pytest.raises(CapabilityError, match="cannot be written"):
        keep(tmp_path / "file" / "store", _other("one", JOIN))
    keep(store, _other("one", JOIN))
    assert [one.job for one in read(store).tunings] == ["one"]


def test_what_is_kept_in_the_folder_of_a_team_is_theirs_to_read(tmp_path: Path) -> None:
    mine = keep(tmp_path / "mine", _other("one", JOIN))
    assert (mine.parent.stat().st_mode & 0o777, mine.stat().st_mode & 0o777) == (0o700, 0o600)
    team = tmp_path / "team"
    team.mkdir()
    team.chmod(0o750)
    precious = tmp_path / "precious"
    precious.write_text("untouched")
    # What somebody else has put in its way is not written through.
    (team / f".one.{os.getpid()}").symlink_to(precious)
    (team / f".one.json.{os.getpid()}").symlink_to(precious)
    (team / "one.json").symlink_to(precious)
    kept = keep(team, _other("one", JOIN))
    assert not kept.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o640
    assert precious.read_text() == "untouched"
