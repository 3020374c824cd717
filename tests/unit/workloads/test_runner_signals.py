"""Signals that a waiting main thread would not hear."""

from __future__ import annotations

import signal
import subprocess
import sys

SCRIPT = """
import signal, socket, threading, time
from pyrometer.workloads import runner
runner._on_signals(runner._interrupt)
runner.insist()
def taken_by_another():
    time.sleep(0.3)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
ours, theirs = socket.socketpair()
try:
    threading.Thread(target=taken_by_another).start()
    ours.recv(1)
except runner.Interrupted as interrupted:
    print("heard", interrupted.number)
"""


def test_a_signal_that_another_thread_took_ends_the_main_thread_s_waiting():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "heard 15\n", done.stderr


IGNORING = """
import os, signal
from pyrometer.workloads import runner
def interrupted(number, frame):
    print("heard", number, flush=True)
runner._on_signals(interrupted)
os.kill(os.getpid(), signal.SIGINT)
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_what_it_was_started_to_ignore_stays_ignored():
    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    done = subprocess.run(
        [sys.executable, "-c", IGNORING],
        capture_output=True, text=True, timeout=60, check=False, preexec_fn=ignore,
    )  # fmt: skip
    assert done.stdout == "heard 15\n", done.stderr
