"""Whatever breaks inside the agent and the plugin, a Spark application does not notice.

Another agent (``tests/support/java/Saboteur.java``) breaks methods of ours in a real application:
they throw, or hang as with a file system that does not answer. Result and exit code must be those
without us, and each fault must have happened.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support import needs

from pyrometer import _artifacts
from pyrometer.workloads.spark import find_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SUPPORT = Path(__file__).parents[2] / "support"
RESULT = "sum 204\nfailed as it should\ncount 4\n"
OPENS = ["java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio",
         "java.util", "java.util.concurrent", "sun.nio.ch"]  # fmt: skip
# A call that hangs is waited for 5 s, and there are two such at most in one life of a JVM.
SLOWEST_S = 60.0


@dataclass
class Built:
    """Compiled programs."""

    classes: Path
    saboteur: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("built")
    classes = folder / "classes"
    path = f"{find_spark().home}/jars/*:{_artifacts.plugin_jar()}"
    subprocess.run(
        ["javac", "--release", "17", "-cp", path, "-d", classes,
         SUPPORT / "java" / "SmallApp.java", SUPPORT / "java" / "Saboteur.java"],
        check=True,
    )  # fmt: skip
    # Its premain runs before our jar is on the class path, and needs the ASM in there.
    (folder / "plugin.jar").symlink_to(_artifacts.plugin_jar())
    (folder / "manifest").write_text("Premain-Class: Saboteur\nClass-Path: plugin.jar\n")
    jar = folder / "saboteur.jar"
    names = [str(file.relative_to(classes)) for file in classes.glob("Saboteur*")]
    subprocess.run(
        ["jar", "cfm", jar, folder / "manifest", *(f"{name}" for name in names)],
        cwd=classes, check=True,
    )  # fmt: skip
    return Built(classes, jar)


def prepare(raw: Path, **more: str) -> Path:
    """Make the raw folder, and properties beside it as the launcher would write them."""
    (raw / "eventlog").mkdir(parents=True)
    keys = {
        "raw.dir": str(raw),
        "force.spark.eventLog.enabled": "true",
        "conf.spark.eventLog.dir": (raw / "eventlog").as_uri(),
        "conf.spark.eventLog.rolling.enabled": "false",
        "conf.spark.eventLog.compress": "false",
        "append.spark.executor.extraJavaOptions": "--add-opens a.b/c=x --add-opens d.e/f=y",
        "gclog.what": "gc*,safepoint",
        "jitlog.what": "jit+compilation=debug",
        "codegen.interval.ms": "50",
        "mx.interval.ms": "50",
        "context": "on",
        "asprof.command": "start,event=cpu,interval=10ms,wall=50ms,clock=monotonic,chunktime=10s",
        **more,
    }
    file = raw.parent / "agent.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    return file


def run(
    built: Built,
    properties: Path | None,
    *words: str | Path,
    faults: list[str] | None = None,
    options: tuple[str, ...] = (),
    master: str = "local[2]",
) -> subprocess.CompletedProcess[str]:
    """Run the small application with the agent, and with the saboteur where there are faults."""
    java = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENS]
    java += ["-Xmx512m", f"-Dspark.master={master}", *options]
    if faults is not None:
        assert properties is not None
        told = properties.parent / "faults"
        told.write_text("".join(f"{fault}\n" for fault in faults))
        java.append(f"-javaagent:{built.saboteur}={told}")
    if properties is not None:
        java.append(f"-javaagent:{_artifacts.plugin_jar()}={properties}")
    spark = find_spark()
    scala = next(spark.home.glob("jars/scala-library-*.jar")).name.split("-")[2]
    env = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(spark.home),
        "SPARK_SCALA_VERSION": ".".join(scala.split(".")[:2]),
    }
    return subprocess.run(
        ["java", *java, "-cp", f"{spark.home}/jars/*:{built.classes}", "SmallApp", *words],
        env=env, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


def test_the_application_alone_says_what_is_expected(built: Built) -> None:
    done = run(built, None)
    assert (done.stdout, done.returncode) == (RESULT, 7), done.stderr[-2000:]


# Methods that break together, in one life of the application, unless one hides another.
THROWING = {
    "settings": ["config/Settings#load"],
    "start": ["AgentStart#begin"],
    "jvm": ["jvm/Jvm#<init>"],
    "recorder": ["records/Recorder#<init>"],
    "bounded": ["jvm/Bounded#run"],
    "logs": ["profiler/VmLog#start"],
    "profiler": ["profiler/Profiler#start"],
    "transformer": ["hooks/SparkContextTransformer#withHook"],
    "overlay": ["hooks/Overlay#apply", "hooks/ContextHook#update"],
    "first lines": ["profiler/FirstLines#append", "jvm/Folders#tried"],
    "components": ["DriverComponent#<init>", "ExecutorComponent#<init>"],
    "driver init": ["config/Settings#forExecutors"],
    "hooks": [
        "tasks/TaskTracker#started",
        "tasks/TaskTracker#ended",
        "records/Recorder#finish",
        "codegen/SparkCodegen#running",
        "tasks/Contexts#remove",
        "profiler/Profiler#stop",
    ],
    "offer": ["records/Recorder#offer"],
    "writer": ["records/LineFile#write"],
    "records": ["records/MxSeries#format", "codegen/CodegenCapture#poll", "host/Clocks#pair"],
    "slots": ["tasks/Contexts#claim", "host/Host#threadId"],
    "slot": ["tasks/ContextSlot#write"],
}
HANGING = {
    "settings": ["config/Settings#load"],
    "jvm": ["jvm/Jvm#<init>"],
    "logs": ["profiler/VmLog#start"],
    "profiler": ["profiler/Profiler#start"],
    "folder": ["jvm/Folders#tried"],
    "farewell": ["tasks/Contexts#remove"],
    "writer": ["records/LineFile#write"],
    "series": ["records/MxSeries#format"],
}
# Never reached in an application of one JVM.
UNREACHED = {"profiler/Profiler#stop"}
CASES = [
    *(pytest.param("throw", methods, id=f"throw-{name}") for name, methods in THROWING.items()),
    *(pytest.param("hang", methods, id=f"hang-{name}") for name, methods in HANGING.items()),
]


@pytest.mark.parametrize(("how", "methods"), CASES)
def test_a_method_that_breaks_changes_nothing(
    how: str, methods: list[str], built: Built, tmp_path: Path
) -> None:
    properties = prepare(tmp_path / "raw")
    before = time.monotonic()
    done = run(built, properties, faults=[f"{how} {method}" for method in methods])
    took = time.monotonic() - before
    assert (done.stdout, done.returncode) == (RESULT, 7), done.stderr[-3000:]
    assert "on purpose: throw" not in done.stderr
    happened = {line.split()[1] for line in (tmp_path / "faults.log").read_text().splitlines()}
    assert happened == set(methods) - UNREACHED
    assert took < SLOWEST_S


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    if os.geteuid() != 0:
        needs.machine_lacks("the right to mount a small file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "pyrometer-test", str(folder)]
    made = subprocess.run(mount, capture_output=True, text=True, check=False)
    if made.returncode:
        needs.machine_lacks(f"the right to mount a small file system: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("when", ["before", "during", "read-only"])
def test_a_full_or_denied_folder_changes_nothing(when: str, small_disk: Path, built: Built) -> None:
    properties = prepare(small_disk / "raw")
    words: list[str | Path] = []
    expected = RESULT
    if when == "before":
        subprocess.run(["dd", "if=/dev/zero", f"of={small_disk}/fill", "bs=4k"],
                       capture_output=True, check=False)  # fmt: skip
    elif when == "during":
        words = ["fill", small_disk / "raw"]
        expected = RESULT.replace("failed", "full\nfailed")
    else:
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = run(built, properties, *words)
    assert (done.stdout, done.returncode) == (expected, 7), done.stderr[-3000:]


def test_a_raw_folder_that_goes_away_changes_nothing(built: Built, tmp_path: Path) -> None:
    properties = prepare(tmp_path / "raw")
    done = run(built, properties, "remove", tmp_path / "raw")
    assert (done.stdout, done.returncode) == (RESULT, 7), done.stderr[-3000:]
    assert not (tmp_path / "raw" / "agent.properties").exists()


EXECUTORS = {
    "throw": ["jvm/Jvm#<init>"],
    "hang": ["jvm/Jvm#<init>"],
    "throw at end": ["profiler/Profiler#stop", "tasks/TaskTracker#started"],
}


@pytest.mark.parametrize("case", EXECUTORS)
def test_an_executor_that_breaks_changes_nothing(case: str, built: Built, tmp_path: Path) -> None:
    properties = prepare(tmp_path / "raw")
    told = tmp_path / "executors"
    told.write_text("".join(f"{case.split()[0]} {method}\n" for method in EXECUTORS[case]))
    options = (
        f"-Dspark.executor.extraJavaOptions=-javaagent:{built.saboteur}={told} -Dtheirs='a  b'",
        f"-Dspark.executor.extraClassPath={built.classes}",
        "-Dspark.executor.memory=512m",
    )
    done = run(built, properties, options=options, master="local-cluster[1,2,512]")
    assert (done.stdout, done.returncode) == (RESULT, 7), done.stderr[-3000:]
    happened = {line.split()[1] for line in Path(f"{told}.log").read_text().splitlines()}
    assert happened == set(EXECUTORS[case])
    if case != "throw at end":
        return
    # Spark has read what the agent wrote: theirs in front, ours behind, word by word.
    (file,) = (tmp_path / "raw").glob("plugin-executor-*.ndjson")
    facts = next(json.loads(line) for line in file.open() if '"k":"process"' in line)
    arguments = facts["input_arguments"]
    ours = arguments[arguments.index("-Dtheirs=a  b") + 1 :][:2]
    assert ours == ["--add-opens=a.b/c=x", "--add-opens=d.e/f=y"]
