"""How parts of this installation are brought back, as commands that can be pasted."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution

PACKAGE = Path(__file__).resolve().parents[1]


def reinstall(package: Path = PACKAGE) -> str:
    """Give the command that builds or installs everything again that belongs to Pyrometer.

    Parameters
    ----------
    package : Path
        Folder of the package; in a checkout, two levels below the Makefile.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    checkout = _checkout(package)
    if checkout is not None:
        return f"make -C {shlex.quote(str(checkout))} rebuild"
    try:
        source = source_of(distribution("pyrometer"))
    except PackageNotFoundError:
        source = "pyrometer"
    return f"{pip()} install --force-reinstall --no-deps {shlex.quote(source)}"


def upgrade(package: Path = PACKAGE) -> str:
    """Say how a newer Pyrometer is installed: there may be no index that has it.

    Parameters
    ----------
    package : Path
        As of :func:`reinstall`.
    """
    if _checkout(package) is not None:
        return f"update the checkout, then {reinstall(package)}"
    return f"{pip()} install --upgrade WHEEL, with the wheel of a newer Pyrometer as WHEEL"


def _checkout(package: Path) -> Path | None:
    folder = package.parents[1]
    whole = (folder / "Makefile").is_file() and (folder / "crates").is_dir()
    return folder if whole else None


def install_spark() -> str:
    """Give the command that installs Spark along with Pyrometer."""
    return f"{pip()} install 'pyspark>=3.5,<5'"


def pip() -> str:
    """Give the command of this Python's pip."""
    return f"{shlex.quote(sys.executable)} -m pip"


def source_of(found: Distribution) -> str:
    """Name what pip installed it from: a wheel, a commit, or name and version in an index."""
    origin = found.read_text("direct_url.json")
    if not origin:
        return f"{found.name}=={found.version}"
    said = json.loads(origin)
    url, commit = str(said["url"]), said.get("vcs_info")
    return f"{commit['vcs']}+{url}@{commit['commit_id']}" if commit else url
