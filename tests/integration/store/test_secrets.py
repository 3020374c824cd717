"""Secrets in event logs, profiles, logs and output of others are in nothing that we write."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.cli import inside, pyrometer
from tests.support.eventlog.recorded import RECORDED
from tests.support.redaction.plaintext import plaintext
from tests.support.redaction.planted import PLANTED, Planted

from pyrometer.core.redaction import REDACTED

SAID = "\n".join(" ".join(one.words) for one in PLANTED)
# Texts of events that reach tables, and others that may one day.
TEXTS = {
    "App Name", "User", "Stage Name", "Details", "Callsite", "Name", "Scope", "Message",
    "Description", "Kill Reason", "Full Stack Trace", "Failure Reason", "Removed Reason",
    "description", "details", "physicalPlanDescription", "simpleString", "errorMessage",
    "spark.job.description", "spark.jobGroup.id", "Loss Reason",
}  # fmt: skip
SETTINGS = {"Spark Properties", "System Properties", "Hadoop Properties", "Properties", "metadata"}


def planted(value: Any) -> Any:
    """Give an event with every kind of secret in each of its texts and among its settings."""
    if isinstance(value, list):
        return [planted(one) for one in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, one in value.items():
        if key in TEXTS and isinstance(one, str) and not one.startswith("{"):
            made[key] = f"{one}\n{SAID}"
        else:
            made[key] = planted(one)
        if key in SETTINGS and isinstance(one, dict):
            made[key] |= dict(settings())
    return made


def settings() -> Iterator[tuple[str, str]]:
    for number, one in enumerate(PLANTED):
        name, _, value = one.words[-1].removeprefix("--conf=").partition("=")
        is_setting = value == one.secret and "/" not in name
        yield (name, value) if is_setting else (f"k{number}", " ".join(one.words))


def log_with_secrets(name: str, target: Path) -> Path:
    data = (RECORDED / f"{name}.zstd").read_bytes()
    text = pa.CompressedInputStream(io.BytesIO(data), "zstd").read().decode()
    lines = [json.dumps(planted(json.loads(line))) for line in text.splitlines()]
    target.write_text("\n".join(lines) + "\n")
    return target


def found(texts: dict[str, str], kinds: tuple[Planted, ...] = PLANTED) -> list[tuple[str, str]]:
    return [
        (one.kind, where) for one in kinds for where, text in texts.items() if one.secret in text
    ]


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(f"{one}-4.3.0", marks=pytest.mark.slow) for one in ("scan", "failures")),
        "failures-3.5.9",
    ],
)
def test_none_of_an_event_log(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = log_with_secrets(name, tmp_path / "log")
    assert {
        kind for kind, _ in found({"log": log.read_text().replace("\\n", "\n").replace('\\"', '"')})
    } == {one.kind for one in PLANTED}
    assert pyrometer("ingest", log, "-o", "run", cwd=tmp_path).code == 0
    said = {}
    for verb in ("show", "ledger", "report"):
        done = pyrometer(verb, "run", cwd=tmp_path)
        assert done.code == 0, (verb, done.stderr)
        said[verb] = done.stdout + done.stderr
    for verb in ("show", "ledger"):
        done = inside(capsys, verb, tmp_path / "run", "--json")
        assert done.code == 0, (verb, done.stderr)
        said[f"{verb} --json"] = done.stdout + done.stderr
    kept = plaintext(tmp_path / "run")
    assert found(said | kept) == []
    assert len(PLANTED) >= 70
    # They were there, and what stood beside them is.
    apps = pq.read_table(tmp_path / "run" / "tables" / "apps.parquet").to_pylist()
    conf = json.loads(apps[0]["spark_conf"])
    assert conf["spark.authenticate.secret"] == REDACTED
    assert conf["spark.eventLog.enabled"] == "true"
    assert json.loads(apps[0]["system_properties"])
    plans = "\n".join(
        text for where, text in kept.items() if REDACTED in text and "tables" in where
    )
    assert plans.count(REDACTED) > 10 * len(PLANTED)
    assert any("report.html" in where and REDACTED in text for where, text in kept.items())


@pytest.mark.slow
def test_none_of_a_profile_of_another_tool(tmp_path: Path) -> None:
    frames = [" ".join(one.words).replace(";", ",").replace("\n", "\\n") for one in PLANTED]
    kinds = tuple(one for one, frame in zip(PLANTED, frames, strict=True) if one.secret in frame)
    assert len(kinds) >= 30
    lines = [f"main;process {n}: app {frame};work {n + 1}" for n, frame in enumerate(frames)]
    (tmp_path / "stacks").write_text("\n".join(lines) + "\n")
    done = pyrometer("import", "stacks", "-o", "run", cwd=tmp_path)
    assert done.code == 0, done.stderr
    said = {"import": done.stdout + done.stderr}
    (tmp_path / "out").mkdir()
    for name in ("x.folded", "x.svg", "x.speedscope.json", "x.pb.gz"):
        done = pyrometer("export", "run", "-o", f"out/{name}", cwd=tmp_path)
        assert done.code == 0, (name, done.stderr)
    for words in (["show", "--json"], ["report"], ["flame"]):
        done = pyrometer(words[0], "run", *words[1:], cwd=tmp_path)
        said[words[0]] = done.stdout + done.stderr
    kept = plaintext(tmp_path)
    # The copy is the file as it was given; so is the file.
    raw = {where for where in kept if where == "stacks" or where.startswith("run/raw/imported/")}
    assert len(raw) == 2
    assert found({where: kept[where] for where in kept.keys() - raw} | said, kinds) == []
    assert REDACTED in kept["out/x.folded"]
    assert kept["out/x.folded"].count("work ") >= len(PLANTED)


def test_none_in_raw_files_once_a_run_has_ended(tmp_path: Path) -> None:
    log_with_secrets("failures-4.3.0", tmp_path / "log")
    (tmp_path / "said").write_text(SAID + "\n")
    records = [json.dumps({"k": "noted", "what": " ".join(one.words)}) for one in PLANTED]
    (tmp_path / "records").write_text("\n".join(records) + "\n")
    script = (
        "cp log run/raw/eventlog/local-1; cp records run/raw/plugin-driver-driver-7.ndjson;"
        " cp said run/raw/gc-7.log; mkdir -p run/raw/cluster; cp said run/raw/cluster/worker.log;"
        " mkdir -p run/raw/codegen; cp records run/raw/codegen/codegen-driver-7.ndjson"
    )
    done = pyrometer(
        "run", "--profile", "light", "-o", "run", "--", "sh", "-c", script, cwd=tmp_path
    )
    assert done.code == 0, done.stderr
    kept = plaintext(tmp_path / "run")
    assert found(kept | {"said": done.stdout + done.stderr}) == []
    assert len(kept["raw/cluster/worker.log"].splitlines()) == 2 * len((SAID + "\n").splitlines())
    for line in (tmp_path / "run/raw/eventlog/local-1").read_text().splitlines():
        json.loads(line)
    again = pyrometer("ingest", "run", cwd=tmp_path)
    assert again.code == 0, again.stderr
    assert found(plaintext(tmp_path / "run")) == []


def test_patterns_of_the_users_own_hold_in_tables_and_raw_files(tmp_path: Path) -> None:
    data = (RECORDED / "scan-4.3.0.zstd").read_bytes()
    text = pa.CompressedInputStream(io.BytesIO(data), "zstd").read().decode()
    events = [json.loads(line) for line in text.splitlines()]
    for event in events:
        if "Spark Properties" in event:
            event["Spark Properties"] |= {
                "spark.redaction.regex": "(?i)plum|^kiwi$", "my.plum": "fr8it",
            }  # fmt: skip
        if "physicalPlanDescription" in event:
            event["physicalPlanDescription"] += " Relation [kiwi=gr33n] card 4711 pl"
    (tmp_path / "log").write_text("".join(json.dumps(event) + "\n" for event in events))
    (tmp_path / "said").write_text("plum=fr8it and card 4711\n")
    script = "cp log run/raw/eventlog/local-1; cp said run/raw/gc-7.log"
    done = pyrometer(
        "run", "--profile", "light", "-o", "run", "--", "sh", "-c", script, "job",
        "--conf", "spark.redaction.string.regex=card [0-9]+", "--conf=my.plum=fr8it",
        "--conf", "other.plum=b3rry", cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.stderr
    kept = plaintext(tmp_path / "run")
    for secret in ("fr8it", "b3rry", "gr33n", "card 4711"):
        assert [where for where, one in kept.items() if secret in one] == [], secret
    assert f"plum={REDACTED} and {REDACTED}" in kept["raw/gc-7.log"]
    assert "card [0-9]+" in kept["manifest.json"]


def test_a_pattern_that_only_java_understands_is_a_doubt(tmp_path: Path) -> None:
    data = (RECORDED / "scan-4.3.0.zstd").read_bytes()
    text = pa.CompressedInputStream(io.BytesIO(data), "zstd").read().decode()
    own = '"Spark Properties":{"spark.redaction.regex":"(?=plum)",'
    assert '"Spark Properties":{' in text
    (tmp_path / "log").write_text(text.replace('"Spark Properties":{', own, 1))
    done = pyrometer("ingest", tmp_path / "log", "-o", "run", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert "secrets_kept" in done.stdout
