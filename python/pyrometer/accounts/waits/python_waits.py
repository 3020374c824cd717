"""Tasks that wait for their Python workers: a wait class of its own, by the Java stack.

The frame nearest the leaf that is neither the JDK's nor a library's says what a thread waits for:
if it is one of Spark's that exchange rows with Python workers, or start them, the thread waits for
these, whatever the kernel calls it (a socket, a pipe, a lock). A task thread that reads its input
to hand it to a worker has a reader's frame nearer the leaf, and keeps its class.
"""

from __future__ import annotations

from pyrometer.window.scope import Scope

PYTHON_WORKERS = "python_workers"
"""Wait class: the answer of a Python worker."""
UNCLASSIFIED = "unclassified"
_BRIDGE = (
    r"^org\.apache\.spark\.((sql\.execution\.python|api\.python)\."
    r"|SparkEnv\$?\.(create|destroy|release)PythonWorker)"
)
# How a thread waits, not for what: the JDK, the loops over iterators, Arrow's own reader.
_LIBRARY = (
    r"^(java|javax|jdk|sun|com\.sun|scala|io\.netty|org\.apache\.arrow|org\.sparkproject)\."
    r"|^org\.apache\.spark\.(util\.\w*Utils|sql\.execution\.arrow)\b"
)
_MAY_BE = ("helper", "network", "block_io", "lock", "idle", UNCLASSIFIED)


def define_python_waits(scope: Scope) -> None:
    """Define ``python_wait_stacks``: Java stacks of waits for Python workers."""
    if "python_wait_stacks" in scope.tables.defined:
        return
    scope.tables.define(
        "python_wait_stacks",
        "WITH mine AS (SELECT stack_id, unnest(frame_ids) AS frame_id,"
        "   generate_subscripts(frame_ids, 1) AS i FROM stacks WHERE stack_id IN"
        "   (SELECT DISTINCT java_stack FROM samples"
        f"    WHERE event IN ('wall', 'state') AND role = 'task' AND wait_class IN {_MAY_BE})),"
        " named AS (SELECT frame_id,"
        f"   regexp_matches(class_name || '.' || coalesce(method, ''), '{_BRIDGE}') AS bridge"
        "   FROM frames"
        "   WHERE frame_id IN (SELECT frame_id FROM mine) AND class_name IS NOT NULL"
        f"   AND NOT regexp_matches(class_name, '{_LIBRARY}'))"
        " SELECT stack_id FROM mine JOIN named USING (frame_id)"
        " GROUP BY stack_id HAVING arg_max(bridge, i)",
    )


def wait_class(sample: str) -> str:
    """Give SQL for the wait class of a row of samples, under this alias.

    Needs ``python_wait_stacks``.
    """
    known = f"coalesce({sample}.wait_class, '{UNCLASSIFIED}')"
    return (
        f"CASE WHEN {known} IN {_MAY_BE} AND {sample}.java_stack IN"
        f" (SELECT stack_id FROM python_wait_stacks) THEN '{PYTHON_WORKERS}' ELSE {known} END"
    )
