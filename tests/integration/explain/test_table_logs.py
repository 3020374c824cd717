"""Logs of commands on tables of Apache Iceberg, and of those who read them: what rules see there.

The jobs are small, so that no saving is worth showing: rules are asked for all that they suspect.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.explain.test_recorded_logs import check, judged

from pyrometer.accounts.window import open_scope
from pyrometer.explain.catalogue.data import (
    scan_deletes_applied,
    scan_small_files_read,
    write_rows_copied,
)
from pyrometer.explain.catalogue.parallelism import driver_listing
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.store import Run
from pyrometer.summary.summary import summarise

TABLES = Path(__file__).parents[2] / "fixtures" / "eventlog" / "tables"
COPIED, DELETES = TABLES / "copy-on-write-3.5.9.zstd", TABLES / "deletes-3.5.9.zstd"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def suspected(log: Path, rule: Rule) -> dict[int | None, Suspect]:
    with Run.open(log) as run:
        scope = open_scope(run, None)
        found = list(rule.suspects(Facts(scope, summarise(scope))))
    assert all(isinstance(one, Suspect) for one in found)
    return {one.place.sql_id: one for one in found if isinstance(one, Suspect)}


@pytest.mark.parametrize("log", [COPIED, DELETES], ids=lambda log: log.stem)
def test_every_rule_can_read_them(log: Path) -> None:
    check(judged(log))


def test_merge_update_and_delete_copy_99_of_100_rows() -> None:
    found = suspected(COPIED, write_rows_copied.RULE)
    # Spark 3.5 counts none of them: 6 is a MERGE, 8 an UPDATE, 10 a DELETE.
    assert sorted(found) == [6, 8, 10]
    for one in found.values():
        assert "ReplaceData wrote 19 800 rows again that did not change" in one.mechanism
    assert "99.0 % of all rows written" in found[6].mechanism
    assert "99.0 % of all rows written" in found[8].mechanism
    assert "100 % of all rows written" in found[10].mechanism


def test_merge_on_read_is_paid_by_readers_until_the_table_is_rewritten() -> None:
    found = suspected(DELETES, scan_deletes_applied.RULE)
    # 4 reads the table, 6 rewrites it, and 8 reads it again.
    assert 4 in found
    assert 8 not in found
    assert found[4].mechanism.startswith(
        "20 data files needed 20 delete files, and 200 rows were read and skipped"
    )
    assert suspected(DELETES, write_rows_copied.RULE) == {}


def test_small_files_are_named_and_few_manifests_are_not() -> None:
    files = suspected(DELETES, scan_small_files_read.RULE)
    assert files[4].mechanism.startswith("20 files of 69.4 KiB on average were read")
    assert 8 not in files
    assert suspected(DELETES, driver_listing.RULE) == {}
