"""``pyrometer explain`` and ``pyrometer rules``: forms, conditions, muting, exit codes."""

from __future__ import annotations

import errno
import io
import json
import os
from pathlib import Path
from typing import NoReturn

import pytest
from tests.support.cli import inside, nobody_reads, reader
from tests.support.explain.findings import RULES, estimate, invented_log

from pyrometer.cli import main
from pyrometer.explain.schema import Finding
from pyrometer.verification.verdict import Outcome

SKEW = "finding(skew)"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a run with planted causes, in the working directory, and the rules that see them."""
    folder = invented_log(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    for place in ("every_rule", "findings"):
        monkeypatch.setattr(f"pyrometer.explain.{place}.every_rule", lambda: RULES)
    return folder


def test_text_markdown_and_sarif_on_stdout(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = inside(capsys, "explain", run)
    assert (plain.code, plain.stdout.splitlines()[0][:15]) == (0, "3 findings save")
    assert inside(capsys, "explain", run, "-f", "md").stdout.startswith("# invented: ")
    log = json.loads(inside(capsys, "explain", run, "--format", "sarif").stdout)
    assert len(log["runs"][0]["results"]) == 3


def test_a_page_is_written_also_where_the_terminal_lacks_its_signs(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stdout)
    with pytest.raises(SystemExit) as ended:
        main.main(["explain", str(run), "-f", "md"])
    assert ended.value.code == 0
    assert b"`skew.planted` ? " in stdout.buffer.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "starts"),
    [("a.md", "# invented"), ("a.sarif", "{"), ("a.txt", "3 findings save"), ("a", "3 findings")],
)
def test_the_ending_of_a_file_says_the_form(
    run: Path, name: str, starts: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = inside(capsys, "explain", run, "-o", name)
    assert done.code == 0
    assert f"written: {name}" in done.stdout
    text = (run.parent / name).read_text()
    assert text.startswith(starts)
    assert all(line == line.rstrip() for line in text.splitlines())
    assert [path.name for path in run.parent.iterdir() if path.name.startswith(f".{name}")] == []


def test_a_file_that_cannot_be_written_is_one_message(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = inside(capsys, "explain", run, "-o", "no/such/folder.md")
    assert done.code == 2
    assert "no/such/folder.md cannot be written" in done.stderr


@pytest.mark.parametrize("name", ["a.html", "a.sarif.json"])
def test_an_ending_that_is_no_form_is_refused_unless_the_form_is_said(
    run: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = inside(capsys, "explain", run, "-o", name)
    assert done.code == 2
    assert f"-o {name}: findings are not written as {Path(name).suffix}" in done.stderr
    assert not (run.parent / name).exists()
    assert inside(capsys, "explain", run, "-o", name, "-f", "sarif").code == 0
    assert (run.parent / name).read_text().startswith("{")


def test_an_application_that_is_not_there_is_one_message(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = inside(capsys, "explain", run, "--app", "3")
    assert (done.code, done.stdout) == (2, "")
    assert "--app 3: the run has no such application" in done.stderr
    assert "give one that it has: --app 0 (invented)" in done.stderr
    assert inside(capsys, "explain", run, "--app", "0").code == 0


def test_of_an_experiment_the_trials_are_named(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = run.parent / "made" / "trials"
    trials.mkdir(parents=True)
    none = inside(capsys, "explain", "made")
    assert "made: an experiment, which is not one run" in none.stderr
    assert "no trials yet: pyrometer experiment resume made" in " ".join(none.stderr.split())
    (trials.parent / "tuning.json").touch()
    none = inside(capsys, "explain", "made")
    assert "no trials yet: pyrometer tune show made" in " ".join(none.stderr.split())
    for number in range(5):
        invented_log(trials / f"000{number}")
    done = inside(capsys, "explain", "made")
    assert done.code == 2
    told = " ".join(done.stderr.split())
    first = ", ".join(f"made/trials/000{number}" for number in range(3))
    assert f"give one of its trials: {first}, and 2 more" in told


@pytest.mark.parametrize("option", [("--budget", "30"), ("--guard", "wait")])
def test_what_only_trials_take_is_refused_without_them(
    run: Path, option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    done = inside(capsys, "explain", run, *option)
    assert done.code == 2
    told = " ".join(done.stderr.split())
    assert f"{option[0]} is for --verify: it has no effect without it" in told


def test_without_verify_the_next_step_has_all_that_was_typed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for typed, again in (
        (["--with", "--", "ls", "a b"], f"pyrometer explain {run} --verify --with -- ls 'a b'"),
        (["gc.x"], f"pyrometer explain {run} gc.x --verify"),
        (["gc.x", "--with"], f"pyrometer explain {run} gc.x --verify --with -- COMMAND"),
    ):
        done = inside(capsys, "explain", run, *typed)
        assert done.code == 2
        assert f"try: {again}" in " ".join(done.stderr.split())


def test_a_condition_that_holds_is_exit_code_1(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = inside(capsys, "explain", run, "--fail-if", f"{SKEW} and saving > 10%", "--json")
    assert failed.code == 1
    assert f"fails {SKEW} and saving > 10%: finding(skew) is true; saving is" in failed.stderr
    assert failed.json["fail_if"]["failed"] is True
    assert failed.json["fail_if"]["because"][0] == "finding(skew) is true"
    passed = inside(capsys, "explain", run, "--fail-if", "saving > 90%", "--json")
    assert (passed.code, passed.json["fail_if"]["failed"]) == (0, False)
    unknown = inside(capsys, "explain", run, "--fail-if", "finding(jit)", "--json")
    assert (unknown.code, unknown.json["fail_if"]["failed"]) == (0, None)
    assert "cannot tell finding(jit)" in unknown.stderr
    assert inside(capsys, "explain", run, "--json").json["fail_if"] is None


@pytest.mark.parametrize(("rule", "code"), [(SKEW, 1), ("saving > 90%", 0)])
@pytest.mark.parametrize("more", [[], ["--json"], ["-f", "md"]])
def test_a_verdict_is_the_exit_code_also_where_nobody_reads_it(
    run: Path, rule: str, code: int, more: list[str]
) -> None:
    with nobody_reads():
        assert main.run_verb(["explain", str(run), "--fail-if", rule, *more]) == code


def test_every_finding_is_tried_also_where_the_reader_goes_meanwhile(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    with reader() as leave:

        def prepared(finding: Finding, *_: object, **__: object) -> Outcome:
            if not tried:
                leave()
            tried.append(finding.key)
            return Outcome("not_testable", reason="it has no command")

        monkeypatch.setattr("pyrometer.verification.run.prepare", prepared)
        words = ["explain", str(run), "--verify", "--verdicts", str(run.parent / "verdicts")]
        assert main.run_verb(words) == 1
    assert len(tried) > 1


def test_a_verdict_stands_in_the_file_and_in_the_conclusion(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = run.parent / "a.md"

    def prepared(*_: object, **__: object) -> Outcome:
        # An interruption leaves the findings there.
        assert "measured" not in page.read_text()
        return Outcome("proven", measured_ns=estimate(2e9))

    monkeypatch.setattr("pyrometer.verification.run.prepare", prepared)
    verdicts = run.parent / "verdicts"
    done = inside(
        capsys, "explain", run, "1", "--verify", "--verdicts", verdicts, "-o", page, "--json"
    )
    assert done.code == 0
    assert "; measured: " in done.json["conclusion"]
    assert done.json["conclusion"].split("; measured: ")[1][:20] in page.read_text()


def test_the_broken_pipe_of_another_process_is_an_error(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr("tempfile.tempdir", str(run.parent))
    monkeypatch.setattr("pyrometer.explain.kept.findings_of", broken)
    done = inside(capsys, "explain", run)
    assert done.code == 4
    assert "internal error: BrokenPipeError" in done.stderr


def test_a_file_is_written_also_where_the_condition_holds(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = inside(capsys, "explain", run, "-o", "a.sarif", "--fail-if", SKEW)
    assert done.code == 1
    assert json.loads((run.parent / "a.sarif").read_text())["version"] == "2.1.0"


def test_a_bad_condition_ends_before_any_work(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = inside(capsys, "explain", "no-such-run", "--fail-if", "saving >")
    assert done.code == 2
    assert done.stdout == ""
    assert "expected a number" in done.stderr
    assert "no-such-run" not in done.stderr
    assert done.stderr.count("error:") == 1


def test_the_project_mutes_with_a_reason(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path(".pyrometer.toml").write_text('[explain.mute]\n"skew.*" = "until the move"\n')
    muted = inside(capsys, "explain", run, "--fail-if", SKEW, "--json")
    assert muted.code == 0
    assert "until the move" in muted.stderr
    reasons = {one["code"]: one["muted"] for one in muted.json["findings"]}
    assert reasons["skew.planted"] == "until the move"
    # What the muted cause explained stands for itself now.
    assert muted.stderr.startswith("3 findings save")
    loud = inside(capsys, "explain", run, "--fail-if", SKEW, "--no-mute")
    assert loud.code == 1
    assert "until the move" not in loud.stdout


def test_a_mistake_in_the_project_file_is_one_message(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(".pyrometer.toml").write_text('[explain.mute]\n"skew.planted" = ""\n')
    done = inside(capsys, "explain", run)
    assert done.code == 2
    assert ".pyrometer.toml: explain.mute: 'skew.planted' needs a reason" in done.stderr
    assert inside(capsys, "explain", run, "--no-mute").code == 0


def test_rules_are_listed_and_their_manuals_printed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = inside(capsys, "rules", "--json")
    assert every.json["schema"] == "pyrometer/rules/1"
    assert [one["code"] for one in every.json["rules"]] == [rule.code for rule in RULES]
    assert "skew.planted" in every.stderr
    one = inside(capsys, "rules", "skew.planted")
    assert one.code == 0
    assert "When it is wrong" in one.stdout
    assert "gc.heap" not in one.stdout
    family = inside(capsys, "rules", "spill")
    assert "spill.sort" in family.stdout
    assert "gc.heap" not in family.stdout
    wrong = inside(capsys, "rules", "skew.plantd")
    assert wrong.code == 2
    assert "did you mean skew.planted?" in wrong.stderr
