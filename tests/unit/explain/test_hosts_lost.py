"""What tasks lost on hosts: of those that are not named, only hosts that may have lost some."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from tests.support.hosts.two_hosts import WEST, one_waits
from tests.support.tables import HOST, mono

from pyrometer.accounts.window import open_scope
from pyrometer.explain.evidence.host_series import growth_by_host
from pyrometer.explain.evidence.hosts.lost import (
    carriers,
    less_on_hosts,
    lost_by_host,
    with_nothing,
)
from pyrometer.explain.facts import Facts
from pyrometer.store import Run
from pyrometer.summary.schema import Summary

PATH = "task/run_queue"
HOSTS = np.array(["slow", "slow", "calm", "calm", "unseen", "unseen"])


class Tasks:
    """Six tasks of a second on three hosts."""

    duration_ns = np.full(6, 100.0)

    def __getitem__(self, name: str) -> Any:
        assert name == "host"
        return HOSTS

    def distinct(self, name: str) -> list[str]:
        return sorted(set(self[name].tolist()))


def ledger_of(host: str, ns: float) -> Any:
    rows = [SimpleNamespace(path=PATH, value_ns=ns)]
    return SimpleNamespace(host=host, together=[], slot_view=SimpleNamespace(rows=rows))


def facts() -> Facts:
    """Give a stage whose tasks waited 100: 60 on one host, nothing on another, the rest unseen."""
    hosts = [ledger_of("slow", 60.0), ledger_of("calm", 0.0)]
    return cast(Facts, SimpleNamespace(
        tables=SimpleNamespace(several_hosts=True), tasks=Tasks(),
        summary=SimpleNamespace(ledger=SimpleNamespace(hosts=hosts)),
        kept={"ledger_on": {"slow": {0: {PATH: 60.0}}}},
        ledger_ns=lambda path: {0: 100.0}, place_of=lambda number: slice(0, 6),
    ))  # fmt: skip


def test_a_host_that_lost_nothing_has_no_part_in_the_rest() -> None:
    lost = lost_by_host(facts(), PATH)
    assert lost == {"slow": {0: 60.0}, None: {0: 40.0}, "calm": {}}
    less = less_on_hosts(facts(), "cpu_wait", lost).ns[0]
    assert np.allclose(less, [30, 30, 0, 0, 20, 20])


def test_it_is_not_named_either() -> None:
    assert carriers(lost_by_host(facts(), PATH)) == []
    assert carriers({"slow": {0: 60.0}, "calm": {}}) == ["slow"]


def test_what_another_series_knows_counts_as_well() -> None:
    lost = with_nothing({"slow": {0: 60.0}, None: {0: 40.0}}, {"calm": {}, None: {0: 1.0}})
    less = less_on_hosts(facts(), "cpu_wait", lost).ns[0]
    assert np.allclose(less, [30, 30, 0, 0, 20, 20])


def test_of_hosts_together_those_whose_series_stood_still_are_known(tmp_path: Path) -> None:
    two = one_waits()
    for host in (HOST, WEST):
        for at in (0, two.world.end_ms):
            shown = two.west(mono(at)) if host == WEST else mono(at)
            two.add("os_series", host=host, t_mono_ns=shown, scope="cgroup", name="grows",
                    value=at if host == WEST else 7)  # fmt: skip
    with Run.open(two.write(tmp_path)) as run:
        found = growth_by_host(
            Facts(open_scope(run, None), cast(Summary, None)), "cgroup", "grows", []
        )
    assert found.keys() == {None, HOST}
    assert found[HOST] == {}
