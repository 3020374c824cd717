"""Make the checkout importable and put `pyrometer` on the environment's path, without copying.

Run with the environment's own Python. An ordinary editable install would compile the extension
once more in a folder of its own; make has just built it in place.
"""

from __future__ import annotations

import stat
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = """#!{python}
import sys
from pyrometer.cli.main import main
sys.exit(main())
"""


def main() -> None:
    """Write the path file and the console script."""
    if sys.prefix == sys.base_prefix:
        raise SystemExit("Run this with the environment's Python: .venv/bin/python")
    (Path(sysconfig.get_paths()["purelib"]) / "pyrometer-checkout.pth").write_text(
        f"{ROOT / 'python'}\n"
    )
    script = Path(sysconfig.get_paths()["scripts"]) / "pyrometer"
    script.write_text(SCRIPT.format(python=sys.executable))
    script.chmod(script.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


if __name__ == "__main__":
    main()
