"""Which file a user's workload is named by. The runner process imports this: no libraries here."""

from __future__ import annotations

import os.path
from pathlib import Path

YAML_FILE = "workload.yaml"
YAML_SUFFIXES = (".yaml", ".yml")


def yaml_path(name: str) -> Path | None:
    """Give the YAML file that `name` means: itself, or the one in that folder; else ``None``."""
    path = Path(name)
    if name.endswith(YAML_SUFFIXES):
        return path
    # Of `os.path`: a name that is too long is of no file.
    return path / YAML_FILE if os.path.isfile(path / YAML_FILE) else None
