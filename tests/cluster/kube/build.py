"""The control plane of Kubernetes, built from its published modules into a cache of the user's.

``python -m tests.cluster.kube.build`` (``make control-plane``) takes many minutes once; nothing of
it lies in the repository but the list of modules with their hashes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from pyrometer.core.errors import CapabilityError, PyrometerError

SOURCES = Path(__file__).with_name("controlplane")
PINNED = ("go.mod", "go.sum", "main.go")
PROGRAM = "control-plane"
BUILD = "make control-plane"
TIMED_OUT = 124
VERSION = "1.37.2"
"""Of Kubernetes, which it would say itself only if it were built from its repository."""
LINKED = (
    "-s", "-w",
    f"-X=k8s.io/component-base/version.gitMajor={VERSION.split('.')[0]}",
    f"-X=k8s.io/component-base/version.gitMinor={VERSION.split('.')[1]}",
    f"-X=k8s.io/component-base/version.gitVersion=v{VERSION}",
)  # fmt: skip
MEMORY = "3GiB"
"""What a compiler or linker, of which one runs at a time, tries to stay below."""


def place() -> Path:
    """Give where the program is, or would be: its name changes with whatever it is made of."""
    made_of = hashlib.sha256()
    for name in PINNED:
        made_of.update((SOURCES / name).read_bytes())
    made_of.update(" ".join(LINKED).encode())
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    # A link to it may lie where the hosts of a bed have folders of their own.
    folder = Path(cache, "pyrometer-test-bed").resolve()
    return folder / f"{PROGRAM}-{made_of.hexdigest()[:16]}"


def control_plane() -> Path:
    """Find the program.

    Raises
    ------
    CapabilityError
        If it has not been built.
    """
    if not place().is_file():
        raise CapabilityError("the control plane of Kubernetes is not built", BUILD)
    return place()


def build(piece_s: float | None = None) -> Path | None:
    """Build the program, one compiler at a time; what was compiled before is not compiled again.

    Parameters
    ----------
    piece_s : float or None
        End after so long, and go on with what is left the next time; ``None``: to the end.

    Returns
    -------
    Path or None
        The program; ``None`` if something is left.

    Raises
    ------
    CapabilityError
        If there is no Go, or the build fails.
    """
    if place().is_file():
        return place()
    go = shutil.which("go")
    if go is None:
        raise CapabilityError("building the control plane of Kubernetes needs Go", "go.dev/dl")
    place().parent.mkdir(parents=True, exist_ok=True)
    partial = place().with_suffix(".tmp")
    # It ends the compilers that Go started, too.
    bounded = [] if piece_s is None else ["timeout", str(piece_s)]
    done = subprocess.run(
        [
            *bounded, go, "build", "-p", "1", "-trimpath", "-ldflags", " ".join(LINKED),
            "-o", str(partial), ".",
        ],
        cwd=SOURCES, env=environment(os.environ), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if bounded and done.returncode == TIMED_OUT:
        return None
    if done.returncode:
        raise CapabilityError(
            f"{SOURCES}: {done.stderr.strip()[-1500:]}", "go version; go mod verify"
        )
    partial.replace(place())
    return place()


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """Give the environment of the build: nothing but what is locked, and no C compiler."""
    return {
        **own,
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOWORK": "off",
        "GOMEMLIMIT": MEMORY,
    }


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="tests.cluster.kube.build", description=__doc__)
    parser.add_argument("--piece-s", type=float, help="end after so long with exit code 75")
    asked = parser.parse_args()
    began = time.monotonic()
    try:
        built = build(asked.piece_s)
    except PyrometerError as error:
        sys.exit(f"{error.message}\n{error.remedy or ''}".strip())
    of = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = f"{time.monotonic() - began:.0f} s, {of.ru_utime + of.ru_stime:.0f} s of CPU"
    peak = f"at most {of.ru_maxrss >> 10} MiB"
    print(f"{built or 'not yet built, call again'} ({took}, {peak})")
    sys.exit(0 if built else os.EX_TEMPFAIL)


if __name__ == "__main__":
    main()
