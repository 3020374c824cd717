"""The process that runs a workload: ``python -m pyrometer.workloads.runner raw/workload.json``.

It starts a Spark session (unless the workload's engine is another), runs the iterations and
writes a line to ``iterations.ndjson`` at the start and the end of each, so that the record is
complete up to whatever ends it. Only the standard library, pyspark and the workload's own module
are imported.

Exit codes: 0 all iterations right; 1 the program failed; 2 the specification cannot be read;
3 a wrong result; 128 + n ended by signal n.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from pyrometer.core.errors import PyrometerError, UsageError, WorkloadError
from pyrometer.workloads import canary, page_cache
from pyrometer.workloads.barrier import Barrier, barrier
from pyrometer.workloads.contract import PYTHON_SUFFIX, Workload, load
from pyrometer.workloads.iterations import (
    ITERATIONS_FILE,
    IterationLog,
    Turn,
    failures,
    from_json,
    say,
    unlike,
)
from pyrometer.workloads.values import IterationResult, Mismatch

ITERATION_PROPERTY = "pyrometer.iteration"
WARMUP_PROPERTY = "pyrometer.warmup"

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_WRONG_RESULT = 3
EXIT_SIGNAL = 128


# Set when a signal was handled; until then it is sent again after this many seconds.
_HEARD = threading.Event()
_PATIENCE_S = 0.5


class Interrupted(KeyboardInterrupt):
    """A signal asked to end; no `Exception`, so that nothing between swallows it.

    On a `KeyboardInterrupt` alone Py4J gives up the connection on which it waits for an answer. On
    any other, what Python asks of the JVM next (`SCCallSiteSync.__exit__`, `SparkContext.stop`) is
    sent over that connection, and waits until the job has ended.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class WrongResultError(Exception):
    """An iteration gave a result other than the known one."""


class Runner:
    """Runs the iterations of one trial.

    Parameters
    ----------
    workload : Workload
        What runs.
    turns : sequence of Turn
        Treatments with their data: one, or several that take turns.
    log : IterationLog
        Gets the starts and ends.
    canary_command : sequence of str
        Command that measures the machine before each iteration; empty: none.
    joined : Barrier or None
        Barrier with the other runners of a co-run.
    """

    def __init__(
        self,
        workload: Workload,
        turns: Sequence[Turn],
        log: IterationLog,
        canary_command: Sequence[str] = (),
        joined: Barrier | None = None,
    ) -> None:
        self._workload = workload
        self._turns = turns
        self._log = log
        self._canary = canary_command
        self._barrier = joined

    def run(self, spark: Any, iterations: int, warmup: int) -> None:
        """Set up, then run `warmup` iterations and `iterations` measured ones, numbered from 0.

        Raises
        ------
        WrongResultError
            At the first iteration with a wrong result.
        """
        try:
            for turn in self._turns:
                turn.begin(self._workload, spark)
            whose = {number: turn for turn in self._turns for number in turn.positions}
            for number in range(warmup + iterations):
                turn = whose.get(number, self._turns[0])
                if self._barrier is not None and number == warmup:
                    self._barrier.begin(lambda: self._load(self._turns[0]))
                self._iterate(turn, number, warmup=number < warmup)
            if self._barrier is not None:
                self._barrier.end(lambda: self._load(self._turns[0]))
        finally:
            if self._barrier is not None:
                self._barrier.leave()
            for turn in self._turns:
                self._workload.teardown(turn.prepared, turn.spec)

    def _iterate(self, turn: Turn, number: int, *, warmup: bool) -> None:
        spark = turn.session
        _mark(spark, str(number), "true" if warmup else "false")
        # The canary runs first: its writes may evict pages.
        seen: dict[str, Any] = {"canary": canary.measure(self._canary)} if self._canary else {}
        if turn.levels:
            seen["levels"] = dict(turn.levels)
        cache = page_cache.bring(turn.cache_state, turn.files)
        if self._barrier is not None:
            self._barrier.wait(number)
        self._log.write("start", number, warmup, cache=cache, **seen)
        try:
            result = self._workload.run(spark, turn.prepared, turn.spec)
        except BaseException as error:
            self._broken(number, warmup, error)
            raise
        told: dict[str, Any] = _clocks(getattr(result, "ended_mono_ns", 0))
        try:
            _mark(spark, None, None)
            told.update(_told(result))
            failed, mismatch = failures(result), self._check(turn, result)
        except BaseException as error:
            self._broken(number, warmup, error, **told)
            raise
        status = "failed" if failed else "wrong_result" if mismatch else "ok"
        wrong = "; ".join(str(what) for what in (failed, mismatch) if what) or None
        self._end(number, warmup, status=status, error=wrong, **told)
        if mismatch:
            raise WrongResultError(f"iteration {number}: {mismatch}")
        if failed:
            raise WorkloadError(failed)

    def _check(self, turn: Turn, result: IterationResult) -> Mismatch | None:
        """Compare a result with what is known, and with the first iteration's."""
        mismatch = self._workload.verify(result, turn.prepared, turn.spec)
        if mismatch is None and self._workload.repeats and not failures(result):
            if turn.first is None:
                turn.first = result
            mismatch = unlike(turn.first, result)
        return mismatch

    def _load(self, turn: Turn) -> None:
        """Run the workload once, outside any iteration."""
        page_cache.bring(turn.cache_state, turn.files)
        failed = failures(self._workload.run(turn.session, turn.prepared, turn.spec))
        if failed:
            raise WorkloadError(failed)

    def _broken(self, number: int, warmup: bool, error: BaseException, **told: Any) -> None:
        """Write the end of an iteration in which, or in whose check, something was raised."""
        status = "interrupted" if isinstance(error, Interrupted) else "failed"
        cause = f"{type(error).__name__}: {error}"
        self._end(number, warmup, status=status, error=cause[:2000], **told)

    def _end(self, number: int, warmup: bool, **more: Any) -> None:
        self._log.write("end", number, warmup, **{"rows": None, "checksum": None, **more})


def _clocks(ended_mono_ns: int) -> dict[str, int]:
    """When an iteration ended, on both clocks: as its result says, or now."""
    now = {"mono_ns": time.monotonic_ns(), "wall_ns": time.time_ns()}
    ago = now["mono_ns"] - ended_mono_ns if ended_mono_ns else 0
    return {clock: moment - ago for clock, moment in now.items()}


def _told(result: IterationResult) -> dict[str, Any]:
    """Give what is written of a result."""
    return {
        "rows": result.rows,
        "checksum": result.checksum,
        "counters": dict(result.counters),
        "parts": [part.record() for part in result.parts],
    }


def _mark(spark: Any, iteration: str | None, warmup: str | None) -> None:
    if spark is not None:
        spark.sparkContext.setLocalProperty(ITERATION_PROPERTY, iteration)
        spark.sparkContext.setLocalProperty(WARMUP_PROPERTY, warmup)


def start_session(conf: dict[str, str]) -> Any:
    """Start Spark in this process's own JVM with `conf`; ``SPARK_SUBMIT_OPTS`` reaches it."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    ours = _children()
    try:
        return builder.getOrCreate()
    except BaseException:
        _terminate(_children() - ours)
        raise


def pickle_by_value(workload: Workload) -> None:
    """Send what a workload's own file defines to Spark's Python workers, which cannot import it."""
    module = sys.modules[type(workload).__module__]
    if module.__name__.endswith(PYTHON_SUFFIX):
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(module)


def main(arguments: list[str]) -> int:
    """Run what the specification file says; returns the exit code."""
    _on_signals(_interrupt)
    try:
        path = Path(arguments[0]).absolute()
        value = json.loads(path.read_text(encoding="utf-8"))
        turns = [from_json(one) for one in value.get("turns") or [value]]
        spec, canary_command = turns[0].spec, value.get("canary") or ()
        joined = barrier(value.get("meeting"))
        conf, iterations, warmup = value["spark_conf"], value["iterations"], value["warmup"]
        workload = load(spec.entry)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, UsageError) as error:
        say(f"no runnable specification in {arguments}: {type(error).__name__}: {error}")
        return EXIT_USAGE
    log = IterationLog(path.with_name(ITERATIONS_FILE))
    runner = Runner(workload, turns, log, canary_command, joined)
    spark = None
    try:
        spark = start_session(conf) if workload.engine == "spark" else None
        _on_signals(_interrupt)  # pyspark has set its own handler
        if spark is not None:
            pickle_by_value(workload)
        runner.run(spark, iterations, warmup)
    except Interrupted as interrupted:
        say(f"ended by {interrupted}")
        return EXIT_SIGNAL + interrupted.number
    except WrongResultError as wrong:
        say(f"WRONG RESULT of {spec.name}, {wrong}")
        return EXIT_WRONG_RESULT
    except PyrometerError as error:
        say(f"{spec.name} failed: {error.message}" + (f"; {error.remedy}" * bool(error.remedy)))
        return EXIT_FAILED
    except Exception:
        traceback.print_exc()
        say(f"{spec.name} failed")
        return EXIT_FAILED
    finally:
        _stop(spark)
    return 0


def _stop(spark: Any) -> None:
    # A second signal while Spark stops means: now. The JVM ends with us, its stdin closes.
    _on_signals(lambda number, frame: os._exit(EXIT_SIGNAL + number))
    if spark is None:
        return
    try:
        spark.stop()
    except Exception as error:
        say(f"Spark did not stop cleanly: {type(error).__name__}: {error}")


def _children() -> set[int]:
    """Return the processes that this thread started."""
    try:
        return {int(pid) for pid in Path("/proc/thread-self/children").read_text().split()}
    except OSError:
        return set()


def _terminate(pids: set[int]) -> None:
    """End a JVM that is abandoned during its start: it does not read its stdin yet."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)


def _on_signals(handler: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        # What whoever started us has us ignore (a shell's background, nohup) stays ignored.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _HEARD.set()
    raise Interrupted(number)


def insist() -> None:
    """Make the main thread handle a signal that arrives just before it starts to wait.

    Python checks for signals between its instructions. A signal that arrives as the thread enters a
    system call, or that another thread receives, is handled when that call ends: for an answer of
    Spark, after the job. So the thread is signalled again, which interrupts its wait.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    main_thread = threading.main_thread().ident or 0

    def signal_again() -> None:
        while number := os.read(reading, 1):
            time.sleep(_PATIENCE_S)
            if number[0] in (signal.SIGINT, signal.SIGTERM) and not _HEARD.is_set():
                signal.pthread_kill(main_thread, number[0])

    threading.Thread(target=signal_again, name="pyrometer-signals", daemon=True).start()


if __name__ == "__main__":
    insist()
    sys.exit(main(sys.argv[1:]))
