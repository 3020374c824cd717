"""A finding of a real run, tried end to end: planned, run in Spark, judged, kept, shown."""

from __future__ import annotations

import json

import pytest
from tests.support.cli import environment, pyrometer

from pyrometer.experiments.folder import read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.store.manifest import read_manifest
from pyrometer.verification.plan import AS_IT_WAS, REMEDY

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# Its collections follow a young generation of fixed size. How much of the heap would be left for a
# larger one is a close call: the heap is suspected, which cannot help, or the young generation.
SUSPECTS = {
    "gc.heap-too-small": ("spark.driver.memory", ("refuted", "no_difference", "not_testable")),
    "gc.young-too-small": ("jvm.young", ("proven", "no_difference", "not_testable")),
}
"""What the remedy sets, and verdicts that are no lie: in a busy run collections take longer than
they do in its trials, so that less may be saved than was predicted, and noise may leave it open."""


def test_what_is_suspected_of_collections_is_tried_and_judged(tmp_path):
    env = environment(PYROMETER_VERDICTS=str(tmp_path / "team"))
    ran = pyrometer(
        "run", "truth-gc", "--scale", "test", "--iterations", "2", "--warmup", "1", "--no-report",
        "--set", "spark.driver.memory=512m", "-o", "run", cwd=tmp_path, env=env,
    )  # fmt: skip
    assert ran.code == 0, ran.stderr
    plain = pyrometer("explain", "run", "--json", "--all", cwd=tmp_path, env=env).json
    (finding,) = [one for one in plain["findings"] if one["code"] in SUSPECTS]
    code = finding["code"]
    factor, verdicts = SUSPECTS[code]
    assert finding["saving_ratio"]["value"] > 0.05
    words = ("explain", "run", "--verify", code, "--guard", "flag", "--budget", "20", "--json")
    done = pyrometer(*words, cwd=tmp_path, env=env)
    (tried,) = [one for one in done.json["findings"] if one["code"] == code]
    proof = tried["proof"]
    root = tmp_path / proof["experiment"]
    plan, ended = read_plan(root), read_journal(root).ended
    assert [one.name for one in plan.treatments] == [AS_IT_WAS, REMEDY]
    assert (plan.workload, plan.scale, plan.canaries) == ("truth-gc", "test", "iteration")
    assert len(ended) == 2 * plan.blocks
    levels = {
        one.treatment: read_manifest(root / "trials" / one.folder).treatment
        for one in ended.values()
    }
    assert levels[AS_IT_WAS].items() >= read_manifest(tmp_path / "run").treatment.items()
    assert levels[AS_IT_WAS]["spark.driver.memory"] == "512m"
    assert levels[REMEDY].pop(factor) != levels[AS_IT_WAS].pop(factor, None)
    assert levels[REMEDY] == levels[AS_IT_WAS]
    assert all(one.status == "finished" for one in ended.values())
    assert len({(one.rows, one.checksum) for one in ended.values()}) == 1
    assert "results compared: the same rows" in done.stderr
    assert proof["verdict"] in verdicts, done.stderr
    assert done.code == (1 if proof["verdict"] == "not_testable" else 0)
    if code == "gc.heap-too-small":
        assert proof["measured"]["low"] < finding["saving"]["elapsed_ns"]["value"]
    (line,) = [json.loads(text) for path in (tmp_path / "team").iterdir()
               for text in path.read_text().splitlines()]  # fmt: skip
    assert (line["code"], line["verdict"]) == (code, proof["verdict"])
    again = pyrometer(*words, cwd=tmp_path, env=env)
    assert "trials are there already" in again.stderr
    assert len(read_journal(root).ended) == 2 * plan.blocks
    shown = pyrometer("explain", "run", "--all", cwd=tmp_path, env=env)
    said = " ".join(shown.stdout.split())
    verdict = {"not_testable": "tried: cannot tell"}.get(proof["verdict"])
    assert (verdict or proof["verdict"].replace("_", " ")) in said
    assert code in said
