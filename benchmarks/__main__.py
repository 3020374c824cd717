"""``python -m benchmarks``: every benchmark with its own defaults, one after the other."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from benchmarks import overhead, probe


def main() -> int:
    """Run them; results go to ``build/benchmarks``."""
    folder = Path("build/benchmarks") / time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    folder.mkdir(parents=True)
    spark35 = Path(".venv-spark35/bin/python").absolute()
    codes = [
        probe.main(["-o", str(folder / "probe.json")]),
        overhead.main(["-o", str(folder / "overhead.json")]),
    ]
    if spark35.exists():
        arguments = ["--spark", "3.5", "--python", str(spark35)]
        codes.append(overhead.main([*arguments, "-o", str(folder / "overhead-spark35.json")]))
    else:
        print(f"left out: Spark 3.5 with sparkMeasure ({spark35} is missing). make setup-test")
    print(f"raw samples: {folder}")
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
