"""After the application's end: what was delivered, what happened, what to doubt.

How a run ended, and why, in words.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyrometer.collect.host import cgroup
from pyrometer.collect.launch.java import java_version
from pyrometer.collect.launch.launch import Launch
from pyrometer.collect.launch.process import TIMEOUT, Ending
from pyrometer.collect.launch.record import Record, copy_eventlogs, overlay, processes, results
from pyrometer.collect.launch.session_settings import overruled
from pyrometer.collect.launch.workload_command import result_of_command
from pyrometer.collect.probes.base import Probe, reported
from pyrometer.core.patience import patient
from pyrometer.store.axis.probe_reports import shipped_entries
from pyrometer.store.manifest import Exit, Overlay, ProbeEntry, Result, State
from pyrometer.trial.factors import Level
from pyrometer.trial.layout import TASKS, Layout

LONGEST_ERROR = 400
"""Characters of an error that are kept; the workload's own output has the rest."""


def state(ending: Ending, expected: int = 0) -> State:
    """Give the final state of the run, where `expected` is the exit code of success."""
    if ending.interrupted_by:
        return "interrupted"
    return "finished" if ending.code == expected else "failed"


def wrong(found: Sequence[Result]) -> str | None:
    """Say which iteration gave a wrong result, and where it differs; ``None`` if none did.

    Examples
    --------
    >>> wrong([Result(iteration=2, status="wrong_result", error="rows: expected 1, got 2")])
    'wrong result in iteration 2: rows: expected 1, got 2'
    """
    for result in found:
        if result.status == "wrong_result":
            return f"wrong result in iteration {result.iteration}: {result.error}"
    return None


def broken(found: Sequence[Result]) -> str | None:
    r"""Say which iteration failed, and of what, without the stack; ``None`` if none did.

    Examples
    --------
    >>> text = "Py4JJavaError: in o1.collect.\n: java.lang.OutOfMemoryError: full\n\tat a.B"
    >>> broken([Result(iteration=0, status="failed", error=text)])
    'iteration 0 failed: Py4JJavaError: in o1.collect. : java.lang.OutOfMemoryError: full'
    """
    for result in found:
        if result.status == "failed" and result.error:
            what = " ".join(result.error.partition("\n\tat ")[0].split())
            cut = f"{what[:LONGEST_ERROR]} …" if len(what) > LONGEST_ERROR else what
            return f"iteration {result.iteration} failed: {cut}"
    return None


_CRASH = re.compile(r"^#\s+(SIG\w+) \(0x.*?\bpid=(\d+)", re.MULTILINE)
_FRAME = re.compile(r"^# Problematic frame:\n# (.{1,200})", re.MULTILINE)


def crashed(said: str) -> str | None:
    r"""Say that a JVM crashed, by what it printed; ``None`` if it did not.

    Examples
    --------
    >>> text = "#  SIGSEGV (0xb) at pc=0x7f, pid=191\n#\n# Problematic frame:\n# J 7 c1 A.b()"
    >>> crashed(text)
    'a JVM crashed: SIGSEGV in J 7 c1 A.b(); it leaves hs_err_pid191.log where it was started'
    """
    found, frame = _CRASH.search(said), _FRAME.search(said)
    if found is None:
        return None
    where = f" in {frame[1].strip()}" if frame else ""
    return (
        f"a JVM crashed: {found[1]}{where}; it leaves hs_err_pid{found[2]}.log where it was started"
    )


def starved(group: Mapping[str, int] | None, ending: Ending) -> str | None:
    """Say that the memory limit ended the application; ``None`` if it did not.

    Examples
    --------
    >>> starved({"oom_kills_count": 1}, Ending(1, None, None, 0, 0))
    'the kernel killed 1 process(es) for want of memory: cgroup.memory was too small'
    """
    kills = (group or {}).get("oom_kills_count", 0)
    if not kills or ending.code == 0:
        return None
    return f"the kernel killed {kills} process(es) for want of memory: cgroup.memory was too small"


def reason(ending: Ending, launch: Launch, spark_seen: bool) -> str | None:
    """Say in a sentence why the application ended, where its exit code does not say.

    Parameters
    ----------
    ending : Ending
        How it ended.
    launch : Launch
        What was started.
    spark_seen : bool
        Whether a JVM of Spark appeared.
    """
    if ending.interrupted_by == TIMEOUT:
        return "stopped by Pyrometer: it ran into its time limit"
    if ending.interrupted_by:
        return f"stopped because Pyrometer received {ending.interrupted_by}"
    if ending.signal == "SIGKILL":
        return (
            "killed by SIGKILL: by another process, or by the kernel for lack of memory (see dmesg)"
        )
    if ending.signal in ("SIGABRT", "SIGSEGV", "SIGBUS"):
        return (
            f"crashed with {ending.signal}; a JVM leaves hs_err_pid<pid>.log where it was started"
        )
    if ending.signal:
        return f"ended by {ending.signal}"
    if ending.code == 0:
        return None
    if ending.code == 127:
        return "exit code 127: a shell did not find a command"
    if not spark_seen and launch.kind == "python" and not _has_pyspark(launch):
        python = launch.argv[0]
        return f"{python} has no pyspark: {shlex.quote(python)} -m pip install pyspark"
    if ending.code == 3 and "-XX:+ExitOnOutOfMemoryError" in f"{launch.argv} {launch.env}":
        return "exit code 3: the JVM ended on OutOfMemoryError"
    return None


def _has_pyspark(launch: Launch) -> bool:
    program = "import importlib.util as u, sys; sys.exit(u.find_spec('pyspark') is None)"
    try:
        return (
            subprocess.run(
                [launch.argv[0], "-c", program],
                env=dict(launch.env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=patient(20),
                check=False,
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return True


MIB = 1 << 20

# Words of `java -version` and of unified logging, by which a JVM names its collectors.
COLLECTOR_WORDS = {
    "g1": "G1",
    "parallel": "PS ",
    "serial": "Copy",
    "z": "ZGC",
    "shenandoah": "Shenandoah",
}


def judge(record: Record, launch: Launch, probes: Sequence[Probe], ending: Ending) -> None:
    """Complete the manifest once everything has ended.

    How it ended is there whatever the application's processes wrote into the run.
    """
    manifest = record.manifest
    manifest.state = state(ending, launch.success_code)
    manifest.exit = Exit(
        code=ending.code, signal=ending.signal, reason=reason(ending, launch, spark_seen=True)
    )
    try:
        _complete(record, launch, probes, ending)
    except Exception as error:
        record.doubt("analysis_failed", f"Step close: {type(error).__name__}: {error}.")


def _complete(record: Record, launch: Launch, probes: Sequence[Probe], ending: Ending) -> None:
    manifest = record.manifest
    jvms = processes(record.paths)
    drivers = [jvm for jvm in jvms if jvm.get("role") == "driver"]
    decisions = overlay(record.paths)
    app_ids = list(dict.fromkeys(str(jvm["app_id"]) for jvm in drivers if jvm.get("app_id")))
    copy_eventlogs(record, decisions, app_ids)
    manifest.conf_overlay = decisions
    manifest.results = results(record.paths.iterations)
    if launch.workload_command is not None and not ending.interrupted_by:
        manifest.results = [result_of_command(launch.workload_command, ending.code)]
    manifest.versions.update(_versions(drivers))
    manifest.probes = [reported(probe, record.paths) for probe in probes]
    manifest.probes.append(cost_of_instruments(record))
    manifest.probes += shipped_entries(record.paths)
    manifest.cgroup = cgroup.facts(launch.host.group) or None
    manifest.exit = Exit(
        code=ending.code,
        signal=ending.signal,
        reason=wrong(manifest.results)
        or starved(manifest.cgroup, ending)
        or (None if ending.code == 0 else crashed(_last_words(record.paths.stdout)))
        or (None if ending.interrupted_by else broken(manifest.results))
        or reason(ending, launch, bool(drivers or record.paths.eventlogs())),
    )
    if manifest.state == "finished" and wrong(manifest.results):
        manifest.state = "failed"
    _doubt(record, launch, ending, drivers, app_ids)
    for text in misapplied(manifest.treatment, launch.layout, drivers):
        record.doubt("treatment_not_applied", text)
    for text in overruled(manifest.treatment, record.paths.eventlogs()):
        record.doubt("treatment_not_applied", text)
    asked = any(name.startswith("jvm.") for name in manifest.treatment)
    for text in left_out(decisions):
        record.doubt("treatment_not_applied" if asked else "options_left_out", text)


def _last_words(output: Path, most: int = 64 << 10) -> str:
    try:
        with output.open("rb") as file:
            file.seek(max(0, output.stat().st_size - most))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""  # It went to a terminal.


def missed(cache: Mapping[str, Any]) -> str:
    """Say which state of the page cache was not reached.

    Examples
    --------
    >>> missed({"state": "cold", "resident_ratio": 0.25, "reason": "pages stayed"})
    'asked for a cold page cache, 25.0 % of the files resident: pages stayed'
    """
    ratio = cache.get("resident_ratio")
    found = "" if ratio is None else f", {100 * ratio:.1f} % of the files resident"
    return f"asked for a {cache['state']} page cache{found}: {cache['reason']}"


def cost_of_instruments(record: Record) -> ProbeEntry:
    """Give the CPU time that this process has used since the launch.

    ``own_cpu_marks`` holds [monotonic ns, CPU ns since the launch] at the launch, at each start
    and end of an iteration, and at the end: so the share of a window can be computed.
    """
    record.mark_own_cpu()
    first = record.own_cpu[0][1]
    return ProbeEntry(
        name="launcher",
        asked="launch, wait, progress",
        got="from the launch to the application's end",
        dropped=0,
        own_cpu_ns=record.own_cpu[-1][1] - first,
        own_cpu_marks=[(moment, used - first) for moment, used in record.own_cpu],
    )


def misapplied(
    treatment: Mapping[str, Level], layout: Layout, drivers: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Levels that the observed drivers do not have, as sentences.

    Examples
    --------
    >>> misapplied({"jvm.gc": "g1"}, Layout(), [{"gc_names": ["PS Scavenge", "PS MarkSweep"]}])
    ["jvm.gc=g1, but the driver's collectors are PS Scavenge, PS MarkSweep."]
    """
    wrong = []
    for driver in drivers:
        heap, names = driver.get("max_heap_bytes"), driver.get("gc_names") or []
        asked = layout.heap_bytes
        # A generational collector leaves one survivor space out; Serial and Parallel up to 1/8.
        if (
            asked is not None
            and isinstance(heap, int)
            and not 0.6 * asked <= heap <= 1.02 * asked + 4 * MIB
        ):
            wrong.append(f"jvm.heap={asked // MIB}m, but the driver's heap is {heap // MIB} MiB.")
        if "jvm.gc" in treatment and names:
            word = COLLECTOR_WORDS[str(treatment["jvm.gc"])]
            if not any(word in str(name) for name in names):
                wrong.append(
                    f"jvm.gc={treatment['jvm.gc']}, but the driver's collectors are "
                    f"{', '.join(map(str, names))}."
                )
        wrong += other_java(treatment, driver)
        master = str(driver.get("master") or "")
        if layout.executors is None and layout.tasks and master not in ("", layout.master):
            wrong.append(f"{TASKS}={layout.tasks}, but the master is {master}.")
    return list(dict.fromkeys(wrong))


def other_java(treatment: Mapping[str, Level], driver: Mapping[str, Any]) -> list[str]:
    """Say that a driver ran on another Java than ``jvm.home``, as a sentence; empty if not."""
    home, runs = treatment.get("jvm.home"), driver.get("java_version")
    asked = None if home is None else java_version(str(Path(str(home), "bin/java").expanduser()))
    # What follows a hyphen (-ea, -internal) may be left out of the file that says the version.
    if asked is None or not runs or str(runs).partition("-")[0] == asked.partition("-")[0]:
        return []
    return [f"jvm.home={home} is Java {asked}, but the driver's is {runs}."]


LEFT_OUT = "the application says otherwise: "
"""Begins the agent's reason where it left out options of ours."""


def left_out(decisions: Sequence[Overlay]) -> list[str]:
    """Options that executors run without, as the application has its own, as sentences.

    Examples
    --------
    >>> key, why = "spark.executor.extraJavaOptions", LEFT_OUT + "-XX:+UseZGC"
    >>> left_out([Overlay(key=key, value="-XX:+UseG1GC", how="kept_user", reason=why)])
    ['spark.executor.extraJavaOptions: the application says otherwise: -XX:+UseZGC.']
    """
    return [f"{one.key}: {one.reason}." for one in decisions if LEFT_OUT in (one.reason or "")]


def _doubt(
    record: Record,
    launch: Launch,
    ending: Ending,
    drivers: Sequence[Mapping[str, Any]],
    app_ids: Sequence[str],
) -> None:
    manifest = record.manifest
    if ending.interrupted_by:
        record.doubt("workload_interrupted", asked_by(ending))
    elif state(ending, launch.success_code) == "failed":
        how = f"by {ending.signal}" if ending.signal else f"with code {ending.code}"
        record.doubt("workload_failed", f"It ended {how}. {manifest.exit.reason or ''}".strip())
    if launch.kind == "process" or drivers or record.paths.eventlogs():
        record.doubt_probes()
    else:
        record.doubt("no_spark_jvm", "No SparkContext was seen.")
    for result in manifest.results:
        cache = result.cache or {}
        if cache.get("state") and cache.get("reason"):
            record.doubt("cache_state_missed", f"Iteration {result.iteration}: {missed(cache)}.")
    group = manifest.cgroup or {}
    kills, held = group.get("oom_kills_count", 0), group.get("cpu_throttled_count", 0)
    if kills:
        record.doubt("killed_in_group", f"The kernel killed {kills} process(es).")
    if held:
        seconds = group.get("cpu_throttled_ns", 0) / 1e9
        record.doubt("throttled_in_group", f"{held} times, {seconds:.1f} s in all.")
    if len(app_ids) > 1:
        record.doubt("several_contexts", f"{len(app_ids)} applications: {', '.join(app_ids)}.")
    for result in manifest.results:
        if result.status == "wrong_result":
            record.doubt("wrong_result", f"Iteration {result.iteration}: {result.error}.")


def asked_by(ending: Ending) -> str:
    """Say what asked the application to end, and which processes it could not be sent to.

    Examples
    --------
    >>> asked_by(Ending(0, None, "SIGTERM", 0, 0, unreachable=(7, 9)))
    "Ended by SIGTERM; other users' processes were not reached; as root: kill 7 9."
    """
    others = " ".join(map(str, ending.unreachable))
    kept = f"; other users' processes were not reached; as root: kill {others}" if others else ""
    return f"Ended by {ending.interrupted_by}{kept}."


def _versions(drivers: Sequence[Mapping[str, Any]]) -> dict[str, str | None]:
    if not drivers:
        return {"spark": None, "java": None}
    first = drivers[0]
    return {
        "spark": first.get("spark_version"),
        "java": first.get("java_version"),
        "jvm": first.get("jvm"),
    }
