"""``pyrometer doctor``: what this machine can measure, and how to get the rest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyrometer.cli.shared.endings import ending_with, read_or_not
from pyrometer.terminal import console as common

if TYPE_CHECKING:
    from pyrometer.collect.doctor.finding import Finding
    from pyrometer.collect.host.card import Card
    from pyrometer.core.estimate import Estimate


app = typer.Typer()

GROUPS = (
    ("Pyrometer", ("package",)),
    ("What it measures", ("java", "spark", "run_directory")),
    ("Inside the JVM", ("eventlog", "plugin", "gc", "stacks")),
    ("Inside Python", ("python",)),
    ("Kernel and machine", ("",)),
)
EPILOG = "Example:  pyrometer doctor --json | tail -1 | python -m json.tool"


@app.command(epilog=EPILOG)
def doctor(
    card: Annotated[
        bool,
        typer.Option(
            "--card",
            help="Also measure the host card (CPU, memory bandwidth and latency, disk, noise);"
            " about 20 s. It is kept and attached to every run.",
        ),
    ] = False,
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle",
            metavar="FILE",
            help="Write what is needed to add this machine: topology, counters and limits as the"
            " kernel shows them, as text without names, addresses or serial numbers.",
        ),
    ] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Check what this machine can measure, and how to get what is missing.

    Exit code: 0 if a run with profile light is possible, 3 if not.
    """
    from pyrometer.collect.doctor import examine as examiner
    from pyrometer.core.errors import UsageError

    if bundle is not None and card:
        raise UsageError("--bundle has no host card", "leave out --card, or --bundle")
    if bundle is not None:
        _write_bundle(bundle, as_json=as_json)
        return
    findings = [*examiner.examine(Path.cwd(), os.environ), *leftover_groups(), *leftover_settings()]
    with ending_with(None if examiner.can_run(findings) else typer.Exit(3)):
        with read_or_not():
            common.human(as_json).print(examiner.verdict(findings), style="bold", soft_wrap=True)
            show(findings, common.human(as_json))
        data = examiner.as_data(findings)
        if card:
            from pyrometer.collect.host import card as cards

            measured = cards.measure(lambda text: common.err().print(f"[dim]{text}[/]"))
            cards.keep(measured)
            show_card(measured, common.human(as_json))
            data["card"] = measured.model_dump(mode="json")
        if as_json:
            common.emit_json(data)


def _write_bundle(path: Path, *, as_json: bool) -> None:
    from pyrometer.collect.doctor.bundle import write

    found = write(path)
    common.human(as_json).print(
        f"{path}: {len(found.lines)} lines. Read it, then attach it to an issue:"
        " docs/how-to/machines/bare-metal.md",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    for name, why in list(found.unread.items())[:5]:
        common.human(as_json).print(f"  not read: {name}: {why}", markup=False, soft_wrap=True)
    if as_json:
        common.emit_json(
            {
                "schema": "pyrometer/doctor-bundle/1",
                "file": str(path),
                "lines_count": len(found.lines),
                "unread": found.unread,
            }
        )


def leftover_groups(folders: Sequence[str] | None = None) -> list[Finding]:
    """Find leftover control groups of dead runs; without any there is no finding.

    Parameters
    ----------
    folders : sequence of str, optional
        Where to look, at any depth; by default, where this host mounts control groups.
    """
    from pyrometer.collect.doctor.finding import Finding
    from pyrometer.collect.host import cgroup

    found = cgroup.leftovers(cgroup.mounted() if folders is None else folders, below=True)
    if not found:
        return []
    reason = f"left behind by runs that have ended: {cgroup.described(found)}"
    return [Finding("cgroup_leftovers", None, False, reason, cgroup.removal(found))]


def leftover_settings(records: Path | None = None, root: Path = Path("/")) -> list[Finding]:
    """Find kernel settings that dead probes or runs changed; without any there is no finding.

    Parameters
    ----------
    records : Path, optional
        Where they keep what they found; by default, where they do on this host.
    root : Path
        Root of the file system; another one simulates a host.
    """
    from pyrometer.collect.doctor.finding import Finding
    from pyrometer.collect.host import settings_restore

    leftovers = settings_restore.leftovers(records or settings_restore.RECORDS, root)
    return [
        Finding("setting_left", None, False, one.reason, f"as root: {one.remedy}")
        for one in leftovers
    ]


def show_card(card: Card, console: common.Console) -> None:
    """Print the host card."""
    from rich.markup import escape
    from rich.table import Table

    from pyrometer.core import units

    def rate(estimate: Estimate | None, reason: str | None = None) -> str:
        if estimate is None:
            return escape(reason) if reason else units.MISSING
        ends = ""
        if estimate.low is not None and estimate.high is not None:
            ends = f"  ({units.size(estimate.low)} to {units.size(estimate.high)})"
        return f"{units.size(estimate.value)}/s{ends}"

    def span(time: Estimate) -> str:
        low, high = units.duration(time.low), units.duration(time.high)
        return f"{units.duration(time.value)}  ({low} to {high})"

    effects = ", ".join(f"{units.percent(v)} with {n}" for n, v in card.smallest_effect.items())
    siblings = card.threads_per_core or units.MISSING
    nodes = card.numa_nodes_count or units.MISSING
    table = Table.grid(padding=(0, 2))
    for name, text in (
        ("CPU", f"{card.cpu_model}: {card.cpus_count} CPUs, {siblings} per core, {nodes} node(s)"),
        ("memory", f"{units.size(card.memory_bytes)}{_measured_by(card)}"),
        ("copy", rate(card.copy_bytes_per_s)),
        ("triad", rate(card.triad_bytes_per_s)),
        *((f"read, {n} threads", rate(found)) for n, found in card.read_bytes_per_s.items()),
        ("latency", f"{span(card.latency_ns)} a dependent load"),
        *(
            [("… under load", f"{span(loaded)} while the other CPUs read")]
            if (loaded := card.latency_loaded_ns)
            else []
        ),
        ("disk, write", rate(card.disk_write_bytes_per_s, card.disk_reason)),
        ("disk, read", rate(card.disk_read_bytes_per_s, card.disk_reason)),
        ("steal", units.percent(card.steal_ratio)),
        ("noise", f"{units.percent(card.alu_sd)} arithmetic, {units.percent(card.copy_sd)} copy"),
        ("smallest effect", f"{effects} pairs, at the noise of copying memory"),
    ):
        table.add_row(f" {name}", text)
    console.print("\n[bold]Host card[/]  medians with 95 % intervals")
    console.print(table)


def _measured_by(card: Card) -> str:
    threads, cpus = card.threads_count, card.cpus_allowed_count
    if not threads or not cpus or threads >= cpus:
        return ""
    return f"; measured by {threads} of {cpus} CPUs, as little of it was free"


def show(findings: Sequence[Finding], console: common.Console) -> None:
    """Print findings in groups, each missing one with the command that gives it."""
    from rich.markup import escape
    from rich.table import Column, Table

    from pyrometer.core.redaction import redacted

    remaining = list(findings)
    for title, names in GROUPS:
        mine = [f for f in remaining if any(f.name.startswith(name) for name in names)]
        remaining = [f for f in remaining if f not in mine]
        console.print(f"\n[bold]{title}[/]")
        # A command is meant to be copied: a long path in it is folded, never cut.
        table = Table.grid("", "", Column(overflow="fold"), padding=(0, 2))
        for finding in mine:
            name = finding.name + (f" {finding.tier}" if finding.tier else "")
            mark = "[green]✓[/]" if finding.available else "[yellow]–[/]"
            table.add_row(f" {mark}", escape(name), escape(redacted(finding.reason)))
            if finding.remedy:
                table.add_row("", "", f"[dim]→ {escape(redacted(finding.remedy))}[/]")
        console.print(table)
