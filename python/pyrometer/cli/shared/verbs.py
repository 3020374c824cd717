"""The verbs by what they are for, each in one line: all that ``pyrometer --help`` has to load."""

from __future__ import annotations

from typing import Final

GROUPS: Final[dict[str, dict[str, str]]] = {
    "Begin": {
        "doctor": "Try everything that could be measured here, and say how to get what is missing.",
        "workloads": "List, describe and prepare the workloads that can be run by name.",
    },
    "Measure": {
        "run": "Run a workload or your own Spark command once, measured at every layer.",
        "attach": "Measure a JVM that runs, Spark's or another: stacks, threads, tasks, its event"
        " log.",
        "probe": "Observe any process and its children, without touching them: threads, states,"
        " kernel stacks.",
        "ingest": "Turn Spark event logs into tables, which `pyrometer show` then reads.",
        "import": "Make a run directory of profiles that other tools made, to show, compare and"
        " export.",
    },
    "Read": {
        "show": "Summarise a run: totals, stages, operators, CPU, I/O, ledger, doubts.",
        "ledger": "Account for all time of a window, twice: by task slots and by CPU cores.",
        "flame": "Write the flame graph as one HTML file, and print the frames that lead it.",
        "report": "Write the report of a run or an experiment: one HTML file that opens anywhere,"
        " offline.",
        "export": "Write the stacks of a run for another tool: one event, summed by stack.",
        "push": "Send a run's profiles to a Pyroscope server, labelled by executor, stage and"
        " operator.",
    },
    "Compare": {
        "compare": "Compare runs, groups of runs, an experiment or lists of times: change and"
        " verdict.",
        "experiment": "Plan, run, resume and judge experiments.",
        "study": "Set published tables and figures beside our runs.",
        "corun": "Run workloads alone and together: what each loses, what they fight over, where"
        " to put them.",
    },
    "Size": {
        "scale": "Run a workload at several numbers of workers; find the knee, and what efficiency"
        " became.",
        "layout": "Run a workload in layouts of JVMs with the same slots and heap in all; bind"
        " them to places.",
        "simulate": "Schedule the tasks of a run on other clusters: elapsed time, bounds, waste,"
        " cost, error.",
        "fit": "Fit Amdahl, Gustafson, USL and Ernest side by side; find the knee; predict with"
        " intervals.",
    },
}
"""Heading → verb → summary; the summary is the first line of the verb's help."""

VERBS: Final = tuple(verb for verbs in GROUPS.values() for verb in verbs)
"""Every verb, in the order of the help text."""
