"""Secrets of every kind are struck out; what only looks a little like one stays."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.redaction.planted import PLANTED

from pyrometer.core.redaction import REDACTED, Redactor, redacted_data


@pytest.mark.parametrize("planted", PLANTED, ids=[one.kind for one in PLANTED])
def test_each_kind_is_found_wherever_it_stands(planted) -> None:  # type: ignore[no-untyped-def]
    redactor = Redactor()
    assert planted.secret in " ".join(planted.words)
    assert planted.secret not in " ".join(redactor.words(planted.words))
    assert REDACTED in " ".join(redactor.words(planted.words))
    assert planted.secret not in redactor.text(" ".join(planted.words))
    data = {
        "workload": {"command": ["app", *planted.words]},
        "exit": {"reason": " ".join(planted.words)},
    }
    assert planted.secret not in str(redactor.data(data))


@pytest.mark.parametrize(
    "words",
    [
        ["--conf", "spark.sql.shuffle.partitions=200"],
        ["--conf", "spark.redaction.regex=(?i)secret|password"],
        ["--master", "spark://host:7077", "hdfs://namenode:8020/data/tokens.parquet"],
        ["-Dlog4j.configurationFile=file:/etc/log4j2.properties", "-Xmx2g", "-p", "8080"],
        ["s3a://bucket/secret-santa/part-0.parquet", "passengers.csv", "--passes", "3"],
        ["SELECT count(*) FROM tokens WHERE author = 'x'"],
        ["spark://CoarseGrainedScheduler@10.0.0.1:35000", "user@example.com"],
        ["--executor-memory", "4g", "--name", "keyed sums", "key=value", "monkey=1"],
        ["sort", "-u", "a.txt:b", "--user", "alice", "docker", "--user", "1000:1000", "-p8080"],
        ["keytool", "-list", "--password", "--host", "h", "--token", "-h", "--secret", "-Dx=y"],
        ["jdbc:mysql://db/x", "--jars", "mysql-connector.jar", "-p8080", "curl.csv", "-u", "a:b"],
        ["pass=2", "spark.my.pass=2", "--passes", "3", "bypass=x", "compass=no", "pw=", "pw=1.5"],
        ["keys=[key#1],", "Filter", "(key", "=", "5)", "exit", "code=1", "&key=2024-01-01&code=fr"],
        ["https://bob@bitbucket.org/o/r", "abfss://data2024export@acct.dfs.core.windows.net/p"],
        ["http://host:8080/path/user@x", "http://[::1]:8080/a@b", "kafka://a:9092,b:9092/t@1"],
        ["k8s://https://host:6443/x@y", "git@github.com:o/r", "https://host/?to=alice@example.com"],
        ["Authorization:", "enabled", "hadoop.security.authorization=false"],
        ["Authorization: Basic authentication", "Bearer", "token", "identified", "by", "'x'"],
        ["<password>", "<value>", "<token/>", "errMsg.SG.x", "npm_config_x=1", "task_test_abcdef"],
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(words: list[str]) -> None:
    assert Redactor().words(words) == words
    assert Redactor().text(" ".join(words)) == " ".join(words)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Map(url -> x, password -> hunter2)", f"Map(url -> x, password -> {REDACTED})"),
        ('.option("password", "hunter2")', f'.option("password", "{REDACTED}")'),
        ('{"password":5,"a":1}', f'{{"password":"{REDACTED}","a":1}}'),
        (r'{"j":"{\"token\":\"x\"}"}', rf'{{"j":"{{\"token\":\"{REDACTED}\"}}"}}'),
        (r'"said\n--password hunter2"', rf'"said\n--password {REDACTED}"'),
        ("-Dmy.password=ab&cd;(ef) -Dy=1", f"-Dmy.password={REDACTED} -Dy=1"),
        ('"-Da.token=two words" -Dy=1', f'"-Da.token={REDACTED}" -Dy=1'),
        ('{"a":"-Da.token=x,y -Dy=1"}', f'{{"a":"-Da.token={REDACTED} -Dy=1"}}'),
        (r'{"a":"\"-Da.token=x y\" -Dy=1"}', rf'{{"a":"\"-Da.token={REDACTED}\" -Dy=1"}}'),
        (r'"{\"a\":\"\\\"-Da.token=x\\\"\"}"', rf'"{{\"a\":\"\\\"-Da.token={REDACTED}\\\"\"}}"'),
        ("['-Da.token=x y', '-Dy=1']", f"['-Da.token={REDACTED}', '-Dy=1']"),
        ("password: |-2\n  x y\nuser: bob", f"password: {REDACTED}\n  {REDACTED}\nuser: bob"),
        (r'{"a":"token: |\n  x\nb: c"}', rf'{{"a":"token: |\n  {REDACTED}\nb: c"}}'),
        ("token%3Dx%2By%26user%3Dbob", f"token%3D{REDACTED}%26user%3Dbob"),
        ("a;pwd = {x;}}y};b={c}", f"a;pwd = {REDACTED};b={{c}}"),
        (
            "<db:password type='a'>x</db:password>",
            f"<db:password type='a'>{REDACTED}</db:password>",
        ),
        ("--pass x --pass 2 my.pw='y z'", f"--pass {REDACTED} --pass 2 my.pw='{REDACTED}'"),
        ("<name>a.secret.key</name><value>x</value>", None),
        ('{"a.pass": "2x y", "pw": "-.5"}', f'{{"a.pass": "{REDACTED}", "pw": "-.5"}}'),
        (r'"{\"pw\":\"2\",\"pass\":\"x\"}"', rf'"{{\"pw\":\"2\",\"pass\":\"{REDACTED}\"}}"'),
        (
            r"\\\"pw\\\": \\\"2\\\", \\\"pw\\\": \\\"\\\\n\\\"",
            rf"\\\"pw\\\": \\\"2\\\", \\\"pw\\\": \\\"{REDACTED}\\\"",
        ),
        ("{'pass': '7', 'pw': '7 y'}", f"{{'pass': '7', 'pw': '{REDACTED}'}}"),
    ],
)
def test_values_are_found_however_they_are_assigned(text: str, kept: str | None) -> None:
    made = f"<name>a.secret.key</name><value>{REDACTED}</value>" if kept is None else kept
    assert Redactor().text(text) == made


@pytest.mark.parametrize(
    "text",
    [
        "token::next(Token const&)",
        "parse (json/token.py:45)",
        "struct<password:string,token:decimal(10,2)>",
        "x == 1 and token == null",
    ],
)
def test_names_of_programs_and_columns_stay(text: str) -> None:
    assert Redactor().text(text) == text


def test_lines_keep_their_numbers() -> None:
    key = "a\n-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\nb"
    assert Redactor().text(key) == f"a\n{REDACTED}\n\n\nb"


def test_patterns_of_the_user_count_too() -> None:
    command = ["spark-submit", "--conf", "spark.redaction.regex=(?i)plum", "--conf", "my.plum=x1"]
    assert Redactor.of(command).words(command)[-1] == f"my.plum={REDACTED}"
    words = ["--conf=spark.redaction.regex=plum", "--conf=my.plum=x1", "--my-plum", "x1"]
    kept = [words[0], f"--conf=my.plum={REDACTED}", "--my-plum", REDACTED]
    assert Redactor.of(words).words(words) == kept
    texts = Redactor.of(["spark.redaction.string.regex=card [0-9]+"])
    own = ["--conf", "spark.redaction.string.regex=card"]
    assert Redactor.of(own).words(own) == own
    assert texts.text("paid with card 4711") == f"paid with {REDACTED}"
    assert Redactor.of(["spark.redaction.regex=(("]) == Redactor()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("java.io.IOException: plum=x", f"java.io.IOException: plum={REDACTED}"),
        ("a: b=plum=x, c='plum: y'", f"a: b=plum={REDACTED}, c='plum: {REDACTED}'"),
        ("-Da=-Dplum=x&y;z -Db=c", f"-Da=-Dplum={REDACTED} -Db=c"),
        ("--a -plum x", f"--a -plum {REDACTED}"),
        (r's = "a: plum=\"x \\\"y\" b"', rf's = "a: plum=\"{REDACTED}\" b"'),
        ('{"plum": 5} plum->x', f'{{"plum": "{REDACTED}"}} plum->{REDACTED}'),
        ("spark.redaction.regex=(?i)plum plum: string", None),
    ],
)
def test_names_of_the_user_are_found_in_texts(text: str, kept: str | None) -> None:
    redactor = Redactor(names=re.compile("(?i)plum"))
    assert redactor.text(text) == (text if kept is None else kept)
    assert redactor.words([text]) == [text if kept is None else kept]


def test_records_of_settings_are_judged_by_their_key() -> None:
    made = Redactor().data({"key": "a.password", "value": "x1", "how": "set"})
    assert made == {"key": "a.password", "value": REDACTED, "how": "set"}


def test_numbers_stay_under_names_that_may_name_a_secret() -> None:
    data = {"job.pass": "2", "job.pw": "x", "job.token": "2", "pass.token": "2", "token.pass": "2"}
    struck = dict.fromkeys(data, REDACTED) | {"job.pass": "2"}
    assert redacted_data(data) == struck == Redactor().data(data)


@given(st.text())
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = Redactor().text(text)
    assert Redactor().text(once) == once


@given(st.lists(st.sampled_from([*"ab=:-@/ ", "password", "token", "://", '"', "'", "--", "eyJ"])))
def test_nothing_is_struck_that_is_assigned_to_no_name(parts: list[str]) -> None:
    text = "".join(parts)
    made = Redactor().text(text)
    assert Redactor().text(made) == made
    if not re.search(r"password|token|://|eyJ", text):
        assert made == text


@pytest.mark.parametrize(
    "text",
    [
        "password" * 12_500, "a" * 100_000, "token=" * 15_000, "x://" * 20_000,
        "-----BEGIN PRIVATE KEY-----" * 2_000, "--password " * 7_500, "eyJ" * 25_000,
        "jdbc:oracle:thin:" * 5_000, "bearer " * 12_500, "a.b-c$" * 15_000,
        "password" * 10_000 + "=", "my.pass-" * 12_500, "x://a:b/" * 5_000, ";password={" * 5_000,
        "curl -u " * 5_000, "mysql " * 5_000, "user x identified " * 2_500, "<token>" * 7_500,
        "--user a:" * 5_000, "password: |\n " * 5_000, "?key=a" * 7_500, "token%3D" * 10_000,
    ],
)  # fmt: skip
def test_time_grows_with_the_text_alone(text: str) -> None:
    # Against a tenth of the text: a pattern that tries again and again is quadratic.
    def took(of: str) -> float:
        began = time.process_time()
        Redactor().text(of)
        return time.process_time() - began

    short = min(took(text[: len(text) // 10]) for _ in range(3))
    assert took(text) < 40 * max(short, 0.002)
