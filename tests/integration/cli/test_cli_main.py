"""The command line as a whole: help, versions, mistakes, internal errors, closed pipes."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import typer
from tests.support.cli import command, environment, inside, pyrometer

from pyrometer import __version__
from pyrometer.cli import main
from pyrometer.cli.shared.verbs import GROUPS
from pyrometer.summary.summary import every_rule

ROOT = Path(__file__).parents[3]


def test_help_lists_every_verb_and_its_help_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = pyrometer("--help", cwd=tmp_path)
    assert done.code == 0
    assert len(main.VERBS) > 10
    for verb in main.VERBS:
        assert f" {verb} " in done.stdout
        helped = inside(capsys, verb, "--help")
        assert (helped.code, helped.stderr) == (0, ""), verb
        assert f"pyrometer {verb} " in helped.stdout


def test_the_list_of_verbs_says_what_each_says_of_itself() -> None:
    commands = typer.main.get_command(main.app).commands  # type: ignore[attr-defined]
    summaries = {verb: text for verbs in GROUPS.values() for verb, text in verbs.items()}
    own = {verb: " ".join(str(commands[verb].help).split("\n\n")[0].split()) for verb in commands}
    assert own == summaries


def test_the_version(tmp_path: Path) -> None:
    assert pyrometer("--version", cwd=tmp_path).stdout == f"pyrometer {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("shwo", "x"), "Did you mean 'show'"),
        (("shwo", "run"), "try: pyrometer --help"),
        (("run", "--profil", "off"), "--profile"),
        (("show",), "Missing argument"),
        (("show", "/nowhere"), "/nowhere"),
        (("doctor", "--jsn"), "--json"),
        (("agent", "prune"), "try: pyrometer agent prune --help"),
        (("agent", "prun", "/store", "--older-than", "14d"), "Did you mean 'prune'"),
    ],
)
def test_mistakes_are_one_message_and_code_2(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    done = pyrometer(*arguments, cwd=tmp_path)
    assert done.code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) <= 4
    assert "Traceback" not in done.stderr


def test_no_arguments_show_the_help(tmp_path: Path) -> None:
    done = pyrometer(cwd=tmp_path)
    assert done.code == 2
    assert "doctor" in done.stdout + done.stderr


def test_colours_only_on_a_terminal_that_wants_them(tmp_path: Path) -> None:
    env = environment(NO_COLOR=None)
    done = pyrometer("shwo", cwd=tmp_path, env=env)
    assert "\x1b" not in done.stderr
    forced = pyrometer("shwo", cwd=tmp_path, env=env | {"FORCE_COLOR": "1"})
    assert "\x1b" in forced.stderr


def test_an_internal_error_is_one_line_and_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(main, "app", broken)
    assert main.run_verb(["show", "x"]) == 4
    said = capsys.readouterr().err
    assert "internal error: ZeroDivisionError: a bug" in said
    file = Path(said.rpartition("file ")[2].strip())
    assert "ZeroDivisionError" in file.read_text()
    assert "['show', 'x']" in file.read_text()
    file.unlink()


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    line = " ".join(command("--help")) + " | head -1"
    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stderr == ""


@pytest.mark.parametrize("how", [">&-", "2>&-", ">&- 2>&-", "2>/dev/full"])
def test_streams_that_are_closed_or_full_change_no_exit_code(tmp_path: Path, how: str) -> None:
    for words, code in ((["--version"], 0), (["show", "/no/such"], 2)):
        shell = ["sh", "-c", f'"$@" {how}', "sh", *command(*words)]
        done = subprocess.run(
            shell, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
        )
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


@pytest.mark.parametrize("words", [["--version"], ["workloads", "list", "--json"]])
def test_output_that_finds_no_room_is_no_success(tmp_path: Path, words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command(*words), cwd=tmp_path, env=environment(), stdout=full, stderr=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "standard output" in done.stderr
    assert "No space left on device" in done.stderr
    assert "internal error" not in done.stderr


def test_an_error_that_nobody_reads_keeps_its_exit_code(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("show", "/no/such"), cwd=tmp_path, env=environment(), stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    process.stderr.close()
    assert process.wait(60) == 2


def test_completion_knows_the_verbs(tmp_path: Path) -> None:
    env = environment(_PYROMETER_COMPLETE="complete_bash", COMP_WORDS="pyrometer d", COMP_CWORD="1")
    assert pyrometer(cwd=tmp_path, env=env).stdout.split() == ["doctor"]


def test_doctor_tries_and_tells(tmp_path: Path) -> None:
    done = pyrometer("doctor", "--json", cwd=tmp_path)
    assert done.code in (0, 3), done.stderr
    probes = done.json["probes"]
    assert done.json["schema"] == "pyrometer/doctor/1"
    assert {"java", "spark", "plugin", "gc", "stacks.cpu", "os", "pmu", "run_directory"} <= {
        probe["name"] for probe in probes
    }
    for probe in probes:
        assert set(probe) == {"name", "tier", "available", "reason", "remedy"}
        assert probe["reason"], probe
        assert probe["available"] or probe["remedy"], probe
    assert "Inside the JVM" in done.stderr
    without = pyrometer("doctor", "--json", cwd=tmp_path, env=environment(JAVA_HOME="/nowhere"))
    assert without.code == 3
    java = next(probe for probe in without.json["probes"] if probe["name"] == "java")
    assert "openjdk" in java["remedy"]


def options_of(verb: str) -> set[str]:
    """Options of a verb and of its own verbs."""
    import typer

    top = typer.main.get_command(main.app)
    made = top.get_command(typer.Context(top), verb)  # type: ignore[attr-defined]
    every = [made, *getattr(made, "commands", {}).values()]
    found = {option for each in every for one in each.params for option in one.opts}
    return {option for option in found if option.startswith("--")}


def test_every_verb_and_option_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "cli.md").read_text()
    options = {verb: options_of(verb) for verb in main.VERBS}
    assert sum(map(len, options.values())) > 50
    for verb in main.VERBS:
        assert f"pyrometer {verb}" in text, verb
        for option in options[verb]:
            assert option in text, f"{verb} {option}"


def test_a_remedy_of_a_doubt_names_options_that_there_are() -> None:
    doubts = tomllib.loads((ROOT / "schema" / "doubts.toml").read_text())
    doubts |= {rule.code: {"remedy": rule.remedy} for rule in every_rule()}
    named = 0
    del doubts["version"]
    for code, one in doubts.items():
        verb = None
        for word in re.findall(r"pyrometer [a-z]+|(?<!\S)\(?--[a-z][a-z-]+", one["remedy"]):
            if word.startswith("pyrometer "):
                verb = word.split()[1]
                assert verb in main.VERBS, code
            else:
                option = word.lstrip("(")
                if option in ("--version", "--deploy-mode", "--jars"):  # Python's, spark-submit's
                    continue
                if verb is None and "agent" in one["remedy"]:
                    agents = (ROOT / "docs/reference/hosts/agent.md").read_text()
                    assert f"{option} " in agents, f"{code}: {option}"
                    continue
                known = options_of(verb) if verb else set().union(*map(options_of, main.VERBS))
                assert option in known, f"{code}: {verb} {option}"
                named += 1
    assert named > 10
