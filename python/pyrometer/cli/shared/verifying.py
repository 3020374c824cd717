"""``explain --verify``: findings put to the test one after another, and their verdicts kept."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyrometer.cli.shared.endings import ended_by_interrupt, read_or_not
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.terminal.console import err, human, say_error

if TYPE_CHECKING:
    from pyrometer.explain.schema import Finding, Findings, Proof, Record, Tried
    from pyrometer.store import Run
    from pyrometer.verification.plan import Policy
    from pyrometer.verification.ran import Ran
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
        help="Folder of verdicts, for example one that a team shares. Default: PYROMETER_VERDICTS,"
        " else ~/.local/share/pyrometer/verdicts.",
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
        made = ["--with", "--", *(command or ["COMMAND"])] if changed else []
        raise UsageError(
            f"{'--with' if changed else ' '.join(found)}: nothing is tried without --verify",
            shlex.join(["pyrometer", "explain", "RUN", *findings, "--verify", *made]),
        )
    if changed and not command:
        raise UsageError("--with needs the changed command", "--with -- COMMAND as you type it")
    return findings, command


@dataclass
class Wanted:
    """What is asked to be tried, and what was tried before.

    Attributes
    ----------
    findings, changed : list of str
        Which findings; the changed command.
    tried : bool
        Whether any finding could be tried, or there was none to try.
    run : str
        What names the run on the command line.
    """

    asked: bool
    findings: list[str]
    changed: list[str]
    budget_s: float
    guard: Policy
    folder: Path
    kept: Kept
    run_id: str = ""
    ran: Ran | None = None
    tried: bool = True
    run: str = "RUN"

    @property
    def records(self) -> dict[str, Record]:
        """How findings of each rule fared."""
        from pyrometer.verification.record import records

        return records(self.kept.verdicts)

    @cached_property
    def proofs(self) -> dict[str, dict[Tried, Proof]]:
        """How findings were judged, by run."""
        from pyrometer.verification.record import proofs

        return proofs(self.kept.verdicts)

    def prepare(self, found: Findings, run: Run) -> None:
        """Read what is needed to run it again."""
        self.run_id = run.manifest.run_id if run.manifest else ""
        if self.asked:
            from pyrometer.verification.run import ran_of

            self.ran = replace(ran_of(run, found), run=self.run)

    def verify(self, found: Findings, *, as_json: bool = False) -> bool:
        """Try the findings, print their verdicts, and keep them; say whether one gains nothing."""
        from pyrometer.explain.words import conclusion, gains_nothing

        before = [one for one in found.findings if gains_nothing(one.proof)]
        if self.asked:
            self.tried = _verify(self, found, as_json)
            found.conclusion = conclusion(found)
        return before != [one for one in found.findings if gains_nothing(one.proof)]

    def judged(self, finding: Finding, proof: Proof) -> None:
        """Take a verdict in: it stands before an earlier one, if it decided or that did not."""
        from pyrometer.explain.schema import tried
        from pyrometer.verification.record import TRIED

        mine = self.proofs.setdefault(self.run_id, {})
        name = tried(finding.code, finding.place)
        if proof.verdict in TRIED or name not in mine or mine[name].verdict not in TRIED:
            mine[name] = finding.proof = proof


def wanted(
    words: list[str] | None,
    arguments: Sequence[str] | None,
    *,
    verify: bool,
    changed: bool,
    window: str | None,
    budget_s: float,
    guard: Policy,
    folder: Path | None,
    run: str,
) -> Wanted:
    """Read what is asked for, and earlier verdicts.

    Raises
    ------
    UsageError
        If options do not fit together.
    """
    findings, command = asked_of(words, arguments or (), verify=verify, changed=changed)
    if verify and window is not None:
        raise UsageError("--verify compares whole iterations", "leave out --window")
    place, kept = kept_in(folder)
    return Wanted(verify, findings, command, budget_s, guard, place, kept, run=run)


def kept_in(folder: Path | None) -> tuple[Path, Kept]:
    """Read the verdicts of a folder, or of the default; what cannot be read is named."""
    from pyrometer.verification.record import folder_of, read

    place = folder_of(folder)
    kept = read(place)
    if kept.unread:
        more = f", and {len(kept.unread) - 1} more" if len(kept.unread) > 1 else ""
        err().print(f"verdict skipped: {kept.unread[0]}{more}", markup=False, soft_wrap=True)
    return place, kept


def chosen(found: Findings, asked: Sequence[str]) -> list[Finding]:
    """Find what was asked for: by code, by key, or by its number in the list.

    Raises
    ------
    UsageError
        If the run has no such finding.
    """
    from pyrometer.explain.words import counted

    if not asked:
        return counted(found.findings)
    picked: dict[str, Finding] = {}
    for word in asked:
        if word.isdecimal() and 1 <= int(word) <= len(found.findings):
            mine = [found.findings[int(word) - 1]]
        else:
            mine = [one for one in found.findings if word in (one.key, one.code)]
        if not mine:
            raise _not_to_be_tried(found, word)
        picked |= {one.key: one for one in mine}
    return list(picked.values())


def _not_to_be_tried(found: Findings, word: str) -> UsageError:
    """Say why there is nothing of that name to try."""
    if any(one.code == word for one in found.notes):
        return UsageError(
            f"{word} is a note: no time is predicted to be saved, so there is nothing to try",
            "pyrometer explain RUN --all has its remedy; pyrometer experiment tries any level",
        )
    above = [one.key for one in found.findings if word in {each.code for each in one.symptoms}]
    if above:
        return UsageError(
            f"{word} is explained by {' and '.join(above)} in this run",
            f"pyrometer explain RUN {above[0]} --verify",
        )
    there = ", ".join(one.key for one in found.findings) or "none"
    return UsageError(
        f"no finding {word!r} in this run",
        f"pyrometer explain RUN --all shows what there is: {there}",
    )


def _verify(wanted: Wanted, found: Findings, as_json: bool) -> bool:
    from pyrometer.verification.run import prepare

    findings = chosen(found, wanted.findings)
    if wanted.changed and len(findings) != 1:
        raise UsageError(
            f"--with is the remedy of one finding, not of {len(findings)}",
            "pyrometer explain RUN --verify FINDING --with -- COMMAND",
        )
    if not findings:
        with read_or_not():
            human(as_json).print("Nothing above the noise to try: name a finding of --all.")
        return True
    assert wanted.ran is not None
    left_s, tried = wanted.budget_s, False
    for number, one in enumerate(findings):
        began = time.monotonic()
        test = prepare(
            one, wanted.ran, run_id=wanted.run_id, noise_ratio=found.noise_ratio,
            budget_s=left_s / (len(findings) - number), changed=wanted.changed,
            policy=wanted.guard,
        )  # fmt: skip
        outcome = _tried(wanted, found, one, test, as_json)
        tried = tried or outcome.verdict != "not_testable"
        left_s = max(left_s - (time.monotonic() - began), 0.0)
    return tried


def _tried(
    wanted: Wanted,
    found: Findings,
    finding: Finding,
    test: Verification | Outcome,
    as_json: bool,
) -> Outcome:
    from pyrometer.explain.schema import Proof
    from pyrometer.verification import terminal
    from pyrometer.verification.record import keep
    from pyrometer.verification.run import Verification, outcome_of, verdict_of

    if not isinstance(test, Verification):
        outcome, root = test, None
    else:
        terminal.planned(err(), test)
        _carry(test)
        outcome, root = outcome_of(test), test.root
        try:
            keep(wanted.folder, verdict_of(test, outcome, wanted.run_id, found.run.name))
        except PyrometerError as error:
            say_error(error.message, error.remedy)
    proof = Proof(
        verdict=outcome.verdict, measured=outcome.measured_ns, reason=outcome.reason,
        experiment=None if root is None else str(root.absolute()),
    )  # fmt: skip
    wanted.judged(finding, proof)
    with read_or_not():
        terminal.show(human(as_json), finding, outcome, root)
    return outcome


def _carry(test: Verification) -> None:
    from pyrometer.experiments.judge.screen import ExperimentScreen
    from pyrometer.verification.run import carry

    kept = "finished trials are kept. The same command goes on where it stopped."
    with ended_by_interrupt(kept), ExperimentScreen(test.proposal.trial_s) as screen:
        whole = carry(test, screen)
    if not whole:
        err().print("the budget is used up; finished trials are kept", markup=False)
