"""Names of frames: what one run or one JVM handed out is no part of them, and which only lead on.

A *runner* is a frame that stands below every stack of its kind and decides nothing: the loop of a
thread pool, Spark's task runner, PySpark's worker loop, an iterator that calls the next one. The
viewer folds the runners a stack begins with; the terminal leaves them out of its list by total.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Rules = Sequence[tuple[str, str]]

# Pattern and replacement in RE2's syntax, in this order: what a JVM hands out.
CLASS_RULES: Rules = (
    (r"[/.+]0x[0-9a-fA-F]+", ""),  # address behind the name of a hidden class
    (r"\$\$Lambda\$\d+", "$$Lambda"),
    (r"\$\$Lambda/\d+", "$$Lambda"),
    (r"proxy\d+\.", "proxy*."),
    (r"\$Proxy\d+", "$Proxy*"),
    (r"(Generated\w*Accessor)\d+", r"\1*"),
    (r"(LambdaForm\$\w+?)\d+\b", r"\1*"),
)
# Symbols without a class: files unpacked under a name of their own, mappings, bare addresses.
NATIVE_RULES: Rules = (
    (r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", "*"),
    (r"\d{8,}([^/ ]*\.so)", r"*\1"),
    (r"\b[0-9a-f]{16,}([^/ ]*\.so)", r"*\1"),
    (r"(/tmp)\.?[A-Za-z0-9_]{8,10}/", r"\1*/"),  # mkdtemp of Python and of the shell
    (r"(perf-|/proc/|ipykernel_)\d+", r"\1*"),
    (r"(\[anon)[^\]]*\]", r"\1]"),
    (r" \(deleted\)$", ""),
    (r"0x[0-9a-f]+", "0x*"),
)


def stable_name(class_name: str = "class_name", method: str = "method") -> str:
    """Give the SQL expression of a frame's name: ``class.method``, the same in every run.

    Classes that Spark generates keep their numbers, as they tell stages of a plan apart.
    """
    return (
        f"CASE WHEN nullif({class_name}, '') IS NULL THEN {replaced(method, NATIVE_RULES)}"
        f" ELSE {replaced(class_name, CLASS_RULES)} || '.' || {method} END"
    )


def replaced(column: str, rules: Rules) -> str:
    """Give the SQL expression that applies rules to a column."""
    for pattern, replacement in rules:
        column = f"regexp_replace({column}, {_text(pattern)}, {_text(replacement)}, 'g')"
    return column


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


# What runners of a kind are called, and their names from the first character on. Where a stack
# begins with runners of several kinds, the last kind here names them.
RUNNERS: tuple[tuple[str, str], ...] = (
    (
        "entry",
        r"entry_SYSCALL_64_after_hwframe|do_syscall_64|x64_sys_call|el0t?_\w+|el0_svc\w*|invoke_syscall"
        r"|java\.lang\.reflect\.(Method|Constructor)\.|jdk\.internal\.reflect\.|sun\.reflect\."
        r"|java\.security\.AccessController\.doPrivileged",
    ),
    (
        "start of a thread",
        r"_*clone3?$|start_thread$|thread_native_entry|thread_entry$|Thread::call_run"
        r"|JavaThread::(run$|thread_main_inner)|JavaCalls::|os::os_exception_wrapper|call_stub$"
        r"|(\[[^\]]*\]\.)?_start$|__libc_start_(main|call_main)|main$|java\.lang\.(Virtual)?Thread\.run"
        r"|java\.util\.concurrent\.(ThreadPoolExecutor(\$Worker)?\.run|FutureTask\.run"
        r"|Executors\$RunnableAdapter\.call|ForkJoin(Pool|WorkerThread|Task)\.\w*([rR]un|[eE]xec|scan)"
        r"|CompletableFuture\$Async\w+\.run)",
    ),
    (
        "Spark's SQL thread",
        r"org\.apache\.spark\.sql\.execution\.SQLExecution(ThreadLocalCaptured|\$)?(\$\$Lambda)?\."
        r"(apply|get|runWith|withSessionTagsApplied|\$anonfun\$(runWith|withThreadLocalCaptured)\b)"
        r"|org\.apache\.spark\.JobArtifactSet\$?\.withActiveJobArtifactState",
    ),
    (
        "Py4J's gateway",
        r"py4j\.(ClientServerConnection|GatewayConnection|Gateway|commands\.|reflection\.)",
    ),
    (
        "PySpark's worker loop",
        r"runpy\.|pyspark\.daemon\.(<module>|manager|worker)$"
        r"|pyspark\.util\._FaulthandlerHelper\.|pyspark\.worker\.(<module>|main|process|invoke_udf)\b"
        r"|pyspark\.worker\.main\.<locals>",
    ),
    (
        "Spark's task runner",
        r"org\.apache\.spark\.(executor\.Executor\$TaskRunner"
        r"|util\.(Utils\$|SparkErrorUtils)\.tryWithSafeFinally|scheduler\.Task\.run$"
        r"|scheduler\.(ShuffleMap|Result)Task\.runTask$|TaskContext\.runTaskWithListeners"
        r"|rdd\.RDD\.(iterator|computeOrReadCheckpoint)$|rdd\.RDD(\$\$Lambda\.|\.\$anonfun\$mapPart)"
        r"|rdd\.(MapPartitions|ZippedPartitions\w*|Union|Coalesced)RDD\.compute|InterruptibleIterator\."
        r"|sql\.execution\.(SparkPlan|WholeStageCodegenExec)(\$\$Lambda\.|\.\$anonfun\$(doExecute|getByte))"
        r"|sql\.execution\.WholeStageCodegenEvaluatorFactory"
        r"|sql\.execution\.BufferedRowIterator\.hasNext)"
        r"|scala\.collection\.Iterator\$\$anon\$\d+\.(hasNext|next)$",
    ),
)
_RUNNER = re.compile("|".join(f"({pattern})" for _, pattern in RUNNERS))
# Number of the outer group of each kind.
_GROUPS = tuple(
    1 + sum(re.compile(pattern).groups + 1 for _, pattern in RUNNERS[:place])
    for place in range(len(RUNNERS))
)


def runners(names: Iterable[str]) -> npt.NDArray[np.uint8]:
    """Give for each name the kind of runner that it is, 1 for the first of `RUNNERS`; 0: none.

    Examples
    --------
    >>> names = ["java.lang.Thread.run", "org.apache.spark.scheduler.Task.run", "a.B.next"]
    >>> [RUNNERS[kind - 1][0] if kind else None for kind in runners(names)]
    ['start of a thread', "Spark's task runner", None]
    """

    def kind(name: str) -> int:
        found = _RUNNER.match(name)
        if found is None:
            return 0
        return next(1 + n for n, group in enumerate(_GROUPS) if found[group] is not None)

    return np.fromiter(map(kind, names), np.uint8)
