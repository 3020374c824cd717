"""Write ``schema/experiment.schema.json`` from the model that reads experiment files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyrometer.plan.experiment_file import Experiment

TARGET = Path(__file__).resolve().parent.parent / "schema" / "experiment.schema.json"


def main() -> int:
    """Write the file, or with ``--check`` tell whether it is up to date."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Experiment.model_json_schema(mode="validation"),
    }
    text = json.dumps(schema, indent=2) + "\n"
    if "--check" in sys.argv[1:]:
        if not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != text:
            print(f"{TARGET.name} is out of date: python tools/{Path(__file__).name}")
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
