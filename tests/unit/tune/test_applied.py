"""``pyrometer tune apply``: a winner as files, commands and options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.cli import nobody_reads
from tests.support.tuning import COLLECTOR, PARTITIONS, Drawn, Simulated, tuned, tuning

from pyrometer.cli.main import run_verb
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.tune.advise.adviser import Suggestion
from pyrometer.tune.carry import confirm_winner, search
from pyrometer.tune.judge.applied import (
    Deployed,
    deployed,
    difference,
    merged,
    overruled,
    to_type,
)
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.space.space import Knob, Space
from pyrometer.tune.trials.folder import SavedSpace, begin


def test_apply_writes_nothing_unless_it_is_told_where(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tuned(Path("t"))
    before = sorted(str(one) for one in tmp_path.rglob("*"))
    assert run_verb(["tune", "apply", "t"]) == 0
    printed = capsys.readouterr().out
    assert f"{PARTITIONS}" in printed
    assert "--conf" in printed
    assert sorted(str(one) for one in tmp_path.rglob("*")) == before
    Path("d.conf").write_text(f"# mine\n{PARTITIONS} 999\nspark.eventLog.enabled true\n")
    assert run_verb(["tune", "apply", "t", "-o", "d.conf"]) == 0
    text = Path("d.conf").read_text()
    assert "999" not in text
    assert text.startswith("# mine\n")
    assert "spark.eventLog.enabled true\n" in text
    assert f"-{PARTITIONS} 999" in capsys.readouterr().out


def test_apply_writes_its_file_also_where_nobody_reads_what_it_prints(tmp_path):
    root, conf = tuned(tmp_path / "t"), tmp_path / "d.conf"
    with nobody_reads():
        assert run_verb(["tune", "apply", str(root), "-o", str(conf)]) == 0
    assert PARTITIONS in conf.read_text()


def test_apply_shows_no_secret_and_keeps_owner_rights_and_links_of_a_file(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    secret = "spark.hadoop.fs.s3a.secret.key"
    begin(Path("t"), tuning("20", shared={secret: "plum1"}))
    made = Simulated()
    search(Path("t"), lambda one: Drawn(one.seed), actions=made.actions())
    confirm_winner(Path("t"), actions=made.actions())
    conf = Path("real.conf")
    conf.write_text(f"{secret}   plum2\n{PARTITIONS} 999\nspark.my.password=plum3\n")
    conf.chmod(0o600)
    Path("d.conf").symlink_to(conf)
    capsys.readouterr()
    assert run_verb(["tune", "apply", "t", "-o", "d.conf", "--json"]) == 0
    assert run_verb(["tune", "show", "t"]) == 0
    said = capsys.readouterr()
    printed = said.out + said.err
    assert f"-{PARTITIONS} 999" in printed
    assert secret in printed
    assert "plum" not in printed
    assert "plum2\n" in conf.read_text()
    assert "999" not in conf.read_text()
    assert conf.stat().st_mode & 0o777 == 0o600
    assert Path("d.conf").is_symlink()


def test_apply_says_the_jobs_own_command_with_its_options_changed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = "spark.driver.extraJavaOptions"
    job = ["spark-submit", "--conf", f"{PARTITIONS}=400", "--conf", f"{options}=-Da=1", "j.py", "x"]
    Path("job.yaml").write_text(json.dumps({"name": "job", "summary": "s.", "command": job}))
    begin(Path("t"), tuning("20", workload=str(tmp_path / "job.yaml"), scale="default"))
    made = Simulated()
    search(Path("t"), lambda one: Drawn(one.seed), actions=made.actions())
    confirm_winner(Path("t"), actions=made.actions())
    capsys.readouterr()
    assert run_verb(["tune", "apply", "t", "-o", "new.conf", "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    best = found["configuration"][PARTITIONS]
    assert found["command"].startswith("spark-submit --conf ")
    assert f"--conf {PARTITIONS}={best} " in found["command"]
    assert "=400" not in found["command"]
    assert found["command"].endswith(" j.py x")
    loses = f"the command itself says {PARTITIONS}=400, which wins over spark-defaults.conf"
    assert loses in found["warnings"]
    assert f"warning: {loses}" in said.err
    # A new file is compared with none.
    assert found["diff"].startswith("--- /dev/null\n")
    assert "-Da=1 -XX:+UseParallelGC" in Path("new.conf").read_text()
    assert "--driver-java-options '-Da=1 -XX:+UseParallelGC'" in found["command"]


def applied(folder, capsys, best, **text):
    """Give what ``tune apply`` says of a job of one's own after `best` has won."""
    (folder / "job.yaml").write_text(json.dumps({"name": "job", "summary": "s.", **text}))
    workload, root = str(folder / "job.yaml"), folder / "t"
    knobs = [Knob(one, "choice", levels=(level,)) for one, level in best.items()]
    space = SavedSpace.of(Space("mine", tuple(knobs)))
    begin(root, tuning("20", workload=workload, scale="default", space=space))

    class Found(Drawn):
        def ask(self):
            self._asked += 1
            return Suggestion({} if self._asked == 1 else best, block=1)

    made = Simulated(seconds=lambda levels: 9.0 - 4 * (best.items() <= levels.items()))
    search(root, lambda one: Found(one.seed), actions=made.actions())
    confirm_winner(root, actions=made.actions())
    capsys.readouterr()
    assert run_verb(["tune", "apply", str(root), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_apply_gives_the_command_of_the_level_that_won(tmp_path, monkeypatch, capsys):
    options = "spark.driver.extraJavaOptions"
    levels = {
        one: {"doc": "d.", "argv": ["--mode", one], "conf": {options: f"-Dmode={one}"}}
        for one in ("slow", "fast")
    }
    mode = {"doc": "d.", "default": "slow", "levels": levels}
    command = ["spark-submit", "j.py", "{mode}"]
    best = {"workload.mode": "fast", COLLECTOR: "parallel", PARTITIONS: "8"}
    # The job as it is ran the other command.
    monkeypatch.setattr("pyrometer.tune.known.held_as_it_is", lambda root: {PARTITIONS: "9"})
    found = applied(tmp_path, capsys, best, command=command, variants={"mode": mode})
    assert found["settings"][options] == "-Dmode=fast -XX:+UseParallelGC"
    assert "--driver-java-options '-Dmode=fast -XX:+UseParallelGC'" in found["command"]
    assert found["command"].endswith(" j.py --mode fast")
    assert not [one for one in found["warnings"] if "the program itself" in one]


def test_apply_leaves_executors_the_memory_that_the_job_asks_for(tmp_path, capsys):
    command = ["spark-submit", "--executor-memory", "4g", "j.py"]
    best = {"layout.executors": "2", "layout.cores_per_executor": "2"}
    found = applied(tmp_path, capsys, best, command=command)
    assert found["executors"] == "2 × 2 cores × 4096m"
    assert "--executor-memory 4g" in found["command"]


def test_what_a_program_sets_itself_is_named_as_no_file_changes_it():
    held = {PARTITIONS: "9", "spark.a": "1", "spark.driver.extraJavaOptions": "-agentpath:x"}
    ours = {PARTITIONS: "8", "spark.a": "2", "spark.driver.extraJavaOptions": "-XX:+UseZGC"}
    found = overruled(ours, {}, {"spark.a": "1"}, held)
    assert [one.partition(",")[0] for one in found] == [f"the program itself sets {PARTITIONS}=9"]
    # What a command says in the unit that Spark takes for a number alone, no program sets.
    memory = "spark.driver.memory"
    assert overruled({memory: "4g"}, {}, {memory: "2048"}, {memory: "2048m"}) == []
    assert overruled({memory: "2048m"}, {memory: "2048"}, {}, {}) == []


def test_what_pyspark_starts_with_wins_over_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf {PARTITIONS}=400 pyspark-shell")
    found = applied(tmp_path, capsys, {PARTITIONS: "8"}, command=["python", "j.py"])
    loses = f"the command itself says {PARTITIONS}=400, which wins over spark-defaults.conf"
    assert found["warnings"] == [loses]


def test_executors_are_said_to_a_manager_and_never_by_the_master_that_is_for_tests():
    layout = {"layout.executors": "2", "layout.cores_per_executor": "1"}
    found = deployed({**layout, "jvm.heap": "2g"})
    assert "local-cluster" not in found.conf + found.options
    assert found.settings["spark.executor.instances"] == "2"
    assert found.executors == "2 × 1 core × 2048m"
    # What the job asks for itself holds, as it did in the trials.
    asks = deployed(layout, said={"spark.executor.memory": "4g"})
    assert "spark.executor.memory" not in asks.settings
    assert (asks.executors, deployed(layout).executors) == (
        "2 × 1 core × 4096m", "2 × 1 core × 1024m",
    )  # fmt: skip
    line = to_type(["spark-submit", "--master", "local[2]", "a.py"], found, found)
    assert "--master MASTER a.py" in line
    assert "local" not in line


@pytest.mark.parametrize(
    ("words", "pyspark", "line"),
    [
        (["python", "a.py"], "--conf spark.b=1 --conf spark.a=1 pyspark-shell",
         "PYSPARK_SUBMIT_ARGS='--conf spark.b=1 --conf spark.a=2 pyspark-shell' python a.py"),
        (["java", "-Dspark.a=1", "-Dspark.ab=3", "Main"], None,
         "java -Dspark.a=2 -Dspark.ab=3 Main"),
        (["spark-sql", "-f", "q.sql", "--conf=spark.a=1", "--name", "x"], None,
         "spark-sql -f q.sql --name x --conf spark.a=2"),
        (["spark-submit", "--packages", "", "a.py"], None,
         "spark-submit --packages '' --conf spark.a=2 a.py"),
        (["./job.sh"], None, None),
    ],
)  # fmt: skip
def test_each_kind_of_command_is_changed_where_it_says_settings(words, pyspark, line):
    ours = Deployed({"spark.a": "2"})
    assert to_type(words, ours, ours, pyspark) == line


def test_what_was_not_confirmed_is_not_applied_unless_asked_for(tmp_path, capsys):
    root = tuned(tmp_path / "t", budget="12", noise=0.5)
    report = tuning_report(root, causes=False)
    assert report.confirmation.verdict.outcome != "confirmed"
    assert run_verb(["tune", "apply", str(root)]) == 1
    captured = capsys.readouterr()
    assert "not applied" in captured.err
    assert captured.out == ""
    assert run_verb(["tune", "apply", str(root), "--unconfirmed"]) == 0


def test_what_would_confirm_a_winner_is_a_command_that_does_something(tmp_path, capsys):
    root, machine = tmp_path / "t", Simulated(noise=0.5)
    begin(root, tuning("12"))

    def said() -> str:
        assert run_verb(["tune", "apply", str(root)]) == 1
        return " ".join(capsys.readouterr().err.split())

    search(root, lambda one: Drawn(one.seed), actions=machine.actions())
    assert f"Confirm it: pyrometer tune resume {root} --blocks 3; or --unconfirmed" in said()
    confirm_winner(root, actions=machine.actions())
    more = tuning_report(root, causes=False).confirmation.verdict.more_blocks or 3
    # All that was planned has run: without more blocks nothing would.
    assert f"pyrometer tune resume {root} --blocks {more}" in said()
    assert run_verb(["tune", "show", str(root)]) == 0
    assert f"next: pyrometer tune resume {root} --blocks {more}" in capsys.readouterr().out
    broken = Simulated(
        lambda levels, count: Attempt("failed", reason="exit code 1") if levels else None
    )
    confirm_winner(root, actions=broken.actions(), blocks=1)
    assert "More trials would not confirm it: tune again; or --unconfirmed" in said()


def test_a_configuration_is_deployed_as_settings_and_what_is_none_is_named():
    found = deployed(
        {PARTITIONS: "8", "jvm.heap": "2g", "os.swappiness": "1", "data.codec": "zstd"},
        {"data.codec": ["none", "zstd"]},
    )
    assert found.settings[PARTITIONS] == "8"
    assert found.settings["spark.driver.memory"] == "2048m"
    assert found.otherwise == {"os.swappiness": "1", "data.codec": "zstd"}


def test_options_of_a_jvm_are_added_to_those_that_are_there():
    name = "spark.driver.extraJavaOptions"
    before = f"{name}  -Dmine=1\n"
    after = merged(before, {name: "-XX:+UseParallelGC"})
    assert after == f"{name}  -Dmine=1 -XX:+UseParallelGC\n"
    # Once is enough.
    assert merged(after, {name: "-XX:+UseParallelGC"}) == after
    assert f"+{name}  -Dmine=1 -XX:+UseParallelGC" in difference(before, after)


def test_of_a_setting_that_is_said_twice_the_last_holds():
    name = "spark.driver.extraJavaOptions"
    after = merged(f"{name}  -Da=1\n{name}  -Db=2\n", {name: "-Dc=3"})
    assert after == f"{name}  -Db=2 -Dc=3\n"


def test_a_setting_that_goes_on_in_further_lines_is_replaced_whole():
    options = "spark.driver.extraJavaOptions"
    theirs = f"{options} -Da=1 \\\n  -Db=2\n{PARTITIONS} \\\n  9\\\n  9\n"
    kept = "# ours \\\nspark.x a,\\\n  b\n"
    after = merged(theirs + kept, {options: "-Dc=3", PARTITIONS: "8"})
    assert after == f"{options}  -Da=1 -Db=2 -Dc=3\n{PARTITIONS}  8\n{kept}"
    # A last line that would go on does not go on with ours.
    assert merged("spark.x a\\", {PARTITIONS: "8"}) == f"spark.x a\\\n\n{PARTITIONS}  8\n"
    secret = "spark.my.password \\\n  plum\n"
    assert "plum" not in difference(secret, merged(secret, {PARTITIONS: "8"}))


@pytest.mark.parametrize(
    ("theirs", "ours", "both"),
    [
        ("-XX:+UseG1GC -Dmine=1", "-XX:+UseParallelGC", "-Dmine=1 -XX:+UseParallelGC"),
        ("-XX:ParallelGCThreads=16", "-XX:ParallelGCThreads=1", "-XX:ParallelGCThreads=1"),
        ("-XX:-UseStringDeduplication", "-XX:+UseStringDeduplication",
         "-XX:+UseStringDeduplication"),
        ("-Xmn1g -Xss4m", "-Xmn512m", "-Xss4m -Xmn512m"),
        ('-Da="b c" --add-opens x=y', "-XX:+UseZGC", '-Da="b c" --add-opens x=y -XX:+UseZGC'),
        ("-XX:OnError=a -Db=1", "-XX:OnError=b", "-XX:OnError=a -Db=1 -XX:OnError=b"),
    ],
)  # fmt: skip
def test_an_option_replaces_what_says_otherwise_and_no_jvm_gets_two_collectors(theirs, ours, both):
    name = "spark.executor.extraJavaOptions"
    after = merged(f"{name}  {theirs}\n", {name: ours})
    assert after == f"{name}  {both}\n"
    assert merged(after, {name: ours}) == after
