"""What holds for all tests: Ctrl-C reaches what they start, and a slow machine fails none."""

from __future__ import annotations

import signal

from hypothesis import settings

# A stall of the machine is no defect of what is tested: only the whole test has a limit of time.
settings.register_profile("pyrometer", deadline=None)
settings.load_profile("pyrometer")

# A shell that began them may ignore it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
