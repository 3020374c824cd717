from pathlib import Path

from tests.support.explained import Job, saves

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
