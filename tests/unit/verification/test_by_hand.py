"""What a human is told to type: the run, one remedy, and nothing that the command line refuses."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import typer
from tests.support.explain.tried_findings import COMMAND, WORKLOAD, edit, finding, ran, setting

from pyrometer.cli import main
from pyrometer.cli.measure.run import make_trial
from pyrometer.core.redaction import REDACTED
from pyrometer.explain.schema import Remedy
from pyrometer.trial.trial import Trial
from pyrometer.verification.by_hand import by_hand
from pyrometer.verification.plan import Refusal, propose
from pyrometer.verification.ran import Ran

RUN = "runs/a run"
OPTIONS = (
    "iterations", "warmup", "profile", "scale", "output", "push", "tier", "probe_budget", "agents",
)  # fmt: skip
DISK = Remedy(kind="machine", text="a faster disk")
HEAP = setting("spark.driver.memory", "2g")


def parsed(line: str) -> tuple[str, dict[str, Any], bool]:
    """Give verb and parameters of a command, and whether a command of the user's is in it."""
    program, name, *words = shlex.split(line)
    assert program == "pyrometer"
    top = typer.main.get_command(main.app)
    verb = top.get_command(typer.Context(top), name)  # type: ignore[attr-defined]
    return name, verb.make_context(name, list(words), obj=words).params, "--" in words


def pasted(text: str, of: Ran) -> Trial:
    """Give the trial that is run again, and see that it is compared with the run."""
    again, compared = text[text.index("pyrometer run") :].split(" && ")
    _, run, is_command = parsed(again)
    _, sides, _ = parsed(compared)
    assert [str(one) for one in sides["run"]] == [of.run, str(run["output"])]
    options = {name: run[name] for name in OPTIONS}
    return make_trial(run["what"], is_command, run["setting"], **options)


def test_a_workload_is_run_again_as_it_was_with_the_remedy() -> None:
    of = ran(run=RUN, scale="400", iterations=5, profile="light")
    text = by_hand(finding(), of)
    assert text.startswith("pyrometer run --set data.codec=snappy --set spark.sql.shuffle.part")
    trial = pasted(text, of)
    assert (trial.name, trial.scale, trial.iterations, trial.warmup) == (
        "parquet-scan",
        "400",
        5,
        1,
    )
    assert trial.treatment == {"data.codec": "snappy", "spark.sql.shuffle.partitions": "8"}
    assert trial.profile == "light"


def test_words_of_a_command_stay_as_they_were_typed() -> None:
    words = ("spark-submit", "RUN.py", "--out=a b", "$HOME", "RUN")
    of = ran(COMMAND, command=words, run=RUN)
    assert pasted(by_hand(finding(), of), of).command == words


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (("java", "-Xmx1g", "M"), ("java", "-Xmx2g", "M")),
        (("java", "M"), ("java", "-Xmx2g", "M")),
        (("spark-submit", "--driver-memory", "1g", "a.py"),
         ("spark-submit", "--driver-memory", "2g", "a.py")),
    ],
)  # fmt: skip
def test_a_heap_is_changed_where_the_command_decides_it(
    words: tuple[str, ...], changed: tuple[str, ...]
) -> None:
    of = ran(COMMAND, command=words, levels={"spark.a": "1"})
    trial = pasted(by_hand(finding(2.0, HEAP), of), of)
    assert (trial.command, trial.treatment) == (changed, {"spark.a": "1"})


def test_what_the_user_set_gives_way_to_the_heap_of_the_remedy() -> None:
    of = ran(levels={"spark.driver.memory": "512m", "jvm.gc": "serial"})
    trial = pasted(by_hand(finding(2.0, setting("jvm.heap", "1g")), of), of)
    assert trial.treatment == {"jvm.gc": "serial", "jvm.heap": 1 << 30}


def test_a_remedy_that_the_run_had_is_not_the_one_to_try() -> None:
    of = ran(levels={"spark.x": "1"})
    one = finding(2.0, setting("spark.x", "1"), setting("spark.y", "2"))
    assert pasted(by_hand(one, of), of).treatment == {"spark.x": "1", "spark.y": "2"}
    had = finding(2.0, setting("spark.x", "1"), DISK)
    text = by_hand(had, of)
    assert text.startswith("a faster disk; then: pyrometer run --set spark.x=1 ")
    pasted(text, of)
    assert by_hand(finding(2.0, setting("spark.x", "1")), of).startswith("Twice the heap; then: ")


@pytest.mark.parametrize(
    ("one", "of", "first"),
    [
        (finding(2.0, DISK, setting("cpu.quota", "4")), ran(COMMAND, master="yarn"),
         "set cpu.quota, on the hosts of its executors; then: "),
        (finding(2.0, DISK), WORKLOAD, "a faster disk; then: "),
        (finding(2.0, DISK, edit()), WORKLOAD, "use a built-in; then: "),
        (finding(), ran(COMMAND, command=()), "with what was typed in place of COMMAND: "),
        (finding(), ran(COMMAND, command=("a", REDACTED)),
         "with what was typed in place of COMMAND: "),
        (finding(), ran(levels={"spark.x": REDACTED}), "with what was typed in place of SECRET: "),
    ],
)  # fmt: skip
def test_what_cannot_be_typed_for_a_human_stands_before_what_can(one, of: Ran, first: str) -> None:
    of = ran(of, run=RUN)
    text = by_hand(one, of)
    assert text.startswith(first)
    assert REDACTED not in text
    pasted(text, of)


def test_levels_that_this_host_cannot_have_are_not_set() -> None:
    text = by_hand(finding(2.0, setting("numa.nodes", "77")), WORKLOAD, possible=False)
    assert text.startswith("set numa.nodes, where that is possible; then: ")
    assert pasted(text, WORKLOAD).treatment == {"data.codec": "snappy"}


def test_a_changed_command_is_verified_by_the_edit() -> None:
    of = ran(COMMAND, run=RUN)
    text = by_hand(finding(2.0, DISK, edit()), of)
    before, line = text.split(": ")
    assert before == "use a built-in; then, with the changed command in place of COMMAND"
    name, found, _ = parsed(line)
    assert (name, found["findings"]) == ("explain", ["gc.heap-too-small", "COMMAND"])
    assert (str(found["run"]), found["verify"], found["changed"]) == (RUN, True, True)


def test_a_larger_budget_is_asked_for_by_a_command() -> None:
    found = propose(finding(), ran(run=RUN), 30.0, 0.02)
    assert isinstance(found, Refusal)
    name, given, _ = parsed(found.by_hand)
    assert (name, str(given["run"]), given["verify"]) == ("explain", RUN, True)
    assert given["budget"] > 1


def test_a_changed_command_beside_a_workload_is_run_by_hand() -> None:
    found = propose(finding(), ran(run=RUN), 3600.0, 0.02, ("python", "b.py"))
    assert isinstance(found, Refusal)
    assert pasted(found.by_hand, ran(run=RUN)).command == ("python", "b.py")
