"""The redactors in Python and in Rust strike the same."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.redaction.planted import PLANTED

from pyrometer import _core
from pyrometer.core.redaction import REDACTED, Redactor, redacted

# What rules are made of, and what lies at their edges.
PARTS = (
    "password", "token", "Secret", "sas", "access_key", "spark.x.", "a", "x1", "=", ":", "->", " ",
    "  ", "\n", '"', "'", "\\", '\\"', '\\\\"', "://", "@", "/", "--", "-", "(", ")", "{", "}",
    "[", "]", ",", ";", "&", "?sig=", "bearer ", "eyJabcdefgh.", "abcdefghij.", "`", "=>", "==",
    "AKIAIOSFODNN7EXAMPLE", "ghp_" + "a1B2" * 9, "-----BEGIN PRIVATE KEY-----", "::", ":=",
    "-----END PRIVATE KEY-----", "jdbc:oracle:thin:", "ü", "\u017f", "\u212a", "\u00a0", "\x85",
    "null", "string", "-D", "x y", ".py", "12", "<value>", "</name>", REDACTED,
    # Longer than any bound.
    "a" * 450, "x." * 150,
    "pass", "pw", "passcode", "storage_key", "Authorization", "basic ", "curl ", " -u ", "-p",
    "mysql ", "sshpass ", "--user ", "bob:", "?key=", "&code=", "%3D", "%26", "%2B", "|", ": |\n  ",
    "\\n", "IDENTIFIED BY ", "user x ", "<password>", "<", ">", "</", "<![CDATA[", "https://",
    "a1b2c3d4e5f6", "hooks.slack.com/services/", "hvs.", "SG.", "k_test_", ".",
)  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=14).map("".join))
@example("token::next(x) password::x")
@example(".pysas://x")
@example("<password->x</ pass=2;pass=x;y.pass=-z <token->")
@example(f"{'a' * 450}.password.{'x.' * 150}=hunter2")
@example(r'{"pw":"2\"x y"} \"pass\":\"\\\"x\", \\\"pw\\\": \\\"\\\\nx\\\" "pw": "2')
@example("-Da.token=x&y;z \"-Da.token=it's all\" '-Dtoken=a b -Dc'")
def test_both_strike_the_same(text: str) -> None:
    assert redacted(text) == Redactor().text(text)


# A word that is in no other test: what Rust has learnt, it knows for good.
TAUGHT = Redactor(names=re.compile("(?i)kumquat"))


@given(st.lists(st.sampled_from((*PARTS, *["kumquat"] * 20)), max_size=14).map("".join))
@example("java.io.IOException: kumquat=x a=b: kumquat=x conf='a=kumquat=x' kumquat=kumquat=x")
@example("--a -kumquat x -Da=-Dkumquat=x&y;z a%3Dkumquat%3Dx -> kumquat -> x kumquat->x")
@example(r's = "a: kumquat=\"x \\\"y\" b" {"kumquat": 5} ("kumquat", "x") kumquat: |')
@example("spark.redaction.regex=kumquat kumquat: string kumquat=null")
def test_both_strike_the_same_beside_names_of_the_user(text: str) -> None:
    assert TAUGHT.teach()
    assert redacted(text) == TAUGHT.text(text)


@given(st.text())
def test_what_others_wrote_is_taken_as_it_is(text: str) -> None:
    assert redacted(text) == Redactor().text(text)


@pytest.mark.parametrize("planted", PLANTED, ids=[one.kind for one in PLANTED])
def test_both_find_each_kind(planted) -> None:  # type: ignore[no-untyped-def]
    text = " ".join(planted.words)
    assert planted.secret in text
    assert planted.secret not in redacted(text)
    assert redacted(text) == Redactor().text(text)


@pytest.mark.parametrize(
    "text",
    [
        "token::next(Token const&)", "parse (json/token.py:45)", "a.Token.secret(Token.java:12)",
        "struct<password:string,token:decimal(10,2)>", "x == 1 and token == null",
        "Scan parquet [password#1,token#2] Location: hdfs://nn:8020/a@b, PushedFilters: []",
        "half \ud800 a pair", "", "HashAggregate(keys=[key#1, pass#2], functions=[sum(code#3)])",
        "Filter ((key = 5) AND (code = 7)) pass=2 exit code=1", "sort -u a:b -p8080 --user alice",
        '{"job.pass": "2", "pw": "1.5"}', r'{"j": "{\"job.pass\": \"2\"}"}',
    ],
)  # fmt: skip
def test_names_of_programs_and_columns_stay(text: str) -> None:
    assert redacted(text) == text == Redactor().text(text)


def test_files_that_others_wrote_lose_their_secrets_and_nothing_else(tmp_path: Path) -> None:
    lines = [f"line {n} of many" for n in range(100_000)]
    apart = len(lines) // (len(PLANTED) + 1)
    for place, planted in enumerate(PLANTED, 1):
        lines[place * apart] = "before " + " ".join(planted.words).replace("\n", "\\n") + " after"
    text, profile = tmp_path / "text", tmp_path / "profile"
    text.write_text("\n".join(lines))
    profile.write_bytes(b"FLR\0password=hunter2")
    os.utime(text, ns=(10**18, 10**18))
    text.chmod(0o640)
    assert _core.redact_files([str(text), str(profile)]) == [text]
    made = text.read_text().split("\n")
    changed = [place for place, line in enumerate(made) if line != lines[place]]
    assert changed == [place * apart for place in range(1, len(PLANTED) + 1)]
    assert len(made) == len(lines)
    assert [one.kind for one in PLANTED if one.secret in text.read_text()] == []
    assert (text.stat().st_mtime_ns, text.stat().st_mode & 0o777) == (10**18, 0o640)
    assert profile.read_bytes().endswith(b"hunter2")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["profile", "text"]
