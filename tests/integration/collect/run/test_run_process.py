"""`pyrometer run` around commands that are no Spark: streams, codes, signals, failures.

The application is a shell or Python here, so that what is tested is Pyrometer alone.
"""

from __future__ import annotations

import ctypes
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import needs
from tests.support.cli import codes, environment, opened, pyrometer, start

from pyrometer.cli.main import run_verb
from pyrometer.collect.host.facts import descendants
from pyrometer.collect.launch.process import (
    PR_GET_CHILD_SUBREAPER,
    PR_SET_CHILD_SUBREAPER,
    Grace,
    adopted_orphans,
    drain,
    held_signals,
    signal_name,
    wait,
)

OFF = ("run", "--profile", "off", "--no-report", "-o", "run")

APP_THAT_COUNTS = """
import os, signal, sys, time
seen = []
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda n, frame: seen.append(signal.Signals(n).name))
open("ready", "w").close()
wanted, until = int(sys.argv[1]), time.monotonic() + 60
while len(seen) < wanted and time.monotonic() < until:
    time.sleep(0.02)
time.sleep(0.7)
with open("seen.tmp", "w") as out:
    out.write(" ".join(seen))
os.rename("seen.tmp", "seen")
sys.exit(5)
"""


def wait_for(path: Path, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not appear"
        time.sleep(0.02)


def test_streams_and_code_are_the_applications_own(tmp_path: Path) -> None:
    data = "first\n\n  last\n"
    done = pyrometer(
        *OFF, "--json", "--", "sh", "-c", "cat; echo oops >&2; exit 7", cwd=tmp_path, stdin=data
    )
    assert done.code == 7
    application, _, ours = done.stdout.rpartition('{"schema": "pyrometer/run/1"')
    assert application == data
    assert ours.count("\n") == 1
    assert done.stderr.startswith("oops\n")
    assert (done.json["exit_code"], done.json["failure"]) == (7, None)
    assert Path(done.json["run_dir"]) == tmp_path / "run"
    assert opened(tmp_path / "run").exit.code == 7
    assert {"workload_failed", "no_spark_jvm"} <= codes(tmp_path / "run")


def test_the_environment_carries_the_agent_behind_the_users_own_options(tmp_path: Path) -> None:
    env = environment(SPARK_SUBMIT_OPTS="-Dmine=1")
    done = pyrometer(*OFF, "--", "sh", "-c", 'echo "$SPARK_SUBMIT_OPTS"', cwd=tmp_path, env=env)
    assert done.code == 0
    assert done.stdout.startswith("-Dmine=1 -javaagent:")
    assert done.stdout.rstrip().endswith("/run/raw/agent.properties")


@pytest.mark.slow
def test_words_and_variables_that_are_not_utf8_reach_the_command(tmp_path: Path) -> None:
    word = os.fsdecode(b"caf\xe9")
    writes = 'printf "%s %s" "$1" "$ODD" > seen; exit 7'
    done = pyrometer(
        "run", "--profile", "off", "-o", "run", "--json", "--", "sh", "-c", writes, "sh", word,
        cwd=tmp_path, env=environment(ODD=word),
    )  # fmt: skip
    assert (done.code, done.json["failure"]) == (7, None), done.stderr
    assert (tmp_path / "seen").read_bytes() == b"caf\xe9 caf\xe9"
    assert opened(tmp_path / "run").workload.command[-1] == word
    for words in (["show", "run"], ["show", "run", "--json"], ["explain", "run"]):
        shown = pyrometer(*words, cwd=tmp_path)
        assert shown.code == 0, shown.stderr


@pytest.mark.slow
def test_a_command_runs_where_the_run_directory_is_not_utf8(tmp_path: Path) -> None:
    folder = os.fsdecode(b"caf\xe9")
    done = pyrometer(
        "run", "--profile", "off", "-o", folder, "--json", "--", "sh", "-c", "exit 7",
        cwd=tmp_path,
    )  # fmt: skip
    assert (done.code, done.json["failure"]["kind"]) == (7, "analysis"), done.stderr
    assert opened(tmp_path / folder).exit.code == 7
    refused = pyrometer("show", folder, cwd=tmp_path)
    assert (refused.code, "rename the folder" in refused.stderr) == (2, True)
    (tmp_path / folder).rename(tmp_path / "run")
    assert pyrometer("show", "run", cwd=tmp_path).code == 0


def test_a_signal_that_ends_the_application_is_told(tmp_path: Path) -> None:
    done = pyrometer(*OFF, "--json", "--", "sh", "-c", "kill -KILL $$", cwd=tmp_path)
    assert (done.code, done.json["exit_code"], done.json["failure"]) == (137, 137, None)
    manifest = opened(tmp_path / "run")
    assert (manifest.state, manifest.exit.code, manifest.exit.signal) == ("failed", None, "SIGKILL")
    assert "memory" in (manifest.exit.reason or "")


@pytest.mark.parametrize(
    "code",
    # Some that are ours as well; the slow ones are all others of ours, and the ends of the range.
    [4, 130, *(pytest.param(code, marks=pytest.mark.slow) for code in (0, 1, 2, 3, 126, 127, 255))],
)
def test_no_exit_code_of_a_command_is_taken_for_ours(tmp_path: Path, code: int) -> None:
    done = pyrometer(*OFF, "--json", "--", "sh", "-c", f"exit {code}", cwd=tmp_path)
    assert (done.code, done.json["exit_code"], done.json["failure"]) == (code, code, None)
    assert done.json["state"] == ("finished" if code == 0 else "failed")
    assert "error:" not in done.stderr


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM]
    + [pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGPIPE, signal.SIGRTMIN + 2)],
)
def test_a_signals_number_is_added_to_128(tmp_path: Path, number: int) -> None:
    done = pyrometer(*OFF, "--", "sh", "-c", f"kill -{int(number)} $$", cwd=tmp_path)
    assert done.code == 128 + number
    assert opened(tmp_path / "run").exit.signal == signal_name(number)


@pytest.mark.slow
def test_what_fails_after_the_command_changes_nothing_of_its_exit_code(tmp_path: Path) -> None:
    broken = "mkdir run/report.html; exit 6"
    done = pyrometer(
        "run", "--profile", "off", "-o", "run", "--json", "--", "sh", "-c", broken, cwd=tmp_path
    )
    assert (done.code, done.json["exit_code"]) == (6, 6)
    assert done.json["failure"]["kind"] == "analysis"
    assert done.json["failure"]["exit_code"] == 4
    assert " failed: " in done.stderr
    assert "analysis_failed" in codes(tmp_path / "run")


def test_an_internal_error_after_the_command_keeps_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pyrometer.collect.launch.observe.judge", broken)
    assert run_verb([*OFF, "--json", "--", "sh", "-c", "exit 9"]) == 9
    said = capsys.readouterr()
    assert "internal error: ZeroDivisionError: a bug" in said.err
    Path(said.err.rpartition("file ")[2].strip()).unlink()
    told = json.loads(said.out.splitlines()[-1])
    assert (told["exit_code"], told["failure"]["kind"]) == (9, "internal")
    assert told["run_dir"] == str(tmp_path / "run")


@pytest.mark.slow
def test_ours_is_told_from_the_commands_in_json(tmp_path: Path) -> None:
    env = environment(PATH=str(tmp_path), JAVA_HOME=None)
    (tmp_path / "script").write_text("exit 0\n")
    (tmp_path / "bad").write_text("#!/no/such/interpreter\n")
    (tmp_path / "bad").chmod(0o755)
    for words, code, kind in (
        (("--", "no-such-program"), 127, "command-not-found"),
        (("--", "./no-such-program"), 127, "command-not-found"),
        (("--", "./bad"), 127, "command-not-found"),
        (("--", "./script"), 126, "command-not-executable"),
        (("--", tmp_path), 126, "command-not-executable"),
        (("--", sys.executable, "app.py"), 3, "capability"),
        (("--set", "jvm.hep=1g", "--", "true"), 2, "usage"),
    ):
        done = pyrometer(*OFF, "--json", *words, cwd=tmp_path, env=env)
        ours = done.json["failure"]
        assert (done.code, ours["exit_code"], ours["kind"]) == (code, code, kind), done.stderr
        assert ours["message"].splitlines()[0] in done.stderr.replace("\n", " ") + done.stderr
        assert done.json["exit_code"] is None
        assert done.json["run_dir"] is None
        assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_what_the_application_leaves_behind_is_waited_for(tmp_path: Path) -> None:
    late = "(sleep 1.5; echo late > late) & exit 0"
    done = pyrometer(*OFF, "--", "sh", "-c", late, cwd=tmp_path)
    assert done.code == 0
    assert (tmp_path / "late").read_text() == "late\n"
    assert "processes_left" not in codes(tmp_path / "run")


@pytest.mark.slow
def test_cpus_are_those_that_were_asked_for(tmp_path: Path) -> None:
    done = pyrometer(*OFF, "--set", "host.cpus=1", "--", "nproc", cwd=tmp_path)
    assert done.stdout == "1\n"
    refused = pyrometer(*OFF, "-o", "b", "--set", "host.cpus=4096", "--", "nproc", cwd=tmp_path)
    assert refused.code == 2
    assert "this process may use" in refused.stderr


def test_a_cold_cache_holds_none_of_the_files(tmp_path: Path) -> None:
    from pyrometer.workloads.page_cache import evict

    file = tmp_path / "data"
    file.write_bytes(os.urandom(1 << 20))
    assert cached_bytes(file) > 0
    # A page that the kernel holds just then (reclaim, compaction) stays for a moment.
    until = time.monotonic() + 10
    evict([str(file)])
    while cached_bytes(file):
        assert time.monotonic() < until
        time.sleep(0.1)
        evict([str(file)])


def cached_bytes(file: Path) -> int:
    """Bytes of a file that are in the page cache."""
    found = subprocess.run(
        [needs.tool("fincore"), "--bytes", "--noheadings", "--output", "RES", file],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(found.stdout)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_us_ends_the_application_and_keeps_the_run(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = start(
        *OFF, "--json", "--", sys.executable, "-c", APP_THAT_COUNTS, "1",
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for(tmp_path / "ready")
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 5
    assert (tmp_path / "seen").read_text() == number.name
    manifest = opened(tmp_path / "run")
    assert (manifest.state, manifest.exit.code) == ("interrupted", 5)
    assert "workload_interrupted" in codes(tmp_path / "run")
    assert "interrupted after" in error


@pytest.mark.slow
def test_an_application_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    deaf = "trap '' INT TERM; touch ready; while :; do sleep 0.1; done"
    process = start(
        *OFF, "--", "sh", "-c", deaf, cwd=tmp_path, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(tmp_path / "ready")
    for _ in range(3):  # ask, insist (TERM), insist (KILL)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    assert process.wait(60) == 128 + signal.SIGKILL
    manifest = opened(tmp_path / "run")
    assert (manifest.state, manifest.exit.signal) == ("interrupted", "SIGKILL")


def test_a_request_that_comes_with_the_end_of_the_application_is_one() -> None:
    # Not to the process: another thread of the test's runner may take it, some time later.
    here = threading.get_ident()
    with held_signals() as late:
        pid = os.posix_spawn("/bin/sleep", ["sleep", "60"], os.environ)

        def ends_at_once() -> None:
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            signal.pthread_kill(here, signal.SIGINT)

        ending = wait(pid, ends_at_once)
        assert (ending.signal, ending.interrupted_by) == ("SIGKILL", "SIGINT")
        signal.pthread_kill(here, signal.SIGTERM)
    assert late == [signal.SIGTERM], "what comes later is for the caller"


def test_a_process_that_we_may_not_end_is_waited_for_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kill = os.kill

    def as_another_user(pid: int, number: int) -> None:
        if number != signal.SIGKILL:
            raise PermissionError(1, "Operation not permitted")
        kill(pid, number)

    monkeypatch.setattr(os, "kill", as_another_user)
    with held_signals():
        pid = os.posix_spawn("/bin/sleep", ["sleep", "60"], os.environ)
        said: list[str] = []
        grace = Grace(interrupt_s=0.1, terminate_s=2.0)
        ending = wait(pid, lambda: None, 0.1, grace, said.append)
    assert said == [f"waiting for other users' processes; to end them, as root: kill {pid}"]
    assert (ending.signal, ending.interrupted_by) == ("SIGKILL", "time-out")
    assert ending.unreachable == (pid,)


def adopts() -> int:
    found = ctypes.c_int()
    assert ctypes.CDLL(None).prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(found), 0, 0, 0) == 0
    return found.value


def test_orphans_are_ours_for_as_long_as_a_run_lasts() -> None:
    before, prctl = adopts(), ctypes.CDLL(None).prctl
    # What started the tests may have had them adopt orphans already.
    assert prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0
    try:
        with adopted_orphans():
            assert adopts() == 1
        assert adopts() == 0
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, before, 0, 0, 0)


MAIN_THREAD_ENDS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(0.5,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_what_is_left_behind_is_waited_for_until_its_cpu_time_is_told() -> None:
    others = descendants(os.getpid())
    pid = os.posix_spawn(sys.executable, [sys.executable, "-S", "-c", MAIN_THREAD_ENDS], os.environ)
    state = Path(f"/proc/{pid}/stat")
    until = time.monotonic() + 60
    while state.read_text().split()[2] != "Z":
        assert time.monotonic() < until
        time.sleep(0.01)
    assert pid not in drain(others, 60)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


# What is imported on a thread after the application's end takes until somebody waits for it.
IMPORTS_UNTIL_JOINED = """
import pathlib, sys, threading, time
class Finder:
    def find_spec(self, name, *_):
        if name == "pyrometer.report.page":
            main = threading.main_thread().ident
            while not joins(sys._current_frames()[main]):
                time.sleep(0.01)
            pathlib.Path("imported").touch()
joined = threading.Thread.join.__code__
def joins(frame):
    return frame is not None and (frame.f_code is joined or joins(frame.f_back))
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.slow
def test_a_signal_after_the_applications_end_keeps_the_run_and_ends_us(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(IMPORTS_UNTIL_JOINED)
    leaves_one = "sleep 12 & echo $! > left; exit 0"
    process = start(
        *OFF, "--", "sh", "-c", leaves_one, cwd=tmp_path, stderr=subprocess.PIPE,
        env=environment(PYTHONPATH=str(tmp_path)),
    )  # fmt: skip
    wait_for(tmp_path / "run" / "raw" / "exit.json")
    process.send_signal(signal.SIGINT)
    os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 0
    assert error.rstrip().endswith("interrupted")
    # Python aborts where a thread is in the middle of that when it ends.
    assert (tmp_path / "imported").exists()
    manifest = opened(tmp_path / "run")
    assert (manifest.state, manifest.exit.code) == ("finished", 0)


@pytest.mark.slow
def test_ctrl_c_on_a_terminal_reaches_the_application_once(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        arguments = [sys.executable, "-m", "pyrometer", *OFF, "--", sys.executable, "-c"]
        os.execve(sys.executable, [*arguments, APP_THAT_COUNTS, "1"], environment())
    wait_for(tmp_path / "ready")
    os.write(terminal, b"\x03")
    wait_for(tmp_path / "seen")
    while True:
        try:
            if not os.read(terminal, 65536):
                break
        except OSError:
            break
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    assert (tmp_path / "seen").read_text() == "SIGINT"
    assert opened(tmp_path / "run").state == "interrupted"


def test_our_death_leaves_the_application_running_to_its_end(tmp_path: Path) -> None:
    # Until it is told, a minute at most.
    goes_on = (
        "touch ready; i=0; while [ ! -e go ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done;"
        " echo still here; echo end > end; exit 0"
    )
    with (tmp_path / "out").open("w") as out:
        process = start(*OFF, "--", "sh", "-c", goes_on, cwd=tmp_path, stdout=out)
    wait_for(tmp_path / "ready")
    process.kill()
    assert process.wait() == -signal.SIGKILL
    (tmp_path / "go").touch()
    wait_for(tmp_path / "end")
    assert (tmp_path / "out").read_text() == "still here\n"
    manifest = opened(tmp_path / "run")
    assert manifest.state == "interrupted"
    assert codes(tmp_path / "run") == {"run_interrupted"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("run", "parquet-scann"), 2, "did you mean 'parquet-scan'"),
        (("run", "interval-join", "--set", "variant=decimall"), 2, "did you mean 'decimal'"),
        (("run", "interval-join", "--scale", "huge"), 2, "no scale 'huge'"),
        (("run", "--", "no-such-program"), 127, "command not found: no-such-program"),
        (("run", "--set", "jvm.hep=1g", "--", "true"), 2, "did you mean 'jvm.heap'"),
        (("run", "--set", "numa.nodes=900", "--", "true"), 3, "lscpu"),
        (("run", "--profile", "ful", "--", "true"), 2, "did you mean 'full'"),
        (("run", "--warmup", "x", "parquet-scan"), 2, "must be a number or auto"),
        (("run", "--scale", "sf1", "--", "true"), 2, "--scale is for workloads"),
        (("run", "--iterations", "0", "parquet-scan"), 2, "at least one"),
        (("run", "spark-submit", "app.py"), 2, "pyrometer run -- spark-submit app.py"),
        (("run", "--iteration", "2", "x"), 2, "--iterations"),
        (("rum",), 2, "Did you mean 'run'"),
        (("run", "-o", "/proc/pyrometer", "--", "true"), 2, "/proc/pyrometer cannot be written"),
        (("run", "-o", ".", "--", "true"), 2, "not an empty folder"),
        (("run", "--set", "spark.home=/nowhere", "--", "spark-submit"), 2, "/nowhere"),
        (("run", "--set", "jvm.home=/nowhere", "--", "spark-submit"), 2, "/nowhere/bin/java"),
    ],
)
def test_mistakes_are_told_before_anything_is_launched(
    tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    (tmp_path / "here").touch()
    done = pyrometer(*arguments, cwd=tmp_path)
    assert done.code == code, done.stderr
    assert words in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert sorted(os.listdir(tmp_path)) in (["here"], ["here", "pyrometer-runs"])
    assert not list(tmp_path.glob("pyrometer-runs/*"))


@pytest.mark.parametrize("folder", [".", "out"])
def test_a_folder_that_was_there_stays_where_nothing_is_launched(
    tmp_path: Path, folder: str
) -> None:
    cwd = tmp_path / "here"
    (cwd / folder).mkdir(mode=0o751, parents=True)
    before = (cwd / folder).stat()
    done = pyrometer("run", "-o", folder, "--", "no-such-program", cwd=cwd)
    assert done.code == 127
    after = (cwd / folder).stat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert os.listdir(cwd / folder) == []


@pytest.mark.slow
def test_a_missing_java_is_told(tmp_path: Path) -> None:
    env = environment(JAVA_HOME=None, PATH=str(tmp_path))
    done = pyrometer(*OFF, "--", sys.executable, "app.py", cwd=tmp_path, env=env)
    assert done.code == 3
    assert "java is not installed" in done.stderr
    assert "apt-get install openjdk" in done.stderr
    env = environment(JAVA_HOME="/nowhere")
    done = pyrometer(*OFF, "--", "spark-submit", "app.py", cwd=tmp_path, env=env)
    assert (done.code, "JAVA_HOME is /nowhere" in done.stderr) == (3, True)
    assert not (tmp_path / "run").exists()


def test_a_run_inside_a_run_is_refused(tmp_path: Path) -> None:
    done = pyrometer(*OFF, "--", "true", cwd=tmp_path, env=environment(PYROMETER_RUN_DIR="/x"))
    assert (done.code, "already inside a run" in done.stderr) == (2, True)


def test_python_without_pyspark_is_told(tmp_path: Path) -> None:
    venv = tmp_path / "venv" / "bin"
    venv.mkdir(parents=True)
    (venv / "python").symlink_to(os.path.realpath(sys.executable))
    done = pyrometer(
        *OFF, "--", venv / "python", "-I", "-c", "import pyspark", cwd=tmp_path,
        env=environment(PYTHONPATH=str(Path(__file__).parents[4] / "python")),
    )  # fmt: skip
    assert done.code == 1
    assert "pip install pyspark" in (opened(tmp_path / "run").exit.reason or "")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB."""
    if os.geteuid() != 0:
        needs.machine_lacks("the right to mount a small file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "pyrometer-test", str(folder)]
    made = subprocess.run(mount, capture_output=True, text=True, check=False)
    if made.returncode:
        needs.machine_lacks(f"the right to mount a small file system: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_disk_that_fills_up_does_not_touch_the_application(small_disk: Path) -> None:
    fill = "dd if=/dev/zero of=run/raw/fill bs=64k 2>/dev/null; echo went on; exit 0"
    done = pyrometer(*OFF, "--json", "--", "sh", "-c", fill, cwd=small_disk)
    assert done.code == 0, done.stderr
    assert done.stdout.startswith("went on\n")
    assert done.json["exit_code"] == 0
    assert "run_not_saved" in {doubt["code"] for doubt in done.json["doubts"]}
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert opened(small_disk / "run").doubts


def test_a_full_disk_is_told_before_the_launch(small_disk: Path) -> None:
    subprocess.run(
        ["dd", "if=/dev/zero", f"of={small_disk}/fill", "bs=64k"], capture_output=True, check=False
    )
    done = pyrometer(*OFF, "--", "touch", "launched", cwd=small_disk)
    assert done.code == 2
    assert "No space left on device" in done.stderr
    assert not (small_disk / "launched").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["sh", "python"])
def test_what_nohup_protects_stays_protected(tmp_path: Path, command: str) -> None:
    # As nohup has it: the hang-up reaches the whole session, and nobody dies of it.
    wait_s = "import time; open('ready', 'w').close(); time.sleep(2)"
    application = {
        "sh": ["sh", "-c", "touch ready; sleep 2; exit 7"],
        "python": [sys.executable, "-S", "-c", wait_s + "; raise SystemExit(7)"],
    }[command]
    process = subprocess.Popen(
        ["nohup", sys.executable, "-m", "pyrometer", *OFF, "--", *application],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(tmp_path / "ready")
    os.killpg(process.pid, signal.SIGHUP)
    assert process.wait(60) == 7
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["exit"]["code"], manifest["exit"]["signal"]) == (7, None)
