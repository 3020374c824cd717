"""The skeleton of an experiment file: what there is, with what each key means."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from pyrometer.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_TEXT = Template("""\
name: $name
workload: $workload              # pyrometer workloads; or a SQL file or workload.yaml
scale: test                      # test, default, seed, or a number

matrix:                          # every combination is a treatment; factors are those of --set
$matrix
  # exclude: [{jvm.heap: 1g, layout.tasks: 4}]
  # include: [{jvm.heap: 4g, jvm.gc: parallel}]
# set: {layout.tasks: 2}         # levels that all treatments share
constraints:                     # what no treatment may break
  - jvm.heap <= 0.9 * mem_total

blocks: 5                        # trials of each treatment, one a block, in random order
iterations: 3                    # measured iterations of a trial, all in one fresh JVM
warmup: auto
# baseline: {jvm.heap: 1g}       # compare the others with this one
margin: 2%                       # differences below it count as none
# seed: 1                        # without it one follows from this file
# timeout: 20m
# guard: {policy: repeat}        # wait, flag, or repeat what something else disturbed
# design: {kind: toggle}         # take turns in one JVM; or duet: two side by side
# extends: base.yaml
""")


def write_skeleton(name: str, workload: str, path: Path) -> Path:
    """Write a skeleton to a file that is not there yet.

    Raises
    ------
    UsageError
        If the name is none, the file is there, or cannot be written.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(f"{name!r} is no name", "letters, digits, dot, _ and -: heap-and-codec")
    matrix = "  jvm.heap: [1g, 2g]"
    text = _TEXT.substitute(name=name, workload=workload, matrix=matrix)
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise UsageError(f"{path} is there already", "give another file with -o") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "-o FILE") from error
    return path
