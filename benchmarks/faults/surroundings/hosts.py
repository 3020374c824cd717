"""Executors on this machine, and two hosts of a standalone cluster, each with a name of its own."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pyrometer.collect.launch.cluster import alive_workers, master_command, worker_command
from pyrometer.workloads.spark import find_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADDRESS, PORT, WEB_PORT = "127.0.0.1", 7177, 7178
WORKERS = ("127.0.0.2", "127.0.0.3")
"""Each is a host to Spark: names of this machine that differ."""
MASTER = f"spark://{ADDRESS}:{PORT}"
READY_S = 60.0


def start(folder: Path) -> None:
    """Start a master and two workers of one slot until this process ends.

    Raises
    ------
    OSError
        If they do not start.
    """
    with socket.socket() as probe:
        if not probe.connect_ex((ADDRESS, PORT)):
            raise OSError(f"port {PORT} is taken: end what listens there, maybe another such run")
    folder.mkdir(parents=True, exist_ok=True)
    script = str(find_spark().home / "bin" / "spark-class")
    _launch(master_command(script, ADDRESS, PORT, WEB_PORT), ADDRESS, folder / "master.log")
    _until(lambda: alive_workers(ADDRESS, WEB_PORT) is not None, "the master", folder)
    for address in WORKERS:
        command = worker_command(
            script, address, MASTER, cores=1, memory_mib=1024, work=folder / address
        )
        _launch(command, address, folder / f"{address}.log")
    _until(lambda: alive_workers(ADDRESS, WEB_PORT) == len(WORKERS), "its workers", folder)


def narrow(rate: str) -> None:
    """Let each of the two hosts send no more than a rate until this process ends.

    Raises
    ------
    OSError
        If this user may not, or the kernel cannot.
    """
    _tc("qdisc", "add", "dev", "lo", "root", "handle", "1:", "htb")
    atexit.register(_tc, "qdisc", "del", "dev", "lo", "root")
    for number, address in enumerate(WORKERS, 1):
        _tc("class", "add", "dev", "lo", "parent", "1:", "classid", f"1:{number}", "htb",
            "rate", rate, "burst", "128k")  # fmt: skip
        _tc("filter", "add", "dev", "lo", "parent", "1:", "protocol", "ip", "u32",
            "match", "ip", "src", f"{address}/32", "flowid", f"1:{number}")  # fmt: skip


def _tc(*words: str) -> None:
    done = subprocess.run(["tc", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"tc {' '.join(words)}: {done.stderr.strip()}")


def _launch(command: list[str], address: str, log: Path) -> None:
    env = {**os.environ, "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": address}
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env)
    atexit.register(process.terminate)


def _until(ready: Callable[[], bool], what: str, logs: Path) -> None:
    deadline = time.monotonic() + READY_S
    while not ready():
        if time.monotonic() > deadline:
            raise OSError(f"{what} did not start within {READY_S:.0f} s: see {logs}")
        time.sleep(0.1)


def executors(spark: SparkSession) -> dict[str, int]:
    """Give the process numbers of the application's executors, by their names."""
    app, found = spark.sparkContext.applicationId, {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has ended
            continue
        if "--executor-id" in words and app in words:
            found[words[words.index("--executor-id") + 1]] = int(path.parent.name)
    return found


def end_one(spark: SparkSession) -> None:
    """Kill an executor, as the kernel does where memory is short."""
    running = executors(spark)
    os.kill(running[min(running)], signal.SIGKILL)


def folders(spark: SparkSession) -> list[Path]:
    """Give the folders in which executors keep the outputs of tasks."""
    found = []
    for pid in executors(spark).values():
        words = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
        own = next(one for one in words if one.startswith("SPARK_EXECUTOR_DIRS="))
        found.extend(map(Path, own.partition("=")[2].split(os.pathsep)))
    return found


def outputs(of: Sequence[Path]) -> set[Path]:
    """Give the files of outputs of tasks for a shuffle."""
    return {path for folder in of for path in folder.glob("blockmgr-*/*/shuffle_*.data")}


@contextmanager
def meanwhile(act: Callable[[], None] | None) -> Iterator[None]:
    """Do something else while the program waits for its jobs."""
    thread = threading.Thread(target=act) if act else None
    if thread:
        thread.start()
    yield
    if thread:
        thread.join()


def until(ready: Callable[[], bool]) -> None:
    """Wait until something is so, at most a while."""
    deadline = time.monotonic() + READY_S
    while not ready() and time.monotonic() < deadline:
        time.sleep(0.02)
