"""An audit that could not ask says so, and is never taken for one that found nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tools.supply import audit

# As pip-audit 2.10.1 writes it: where the index has no advisories it skips, and ends with 0.
SKIPPED = {
    "dependencies": [
        {
            "name": "uv",
            "skip_reason": "Dependency not found on PyPI and could not be audited: uv (0.13.8)",
        }
    ],
    "fixes": [],
}
CLEAN = {"dependencies": [{"name": "uv", "version": "0.13.8", "vulns": []}], "fixes": []}
WEAK = {
    "dependencies": [
        {"name": "idna", "version": "3.20", "vulns": []},
        {
            "name": "jinja2",
            "version": "2.11.2",
            "vulns": [
                {
                    "id": "PYSEC-2021-66",
                    "fix_versions": ["2.11.3"],
                    "aliases": ["CVE-2020-28493"],
                    "description": "",
                }
            ],
        },
    ],
    "fixes": [],
}
# As npm 11 writes it.
NPM_UNREACHED = {"error": {"code": "ENOLOCK", "summary": "This command requires a lockfile."}}
NPM_CLEAN = {
    "vulnerabilities": {},
    "metadata": {"dependencies": {"prod": 1, "dev": 0, "total": 0}},
}
NPM_WEAK = {
    "vulnerabilities": {"minimist": {"name": "minimist", "severity": "critical"}},
    "metadata": {"dependencies": {"prod": 3, "dev": 0, "total": 2}},
}

# As cargo-deny 0.20.2 writes it.
DENY_CLEAN = {"type": "summary", "fields": {"advisories": {"errors": 0}}}
DENY_WEAK = {
    "type": "diagnostic",
    "fields": {
        "advisory": {"id": "RUSTSEC-2026-9999", "package": "memchr", "title": "A test"},
        "code": "vulnerability",
        "labels": [{"span": "memchr 2.8.3 registry+https://github.com/rust-lang/crates.io-index"}],
        "message": "A test",
        "notes": ["ID: RUSTSEC-2026-9999", "Solution: Upgrade to >=99.0.0"],
        "severity": "error",
    },
}
DENY_REFUSED = {
    "type": "diagnostic",
    "fields": {
        "code": "rejected",
        "labels": [{"span": "GPL-3.0"}],
        "message": "failed to satisfy license requirements",
        "notes": [],
        "severity": "error",
    },
}
DENY_HELP = {"type": "diagnostic", "fields": {"severity": "help", "message": "", "labels": []}}
DENY_UNREACHED = {
    "type": "log",
    "fields": {
        "level": "ERROR",
        "message": "failed to fetch advisory database: failed to clone\nfatal: no route to it",
    },
}


def as_lines(*said: dict[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in said)


def test_what_cargo_deny_finds_is_told_with_its_remedy() -> None:
    weak = audit.of_cargo_deny("crates", as_lines(DENY_HELP, DENY_WEAK, DENY_CLEAN), 7)
    said = "memchr 2.8.3: RUSTSEC-2026-9999. A test. Solution: Upgrade to >=99.0.0"
    assert (weak.found, weak.asked) == ((said,), 7)
    refused = audit.of_cargo_deny("crates", as_lines(DENY_REFUSED, DENY_CLEAN), 7)
    assert refused.found == ("GPL-3.0: failed to satisfy license requirements",)


@pytest.mark.parametrize("said", [as_lines(DENY_UNREACHED), "no such option", ""])
def test_without_a_summary_cargo_deny_judged_nothing(said: str) -> None:
    outcome = audit.of_cargo_deny("crates", said, 7)
    assert (outcome.found, outcome.asked) == ((), 0)
    assert outcome.not_audited.partition(";")[0] in (
        "fatal: no route to it",
        "no such option",
        "it said nothing",
    )


def test_a_skipped_package_was_not_audited() -> None:
    (line,) = audit.of_pip_audit("uv.txt", SKIPPED).lines()
    assert line.startswith("uv.txt: NOT AUDITED: 1 of 1 packages: Dependency not found")
    assert "make audit" in line


def test_a_weakness_is_told_with_the_version_that_mends_it() -> None:
    outcome = audit.of_pip_audit("docs.txt", WEAK)
    assert outcome.found == ("jinja2 2.11.2: PYSEC-2021-66, CVE-2020-28493, mended in 2.11.3",)
    assert outcome.asked == 2


def test_nothing_found_is_said_with_how_many_were_asked_about() -> None:
    lines = list(audit.of_pip_audit("uv.txt", CLEAN).lines())
    assert lines == ["uv.txt: packages asked about: 1; nothing found"]


def test_npm_that_could_not_ask_is_not_clean() -> None:
    assert "lockfile" in audit.of_npm_audit("web", NPM_UNREACHED).not_audited
    assert not audit.of_npm_audit("web", NPM_CLEAN).not_audited
    assert audit.of_npm_audit("web", NPM_WEAK).found == ("minimist: critical",)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that answer what a test says; no other is there."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(audit, "TOOLS", tmp_path)
    return tmp_path / "bin"


def answer(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def pip_audit(tools: Path, report: dict[str, Any]) -> None:
    """The last argument is the file to write."""
    (tools / "report").write_text(json.dumps(report))
    answer(tools / "pip-audit", f'for last; do :; done; cp {tools / "report"} "$last"')


@pytest.mark.parametrize(
    ("report", "crates", "code"),
    [
        (CLEAN, [DENY_CLEAN], 0),
        (CLEAN, [DENY_UNREACHED], 0),
        (SKIPPED, [DENY_CLEAN], 0),
        (SKIPPED, [DENY_UNREACHED], 2),
        (WEAK, [DENY_CLEAN], 1),
        (SKIPPED, [DENY_WEAK, DENY_CLEAN], 1),
    ],
)
def test_the_exit_code_tells_clean_from_found_and_from_unasked(
    tools: Path,
    capsys: pytest.CaptureFixture[str],
    report: dict[str, Any],
    crates: list[dict[str, Any]],
    code: int,
) -> None:
    pip_audit(tools, report)
    (tools / "advisories").write_text(as_lines(*crates))
    (tools / "policy").write_text(as_lines(DENY_CLEAN))
    script = f"""case "$*" in
  *advisories*) cat {tools / "advisories"} >&2 ;;
  *) cat {tools / "policy"} >&2 ;;
esac"""
    answer(tools / "cargo-deny", script)
    assert audit.main() == code
    said = capsys.readouterr().out
    unreached = DENY_UNREACHED in crates
    assert ("crates: advisories: NOT AUDITED: fatal: no route to it" in said) == unreached
    assert ("RUSTSEC-2026-9999" in said) == (DENY_WEAK in crates)
    if report is SKIPPED:
        assert said.count("NOT AUDITED: 1 of 1 packages") == 1, "the rest is not asked for in vain"


def test_a_list_of_advisories_that_is_there_already_is_used(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pip_audit(tools, SKIPPED)
    (tools / "unreached").write_text(as_lines(DENY_UNREACHED))
    (tools / "found").write_text(as_lines(DENY_WEAK, DENY_CLEAN))
    script = f"""case "$*" in
  *--offline*) cat {tools / "found"} >&2 ;;
  *) cat {tools / "unreached"} >&2 ;;
esac"""
    answer(tools / "cargo-deny", script)
    assert audit.main() == 1
    assert "crates: advisories as last loaded: packages asked about" in capsys.readouterr().out


def test_tools_that_cannot_be_had_are_named(
    tools: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(tools / "cargo", "exit 101")
    monkeypatch.setenv("PATH", str(tools))
    assert audit.main() == 2
    said = capsys.readouterr().out
    assert "Python packages: NOT AUDITED: pip-audit is not there" in said
    assert "crates: NOT AUDITED: cargo-deny could not be compiled" in said
    assert "jars: NOT AUDITED" in said
