"""SARIF 2.1.0: what its schema requires, where findings are, and fingerprints that last."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.explain.findings import (
    MUTED,
    RULES,
    a_finding,
    estimate,
    invented,
    some_findings,
)

from pyrometer.explain import sarif
from pyrometer.explain.schema import Place

# Of the schema of version 2.1.0: object, and what it requires (of message: one of these).
REQUIRED: dict[str, set[str]] = {
    "log": {"version", "runs"},
    "run": {"tool"},
    "driver": {"name"},
    "rule": {"id"},
    "text": {"text"},
    "result": {"message"},
    "invocation": {"executionSuccessful"},
    "notification": {"message"},
    "suppression": {"kind"},
    "automation": {"id"},
}
LEVELS = {"none", "note", "warning", "error"}


def run_of(found: Any, **asked: Any) -> dict[str, Any]:
    log = sarif.document(found, RULES, **asked)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def has(kind: str, one: dict[str, Any]) -> None:
    assert one.keys() >= REQUIRED[kind], (kind, one)


def test_what_the_schema_requires_is_there(tmp_path: Any) -> None:
    found = invented(tmp_path, muted=MUTED)
    log = sarif.document(found, RULES, everything=True)
    has("log", log)
    (run,) = log["runs"]
    has("run", run)
    has("automation", run["automationDetails"])
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    driver = run["tool"]["driver"]
    has("driver", driver)
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids)) == 5
    for rule in driver["rules"]:
        has("rule", rule)
        for text in ("shortDescription", "fullDescription", "help"):
            has("text", rule[text])
            assert all(rule[text].values())
        assert "**Mechanism.**" in rule["help"]["markdown"]
        assert "Mechanism" in rule["help"]["text"]
    (invocation,) = run["invocations"]
    has("invocation", invocation)
    for one in invocation["toolExecutionNotifications"]:
        has("notification", one)
        assert ids[one["associatedRule"]["index"]] == one["associatedRule"]["id"]
        assert one["level"] in LEVELS
    assert len(run["results"]) == 4
    for result in run["results"]:
        has("result", result)
        has("text", result["message"])
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in LEVELS
        assert 0 <= result["rank"] <= 100
        for location in result["locations"]:
            assert location["logicalLocations"]
            for logical in location["logicalLocations"]:
                assert logical["name"]
            physical = location.get("physicalLocation")
            if physical is not None:
                assert physical["artifactLocation"]["uri"]
                assert physical["region"]["startLine"] >= 1
        for suppression in result.get("suppressions", []):
            has("suppression", suppression)
            assert suppression["kind"] in ("inSource", "external")


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
    assert first["suppressions"] == [{"kind": "external", "justification": "agreed"}]
    assert "suppressions" not in second


@pytest.mark.parametrize(
    ("source", "uri", "line"),
    [
        ("count at Main.scala:123", "Main.scala", 123),
        ("job.py:12", "job.py", 12),
        ("collect at /src/jobs/night ly.py:7", "jobs/night%20ly.py", 7),
        ("collect at /src/jobs/nightly.py:7", "jobs/nightly.py", 7),
        ("collect at /elsewhere/nightly.py:7", "file:///elsewhere/nightly.py", 7),
        ("run at ThreadPoolExecutor.java:1136", "ThreadPoolExecutor.java", 1136),
        ("count at <console>:23", None, None),
        ("select * from t where a:1", None, None),
        ("wait for 10:30", None, None),
        (None, None, None),
    ],
)
def test_a_line_of_code_is_a_physical_location(
    source: str | None, uri: str | None, line: int | None
) -> None:
    found = some_findings(a_finding(place=Place(layer="stage", stage_id=1, source=source)))
    (location,) = run_of(found, root="/src")["results"][0]["locations"]
    physical = location.get("physicalLocation")
    if uri is None:
        assert physical is None
        return
    assert physical["artifactLocation"]["uri"] == uri
    assert physical["region"] == {"startLine": line}
    assert ("uriBaseId" in physical["artifactLocation"]) == (not uri.startswith("file:"))


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
