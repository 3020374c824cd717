"""Findings for screens about a run: with what the project mutes and what was tried before."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyrometer.explain.schema import Findings, Proofs, Record
    from pyrometer.summary.schema import Summary
    from pyrometer.verification.record import Verdict
    from pyrometer.window.scope import Scope

Lines = list[tuple[str, str]]


class Finder:
    """Finds out what would make a run faster; what goes wrong there becomes a line of text.

    Attributes
    ----------
    found : Findings or None
        What was given last.
    """

    found: Findings | None = None

    @cached_property
    def verdicts(self) -> Sequence[Verdict]:
        """What was tried here; `explain` and `rules` name what cannot be read of it."""
        from pyrometer.verification.record import folder_of, read

        return read(folder_of(None)).verdicts

    @cached_property
    def records(self) -> dict[str, Record]:
        """How findings of each rule fared when they were tried here."""
        from pyrometer.verification.record import records

        return records(self.verdicts)

    @cached_property
    def proofs(self) -> Mapping[str, Proofs]:
        """How findings were judged when they were tried here."""
        from pyrometer.verification.record import proofs

        return proofs(self.verdicts)

    @cached_property
    def muted(self) -> dict[str, str]:
        """What the project of the working directory mutes; of an unreadable file nothing."""
        from pyrometer.core.errors import PyrometerError
        from pyrometer.explain.project import muted_in, project_file

        if project_file(Path.cwd()) is None:
            return {}
        from pyrometer.explain.every_rule import every_rule

        with suppress(PyrometerError, OSError):  # `explain` says what is wrong with it
            return muted_in(Path.cwd(), [rule.code for rule in every_rule()])
        return {}

    def lines_of_run(self, path: Path, window: str | None, summary: Summary) -> Lines:
        """Give the lines of a run: of findings that are kept, or else computed, and kept."""

        def find() -> Findings:
            from pyrometer.explain.kept import check_size, findings_of

            known = self._kept(path, window)
            if known is None:
                check_size(summary, window)
                known = findings_of(
                    path, window, records=self.records, muted=self.muted, proofs=self.proofs
                )
            return known

        return self._lines(find) if summary.apps else []

    def lines_of_scope(self, scope: Scope, summary: Summary) -> Lines:
        """Give the lines of a window that is open and summarised."""
        return self._lines(lambda: self.find(scope, summary)) if summary.apps else []

    def of_report(self, path: Path) -> Callable[[Scope, Summary], Findings]:
        """Give what finds the findings of a run's report: those that are kept, or else computed."""
        return lambda scope, summary: self._kept(path, None) or self.find(scope, summary)

    def find(self, scope: Scope, summary: Summary) -> Findings:
        """Compute the findings of a window that is open and summarised.

        Raises
        ------
        UsageError
            If the run has too many tasks for that.
        """
        from pyrometer.explain.findings import explained
        from pyrometer.explain.kept import check_size

        check_size(summary)
        return explained(scope, summary, records=self.records, muted=self.muted, proofs=self.proofs)

    def keep(self, path: Path) -> None:
        """Keep what was given, if it is of the run's last state; else it is computed again."""
        from pyrometer.core.errors import PyrometerError
        from pyrometer.explain.kept import keep_findings
        from pyrometer.store.locate import locate
        from pyrometer.summary.kept import kept_summary

        if self.found is None:
            return
        with suppress(PyrometerError, OSError):
            place = locate(path)
            # A summary that was not kept is not of the run's last state: nor are these.
            if kept_summary(place) is not None:
                keep_findings(
                    place, self.found, records=self.records, muted=self.muted, proofs=self.proofs
                )

    def _kept(self, path: Path, window: str | None) -> Findings | None:
        from pyrometer.explain.kept import kept_findings
        from pyrometer.store.locate import locate

        return kept_findings(
            locate(path), window, records=self.records, muted=self.muted, proofs=self.proofs
        )

    def _lines(self, find: Callable[[], Findings]) -> Lines:
        from pyrometer.core.errors import UsageError
        from pyrometer.explain.first_screen import first_lines

        try:
            self.found = find()
            return first_lines(self.found)
        except UsageError as error:
            return [("", f"{error.message}: {error.remedy}")]
        except Exception as error:  # a summary is printed whatever becomes of its findings
            return [("", f"findings could not be computed: {type(error).__name__}: {error}")]
