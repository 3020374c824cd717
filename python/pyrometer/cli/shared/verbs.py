"""The verbs by what they are for, each in one line: all that ``pyrometer --help`` has to load."""

from __future__ import annotations

from typing import Final

GROUPS: Final[dict[str, dict[str, str]]] = {
    "Begin": {
        "doctor": "Check what this machine can measure, and how to get what is missing.",
        "workloads": "List, describe and prepare the workloads that can be run by name.",
    },
    "Measure": {
        "run": "Run a workload or your own Spark command once, measured at every layer.",
        "attach": "Measure a running JVM, Spark's or any other: stacks, threads, tasks, its"
        " event log.",
        "probe": "Observe any process and its children, without touching them: threads,"
        " states, kernel stacks.",
        "agent": "Write the agent for hosts of a cluster, and what installs it: systemd,"
        " Ansible, Kubernetes.",
        "ingest": "Turn Spark event logs into tables, which `pyrometer show` then reads.",
        "import": "Import profiles of other tools into a run directory, to show, compare and"
        " export.",
    },
    "Read": {
        "ls": "List the runs, experiments and tunings of a folder, newest first.",
        "show": "Summarise a run on one screen: verdict, doubts, where time went, top stages and"
        " operators.",
        "explain": "Say why a run is slow, what to change, and how many seconds that saves.",
        "rules": "List the causes that explain looks for, or print the manual of one.",
        "ledger": "Account for all time of a window: elapsed time, task slots and CPU cores.",
        "flame": "Write the flame graph as one HTML file, and print the hottest frames.",
        "report": "Write the report of a run or an experiment: one HTML file that opens"
        " anywhere, offline.",
        "export": "Write the stacks of a run for another tool: one event, summed by stack.",
        "push": "Send a run's profiles to a Pyroscope server, labelled by executor, stage and"
        " operator.",
    },
    "Compare": {
        "compare": "Compare runs, groups of runs, an experiment or lists of times: change,"
        " verdict, causes.",
        "experiment": "Plan, run, resume and judge experiments.",
        "tune": "Find a faster configuration that is safe, with few runs, and confirm it.",
        "study": "Reproduce published tables and figures, and compare with the published values.",
        "corun": "Run workloads alone and together: what each loses, what they compete for,"
        " how to place them.",
    },
    "Size": {
        "scale": "Run a workload at several sizes: speed-up curve, knee, and where efficiency"
        " is lost.",
        "layout": "Compare layouts of executor JVMs with the same slots and heap in all, bound"
        " to CPUs or not.",
        "simulate": "Schedule the tasks of a run on other clusters: elapsed time, bounds,"
        " waste, cost, error.",
        "fit": "Fit Amdahl, Gustafson, USL and Ernest side by side; find the knee; predict"
        " with intervals.",
    },
}
"""Heading → verb → summary; the summary is the first line of the verb's help."""

VERBS: Final = tuple(verb for verbs in GROUPS.values() for verb in verbs)
"""Every verb, in the order of the help text."""
