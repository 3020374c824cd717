"""The whole of ``explain --json`` (``pyrometer/findings/1``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from pydantic import ConfigDict, Field

from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.core.long_text import without_middle
from pyrometer.core.model import Model
from pyrometer.window.windows import RunFacts, WindowFacts

Layer = Literal[
    "sql", "stage", "driver", "jvm", "python", "setting", "data", "host", "cluster", "application"
]
RemedyKind = Literal["factor", "code", "data", "machine"]
Judgement = Literal["proven", "refuted", "no_difference", "not_testable"]
NO_GAIN: Final = frozenset({"refuted", "no_difference"})
"""Verdicts after which a remedy is no advice."""
Tried = tuple[str, int, str]
"""What was tried of a run: code of the rule, number of the application, and key of the place."""
FEWEST_TRIED = 3
"""Trials of a rule from which on its error widens its intervals."""
ENOUGH_JOBS = 10
"""Jobs with trials of a rule from which on its bias counts, and its error takes the place of what
the rule assumes of its remedy: of as many, nine of ten are off by no more (simulated; of eight,
86 % to 90 %)."""


class Place(Model):
    """Where the cause is, as exactly as the evidence allows.

    Attributes
    ----------
    app : int or None
        Number of the application, where the run has several.
    stage_id, stage_attempt : int or None
        The stage; of several, the one that the cause costs most.
    stages_count : int
        Stages that it concerns.
    source : str or None
        Line of the user's code, or text of the query.
    places_count : int
        Of one cause in several places: how many. What they do not share is null, and the stage is
        that of the largest.
    largest : list of str
        The largest few of them, in words.
    """

    layer: Layer
    app: int | None = None
    sql_id: int | None = None
    stage_id: int | None = None
    stage_attempt: int | None = None
    stages_count: int = 0
    node_id: int | None = None
    operator: str | None = None
    expression: str | None = None
    source: str | None = None
    setting: str | None = None
    host: str | None = None
    executor: str | None = None
    places_count: int = 1
    largest: list[str] = Field(default_factory=list)

    @property
    def words(self) -> str:
        """Name the place in a few words."""
        if self.places_count > 1:
            rest = self.places_count - len(self.largest)
            more = f", and {rest} other{'s' * (rest > 1)}" if rest > 0 else ""
            return f"{self.places_count} places: {', '.join(self.largest)}{more}"
        found: list[str] = []
        if self.expression:
            found.append(f"expression {without_middle(self.expression)}")
        if self.operator:
            node = "" if self.node_id is None else f" (node {self.node_id})"
            found.append(f"{self.operator}{node}")
        if self.stage_id is not None:
            more = f" and {self.stages_count - 1} more" if self.stages_count > 1 else ""
            found.append(f"stage {self.stage_id}{more}")
        if self.sql_id is not None and not found:
            found.append(f"SQL execution {self.sql_id}")
        found += [word for word in (self.setting, self.executor, self.host) if word]
        return ", ".join(found) or self.layer

    @property
    def key(self) -> str:
        """Name it apart from others of the same words: by its query, and the user's code.

        Examples
        --------
        >>> Place(layer="driver", sql_id=3, source="count at app.py:7").key
        'SQL execution 3 (count at app.py:7)'
        >>> Place(layer="sql", operator="Scan", node_id=4, sql_id=3).key
        'Scan (node 4) (SQL execution 3)'
        """
        sql = None if self.sql_id is None else f"SQL execution {self.sql_id}"
        more = [one for one in (sql, self.source) if one and one not in self.words]
        return f"{self.words} ({', '.join(more)})" if more else self.words


class Evidence(Model):
    """One number that speaks for a finding, and where it is from.

    Attributes
    ----------
    unit : str
        Of ``estimate``: ns, bytes, count, ratio.
    table : str
        Table, or account of the summary, that it is from.
    query : str or None
        What gives it: SQL on the tables of the run, or a path into ``show --json``.
    link : str or None
        Fragment of the report's page that shows it.
    """

    what: str
    estimate: Estimate
    unit: str
    table: str
    query: str | None = None
    link: str | None = None


class Remedy(Model):
    """What to change.

    Attributes
    ----------
    kind : str
        ``factor``: a level of a factor, which can be tried without a human; else an edit of
        ``code``, of the ``data``, or of the ``machine``.
    factor, level : str or None
        As in an experiment file, for example ``spark.sql.shuffle.partitions`` and ``400``.
    levels : dict of str to str
        Further factors that belong to it.
    before, after : str or None
        The edit, as text.
    example : bool
        Whether the edit only shows what is meant: its names are not the user's.
    """

    kind: RemedyKind
    text: str
    factor: str | None = None
    level: str | None = None
    levels: dict[str, str] = Field(default_factory=dict)
    before: str | None = None
    after: str | None = None
    example: bool = False


class Saving(Model):
    """What the remedy saves, in nanoseconds; the interval's parts are in ``method``."""

    elapsed_ns: Estimate
    core_ns: Estimate


class Symptom(Model):
    """A finding that another one explains."""

    code: str
    title: str
    place: Place
    mechanism: str
    elapsed_ns: Estimate
    remedies: list[Remedy] = Field(default_factory=list)


class Proof(Model):
    """How an experiment judged a finding."""

    verdict: Judgement
    measured: Estimate | None = None
    experiment: str | None = None
    reason: str | None = None


Proofs = Mapping[Tried, Proof]
"""How experiments judged what was tried of a run."""


def tried(code: str, place: Place) -> Tried:
    """Name what is tried when a finding is."""
    return code, place.app or 0, place.key


def proof_of(proofs: Proofs, code: str, place: Place, *, is_alone: bool) -> Proof | None:
    """Give how a finding was judged.

    Parameters
    ----------
    is_alone : bool
        No other place of the rule has the same words, which are all that older verdicts have.
    """
    found = proofs.get(tried(code, place))
    return proofs.get((code, place.app or 0, place.words)) if found is None and is_alone else found


class Earlier(NamedTuple):
    """What trials of a rule say of its next prediction.

    Attributes
    ----------
    error_ratio : float
        Of what is predicted without them: how far that, times the bias, may be off.
    bias_ratio : float
        What was saved of what had been predicted.
    is_enough : bool
        The error stands for what the rule assumes of its remedy.
    """

    error_ratio: float
    bias_ratio: float = 1.0
    is_enough: bool = False


class Record(Model):
    """How often findings of a rule were tried before, and how far its predictions were off.

    Attributes
    ----------
    jobs_count : int
        Jobs on which a saving was measured.
    error_ratio : float or None
        Of what was predicted: nine of ten predictions are off by no more; of few, none is.
    bias_ratio : float
        Median of what was saved, of what was predicted; 1 where trials of few jobs, or their
        differences, leave it open.
    """

    tried_count: int = 0
    proven_count: int = 0
    jobs_count: int = 0
    error_ratio: float | None = None
    bias_ratio: float = 1.0

    @property
    def earlier(self) -> Earlier | None:
        """What counts for the next prediction: of enough trials."""
        if self.error_ratio is None or self.tried_count < FEWEST_TRIED:
            return None
        is_enough = self.jobs_count >= ENOUGH_JOBS
        return Earlier(self.error_ratio, self.bias_ratio if is_enough else 1.0, is_enough)


class Finding(Model):
    """A cause, its place, the evidence, what to do and what that saves.

    Attributes
    ----------
    key : str
        Names the finding within the report: its code, and a number where a code has several.
    cause : str
        The field's term.
    mechanism : str
        One sentence with the numbers in it.
    saving_ratio : Estimate
        Elapsed time that it saves alone, over that of the window.
    added_ratio : float
        What it saves in addition to all findings before it: these add up to the joint saving.
    shown : bool
        The saving lies above the noise of the run; else the finding is listed by ``--all`` only.
    alone : bool
        No other place that the rule suspects has the same words.
    muted : str or None
        Why the project mutes the rule.
    """

    key: str
    code: str
    title: str
    cause: str
    place: Place
    mechanism: str
    evidence: list[Evidence] = Field(default_factory=list)
    remedies: list[Remedy] = Field(default_factory=list)
    saving: Saving
    saving_ratio: Estimate
    added_ratio: float = 0.0
    symptoms: list[Symptom] = Field(default_factory=list)
    refute: str
    proof: Proof | None = None
    record: Record = Field(default_factory=Record)
    shown: bool = True
    alone: bool = True
    muted: str | None = None
    doubts: list[Doubt] = Field(default_factory=list)


class Note(Model):
    """What is worth knowing and saves no time: a setting without effect, memory that is not used.

    Attributes
    ----------
    title : str
        Of the rule: notes of one rule stand under it.
    mechanism : str
        One sentence: why, with the numbers in it.
    settings : dict of str to str
        Settings that it is about, with their values.
    muted : str or None
        Why the project mutes the rule.
    """

    code: str
    title: str
    place: Place
    mechanism: str
    settings: dict[str, str] = Field(default_factory=dict)
    evidence: list[Evidence] = Field(default_factory=list)
    remedies: list[Remedy] = Field(default_factory=list)
    muted: str | None = None


class Unjudged(Model):
    """A rule that could not look: what was missing, and what would allow it."""

    code: str
    title: str
    missing: str
    remedy: str


class Noise(Model):
    """How much the elapsed time differs from one run to the next, as far as this run shows.

    Attributes
    ----------
    kind : str
        ``measured`` in this run, or ``assumed``.
    method : str
        How, or why it is not measured.
    """

    ratio: float
    kind: Literal["measured", "assumed"] = "measured"
    method: str


class Baseline(Model):
    """Elapsed time of the window, measured and as the simulator schedules it."""

    elapsed_ns: int
    simulated_ns: int | None = None
    core_ns: int | None = None


class Findings(Model):
    """Findings of one window of a run, the largest saving first."""

    schema_name: str = Field(default="pyrometer/findings/1", alias="schema")
    run: RunFacts
    window: WindowFacts
    conclusion: str
    baseline: Baseline
    noise: Noise
    noise_ratio: float
    findings: list[Finding] = Field(default_factory=list)
    hidden_count: int = 0
    joint_saving: Saving | None = None
    joint_ratio: Estimate | None = None
    notes: list[Note] = Field(default_factory=list)
    unjudged: list[Unjudged] = Field(default_factory=list)
    rules_count: int = 0
    doubts: list[Doubt] = Field(default_factory=list)

    model_config = ConfigDict(populate_by_name=True)
