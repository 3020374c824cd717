"""The probe against programs of known cost, and through everything that may happen to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.ipc
import pytest
from tests.support import needs

from pyrometer import _artifacts, _core
from pyrometer.collect.probes.base import read_object
from pyrometer.collect.probes.os import OsProbe, capabilities
from pyrometer.store.paths import RunPaths

ROOT = Path(__file__).parents[3]
BURNER = ROOT / "tests" / "support" / "burner.py"
SLEEPER = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    found = RunPaths(tmp_path)
    found.raw.mkdir()
    found.tables.mkdir()
    return found


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(SLEEPER)
    yield process
    process.kill()
    process.wait()


def wait_until(condition: Any, what: str, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"{what}: not within {seconds} s"
        time.sleep(0.02)


def report_of(paths: RunPaths) -> dict[str, Any]:
    (file,) = paths.probe_reports()
    found = read_object(file)
    assert found is not None
    return found


def ingest(paths: RunPaths) -> dict[str, Any]:
    streams = [str(path) for path in paths.probe_streams()]
    report: dict[str, Any] = json.loads(_core.ingest_probe(streams, str(paths.tables)))
    return report


def query(paths: RunPaths, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for table in ("thread_counters", "os_series"):
            file = paths.tables / f"{table}.parquet"
            connection.execute(f"CREATE VIEW {table} AS FROM '{file}'")
        return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def burned(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunPaths, int, dict[str, Any]]:
    """One run of the program of known cost: its run directory, pid, and what the kernel charged."""
    paths = RunPaths(tmp_path_factory.mktemp("burned"))
    paths.raw.mkdir()
    paths.tables.mkdir()
    command = [sys.executable, str(BURNER), "0.5", "0.3", "0.01", "0.4"]
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    probe = OsProbe(host="here")
    probe.start(paths, program.pid)
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(b"\n")
    program.stdin.flush()
    charged = json.loads(program.stdout.readline())
    # Not waited for yet: the probe takes its last reading of a zombie.
    wait_until(lambda: report_of(paths)["state"] == "finished", "the probe ends by itself")
    program.wait()
    probe.stop()
    entry = probe.report(paths)
    # Where the best tier is refused, check and report both say so.
    assert (entry.reason is None) == (probe.check() == [])
    assert entry.dropped == 0
    assert ingest(paths)["doubts"] == []
    return paths, program.pid, charged


def test_cpu_of_a_process_is_the_kernels(burned: tuple[RunPaths, int, dict[str, Any]]) -> None:
    paths, pid, charged = burned
    sql = "SELECT max(value) FROM os_series WHERE scope = 'process/{}' AND name = 'cpu_ns'"
    ((process_ns,),) = query(paths, sql.format(pid))
    # What comes after the program asked the kernel is the interpreter's end.
    assert process_ns >= charged["process_ns"] - 1_000_000
    assert process_ns <= 1.05 * charged["process_ns"] + 100_000_000
    ((child_ns,),) = query(paths, sql.format(charged["child_pid"]))
    assert child_ns == pytest.approx(charged["child_ns"], rel=0.1)


def test_cpu_of_threads_is_the_kernels(burned: tuple[RunPaths, int, dict[str, Any]]) -> None:
    paths, pid, charged = burned
    assert len(charged["helpers_ns"]) == 2
    for tid, helper_ns in charged["helpers_ns"].items():
        rows = query(
            paths,
            "SELECT max(run_ns), bool_or(first), bool_or(last), count(*) FROM thread_counters"
            f" WHERE pid = {pid} AND tid = {tid}",
        )
        run_ns, first, last, _ = rows[0]
        assert first
        assert last
        assert run_ns == pytest.approx(helper_ns, rel=0.05)


def test_exited_threads_are_what_the_process_has_beyond_its_threads(
    burned: tuple[RunPaths, int, dict[str, Any]],
) -> None:
    paths, pid, charged = burned
    ((threads_ns, threads),) = query(
        paths,
        "SELECT sum(run), count(*) FROM (SELECT max(run_ns) AS run FROM thread_counters"
        f" WHERE pid = {pid} GROUP BY tid)",
    )
    lost = charged["process_ns"] - threads_ns
    # Ten threads of 10 ms lie between readings or partly so; two helpers and the main one do not.
    assert threads >= 3
    assert -150_000_000 <= lost <= 200_000_000


def test_rows_of_a_thread_grow_and_end(burned: tuple[RunPaths, int, dict[str, Any]]) -> None:
    paths, _, _ = burned
    falling = query(
        paths,
        "SELECT * FROM (SELECT run_ns - lag(run_ns) OVER w AS a, run_delay_ns - lag(run_delay_ns)"
        " OVER w AS b, t_mono_ns - lag(t_mono_ns) OVER w AS c FROM thread_counters"
        " WINDOW w AS (PARTITION BY pid, tid ORDER BY t_mono_ns)) WHERE a < 0 OR b < 0 OR c <= 0",
    )
    assert falling == []
    unclosed = query(
        paths,
        "SELECT pid, tid FROM thread_counters GROUP BY ALL"
        " HAVING count_if(first) <> 1 OR count_if(last) <> 1",
    )
    assert unclosed == []


def test_every_series_is_declared(burned: tuple[RunPaths, int, dict[str, Any]]) -> None:
    paths, _, _ = burned
    schema = tomllib.loads((ROOT / "schema" / "series.toml").read_text())
    found = query(paths, "SELECT DISTINCT split_part(scope, '/', 1), name FROM os_series")
    assert {(scope, name) for scope, name in found if name not in schema[scope]["series"]} == set()
    present = {scope for scope, _ in found}
    assert {"host", "cpu", "process", "probe"} <= present
    process = {name for scope, name in found if scope == "process"}
    assert {"cpu_ns", "user_ns", "rss_bytes", "rchar_bytes", "start_time_mono_ns"} <= process


def test_host_cpu_modes_add_up_to_the_window(
    burned: tuple[RunPaths, int, dict[str, Any]],
) -> None:
    paths, _, _ = burned
    ((total, wall),) = query(
        paths,
        "SELECT sum(grown), max(span) FROM (SELECT max(value) - min(value) AS grown,"
        " max(t_mono_ns) - min(t_mono_ns) AS span FROM os_series WHERE scope = 'host'"
        " AND name IN ('cpu_user_ns', 'cpu_nice_ns', 'cpu_system_ns', 'cpu_idle_ns',"
        " 'cpu_iowait_ns', 'cpu_irq_ns', 'cpu_softirq_ns', 'cpu_steal_ns') GROUP BY name)",
    )
    # Guests miss ticks.
    assert 0.7 <= total / (wall * (os.cpu_count() or 1)) <= 1.2


def test_all_threads_of_the_machine_are_the_control_groups_count(
    burned: tuple[RunPaths, int, dict[str, Any]],
) -> None:
    paths, pid, _ = burned
    seen = dict(
        query(
            paths,
            "SELECT name, max(value) - min(value) FROM os_series"
            " WHERE scope = 'host' AND name LIKE 'cpu_%' GROUP BY name",
        )
    )
    root = Path("/sys/fs/cgroup/cpuacct/cpuacct.usage")
    assert ("cpu_threads_ns" in seen) == root.exists()
    if root.exists():
        ticks = sum(seen[f"cpu_{mode}_ns"] for mode in ("user", "nice", "system"))
        # Ticks of interrupts and stolen ones may be the threads' here, and guests miss ticks.
        others = sum(seen[f"cpu_{mode}_ns"] for mode in ("steal", "irq", "softirq"))
        assert seen["cpu_threads_ns"] >= 0.7 * ticks - 2e8
        assert seen["cpu_threads_ns"] <= 1.3 * (ticks + others) + 3e8
        ((own,),) = query(
            paths,
            f"SELECT max(value) FROM os_series WHERE scope = 'process/{pid}' AND name = 'cpu_ns'",
        )
        assert seen["cpu_threads_ns"] > 0.8 * own


def test_the_report_accounts_for_the_probe(
    burned: tuple[RunPaths, int, dict[str, Any]],
) -> None:
    paths, pid, charged = burned
    report = report_of(paths)
    assert report["end_reason"] == "processes ended"
    assert {p["pid"]: p["why"] for p in report["processes"]} == {
        pid: "root",
        charged["child_pid"]: "descendant",
    }
    assert all(p["gone"] for p in report["processes"])
    assert report["late"]["count"] == report["passes_count"] > 5
    assert report["late"]["p95_ns"] <= report["late"]["max_ns"]
    assert 0 < report["own_cpu_ns"] < charged["process_ns"]
    monos = [pair["mono_ns"] for pair in report["clock_pairs"]]
    assert monos == sorted(monos)
    assert len(monos) >= 2


def test_a_killed_probe_loses_a_second_and_a_period_at_most(
    paths: RunPaths, sleeper: subprocess.Popen[bytes]
) -> None:
    probe = OsProbe(host="here", hz=100)
    probe.start(paths, sleeper.pid)
    (pid,) = probe.processes()
    wait_until(lambda: report_of(paths)["passes_count"] > 100, "passes")
    # Rows were written with that report: by now there are more, in memory.
    time.sleep(0.7)
    killed_ns = time.monotonic_ns()
    os.kill(pid, signal.SIGKILL)
    probe.stop()
    assert sleeper.poll() is None
    entry = probe.report(paths)
    assert entry.reason is not None
    assert "killed" in entry.reason
    found = ingest(paths)
    assert found["tables"]["os_series"] > 0
    ((last_ns,),) = query(paths, "SELECT max(t_mono_ns) FROM os_series")
    # A third of a second is for a machine that is busy.
    assert killed_ns - last_ns < 1_010_000_000 + 300_000_000
    assert {doubt["code"] for doubt in found["doubts"]} == {"probe_stream_cut"}
    assert all(doubt["byte_offset"] > 0 for doubt in found["doubts"])


def test_stop_takes_a_last_reading_and_closes_the_streams(
    paths: RunPaths, sleeper: subprocess.Popen[bytes]
) -> None:
    probe = OsProbe(host="here")
    probe.start(paths, sleeper.pid)
    probe.stop()
    assert sleeper.poll() is None
    told = report_of(paths)
    assert probe.report(paths).reason == told["tier_reason"]  # if anything, a better tier's absence
    assert told["end_reason"] == "asked to stop"
    assert ingest(paths)["doubts"] == []
    assert [file.name for file in paths.raw.glob("*.log")] == []


def test_ctrl_c_and_hang_up_do_not_reach_the_probe(
    paths: RunPaths, sleeper: subprocess.Popen[bytes]
) -> None:
    probe = OsProbe(host="here")
    probe.start(paths, sleeper.pid)
    (pid,) = probe.processes()
    assert os.getsid(pid) == pid
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        os.kill(pid, number)
    before = report_of(paths)["passes_count"]
    wait_until(lambda: report_of(paths)["passes_count"] > before, "further passes")
    probe.stop()


def test_the_probe_ends_when_its_folder_is_removed(
    paths: RunPaths, sleeper: subprocess.Popen[bytes]
) -> None:
    probe = OsProbe(host="here")
    probe.start(paths, sleeper.pid)
    (pid,) = probe.processes()
    for file in paths.raw.iterdir():
        file.unlink()
    paths.raw.rmdir()
    assert os.waitpid(pid, 0)[1] == 0
    assert sleeper.poll() is None


def test_a_probe_whose_keeper_ended_leaves_what_another_goes_on_with(
    paths: RunPaths, sleeper: subprocess.Popen[bytes]
) -> None:
    keeper = subprocess.Popen(SLEEPER)
    slots = paths.raw / f"context-{sleeper.pid}"
    slots.write_bytes(b"")
    program = paths.root / "7"
    program.symlink_to(_artifacts.probe_binary())
    words = [program, "record", f"--root-pid={sleeper.pid}", f"--raw-dir={paths.raw}", "--host=h"]
    first = subprocess.Popen([*words, f"--keeper-pid={keeper.pid}"])
    wait_until((paths.raw / "probe-h.report.json").exists, "a report")
    assert Path(f"/proc/{first.pid}/comm").read_text() == "pyro-probe\n"
    keeper.kill()
    keeper.wait()
    assert first.wait() == 0
    assert slots.exists()
    second = subprocess.Popen([*words, "--part=2"])
    wait_until((paths.raw / "probe-h.2.report.json").exists, "another report")
    sleeper.kill()
    sleeper.wait()
    assert second.wait() == 0
    assert not slots.exists()
    names = {file.name for file in paths.probe_streams()}
    assert names >= {"probe-h-threads.arrows", "probe-h-threads.2.arrows"}
    assert ingest(paths)["doubts"] == []
    passes = "SELECT count(*) FROM os_series WHERE name = 'passes_count' AND value = 1"
    assert query(paths, passes) == [(2,)]


def test_processes_named_by_plugin_files_are_followed(
    paths: RunPaths, sleeper: subprocess.Popen[bytes]
) -> None:
    stranger, elsewhere = subprocess.Popen(SLEEPER), subprocess.Popen(SLEEPER)
    hosts = {stranger.pid: socket.gethostname(), elsewhere.pid: "another-host"}
    for pid, host in hosts.items():
        record = json.dumps({"k": "process", "pid": pid, "host": host})
        (paths.raw / f"plugin-executor-1-{pid}.ndjson").write_text(f"{record}\n")
    probe = OsProbe(host="here")
    probe.start(paths, sleeper.pid)
    try:
        wait_until(
            lambda: any(p["why"] == "plugin" for p in report_of(paths)["processes"]), "following"
        )
    finally:
        for process in (stranger, elsewhere):
            process.kill()
            process.wait()
    probe.stop()
    named = {p["pid"]: p["gone"] for p in report_of(paths)["processes"]}
    assert named[stranger.pid]
    assert elsewhere.pid not in named, "a number of another host"
    found = report_of(paths)["named"]
    assert found == {"elsewhere_count": 1, "ended_count": 0, "unsaid_count": 0}
    assert not named[sleeper.pid]


def test_more_threads_than_descriptors_are_read_all_the_same(
    paths: RunPaths, sleeper: subprocess.Popen[bytes]
) -> None:
    command = [str(_artifacts.probe_binary()), "record", "--root-pid", str(sleeper.pid)]
    command += ["--raw-dir", str(paths.raw), "--host", "here", "--max-open", "3", "--tier", "T2"]
    probe = subprocess.Popen(command)
    wait_until(lambda: paths.probe_reports(), "the report")
    probe.terminate()
    assert probe.wait() == 0
    report = report_of(paths)
    assert report["open_read_close_count"] > 0
    assert report["kept_open_count"] <= 3
    assert ingest(paths)["tables"]["thread_counters"] > 0


def ticks_of(pid: int) -> int:
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().split()[13:15]))


def test_a_full_disk_stops_the_streams_not_the_probe(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "none", str(small)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        needs.machine_lacks("the right to mount a small file system")
    try:
        paths = RunPaths(small)
        paths.raw.mkdir()
        probe = OsProbe(host="here", hz=200)
        probe.start(paths, sleeper.pid)
        with contextlib.suppress(OSError):  # The streams may have filled it already.
            (small / "ballast").write_bytes(b"x" * 60_000)
        wait_until(lambda: report_of(paths)["dropped_rows_count"] > 0, "rows dropped", 60)
        (pid,) = probe.processes()
        began, before = time.monotonic(), ticks_of(pid)
        time.sleep(2)
        spun = (ticks_of(pid) - before) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - began)
        probe.stop()
        entry = probe.report(paths)
        assert entry.dropped
        assert "No space left" in (entry.reason or "")
        assert spun < 0.7, "share of a CPU: it does not spin"
        # All can be read; one whose first rows came when the disk was full has none.
        rows = [
            sum(batch.num_rows for batch in pa.ipc.open_stream(file.read_bytes()))
            for file in paths.probe_streams()
        ]
        assert sum(rows) > 0
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["record", "--root-pid", "999999999", "--raw-dir", ".", "--host", "h"], 1, "not exist"),
        (["record", "--root-pid", "1", "--raw-dir", "/no/such", "--host", "h"], 1, "/no/such"),
        (["record", "--root-pid", "1"], 2, "--raw-dir, --host are missing"),
        ([], 2, "a command is missing"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], code: int, message: str, tmp_path: Path
) -> None:
    command = [str(_artifacts.probe_binary()), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == code
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_has_read_enough_is_no_failure() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [str(_artifacts.probe_binary()), "tiers", "--json"]
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_that_is_gone_makes_a_reason_not_an_error(paths: RunPaths) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    probe = OsProbe(host="here")
    probe.start(paths, gone.pid)
    probe.stop()
    entry = probe.report(paths)
    assert entry.got is None
    assert "has ended" in (entry.reason or "")


def test_the_binary_is_static_and_of_our_version() -> None:
    linked = subprocess.run(["ldd", _artifacts.probe_binary()], capture_output=True, text=True)
    assert "statically linked" in linked.stdout or "not a dynamic executable" in linked.stderr
    tiers = [row.tier for row in capabilities() if row.name == "os"]
    assert tiers == ["T0", "T1", "T2", "T3", "T4"]
    assert not any(problem.fatal for problem in OsProbe().check())
    assert OsProbe(tier="T2").check() == []
