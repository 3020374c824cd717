"""Findings for screens about a run: with what the project mutes and what was tried before."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyrometer.explain.schema import Findings, Record
    from pyrometer.summary.schema import Summary
    from pyrometer.window.scope import Scope

Lines = list[tuple[str, str]]
MOST_TASKS = 50_000
"""Tasks up to which `show` and `report` compute findings that are not kept: of more, that takes
longer and more memory than all else on their screens."""


@dataclass
class Finder:
    """Finds out what would make a run faster; what goes wrong here becomes a line of text.

    Attributes
    ----------
    found : Findings or None
        What was computed last.
    """

    records: dict[str, Record] = field(default_factory=dict)
    muted: dict[str, str] = field(default_factory=dict)
    found: Findings | None = None

    @classmethod
    def here(cls) -> Finder:
        """Make one for the project of the working directory; unreadable files count as empty."""
        from pyrometer.core.errors import PyrometerError
        from pyrometer.explain.project import muted_in, project_file
        from pyrometer.verification.record import folder_of, read, records

        finder = cls(records=records(read(folder_of(None)).verdicts))
        if project_file(Path.cwd()) is not None:
            from pyrometer.explain.every_rule import every_rule

            with suppress(PyrometerError, OSError):  # `explain` says what is wrong with it
                finder.muted = muted_in(Path.cwd(), [rule.code for rule in every_rule()])
        return finder

    def lines_of_run(self, path: Path, window: str | None, summary: Summary) -> Lines:
        """Give the lines of a run: of findings that are kept, or else computed, and kept."""

        def find() -> Findings:
            from pyrometer.explain.kept import findings_of

            known = self._kept(path, window)
            if known is None:
                _check_size(summary)
                known = findings_of(path, window, records=self.records, muted=self.muted)
            return known

        return self._lines(find)

    def of_report(self, path: Path) -> Callable[[Scope, Summary], Findings]:
        """Give what finds the findings of a run's report: those that are kept, or else computed."""

        def find(scope: Scope, summary: Summary) -> Findings:
            known = self._kept(path, None)
            if known is None:
                _check_size(summary)
                known = self.find(scope, summary)
            return known

        return find

    def _kept(self, path: Path, window: str | None) -> Findings | None:
        from pyrometer.explain.kept import kept_findings
        from pyrometer.store.locate import locate

        return kept_findings(locate(path), window, records=self.records, muted=self.muted)

    def lines_of_scope(self, scope: Scope, summary: Summary) -> Lines:
        """Give the lines of a window that is open and summarised."""
        return self._lines(lambda: self.find(scope, summary))

    def find(self, scope: Scope, summary: Summary) -> Findings:
        """Give the findings of a window that is open and summarised."""
        from pyrometer.explain.findings import explained

        return explained(scope, summary, records=self.records, muted=self.muted)

    def keep(self, path: Path) -> None:
        """Keep what was computed, if it is of the run's last state."""
        from pyrometer.explain.kept import keep_findings
        from pyrometer.store.locate import locate
        from pyrometer.summary.kept import kept_summary

        if self.found is not None:
            try:
                place = locate(path)
                # A summary that was not kept is not of the run's last state: nor are these.
                if kept_summary(place) is not None:
                    keep_findings(place, self.found, records=self.records, muted=self.muted)
            except Exception:
                return  # they are computed again when they are wanted

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


def _check_size(summary: Summary) -> None:
    from pyrometer.core import units
    from pyrometer.core.errors import UsageError

    if (count := summary.totals.get("tasks_count") or 0) > MOST_TASKS:
        raise UsageError(
            f"findings of {units.count(count)} tasks are not computed here",
            "pyrometer explain RUN, once, keeps them",
        )
