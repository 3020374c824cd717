"""An experiment file that a verb writes for an experiment of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def experiment_text(kind: str, workload: str, description: str, **keys: Any) -> str:
    """Write an experiment file.

    Parameters
    ----------
    kind : str
        First word of its name; the workload's is the rest.
    workload : str
        By name, or a file.
    description : str
        With the workload's name where it says ``{}``.
    **keys
        Other keys of the file; those that are ``None`` are left out.

    Examples
    --------
    >>> print(experiment_text("scale", "my job.v2", "How {} scales", blocks=3, seed=None), end="")
    name: scale-my-job
    description: How my-job scales
    workload: my job.v2
    blocks: 3
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(workload).stem).strip("-.") or "workload"
    by_file = Path(workload).suffix and Path(workload).exists()
    made: Mapping[str, Any] = {
        "name": f"{kind}-{name}",
        "description": description.format(name),
        "workload": str(Path(workload).absolute()) if by_file else workload,
        **keys,
    }
    kept = {key: one for key, one in made.items() if one is not None}
    text: str = yaml.safe_dump(kept, sort_keys=False, allow_unicode=True)
    return text
