"""Signals that a waiting main thread would not hear."""

from __future__ import annotations

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
