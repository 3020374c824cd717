"""What a machine's kernel unpacks and starts first: busybox, modules, and what the trial is."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyrometer.core.errors import CapabilityError
from pyrometer.core.patience import VARIABLE
from pyrometer.guests.parts import cpio
from pyrometer.guests.parts.elf import needs

INIT = Path(__file__).with_name("init.sh")
HOSTNAME = "guest"


def busybox() -> Path:
    """Find a busybox that needs no library.

    Raises
    ------
    CapabilityError
        If there is none.
    """
    found = shutil.which("busybox")
    remedy = "sudo apt-get install busybox-static"
    if found is None:
        raise CapabilityError(
            "busybox, which starts a virtual machine's system, is missing", remedy
        )
    path = Path(found).resolve()
    with path.open("rb") as file:
        if needs(file).loader is not None:
            raise CapabilityError(f"{path} needs libraries: a machine starts without any", remedy)
    return path


def start_script(environment: Mapping[str, str], folder: str, command: Sequence[str]) -> str:
    """Write the script that starts the trial: this environment, and nothing else of anybody's.

    Examples
    --------
    >>> print(start_script({"A": "$b"}, "/me", ["env"]), end="")
    cd /me 2>/dev/null || cd /
    exec /pyrometer/busybox env -i STREAM="$STREAM" PYROMETER_PATIENCE="$PATIENCE" 'A=$b' env
    """
    words = [f"{name}={value}" for name, value in sorted(environment.items())]
    of_the_machine = f'STREAM="$STREAM" {VARIABLE}="$PATIENCE"'
    return (
        f"cd {shlex.quote(folder)} 2>/dev/null || cd /\n"
        f"exec /pyrometer/busybox env -i {of_the_machine} {shlex.join([*words, *command])}\n"
    )


def build(
    shell: bytes, modules: Sequence[tuple[str, bytes]], machine: Mapping[str, bytes], init: bytes
) -> bytes:
    """Build the archive.

    Parameters
    ----------
    shell : bytes
        The program busybox.
    modules : sequence of (str, bytes)
        Modules in the order in which they are loaded.
    machine : mapping
        Files of ``/machine``, by name.
    init : bytes
        The first process.
    """
    order = "".join(f"{name}\n" for name, _ in modules)
    return cpio.archive(
        [
            cpio.folder("bin"),
            cpio.folder("dev"),
            cpio.character_device("dev/console", 5, 1),
            cpio.character_device("dev/null", 1, 3, 0o666),
            cpio.file("bin/busybox", shell, 0o755),
            cpio.link("bin/sh", "busybox"),
            cpio.folder("modules"),
            *(cpio.file(f"modules/{name}.ko", content) for name, content in modules),
            cpio.file("modules/order", order.encode()),
            cpio.folder("machine"),
            *(cpio.file(f"machine/{name}", content) for name, content in machine.items()),
            cpio.file("init", init, 0o755),
        ]
    )
