"""SARIF 2.1.0: what the standard says, where findings are, and fingerprints that last."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from tests.support.explain.findings import (
    MUTED,
    RULES,
    a_finding,
    estimate,
    invented,
    some_findings,
)

from pyrometer.explain import sarif
from pyrometer.explain.schema import Note, Place
from pyrometer.window.windows import RunFacts


def of(required: str, **properties: Any) -> dict[str, Any]:
    """Describe an object: what it must have, and all that it may."""
    return {"type": "object", "required": required.split(), "properties": properties,
            "additionalProperties": False}  # fmt: skip


def each(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


STRING, INTEGER, BAG = {"type": "string"}, {"type": "integer"}, {"type": "object"}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
# Two braces are one; one brace is a placeholder, of which there are none.
MESSAGE = of("text", text={"type": "string", "minLength": 1,
                           "pattern": r"^([^{}]|\{\{|\}\})*$"})  # fmt: skip
TEXT = of("text", text={"type": "string", "minLength": 1}, markdown=STRING)
DESCRIPTOR = of("id", id=STRING, name=STRING, shortDescription=TEXT, fullDescription=TEXT,
                help=TEXT, properties=BAG)  # fmt: skip
ARTIFACT = of("uri", uri={"type": "string", "format": "uri-reference"}, uriBaseId=STRING)
LOCATION = of(
    "physicalLocation", message=MESSAGE,
    logicalLocations=each(of("", name={"type": "string", "minLength": 1}, kind=STRING)),
    # The standard wants no file of a result, nor a line: GitHub does.
    physicalLocation=of("artifactLocation region", artifactLocation=ARTIFACT,
                        region=of("startLine", startLine={"type": "integer", "minimum": 1})),
)  # fmt: skip
SUPPRESSION = of("kind", kind={"enum": ["inSource", "external"]}, justification=STRING,
                 status={"enum": ["accepted", "underReview", "rejected"]})  # fmt: skip
INDEX = {"type": "integer", "minimum": 0}
RESULT = of(
    "message ruleId ruleIndex suppressions", ruleId=STRING, ruleIndex=INDEX, level=LEVEL,
    rank={"type": "number", "minimum": -1, "maximum": 100}, message=MESSAGE,
    locations=each(LOCATION), suppressions=each(SUPPRESSION, uniqueItems=True),
    partialFingerprints={"type": "object", "additionalProperties": STRING}, properties=BAG,
)  # fmt: skip
NOTIFICATION = of("message", level=LEVEL, message=MESSAGE,
                  associatedRule=of("", id=STRING, index=INDEX))  # fmt: skip
RUN = of(
    "tool", columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]}, properties=BAG,
    tool=of("driver", driver=of("name", name=STRING, version=STRING,
                                rules=each(DESCRIPTOR, uniqueItems=True))),
    automationDetails=of("", id=STRING), results=each(RESULT),
    invocations=each(of("executionSuccessful", executionSuccessful={"type": "boolean"},
                        toolExecutionNotifications=each(NOTIFICATION))),
)  # fmt: skip
# What the standard (SARIF 2.1.0, errata 1) says of the properties that we write; no others are.
LOG = of("version runs", version={"const": "2.1.0"}, runs=each(RUN),
         **{"$schema": {"type": "string", "format": "uri"}})  # fmt: skip


def run_of(found: Any, **asked: Any) -> dict[str, Any]:
    log = sarif.document(found, RULES, **asked)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def a_note(**columns: Any) -> Note:
    return Note(**{
        "code": "config.no-effect", "title": "Settings without effect",
        "place": Place(layer="setting"), "mechanism": "No task wrote a shuffle, @all {0}.",
        "settings": {"spark.shuffle.file.buffer": "1m"}, **columns,
    })  # fmt: skip


def test_it_is_what_the_standard_says(tmp_path: Any) -> None:
    found = invented(tmp_path, muted=MUTED)
    found.notes = [a_note(), a_note(muted="agreed")]
    log = json.loads(sarif.text(found, RULES, everything=True))
    validator = Draft202012Validator(LOG, format_checker=FormatChecker())
    assert list(validator.iter_errors(log)) == []
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    ids = [rule["id"] for rule in rules]
    assert len(ids) == len(set(ids)) == 6
    for rule in rules:
        if rule["id"] != "config.no-effect":
            assert "**Mechanism.**" in rule["help"]["markdown"]
            assert "Mechanism" in rule["help"]["text"]
    for one in run["invocations"][0]["toolExecutionNotifications"]:
        assert ids[one["associatedRule"]["index"]] == one["associatedRule"]["id"]
    assert len(run["results"]) == 4 + 2
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        # A result that fails (the default kind) has a level.
        assert result["level"] != "none"
        for location in result["locations"]:
            assert location["logicalLocations"]


@pytest.mark.parametrize("field", ["version", "runs"])
def test_a_log_that_lacks_something_is_not(field: str) -> None:
    log = sarif.document(some_findings(a_finding()), RULES)
    del log[field]
    assert not Draft202012Validator(LOG).is_valid(log)
    log = sarif.document(some_findings(a_finding()), RULES)
    log["runs"][0]["results"][0]["message"]["text"] = "a {0} of ours"
    assert not Draft202012Validator(LOG).is_valid(log)


def test_notes_stand_behind_findings_and_save_nothing() -> None:
    found = some_findings(a_finding("gc.heap"), notes=[a_note(), a_note(muted="agreed")])
    finding, note, muted = run_of(found)["results"]
    assert (finding["level"], note["level"], note["rank"]) == ("error", "note", 0.0)
    assert "spark.shuffle.file.buffer=1m" in note["message"]["text"]
    assert note["properties"]["settings"] == {"spark.shuffle.file.buffer": "1m"}
    assert note["suppressions"] == []
    assert [one["justification"] for one in muted["suppressions"]] == ["agreed"]


def test_the_fingerprint_of_a_note_is_that_of_its_settings() -> None:
    marks = {sarif.fingerprint(a_note(settings={name: "1"})) for name in ("a", "b")}
    assert len(marks) == 2
    assert sarif.fingerprint(a_note(settings={"a": "2"})) in marks


def test_levels_go_by_what_is_saved_for_sure() -> None:
    assert sarif.level_of(a_finding(saved_s=2.0)) == "error"
    # 10.5 % of the elapsed time, and perhaps only 9.45 %.
    assert sarif.level_of(a_finding(saved_s=1.05)) == "warning"
    assert sarif.level_of(a_finding(saved_s=0.5)) == "warning"
    assert sarif.level_of(a_finding(saved_s=2.0, shown=False)) == "note"
    never = a_finding(saving_ratio=estimate(7.0))
    assert run_of(some_findings(never))["results"][0]["rank"] == 100


def test_what_is_below_the_noise_is_left_out_but_for_all() -> None:
    found = some_findings(a_finding("gc.heap", 2.0), a_finding("gc.young", 0.1, shown=False))
    assert [one["ruleId"] for one in run_of(found)["results"]] == ["gc.heap"]
    levels = [one["level"] for one in run_of(found, everything=True)["results"]]
    assert levels == ["error", "note"]


def test_a_muted_finding_is_suppressed_with_the_reason() -> None:
    found = some_findings(a_finding("gc.heap", muted="agreed"), a_finding("gc.young"))
    first, second = run_of(found)["results"]
    assert first["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "agreed"}
    ]
    # Of all or of none: an empty list says that it is not suppressed.
    assert second["suppressions"] == []


@pytest.mark.parametrize(
    ("source", "uri", "line"),
    [
        ("count at Main.scala:123", "Main.scala", 123),
        ("job.py:12", "job.py", 12),
        ("collect at /src/jobs/night ly.py:7", "jobs/night%20ly.py", 7),
        ("collect at /src/jobs/nightly.py:7", "jobs/nightly.py", 7),
        ("collect at /elsewhere/nightly.py:7", "file:///elsewhere/nightly.py", 7),
        ("run at ThreadPoolExecutor.java:1136", "ThreadPoolExecutor.java", 1136),
        ("count at <console>:23", "RUN", 1),
        ("select * from t where a:1", "RUN", 1),
        ("wait for 10:30", "RUN", 1),
        (None, "RUN", 1),
    ],
)
def test_a_line_of_code_is_a_physical_location(source: str | None, uri: str, line: int) -> None:
    found = some_findings(a_finding(place=Place(layer="stage", stage_id=1, source=source)))
    (location,) = run_of(found, root="/src")["results"][0]["locations"]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == uri
    assert physical["region"] == {"startLine": line}
    assert ("uriBaseId" in physical["artifactLocation"]) == (not uri.startswith("file:"))


@pytest.mark.parametrize(
    ("command", "uri"),
    [
        ("spark-submit --jars lib/a.jar --conf spark.x=b.jar jobs/nightly.py in.py",
         "jobs/nightly.py"),
        ("spark-submit --py-files=a.py --class Main /src/target/app.jar", "target/app.jar"),
        ("python3.11 /elsewhere/job.py", "file:///elsewhere/job.py"),
        ("spark-submit s3a://bucket/app.jar", "RUN/manifest.json"),
        ("", "RUN/manifest.json"),
    ],
)  # fmt: skip
def test_a_finding_without_a_line_is_placed_in_what_ran(command: str, uri: str) -> None:
    ran = RunFacts(run_dir="RUN", state="finished", command=command.split())
    found = some_findings(a_finding(), notes=[a_note()], run=ran)
    for result in run_of(found, root="/src")["results"]:
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == uri
        assert physical["region"] == {"startLine": 1}
        assert location["logicalLocations"]


def test_what_ran_elsewhere_has_its_address() -> None:
    ran = RunFacts(run_dir="s3://bucket/run", state="finished")
    assert sarif.program(ran) == {"uri": "s3://bucket/run/manifest.json"}


def test_a_place_without_a_name_has_its_layer() -> None:
    found = some_findings(a_finding(place=Place(layer="driver")))
    (location,) = run_of(found)["results"][0]["locations"]
    assert location["logicalLocations"] == [{"name": "driver", "kind": "layer"}]


def test_a_fingerprint_lasts_from_run_to_run() -> None:
    def mark(**place: Any) -> str:
        return sarif.fingerprint(a_finding(place=Place(layer="sql", **place)))

    before = mark(stage_id=4, sql_id=1, node_id=9, operator="Filter (node 9)",
                  expression="cast(t#12 as date)", source="count at Main.scala:42")  # fmt: skip
    after = mark(stage_id=7, sql_id=2, node_id=3, operator="Filter (node 3)",
                 expression="cast(t#345 as date)", source="count at Main.scala:57",
                 executor="3")  # fmt: skip
    assert before == after
    assert before != mark(operator="Filter (node 9)", expression="cast(u#12 as date)",
                          source="count at Main.scala:42")  # fmt: skip
    assert before != mark(operator="Filter (node 9)", expression="cast(t#12 as date)",
                          source="count at Other.scala:42")  # fmt: skip
    assert mark(source="/a/job.py:3") == mark(source="/home/b/job.py:5")


def test_the_fingerprint_of_a_python_function_is_that_of_its_name() -> None:
    def mark(source: str) -> str:
        return sarif.fingerprint(a_finding(place=Place(layer="python", source=source)))

    assert mark("f at /a/job.py:11") == mark("f at /b/job.py:12") != mark("g at /a/job.py:11")


def test_equal_fingerprints_are_numbered() -> None:
    place = Place(layer="stage", stage_id=1)
    other = Place(layer="stage", stage_id=2)
    found = some_findings(a_finding("gc.heap", place=place), a_finding("gc.heap", place=other))
    marks = [one["partialFingerprints"][sarif.FINGERPRINT] for one in run_of(found)["results"]]
    assert marks[0].removesuffix(":1") == marks[1].removesuffix(":2")


def test_a_rule_that_is_not_in_the_catalogue_has_its_title() -> None:
    found = some_findings(a_finding("team.own", title="Ours"))
    (rule,) = run_of(found)["tool"]["driver"]["rules"]
    assert rule == {"id": "team.own", "shortDescription": {"text": "Ours"}}
