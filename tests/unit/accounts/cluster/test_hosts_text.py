"""Hosts of a ledger as text: every host keeps its name, and says how it was observed."""

from __future__ import annotations

from rich.console import Console

from pyrometer.accounts.ledger.schema import HostLedger, View
from pyrometer.accounts.ledger.terminal_hosts import host_lines
from pyrometer.terminal.drawing import Look


def host(name: str, tier: str | None, observed: bool = True) -> HostLedger:
    view = View(window="application")
    return HostLedger(host=name, observed=observed, tier=tier, core_view=view, slot_view=view)


def drawn(*hosts: HostLedger) -> str:
    console = Console(width=100)
    with console.capture() as captured:
        for line in host_lines(hosts, Look(False, 30, 100)):
            console.print(line)
    return captured.get()


def test_hosts_say_at_which_tier_they_were_observed_or_that_they_were_not() -> None:
    text = drawn(host("a", "T0"), host("b", "T2"), host("c", "T2"), host("d", None, False))
    assert "observed: a at tier T0, b, c at tier T2; not observed: d" in text


def test_where_no_probe_says_its_tier_nothing_is_said() -> None:
    assert "observed" not in drawn(host("a", None), host("b", None))
