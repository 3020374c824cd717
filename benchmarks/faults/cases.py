"""Which causes are planted, by which settings, and which findings name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

SHAPES = {
    "development": ("orders", "events", "readings"),
    "later": ("orders", "events", "readings"),
    "third": ("trips", "ledger", "texts"),
    "fourth": ("clicks", "invoices", "grid"),
    "fifth": ("payments", "tickets", "genes"),
    "sixth": ("parcels", "plays", "claims"),
    "seventh": ("silos", "sky", "shelves"),
    "eighth": ("port", "bids", "wards"),
    "ninth": ("trucks", "tills", "mails"),
    "conditions": ("heap", "host", "compiler"),
    "surroundings": ("desk", "fleet"),
}
"""Shapes of data of each set."""
LOCAL = "local[2]"
"""Where Spark runs if a case says nothing: a failing attempt is not repeated there."""
BOTH = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8"}


@dataclass(frozen=True)
class Case:
    """One planted cause.

    Attributes
    ----------
    name : str
        Of the case in the application.
    codes : sequence of str
        Findings that name the cause: any of them, or a family with a dot at its end.
    places : sequence of mapping
        Where it is, any of them; see `benchmarks.faults.judge.Outcome`.
    also : sequence of str
        Findings that are true of both twins, by the way the case is made: neither right nor wrong.
    on, off : mapping of str to str
        Settings with the cause, and without it.
    master : str
        Where Spark runs.
    by_shape : mapping of str to Case
        What differs for some shapes of data: see `of`.
    shapes : sequence of str
        Shapes of data that it is planted in; none stands for all of the set.
    treatment_on, treatment_off : mapping of str to str
        Levels of factors with the cause, and without it (``pyrometer run --set``).
    """

    name: str
    codes: Sequence[str] = ()
    on: Mapping[str, str] = field(default_factory=dict)
    off: Mapping[str, str] = field(default_factory=dict)
    places: Sequence[Mapping[str, str]] = ()
    master: str = LOCAL
    by_shape: Mapping[str, Case] = field(default_factory=dict)
    also: Sequence[str] = ()
    shapes: Sequence[str] = ()
    treatment_on: Mapping[str, str] = field(default_factory=dict)
    treatment_off: Mapping[str, str] = field(default_factory=dict)

    def of(self, shape: str) -> Case:
        """Give the case as it is on a shape of data: what the shape says of itself goes first.

        Examples
        --------
        >>> case = Case("spill", ("spill.a",), on={"x": "1"},
        ...             by_shape={"events": Case("spill", places=[{"operator": "Sort"}])})
        >>> case.of("events").codes, case.of("events").places, case.of("events").on
        (('spill.a',), [{'operator': 'Sort'}], {'x': '1'})
        >>> case.of("orders").places
        ()
        """
        here = self.by_shape.get(shape)
        if here is None:
            return self
        return replace(
            self,
            codes=here.codes or self.codes, on=here.on or self.on, off=here.off or self.off,
            places=here.places or self.places, also=here.also or self.also,
            master=here.master if here.master != LOCAL else self.master,
            treatment_on=here.treatment_on or self.treatment_on,
            treatment_off=here.treatment_off or self.treatment_off,
        )  # fmt: skip


@dataclass(frozen=True)
class Set:
    """Cases that belong to one application.

    Attributes
    ----------
    both : mapping of str to str
        Settings of all its runs.
    """

    name: str
    app: Path
    cases: Sequence[Case]
    both: Mapping[str, str]

    @property
    def shapes(self) -> Sequence[str]:
        """Shapes of data that it has."""
        return SHAPES[self.name]

    def pairs(self) -> list[tuple[Case, str]]:
        """Give each case with each shape of data that it is planted in."""
        return [
            (case, shape) for case in self.cases for shape in self.shapes
            if shape in case.shapes or not case.shapes
        ]  # fmt: skip


def together(by_shape: Mapping[str, Sequence[Case]]) -> tuple[Case, ...]:
    """Put cases that have the same name on several shapes together.

    Examples
    --------
    >>> both = together({"a": [Case("x", ("one",))], "b": [Case("x", ("two",)), Case("y")]})
    >>> [(case.name, case.of("b").codes) for case in both]
    [('x', ('two',)), ('y', ())]
    >>> sorted(both[1].by_shape), both[1].shapes
    (['b'], ('b',))
    """
    names = dict.fromkeys(case.name for cases in by_shape.values() for case in cases)
    return tuple(
        Case(
            name,
            by_shape={
                shape: case for shape, cases in by_shape.items() for case in cases
                if case.name == name
            },
            shapes=tuple(shape for shape, cases in by_shape.items() if name in _names(cases)),
        )
        for name in names
    )  # fmt: skip


def _names(cases: Sequence[Case]) -> set[str]:
    return {case.name for case in cases}


CASES = (
    Case("one-task", ("partitioning.one-task", "partitioning.too-few")),
    Case("many-tasks", ("partitioning.too-many", "config.adaptive-off"),
         {"spark.sql.adaptive.enabled": "false"}, {"spark.sql.adaptive.enabled": "false"}),
    Case("skewed-key", ("skew.",), {"spark.sql.adaptive.enabled": "false"},
         {"spark.sql.adaptive.enabled": "false"}),
    Case("range-join", ("join.nested-loop", "join.explodes", "expression.per-pair")),
    Case("costly-pattern", ("expression.per-row", "expression.")),
    Case("python-function", ("python.",)),
    Case("computed-again", ("recompute.", "cache.")),
    Case("tiny-jobs", ("driver.many-small-jobs", "driver.")),
    Case("idle-driver", ("driver.gap", "driver.")),
    Case("collected", ("driver.collect",)),
    Case("schema-inferred", ("scan.schema-inferred",), also=("scan.text-format",)),
    Case("small-files", ("scan.small-files-read",)),
    Case("spilling", ("spill.",),
         {"spark.driver.memory": "1g", "spark.memory.fraction": "0.08"},
         {"spark.driver.memory": "3g"}),
    Case("small-heap", ("gc.",), {"spark.driver.memory": "700m"}, {"spark.driver.memory": "4g"}),
    Case("parsed-again", ("expression.json-parsed-again", "expression.per-row")),
    Case("interpreted-plan", ("codegen.fallback", "codegen."),
         {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}),
    Case("no-broadcast", ("join.broadcast-missed",),
         {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.adaptive.enabled": "false"}),
    Case("failing-tasks", ("retries.",)),
)  # fmt: skip

DEVELOPMENT = Set("development", Path(__file__).with_name("app.py"), CASES, BOTH)
