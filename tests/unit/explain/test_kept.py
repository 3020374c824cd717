"""Findings kept beside the tables: never of another state of the run, or of what is asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.findings import RECORDS, invented, invented_log

from pyrometer.explain.kept import findings_of, keep_findings, kept_findings
from pyrometer.explain.schema import Proof, Record
from pyrometer.store.locate import locate
from pyrometer.store.tables_folder import findings_file, replaced_tables, summary_file


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return invented_log(tmp_path / "run")


def tables(run: Path) -> Path:
    return locate(run).paths.tables


def test_they_are_computed_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = findings_of(run)
    monkeypatch.setattr("pyrometer.explain.findings.explained", None)
    assert findings_of(run) == first
    assert findings_file(tables(run), None).stat().st_mode & 0o077 == 0
    assert summary_file(tables(run), None).exists()


FAR = Record(tried_count=3, proven_count=1, error_ratio=0.5)


def test_of_other_trials_or_another_project_they_are_not_those(run: Path) -> None:
    code = findings_of(run).findings[0].code
    found = locate(run)
    assert kept_findings(found) is not None
    assert kept_findings(found, muted={code: "known"}) is None
    assert kept_findings(found, records={code: FAR}) is None
    assert kept_findings(found, "application") is None


def test_what_concerns_no_finding_leaves_them_as_they_are(run: Path) -> None:
    first = findings_of(run)
    assert kept_findings(locate(run), records={"no.x": FAR}, muted={"no.x": "known"}) == first


def test_a_symptom_that_is_muted_changes_what_stands_where(tmp_path: Path) -> None:
    findings = invented(tmp_path / "run")
    assert ["spill.sort"] in [[each.code for each in one.symptoms] for one in findings.findings]
    found = locate(tmp_path / "run")
    keep_findings(found, findings, records=RECORDS)
    assert kept_findings(found, records=RECORDS) is not None
    assert kept_findings(found, records=RECORDS, muted={"spill.sort": "known"}) is None


def test_too_few_trials_to_widen_an_interval_are_told_with_what_is_kept(run: Path) -> None:
    code = findings_of(run).findings[0].code
    once = FAR.model_copy(update={"tried_count": 1})
    known = kept_findings(locate(run), records={code: once})
    assert known is not None
    assert {one.code: one.record for one in known.findings}[code] == once


def test_those_of_several_records_and_projects_stand_beside_each_other(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = findings_of(run).findings[0].code
    asked: list[dict[str, Any]] = [{}, {"muted": {code: "known"}}, {"records": {code: FAR}}]
    first = [findings_of(run, **one) for one in asked]
    monkeypatch.setattr("pyrometer.explain.findings.explained", None)
    assert [findings_of(run, **one) for one in asked] == first


def test_of_other_tables_they_are_not_those(run: Path) -> None:
    findings_of(run)
    table = next(tables(run).glob("*.parquet"))
    table.write_bytes(table.read_bytes())
    assert kept_findings(locate(run)) is None


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"of": 1}', b'{"of": "x", "findings": 1}'])
def test_a_damaged_file_counts_as_none(run: Path, damage: bytes) -> None:
    findings_of(run)
    file = findings_file(tables(run), None)
    file.write_bytes(damage)
    assert kept_findings(locate(run)) is None
    findings_of(run)
    assert json.loads(file.read_bytes())["kept"][0]["findings"]["schema"] == "pyrometer/findings/1"


def test_making_tables_again_takes_them_away(run: Path) -> None:
    findings_of(run)
    kept_file = findings_file(tables(run), None)
    assert kept_file.exists()
    with replaced_tables(kept_file.parent, known=True):
        pass
    assert not kept_file.exists()


SLOW_JOB = Path(__file__).parents[3] / "examples" / "slow-job"


def test_a_summary_that_is_kept_changes_no_finding(tmp_path: Path) -> None:
    """Accounts define views of samples as they sum up: a rule that needs one defines it itself."""
    run = tmp_path / "run"
    shutil.copytree(SLOW_JOB, run, ignore=shutil.ignore_patterns(".summary-*", ".findings-*"))
    with_the_accounts = findings_of(run)
    assert summary_file(tables(run), None).exists()
    findings_file(tables(run), None).unlink()
    assert findings_of(run) == with_the_accounts


def test_a_verdict_that_knows_a_place_by_its_words_is_told_with_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shutil.copytree(SLOW_JOB, run, ignore=shutil.ignore_patterns(".summary-*", ".findings-*"))
    found = locate(run)
    assert found.manifest is not None
    one = next(one for one in findings_of(run).findings if one.place.key != one.place.words)
    findings_file(tables(run), None).unlink()
    proof = Proof(verdict="proven")
    proofs = {found.manifest.run_id: {(one.code, one.place.app or 0, one.place.words): proof}}
    first = findings_of(run, proofs=proofs)
    assert {each.key: each.proof for each in first.findings}[one.key] == proof
    monkeypatch.setattr("pyrometer.explain.findings.explained", None)
    assert findings_of(run, proofs=proofs) == first


def test_a_verdict_that_came_since_is_told_as_if_findings_were_computed_with_it(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    shutil.copytree(SLOW_JOB, run, ignore=shutil.ignore_patterns(".summary-*", ".findings-*"))
    found = locate(run)
    assert found.manifest is not None
    findings = findings_of(run)
    one = next(one for one in findings.findings if one.place.key != one.place.words)
    proof = Proof(verdict="proven")
    proofs = {found.manifest.run_id: {(one.code, one.place.app or 0, one.place.words): proof}}
    for alone, told in ((True, proof), (False, None)):
        one.alone, one.proof = alone, None
        keep_findings(found, findings)
        known = kept_findings(found, proofs=proofs)
        assert known is not None
        assert {each.key: each.proof for each in known.findings}[one.key] == told
