"""Write the JSON Schemas of the files that users write, from the models that read them.

With ``--check`` nothing is written and the exit code is 1 when one is out of date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic import BaseModel

from pyrometer.experiments.plan.file import Experiment
from pyrometer.experiments.studies.plan import Study
from pyrometer.tune.space.file import SpaceFile
from pyrometer.workloads.custom.workload_file import WorkloadFile

ROOT = Path(__file__).resolve().parent.parent
MODELS: dict[str, type[BaseModel]] = {
    "experiment": Experiment,
    "space": SpaceFile,
    "study": Study,
    "workload": WorkloadFile,
}


def main() -> int:
    """Write the files, or list those that are out of date."""
    stale = 0
    for name, model in MODELS.items():
        path = ROOT / "schema" / f"{name}.schema.json"
        draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
        text = json.dumps({**draft, **model.model_json_schema()}, indent=2) + "\n"
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        if "--check" in sys.argv[1:]:
            stale += 1
            print(f"{path.name} is out of date: python tools/{Path(__file__).name}")
        else:
            path.write_text(text, encoding="utf-8")
    return int(stale > 0)


if __name__ == "__main__":
    raise SystemExit(main())
