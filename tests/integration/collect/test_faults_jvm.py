"""Whatever a JVM is given and whatever breaks around it, a program does not notice the agent.

Each case runs a program without us and with us: output, complaints and exit code must be the same.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.support import needs
from tests.support.cli import environment, pyrometer, start

from pyrometer import _artifacts
from pyrometer.collect.launch.java import java_release
from pyrometer.store.manifest import read_manifest
from pyrometer.store.paths import RunPaths

SUPPORT = Path(__file__).parents[2] / "support"
ASKED = {
    "gclog.what": "gc*,safepoint",
    "jitlog.what": "jit+compilation=debug",
    "context": "on",
    "mx.interval.ms": "50",
    "asprof.command": "start,event=cpu,interval=10ms,wall=50ms,alloc=512k,lock=10ms,"
    "clock=monotonic,chunktime=10s",
}
ALL_MAY = 0o755


@cache
def javas() -> list[str]:
    """Every Java on this machine; others are named in PYROMETER_TEST_JAVAS, separated by colons."""
    homes = [Path(one) for one in os.environ.get("PYROMETER_TEST_JAVAS", "").split(":") if one]
    homes += sorted(Path("/usr/lib/jvm").glob("*")) if Path("/usr/lib/jvm").is_dir() else []
    found = {os.path.realpath(home / "bin" / "java"): None for home in homes}
    return [java for java in found if os.access(java, os.X_OK)] or ["java"]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    subprocess.run(
        ["javac", "--release", "11", "-d", folder, SUPPORT / "java" / "EndingProgram.java",
         SUPPORT / "java" / "OtherAgent.java"],
        check=True,
    )  # fmt: skip
    (folder / "manifest").write_text("Premain-Class: OtherAgent\n")
    subprocess.run(
        ["jar", "cfm", "other.jar", "manifest", "OtherAgent.class", "OtherAgent$1.class"],
        cwd=folder, check=True,
    )  # fmt: skip
    return folder


Ended = tuple[bytes, bytes, int]


def ended(
    classes: Path,
    *options: str,
    how: str = "exit",
    java: str = "java",
    limit: Callable[[], None] | None = None,
    **env: str,
) -> Ended:
    """Run the program; give its output, its complaints and its code."""
    done = subprocess.run(
        [java, *options, "-cp", str(classes), "EndingProgram", how],
        capture_output=True, timeout=120, check=False, cwd=classes, preexec_fn=limit,
        env={**os.environ, **env},
    )  # fmt: skip
    return done.stdout, done.stderr, done.returncode


def agent(folder: Path, raw: Path | str | None = None, **keys: str) -> str:
    """Write properties; give the option that loads the agent with them."""
    raw = folder / "raw" if raw is None else raw
    if isinstance(raw, Path) and raw == folder / "raw":
        raw.mkdir(exist_ok=True)
    file = folder / "agent.properties"
    text = {**ASKED, "raw.dir": str(raw), **{k.replace("_", "."): v for k, v in keys.items()}}
    file.write_text("".join(f"{key}={value}\n" for key, value in text.items()))
    return f"-javaagent:{_artifacts.plugin_jar()}={file}"


@pytest.mark.slow
@pytest.mark.parametrize("java", javas())
def test_each_java_starts_and_is_measured(java: str, classes: Path, tmp_path: Path) -> None:
    option = agent(tmp_path)
    assert ended(classes, option, java=java) == ended(classes, java=java)
    raw = RunPaths(tmp_path)
    assert len(raw.plugin_files()) == 1
    text = raw.gc_logs()[0].read_text()
    assert "] Using " in text
    assert ("Using G1" in text) == ("Heap Region Size: " in text)
    release = java_release(java)
    # Without --enable-native-access Java 24 and later would print a warning.
    assert bool(raw.profiles()) == (release is None or release < 24)


OPTIONS = {
    "interpreted": ["-Xint"],
    "small heap": ["-Xmx16m"],
    "serial": ["-XX:+UseSerialGC"],
    "concurrent": ["-XX:+UseZGC"],
    "no attaching": ["-XX:+DisableAttachMechanism"],
    "no counters": ["-XX:-UsePerfData"],
    "checked natives": ["-Xcheck:jni"],
    "assertions": ["-ea", "-esa"],
    "no archive of classes": ["-Xshare:off"],
    "archive of classes": ["-Xshare:auto", "-XX:TieredStopAtLevel=1"],
    "own log": ["-Xlog:gc*:file=own.log"],
    "own log on stdout": ["-Xlog:gc=off:stdout"],
    "no temporary files": ["-Djava.io.tmpdir=/nowhere/at/all"],
    "another agent": ["-javaagent:other.jar"],
    "another encoding": ["-Dfile.encoding=UTF-16"],
    "headless locale": ["-Duser.language=tr", "-Duser.country=TR"],
}


# What touches most of the agent comes with every run; the others with the slow tests.
COMMON = {"small heap", "another agent"}


@pytest.mark.parametrize(
    "case",
    [one if one in COMMON else pytest.param(one, marks=pytest.mark.slow) for one in OPTIONS],
)
def test_options_of_the_application_stay_what_they_are(
    case: str, classes: Path, tmp_path: Path
) -> None:
    expected = ended(classes, *OPTIONS[case])
    assert expected[2] == 7
    assert ended(classes, *OPTIONS[case], agent(tmp_path)) == expected
    assert ended(classes, agent(tmp_path), *OPTIONS[case]) == expected


@pytest.mark.slow
def test_the_jdks_own_recorder_stays(classes: Path, tmp_path: Path) -> None:
    option = f"-XX:StartFlightRecording=filename={tmp_path}/own.jfr"
    out, _, code = ended(classes, option, agent(tmp_path))
    assert code == 7
    assert b"no newline at the end" in out
    assert (tmp_path / "own.jfr").read_bytes()[:4] == b"FLR\0"


@pytest.mark.parametrize(
    ("how", "options", "code"),
    [
        ("halt", (), 9),
        ("throw", (), 1),
        ("return", (), 0),
        ("signal", (), 143),
        ("memory", ("-Xmx64m",), 1),
        ("memory", ("-Xmx64m", "-XX:+ExitOnOutOfMemoryError"), 3),
    ],
)
def test_every_end_is_the_programs_own(
    how: str, options: tuple[str, ...], code: int, classes: Path, tmp_path: Path
) -> None:
    expected = ended(classes, *options, how=how)
    assert expected[2] in (code, code - 128 - 2 * signal.SIGTERM, 128 + signal.SIGTERM)
    assert ended(classes, *options, agent(tmp_path), how=how) == expected


NONSENSE: dict[str, dict[str, str]] = {
    "profiler": {"asprof_command": "start,event=nosuch,interval=-1,,file=/x"},
    "library": {"asprof_library": "/nowhere/library.so"},
    "log": {"gclog_what": "no+such+tag=loud", "jitlog_what": "=,=;'\""},
    "decorators": {"gclog_decorators": "not,one'\""},
    "numbers": {"queue_capacity": "-9", "mx_interval_ms": "99999999999999999999"},
    "no numbers": {"flush_interval_ms": "soon", "clock_interval_ms": "NaN"},
    "slots": {"context_slots": "2147483648"},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", NONSENSE)
def test_settings_that_make_no_sense_harm_nothing(case: str, classes: Path, tmp_path: Path) -> None:
    assert ended(classes, agent(tmp_path, **NONSENSE[case])) == ended(classes)


@pytest.mark.slow
@pytest.mark.parametrize("raw", ["/proc", "/dev/null", "", "relative/folder", "/no\\u0000where"])
def test_a_folder_that_is_none_harms_nothing(raw: str, classes: Path, tmp_path: Path) -> None:
    assert ended(classes, agent(tmp_path, raw)) == ended(classes)


@pytest.mark.slow
def test_properties_that_never_come_hold_a_program_up_for_seconds_only(
    classes: Path, tmp_path: Path
) -> None:
    option = agent(tmp_path)
    (tmp_path / "agent.properties").unlink()
    os.mkfifo(tmp_path / "agent.properties")
    before = time.monotonic()
    assert ended(classes, option) == ended(classes)
    assert time.monotonic() - before < 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "limit"),
    [
        # Every file is full at once; the JVM's own counters in a file would be, too.
        (resource.RLIMIT_FSIZE, 4096),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 48),
        (resource.RLIMIT_CORE, 0),
    ],
)
def test_limits_of_the_system_harm_nothing(
    what: int, limit: int, classes: Path, tmp_path: Path
) -> None:
    def limited() -> None:
        resource.setrlimit(what, (limit, limit))

    quiet = "-XX:-UsePerfData"
    out, _, code = ended(classes, quiet, limit=limited)
    assert code == 7
    # A log on a full disk is the one thing that a JVM itself complains of on stderr.
    assert ended(classes, quiet, agent(tmp_path), limit=limited)[::2] == (out, code)


JUMPING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  static int calls;
  if (!real) real = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  if (clock == CLOCK_REALTIME)
    now->tv_sec += __sync_fetch_and_add(&calls, 1) % 2 ? 86400 * 365 : -86400 * 365;
  return result;
}
"""


def test_a_clock_that_jumps_by_years_harms_nothing(classes: Path, tmp_path: Path) -> None:
    compiler = needs.tool("cc")
    (tmp_path / "jump.c").write_text(JUMPING)
    library = tmp_path / "jump.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, tmp_path / "jump.c", "-ldl"], check=True
    )
    option = agent(tmp_path, clock_interval_ms="20")
    assert ended(classes, option, LD_PRELOAD=str(library)) == ended(classes)
    assert len(RunPaths(tmp_path).plugin_files()) == 1


# Below: by way of the command line, as users start it.
ODD = ["a\"b'c %p", "a,b=c:d", "aü\nb\\c", "$(touch x);#&*?[1]"]


def launched(classes: Path, run: Path, **env: str | None) -> tuple[str, int]:
    done = pyrometer(
        "run", "--profile", "cpu", "--no-report", "-o", run, "--",
        "java", "-cp", str(classes), "EndingProgram", "exit",
        cwd=run.parent, env=environment(**env),
    )  # fmt: skip
    return done.stdout, done.code


OUT = "begun\nno newline at the end"


@pytest.mark.parametrize(
    "name", [ODD[0], *(pytest.param(one, marks=pytest.mark.slow) for one in ODD[1:])]
)
def test_whatever_the_run_directory_is_called_all_is_measured(
    name: str, classes: Path, tmp_path: Path
) -> None:
    assert launched(classes, tmp_path / name) == (OUT, 7)
    paths = RunPaths(tmp_path / name)
    assert len(paths.plugin_files()) == len(paths.gc_logs()) == len(paths.profiles()) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.slow
def test_a_posix_locale_has_no_umlaut_and_measures_all_the_same(
    classes: Path, tmp_path: Path
) -> None:
    run = tmp_path / "prüfung"
    assert launched(classes, run, LC_ALL="POSIX", LANG=None) == (OUT, 7)
    paths = RunPaths(run)
    assert len(paths.plugin_files()) == len(paths.gc_logs()) == len(paths.profiles()) == 1


@pytest.fixture
def public(classes: Path) -> Iterator[Path]:
    """A folder that every user may enter, with the program in it."""
    folder = Path(tempfile.mkdtemp(prefix="pyrometer-test-", dir="/tmp"))
    folder.chmod(ALL_MAY)
    shutil.copy(classes / "EndingProgram.class", folder)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0o700, ALL_MAY])
def test_another_users_jvm_starts_where_it_may_not_write(mode: int, public: Path) -> None:
    if os.geteuid() != 0:
        needs.machine_lacks("the right to become another user")
    setpriv = needs.tool("setpriv")
    run = public / "run"
    run.mkdir()
    run.chmod(mode)
    script = f'exec java $SPARK_SUBMIT_OPTS -cp "{public}" EndingProgram exit'
    done = pyrometer(
        "run", "--profile", "cpu", "--no-report", "-o", run, "--", setpriv, "--reuid=65534",
        "--regid=65534", "--clear-groups", "sh", "-c", script, cwd=public,
    )  # fmt: skip
    assert (done.stdout, done.code) == (OUT, 7), done.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        needs.machine_lacks("the right to mount a small file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "pyrometer-test", str(folder)]
    made = subprocess.run(mount, capture_output=True, text=True, check=False)
    if made.returncode:
        needs.machine_lacks(f"the right to mount a small file system: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.slow
def test_a_disk_that_is_too_small_harms_nothing(small_disk: Path, classes: Path) -> None:
    assert launched(classes, small_disk / "run") == (OUT, 7)


def test_a_probe_that_is_killed_harms_nothing(classes: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start(
        "run", "--profile", "light", "--no-report", "-o", run, "--",
        "java", "-cp", str(classes), "EndingProgram", "exit", "4000", cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (probes := probes_of(process.pid)):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(probes[0], signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    assert (out, process.returncode) == (OUT, 7)
    assert read_manifest(run).exit.code == 7


def probes_of(launcher: int) -> list[int]:
    """Pids of OS probes that a launcher has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            ours = name == "pyro-probe" and int(rest.split()[1]) == launcher
            # Not those that only try what this host can measure, before the launch.
            if ours and b"record" in (folder / "cmdline").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found
