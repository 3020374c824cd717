"""Which samples of a run a flame graph shows: what is asked for, checked against the run."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt

from pyrometer.core.errors import UsageError
from pyrometer.flame.facts import DIMENSIONS, EVENTS, FOLDED, STATE, TASKS
from pyrometer.flame.pack import Folded
from pyrometer.store.sql.text import literal
from pyrometer.store.tables import Tables
from pyrometer.window.windows import MEASURED

BOTH = "both"
ALL = "all"
# Dimensions by which threads are told apart.
OF_THREADS = frozenset({"serves", "role", "thread", "process", "executor"})
# On-CPU time comes from samples of the CPU, off-CPU time from states of threads where the OS probe
# saw them, else from wall samples of threads that do not run.
_BOTH = "(event = 'cpu' OR (event = '{off}' AND state IS DISTINCT FROM 'running'))"


@dataclass(frozen=True)
class Selection:
    """Which samples, and in which order of dimensions.

    Attributes
    ----------
    event : str or None
        An event of the run, or ``both``: time on a CPU and off it. None: its first.
    by : tuple of str
        Dimensions, names of `DIMENSIONS`.
    iteration : str or None
        ``measured``, ``all`` or a number. None: measured where there are any.
    threads : str or None
        ``tasks``: those that worked for tasks; ``all``. None: for tasks where the event has any
        such samples and ``by`` does not ask for threads.
    """

    event: str | None = None
    by: tuple[str, ...] = ()
    iteration: str | None = None
    threads: str | None = None

    def settled(self, tables: Tables, measured: Sequence[int]) -> Chosen:
        """Resolve the selection for a run, once `facts_of` has folded its samples.

        Raises
        ------
        UsageError
            If the run lacks an event, a dimension or an iteration that is asked for.
        """
        present = {row[0] for row in tables.query(f"SELECT DISTINCT event FROM {FOLDED}")}
        events = [e for e in EVENTS if e in present] + sorted(present - set(EVENTS))
        off_cpu = STATE if STATE in present else "wall"
        if {"cpu", off_cpu} <= present:
            events.append(BOTH)
        event = self.event or events[0]
        if event not in events:
            raise UsageError(f"no samples of {event!r} in this run", f"--event {'|'.join(events)}")
        unknown = [name for name in self.by if name not in DIMENSIONS]
        if unknown:
            raise UsageError(
                f"--by: no dimension {unknown[0]!r}", f"--by takes any of {', '.join(DIMENSIONS)}"
            )
        every = Chosen(event, self.by, self._iterations(tables, measured), off_cpu)
        return replace(every, serves=self._serves(tables, every))

    def _serves(self, tables: Tables, every: Chosen) -> str | None:
        if self.threads not in (None, TASKS, ALL):
            raise UsageError(f"no threads {self.threads!r}", f"--threads {TASKS}|{ALL}")
        if self.threads == ALL or (self.threads is None and not OF_THREADS.isdisjoint(self.by)):
            return None
        found = tables.scalar(
            f"SELECT count(*) FROM {FOLDED} WHERE {every.condition} AND serves = '{TASKS}'"
        )
        if not found and self.threads:
            raise UsageError("no samples of tasks in this run", f"--threads {ALL}")
        return TASKS if found else None

    def _iterations(self, tables: Tables, measured: Sequence[int]) -> tuple[int, ...] | None:
        if self.iteration == ALL or (self.iteration is None and not measured):
            return None
        if self.iteration in (None, MEASURED):
            if not measured:
                raise UsageError("no measured iterations in this run", f"--iteration {ALL}")
            return tuple(measured)
        known = [row[0] for row in tables.query("SELECT iteration FROM iterations ORDER BY 1")]
        if self.iteration not in map(str, known):
            names = " | ".join([MEASURED, ALL, *map(str, known)])
            raise UsageError(f"no iteration {self.iteration!r} in this run", f"--iteration {names}")
        return (int(str(self.iteration)),)


@dataclass(frozen=True)
class Chosen:
    """What of a run is shown: an event, dimensions, iterations (None: everything).

    ``off_cpu`` is the event that stands for time off the CPU in ``both``; ``serves`` is what the
    threads worked for (None: whatever).
    """

    event: str
    by: tuple[str, ...]
    iterations: tuple[int, ...] | None
    off_cpu: str = "wall"
    serves: str | None = None

    @property
    def condition(self) -> str:
        """SQL condition of the selected facts."""
        # The event of an imported profile may have any name.
        named = f"event = {literal(self.event)}"
        event = _BOTH.format(off=self.off_cpu) if self.event == BOTH else named
        if self.serves is not None:
            event += f" AND serves = '{self.serves}'"
        if self.iterations is None:
            return event
        return f"{event} AND iteration IN ({', '.join(map(str, self.iterations))})"

    def facts(self, folded: Folded) -> npt.NDArray[np.bool_]:
        """Give the selected facts, as `condition` does."""
        facts = folded.facts

        def having(name: str, wanted: Collection[object]) -> npt.NDArray[np.bool_]:
            values = facts["values"][name]
            found: npt.NDArray[np.bool_] = np.array([v in wanted for v in values])[facts[name]]
            return found

        if self.event == BOTH:
            selected = having("event", ("cpu",)) | (
                having("event", (self.off_cpu,)) & ~having("state", ("running",))
            )
        else:
            selected = having("event", (self.event,))
        if self.serves is not None:
            selected &= having("serves", (self.serves,))
        return (
            selected if self.iterations is None else selected & having("iteration", self.iterations)
        )

    def link(self, measured: Sequence[int]) -> str:
        """Give the part of the page's address that opens it at this view."""
        words = {"event": self.event}
        if self.by:
            words["by"] = ",".join(self.by)
        if self.serves is not None:
            words["serves"] = json.dumps(self.serves)
        if self.iterations is not None:
            words["iteration"] = (
                MEASURED if self.iterations == tuple(measured) else json.dumps(self.iterations[0])
            )
        return f"#flame?{urlencode(words)}"
