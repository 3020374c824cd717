"""``pyrometer explain RUN``: why it is slow, what to change, and how many seconds that saves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pyrometer.cli.read.show import WindowOption
from pyrometer.cli.shared.endings import ending_with, read_or_not
from pyrometer.cli.shared.experiment_file import GuardOption
from pyrometer.cli.shared.run_named import naming, run_named, run_path
from pyrometer.cli.shared.typed import refuse
from pyrometer.cli.shared.verifying import (
    BUDGET_MIN,
    BudgetOption,
    FindingsArgument,
    VerdictsOption,
    VerifyOption,
    WithOption,
)
from pyrometer.terminal.console import JsonOption, emit_json, err, human

if TYPE_CHECKING:
    from pyrometer.cli.shared.verifying import Wanted
    from pyrometer.explain.condition import Condition
    from pyrometer.explain.schema import Findings

app = typer.Typer()

Format = Literal["text", "md", "sarif"]
ENDINGS: dict[str, Format] = {"": "text", ".txt": "text", ".md": "md", ".sarif": "sarif"}
WIDTH = 100
"""Columns of a text that is written to a file."""

EXAMPLES = """\b
Examples:
  pyrometer explain RUN
  pyrometer explain application_1_0001.zstd --all
  pyrometer explain RUN -o findings.sarif --fail-if 'finding(gc) or saving > 10%'
  pyrometer explain RUN -f md | gh issue create -t 'Slow job' -F -
  pyrometer explain RUN --verify gc.heap-too-small --budget 10
  pyrometer explain RUN --verify python.instead-of-builtin --with -- spark-submit faster.py
  pyrometer explain RUN --json | jq '.findings[] | {code, saving: .saving.elapsed_ns.value}'
"""


@app.command(epilog=EXAMPLES)
def explain(
    context: typer.Context,
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            parser=run_path,
            help="A run directory, or a Spark event log.",
            show_default=False,
        ),
    ],
    findings: FindingsArgument = None,
    as_json: JsonOption = False,
    window: WindowOption = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Also findings below the noise of the run, their evidence, and all that could"
            " not be judged.",
        ),
    ] = False,
    application: Annotated[
        int | None,
        typer.Option(
            "--app", metavar="N", help="Application ID. Default: the one with most task time."
        ),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "-f",
            "--format",
            help="text for people, md for an issue tracker, sarif (2.1.0) for code review."
            " Default: what the name after -o ends in, else text.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the findings to a file."),
    ] = None,
    fail_if: Annotated[
        str | None,
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help="Exit code 1 if it holds: finding(CODE), and comparisons of saving, joint, count"
            " and elapsed, joined by and, or, not.",
        ),
    ] = None,
    no_mute: Annotated[
        bool,
        typer.Option("--no-mute", help="Also count what the project mutes in .pyrometer.toml."),
    ] = False,
    verify: VerifyOption = False,
    budget: BudgetOption = BUDGET_MIN,
    changed: WithOption = False,
    guard: GuardOption = "wait",
    verdicts: VerdictsOption = None,
) -> None:
    """Say why a run is slow, what to change, and how many seconds that saves.

    Exit code: 1 if the condition of --fail-if holds, or if --verify was interrupted or could try
    none of the findings.
    """
    from pyrometer.cli.shared.verifying import wanted
    from pyrometer.explain.condition import parse
    from pyrometer.explain.every_rule import every_rule
    from pyrometer.explain.project import muted_in
    from pyrometer.store.remote.opened import address

    if not verify:
        refuse(context, "budget", "guard", of="--verify", where="without it")
    given = form or _by_ending(output)
    codes = [rule.code for rule in every_rule()]
    condition = None if fail_if is None else parse(fail_if, codes)
    muted = {} if no_mute else muted_in(Path.cwd(), codes)
    with naming(address(run)):
        tries = wanted(
            findings, context.obj, verify=verify, changed=changed, window=window,
            budget_s=60 * budget, guard=guard, folder=verdicts, run=address(run),
        )  # fmt: skip
        path = run_named(run)
        tries.run = address(path)
        with err().status("explaining"):
            found = _found(path, window, application, tries, muted)
        with read_or_not():
            _give(found, given, output, everything, as_json=as_json)
        if tries.verify(found, as_json=as_json):
            # What was refuted is no longer in the sum, nor a reason to fail.
            found = _found(path, window, application, tries, muted)
        if verify and output is not None:
            _write(found, given, output, everything)
    failed = condition is not None and condition.holds(found)
    with ending_with(None if tries.tried and not failed else typer.Exit(1)):
        if condition is not None:
            _say_how(found, condition, fail_if or "", as_json)
        if as_json:
            emit_json(_document(found, condition, fail_if))


def _by_ending(output: Path | None) -> Format:
    """Give the form that the name of a file ends in.

    Raises
    ------
    UsageError
        If there is no such form.
    """
    suffix = output.suffix if output else ""
    if suffix not in ENDINGS:
        from pyrometer.core.errors import UsageError

        raise UsageError(
            f"-o {output}: findings are not written as {suffix}",
            "end the name in .md, .sarif or .txt, or say the form: -f md"
            " (JSON: --json | tail -1 > FILE; a page: pyrometer report RUN)",
        )
    return ENDINGS[suffix]


def _found(
    path: Path, window: str | None, application: int | None, tries: Wanted, muted: dict[str, str]
) -> Findings:
    """Give the findings of a run, with what is needed to try them."""
    from pyrometer.explain.findings import explain as find
    from pyrometer.explain.kept import findings_of
    from pyrometer.store import Run

    records, proofs = tries.records, tries.proofs
    if application is None:
        found = findings_of(path, window, records=records, muted=muted, proofs=proofs)
        if not tries.asked:
            return found
    with Run.open(path) as opened:
        if application is not None:
            found = find(
                opened, window, app_index=application, records=records, muted=muted, proofs=proofs
            )
        tries.prepare(found, opened)
    return found


def _give(
    found: Findings, form: Format, output: Path | None, everything: bool, *, as_json: bool
) -> None:
    """Print findings, or write them to a file and print what they come to."""
    from pyrometer.core.redaction import redacted
    from pyrometer.explain import terminal

    console = human(as_json)
    if output is None and form == "text":
        terminal.show(console, found, everything)
        return
    if output is None:
        console.file.write(redacted(_written(found, form, everything)))
        return
    _write(found, form, output, everything)
    console.print(redacted(found.conclusion), markup=False)
    console.print(f"written: {output}", markup=False, soft_wrap=True)


def _write(found: Findings, form: Format, output: Path, everything: bool) -> None:
    from pyrometer.pages.page import write_text

    write_text(output, _written(found, form, everything))


def _written(found: Findings, form: Format, everything: bool) -> str:
    if form == "md":
        from pyrometer.explain import markdown

        return markdown.page(found, everything)
    if form == "sarif":
        from pyrometer.explain import sarif
        from pyrometer.explain.every_rule import every_rule

        return sarif.text(found, every_rule(), str(Path.cwd()), everything)
    import io

    from rich.console import Console

    from pyrometer.explain import terminal
    from pyrometer.terminal.harmless import Harmless

    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, highlight=False)
    console.push_render_hook(Harmless())
    terminal.show(console, found, everything)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


def _say_how(found: Findings, condition: Condition, text: str, as_json: bool) -> None:
    """Say why a condition holds, or cannot be told."""
    from pyrometer.explain.condition import because

    said = "; ".join(because(condition, found))
    word = {True: "fails", None: "cannot tell"}.get(condition.holds(found))
    if word is not None:
        human(as_json).print(f"{word} {text}: {said}", markup=False, soft_wrap=True)


def _document(found: Findings, condition: Condition | None, text: str | None) -> dict[str, Any]:
    from pyrometer.explain.condition import because

    document = found.model_dump(mode="json", by_alias=True)
    document["fail_if"] = condition and {
        "rule": text, "failed": condition.holds(found), "because": because(condition, found)
    }  # fmt: skip
    return document
