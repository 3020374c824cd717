"""How a human tries a finding: commands to paste, as far as the run says what ran."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from pyrometer.collect.launch.command import understand
from pyrometer.core.redaction import REDACTED
from pyrometer.explain.schema import Finding, Remedy
from pyrometer.trial.factors import declaration
from pyrometer.verification.ran import Ran

HEAPS = ("jvm.heap", "spark.driver.memory", "spark.executor.memory")
DRIVER_MEMORY = "spark.driver.memory"
SCALE = "workload.scale"
STRUCK_OUT = REDACTED[:9]
_ITERATIONS = 3
"""What ``pyrometer run`` measures unless told."""
_JAVA_HEAP = ("-Xmx", "-XX:MaxHeapSize=")


def factor_remedies(finding: Finding) -> list[Remedy]:
    """Give the remedies that can be tried without a human."""
    return [one for one in finding.remedies if one.kind == "factor" and one.factor and one.level]


def factor_remedy(finding: Finding, ran: Ran) -> Remedy | None:
    """Give the first of them whose levels the run did not have."""
    return next(
        (
            one
            for one in factor_remedies(finding)
            if not ran.levels.items() >= levels_of(one).items()
        ),
        None,
    )


def levels_of(remedy: Remedy) -> dict[str, str]:
    """Give all levels of a remedy."""
    first = {remedy.factor: remedy.level} if remedy.factor and remedy.level else {}
    return {**first, **remedy.levels}


def beside(levels: Mapping[str, str], remedy: Mapping[str, str]) -> dict[str, str]:
    """Give the levels of a run that stay with a remedy, without its scale.

    Examples
    --------
    >>> beside({"spark.driver.memory": "1g", "cpu.quota": "2"}, {"jvm.heap": "2g"})
    {'cpu.quota': '2'}
    """
    # A setting of Spark's that stays would win over the heap that the remedy gives.
    gone = {SCALE, *remedy, *(HEAPS if HEAPS[0] in remedy else ())}
    return {name: level for name, level in levels.items() if name not in gone}


def by_hand(finding: Finding, ran: Ran, *, possible: bool = True) -> str:
    """Say how a human can try a finding.

    Parameters
    ----------
    possible : bool
        Whether the levels of the remedy can be had here.
    """
    remedy = factor_remedy(finding, ran)
    if remedy is not None:
        levels = levels_of(remedy)
        elsewhere = ran.not_here(levels)
        if possible and not elsewhere:
            return run_again(finding, ran, levels)
        where = ", on the hosts of its executors" if elsewhere else ", where that is possible"
        return f"{remedy.text}{where}; then: {run_again(finding, ran)}"
    others = [one for one in finding.remedies if one not in factor_remedies(finding)]
    edits = [one for one in others if one.kind == "code"]
    if edits and ran.workload is None:
        words = shlex.join(["pyrometer", "explain", ran.run, finding.key, "--verify", "--with"])
        then = "then, with the changed command in place of COMMAND"
        return f"{edits[0].text}; {then}: {words} -- COMMAND"
    what = [*edits, *others][0].text if others else finding.refute.rstrip(".")
    return f"{what}; then: {run_again(finding, ran)}"


def run_again(
    finding: Finding, ran: Ran, levels: Mapping[str, str] | None = None, changed: Sequence[str] = ()
) -> str:
    """Give the commands that run it again, and compare both.

    Parameters
    ----------
    levels : mapping of str to str
        What is set for the remedy; by default nothing, as it is not set by Pyrometer.
    changed : sequence of str
        The changed command, where that is the remedy.
    """
    command, more = tuple(changed) or ran.command, dict(levels or {})
    if ran.workload is None and DRIVER_MEMORY in more:
        known = understand(command)
        if known.kind == "java":
            command = with_java_heap(command, more.pop(DRIVER_MEMORY))
        elif known.driver_memory is not None:
            command = replaced(command, known.driver_memory, more.pop(DRIVER_MEMORY))
    every = {**beside(ran.levels, levels or {}), **more}
    if changed:
        # Levels that a workload declares mean nothing to a command.
        every = {name: level for name, level in every.items() if not _is_workloads(name)}
    secret = any(STRUCK_OUT in level for level in every.values())
    sets = [
        word
        for name, level in every.items()
        for word in ("--set", f"{name}={'SECRET' if STRUCK_OUT in level else level}")
    ]
    new = f"with-{finding.key}"
    lost = not command or any(STRUCK_OUT in word for word in command)
    if ran.workload is not None and not changed:
        what, lost = [*_of_workload(ran), "-o", new, ran.workload], False
    else:
        what = ["-o", new, "--", *(("COMMAND",) if lost else command)]
    profile = [] if ran.profile is None else ["--profile", ran.profile]
    again = shlex.join(["pyrometer", "run", *sets, *profile, *what])
    names = [name for name, is_lost in (("COMMAND", lost), ("SECRET", secret)) if is_lost]
    first = f"with what was typed in place of {' and '.join(names)}: " if names else ""
    return f"{first}{again} && {shlex.join(['pyrometer', 'compare', ran.run, new])}"


def _is_workloads(name: str) -> bool:
    factor = declaration(name)
    return factor is None or factor.scope == "workload"


def _of_workload(ran: Ran) -> list[str]:
    """Give the options of a workload where they are not those that it has without."""
    words = ["--scale", ran.scale] if ran.scale not in (None, "default") else []
    if not ran.once:
        words += ["--iterations", str(ran.iterations)] if ran.iterations != _ITERATIONS else []
        words += ["--warmup", str(ran.warmup)] if ran.warmup != "auto" else []
    return [str(word) for word in words]


def replaced(argv: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    """Give a command's driver another memory than its own words say.

    Examples
    --------
    >>> " ".join(replaced(["spark-submit", "--driver-memory", "1g", "a.py", "1g"], "1g", "2g"))
    'spark-submit --driver-memory 2g a.py 1g'
    """
    texts = {f"--driver-memory={old}", f"{DRIVER_MEMORY}={old}", f"--conf={DRIVER_MEMORY}={old}"}
    words = list(argv)
    for at, word in enumerate(words):
        if word in texts:
            words[at] = word.removesuffix(old) + new
        elif word == old and words[at - 1] == "--driver-memory":
            words[at] = new
    return tuple(words)


def with_java_heap(argv: Sequence[str], heap: str) -> tuple[str, ...]:
    """Give a JVM that a command starts itself another heap.

    Examples
    --------
    >>> " ".join(with_java_heap(["java", "-Xmx1g", "-cp", "a.jar", "Main"], "2g"))
    'java -Xmx2g -cp a.jar Main'
    """
    own = [word for word in argv[1:] if not word.startswith(_JAVA_HEAP)]
    return (argv[0], f"-Xmx{heap}", *own)
