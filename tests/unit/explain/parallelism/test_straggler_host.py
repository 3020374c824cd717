import json
from pathlib import Path

import pytest
from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.straggler_host import RULE

LENGTHS = [1_000, 1_030, 980, 1_010, 995] * 12


def _slow(length: int, executor: str) -> int:
    return length * 3 if executor == "2" else length


def test_the_host_on_which_tasks_take_three_times_as_long(tmp_path: Path) -> None:
    job = Job()
    job.stage(LENGTHS, length_on=_slow)
    even = Job()
    even.stage(LENGTHS)
    (found,) = job.found(tmp_path, RULE)
    assert found.place.host == "host-2"
    assert saves(found, job.now_ms - even.now_ms)


def _on_five(times: dict[str, float]) -> Job:
    """Give a job on five hosts, on some of which tasks take longer."""
    job = Job(executors=5)
    job.stage(LENGTHS * 2, length_on=lambda length, name: round(length * times.get(name, 1)))
    return job


def test_two_slow_hosts_of_five_are_one_finding_that_mends_both(tmp_path: Path) -> None:
    job = _on_five({"2": 2, "4": 1.8})
    (found,) = job.found(tmp_path, RULE)
    assert saves(found, job.now_ms - _on_five({}).now_ms)
    assert found.place.words == "2 places: host-2, host-4"
    two, four = (one.estimate.value for one in found.evidence[:2])
    assert two is not None
    assert four is not None
    assert 1.95 <= two <= 2.05
    assert 1.75 <= four <= 1.85
    assert f"on host-4 {four:.3g} times" in found.mechanism
    assert "take host-2 and host-4 out of the cluster" in found.remedies[0].text


def test_a_host_that_hardly_holds_a_stage_up_is_not_named_beside_a_slow_one(
    tmp_path: Path,
) -> None:
    (found,) = _on_five({"2": 3, "4": 1.1}).found(tmp_path, RULE)
    assert found.place.host == "host-2"


def test_a_host_whose_first_tasks_are_cold(tmp_path: Path) -> None:
    job = Job()
    seen: list[str] = []

    def cold(length: int, executor: str) -> int:
        seen.append(executor)
        return length * 3 if executor == "2" and seen.count("2") <= 2 else length

    job.stage(LENGTHS, length_on=cold)
    assert not job.found(tmp_path, RULE)


def test_hosts_alike(tmp_path: Path) -> None:
    job = Job()
    job.stage(LENGTHS)
    assert not job.found(tmp_path, RULE)


def _of_hosts(slow_bytes: int, slow_times: int, spread: bool = True) -> Job:
    """Tasks of 1 s that read 1 MiB; on host 2, of other length and bytes."""
    job = Job()
    on: dict[int, str] = {}

    def length_on(length: int, executor: str) -> int:
        on[len(on)] = executor
        return length * slow_times if executor == "2" else length

    job.stage(LENGTHS, length_on=length_on)
    for number, task in enumerate(job.log.rows["tasks"]):
        length = LENGTHS[number] if spread else 1000
        task["input_bytes"] = length * 1024 * (slow_bytes if on[number] == "2" else 1)
    return job


def test_a_host_that_had_three_times_the_data_is_not_slow(tmp_path: Path) -> None:
    assert not _of_hosts(3, 3).found(tmp_path / "in proportion", RULE)
    assert not _of_hosts(3, 3, spread=False).found(tmp_path / "not known", RULE)


def test_a_host_that_takes_three_times_as_long_for_the_same_data(tmp_path: Path) -> None:
    (found,) = _of_hosts(1, 3).found(tmp_path, RULE)
    assert found.place.host == "host-2"


def test_a_host_with_twice_the_data_that_takes_six_times_as_long(tmp_path: Path) -> None:
    (found,) = _of_hosts(2, 6).found(tmp_path, RULE)
    ratio = found.evidence[0].estimate.value
    assert ratio is not None
    assert 2.8 <= ratio <= 3.2


def _of_a_kind(job: Job, cpus: dict[str, int] | None = None) -> Job:
    """Let a JVM on each host count its CPUs: four, unless others are said."""
    job.log.rows["processes"] = [
        {"host": f"host-{name}", "pid": name, "role": "executor", "executor_id": str(name),
         "app_id": "app", "start_mono_ns": 0,
         "facts": json.dumps({"cpus_count": (cpus or {}).get(str(name), 4)})}
        for name in range(1, job.executors + 1)
    ]  # fmt: skip
    return job


MOST = {"2": 2.0, "4": 1.9, "5": 2.1}


def test_three_slow_hosts_of_five_are_named_beside_two_that_are_as_large(tmp_path: Path) -> None:
    job = _of_a_kind(_on_five(MOST))
    (found,) = job.found(tmp_path, RULE)
    assert found.place.words == "3 places: host-5, host-2, host-4"
    assert saves(found, job.now_ms - _on_five({}).now_ms)
    assert "host-1 and host-3 are faster, and all hosts have 4 CPUs." in found.mechanism
    for one, times in zip(found.evidence, (2.1, 2.0, 1.9), strict=False):
        assert one.estimate.value == pytest.approx(times, rel=0.03)
    (remedy,) = found.remedies
    assert remedy.text.startswith(
        "see what host-5, host-2 and host-4 lack beside host-1 and host-3: about 4"
    )


def test_of_six_hosts_the_slower_half_is_named(tmp_path: Path) -> None:
    job = Job(executors=6)
    times = {"1": 1.5, "2": 1.5, "3": 1.6}
    job.stage(LENGTHS * 2, length_on=lambda length, name: round(length * times.get(name, 1)))
    (found,) = _of_a_kind(job).found(tmp_path, RULE)
    assert found.place.places_count == 3
    assert "host-4, host-5 and host-6 are faster" in found.mechanism


@pytest.mark.parametrize(
    ("times", "cpus"),
    [
        ({}, None),
        # Two newer hosts of other size: each is as fast as it can be.
        (MOST, {"1": 8, "3": 8}),
        # Each differs from the next by as much: none is a kind of its own.
        ({"1": 1.0, "2": 1.2, "3": 1.45, "4": 1.7, "5": 2.1}, None),
        # Hosts of a kind differ by that much.
        ({"2": 1.1, "4": 1.12, "5": 1.1}, None),
        # One alone may have the data.
        ({"1": 2, "2": 2, "3": 2, "4": 2}, None),
    ],
    ids=["alike", "other hardware", "a slope", "a little", "one is fast"],
)
def test_near_miss_most_hosts_are_not_called_slow(
    tmp_path: Path, times: dict[str, float], cpus: dict[str, int] | None
) -> None:
    found = _of_a_kind(_on_five(times), cpus).all_found(tmp_path, RULE)
    assert not [one for one in found if "are faster" in one.mechanism]
    assert all(one.place.places_count < 3 for one in found)


def test_where_no_hardware_is_known_most_hosts_are_not_called_slow(tmp_path: Path) -> None:
    found = _on_five(MOST).all_found(tmp_path, RULE)
    assert all(one.place.places_count < 3 for one in found)
