"""Make the checkout importable and put `pyrometer` on the environment's path, without copying.

Run with the environment's own Python. An ordinary editable install would compile the extension
once more in a folder of its own; make has just built it in place.
"""

from __future__ import annotations

import re
import shlex
import stat
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = """{start}
import sys
from pyrometer.cli.main import main
sys.exit(main())
"""

# Longest first line that every kernel reads whole.
LONGEST = 127


def start(python: str) -> str:
    """Give the first lines of a script: by way of a shell where the kernel cannot read the path.

    The shell takes the three quotes for nothing and starts Python, which takes what they enclose
    for a text.
    """
    if not re.search(r"\s", python) and len(f"#!{python}") <= LONGEST:
        return f"#!{python}"
    return f"#!/bin/sh\n'''exec' {shlex.quote(python)} \"$0\" \"$@\"\n' '''"


def main() -> None:
    """Write the path file and the console script."""
    if sys.prefix == sys.base_prefix:
        raise SystemExit("Run this with the environment's Python: .venv/bin/python")
    (Path(sysconfig.get_paths()["purelib"]) / "pyrometer-checkout.pth").write_text(
        f"{ROOT / 'python'}\n"
    )
    script = Path(sysconfig.get_paths()["scripts"]) / "pyrometer"
    script.write_text(SCRIPT.format(start=start(sys.executable)))
    script.chmod(script.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


if __name__ == "__main__":
    main()
