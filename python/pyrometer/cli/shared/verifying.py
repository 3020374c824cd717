"""``explain --verify``: findings put to the test one after another, and their verdicts kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.terminal.console import err, human, say_error

if TYPE_CHECKING:
    from pyrometer.explain.schema import Finding, Findings
    from pyrometer.store import Run
    from pyrometer.verification.plan import Ran
    from pyrometer.verification.record import Kept
    from pyrometer.verification.run import Verification
    from pyrometer.verification.verdict import Outcome

FindingsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FINDING…] [-- COMMAND…]",
        help="With --verify: which findings, by code or by number; all that are shown by default.",
        show_default=False,
    ),
]
VerifyOption = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Try findings: run the job as it was and with the remedy, in random order, and"
        " compare.",
    ),
]
BudgetOption = Annotated[
    float,
    typer.Option(
        "--budget", metavar="MIN", min=0.1, help="Longest time of all trials, in minutes."
    ),
]
WithOption = Annotated[
    bool,
    typer.Option("--with", help="The remedy is the changed command, which follows after --."),
]
VerdictsOption = Annotated[
    Path | None,
    typer.Option(
        "--verdicts",
        metavar="DIR",
        help="Folder of verdicts, as of a team. Default: PYROMETER_VERDICTS, else"
        " ~/.local/share/pyrometer/verdicts.",
    ),
]
BUDGET_MIN = 30.0


def asked_of(
    words: list[str] | None, arguments: Sequence[str], *, verify: bool, changed: bool
) -> tuple[list[str], list[str]]:
    """Split what follows the run into findings and the changed command.

    Raises
    ------
    UsageError
        If one of them stands there without its option, or the option without it.

    Examples
    --------
    >>> line = ["explain", "RUN", "--verify", "gc.x", "--with", "--", "python", "b.py"]
    >>> asked_of(["gc.x", "python", "b.py"], line, verify=True, changed=True)
    (['gc.x'], ['python', 'b.py'])
    """
    found = list(words or ())
    # The parser swallows "--": what stands behind it is known from the whole line alone.
    count = len(arguments) - list(arguments).index("--") - 1 if "--" in arguments else 0
    at = len(found) - min(count, len(found)) if changed else len(found)
    findings, command = found[:at], found[at:]
    if (found or changed) and not verify:
        raise UsageError(
            f"{' '.join(found) or '--with'}: nothing is tried without --verify",
            f"pyrometer explain RUN {' '.join(findings)} --verify",
        )
    if changed and not command:
        raise UsageError("--with needs the changed command", "--with -- COMMAND as you type it")
    return findings, command


def stored(folder: Path | None) -> Kept:
    """Read earlier verdicts; lines that cannot be read are said, and do no harm."""
    from pyrometer.verification.record import folder_of, read

    kept = read(folder_of(folder))
    if kept.unread:
        more = f", and {len(kept.unread) - 1} more" if len(kept.unread) > 1 else ""
        err().print(f"verdict skipped: {kept.unread[0]}{more}", markup=False, soft_wrap=True)
    return kept


def prove(found: Findings, run_id: str | None, kept: Kept) -> None:
    """Set the latest verdict of each finding of a run."""
    from pyrometer.verification.record import proof_of

    if kept.verdicts:
        for one in found.findings:
            one.proof = proof_of(one, run_id, kept.verdicts)


def chosen(found: Findings, asked: Sequence[str]) -> list[Finding]:
    """Find what was asked for: by code, by key, or by its number in the list.

    Raises
    ------
    UsageError
        If the run has no such finding.
    """
    shown = [one for one in found.findings if one.shown and one.muted is None]
    if not asked:
        return shown
    picked: dict[str, Finding] = {}
    for word in asked:
        if word.isdecimal() and 1 <= int(word) <= len(found.findings):
            mine = [found.findings[int(word) - 1]]
        else:
            mine = [one for one in found.findings if word in (one.key, one.code)]
        if not mine:
            there = ", ".join(one.key for one in found.findings) or "none"
            raise UsageError(f"no finding {word!r} in this run", f"there are: {there}")
        picked |= {one.key: one for one in mine}
    return list(picked.values())


def verify(
    run: Run,
    found: Findings,
    asked: Sequence[str],
    changed: Sequence[str],
    *,
    budget_s: float,
    folder: Path | None,
    as_json: bool,
) -> bool:
    """Try findings, print their verdicts, and keep them.

    Returns
    -------
    bool
        Whether any finding could be tried, or there was none to try.
    """
    from pyrometer.verification.run import ran_of

    findings = chosen(found, asked)
    if changed and len(findings) != 1:
        raise UsageError(
            f"--with is the remedy of one finding, not of {len(findings)}",
            "pyrometer explain RUN FINDING --verify --with -- COMMAND",
        )
    if not findings:
        human(as_json).print("Nothing above the noise to try: name a finding of --all.")
        return True
    ran = ran_of(run, found)
    run_id = run.manifest.run_id if run.manifest else ""
    deadline = time.monotonic() + budget_s
    outcomes = []
    for number, one in enumerate(findings):
        left_s = max(deadline - time.monotonic(), 0.0) / (len(findings) - number)
        if number == 0:
            left_s = budget_s / len(findings)
        outcomes.append(_tried(found, one, ran, run_id, changed, left_s, folder, as_json))
    return any(one.verdict != "not_testable" for one in outcomes)


def _tried(
    found: Findings,
    finding: Finding,
    ran: Ran,
    run_id: str,
    changed: Sequence[str],
    budget_s: float,
    folder: Path | None,
    as_json: bool,
) -> Outcome:
    from pyrometer.explain.schema import Proof
    from pyrometer.verification import terminal
    from pyrometer.verification.record import folder_of, keep
    from pyrometer.verification.run import Verification, outcome_of, prepare, verdict_of

    test = prepare(
        finding, ran, run_id=run_id, noise_ratio=found.noise_ratio, budget_s=budget_s,
        changed=changed,
    )  # fmt: skip
    if not isinstance(test, Verification):
        outcome, root = test, None
    else:
        terminal.planned(err(), finding, test.proposal, test.root, test.done_count)
        _carry(test)
        outcome, root = outcome_of(test), test.root
        try:
            keep(folder_of(folder), verdict_of(test, outcome, run_id, found.run.name))
        except PyrometerError as error:
            say_error(error.message, error.remedy)
    finding.proof = Proof(
        verdict=outcome.verdict, measured=outcome.measured_ns, reason=outcome.reason,
        experiment=None if root is None else str(root.absolute()),
    )  # fmt: skip
    terminal.show(human(as_json), finding, outcome, root)
    return outcome


def _carry(test: Verification) -> None:
    from pyrometer.experiments.judge.screen import ExperimentScreen
    from pyrometer.verification.run import carry

    try:
        with ExperimentScreen() as screen:
            whole = carry(test, screen)
    except KeyboardInterrupt:
        err().print(
            "interrupted; finished trials are kept. The same command goes on where it stopped.",
            markup=False, soft_wrap=True,
        )  # fmt: skip
        raise typer.Exit(1) from None
    if not whole:
        err().print("the budget is used up; finished trials are kept", markup=False)
