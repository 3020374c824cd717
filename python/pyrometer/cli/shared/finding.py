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

    def lines_of_run(self, path: Path, window: str | None) -> Lines:
        """Give the lines of a run: of findings that are kept, or else computed, and kept."""
        from pyrometer.explain.kept import findings_of

        return self._lines(
            lambda: findings_of(path, window, records=self.records, muted=self.muted)
        )

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
        from pyrometer.explain.first_screen import first_lines

        try:
            self.found = find()
            return first_lines(self.found)
        except Exception as error:  # a summary is printed whatever becomes of its findings
            return [("", f"findings could not be computed: {type(error).__name__}: {error}")]
