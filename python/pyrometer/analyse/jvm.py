"""The JVM's own work in the window, as one value."""

from __future__ import annotations

from pyrometer.analyse.heap_flow import collections
from pyrometer.analyse.jit import code_cache, jit
from pyrometer.analyse.model import JvmWork
from pyrometer.analyse.safepoints import safepoints
from pyrometer.analyse.scope import Scope


def jvm(scope: Scope) -> JvmWork:
    """Account for compiling, collecting and stopping.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_threads``.
    """
    return JvmWork(
        jit=jit(scope),
        code_cache=code_cache(scope),
        gc=collections(scope),
        safepoints=safepoints(scope),
    )
