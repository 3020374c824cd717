"""Packages of kernels: which one is meant, downloaded once, and unpacked; no root needed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.guests.cache import staging

UPDATE = (
    "sudo apt-get update, and try again; apt-cache search --names-only '^linux-image-' lists"
    " packages"
)
_DEPENDS = re.compile(r"\b(linux-image-[a-z0-9.+-]+)(?: \(= ([^)]+)\))?")
_VERSION = re.compile(r"^Version: (\S+)$", re.MULTILINE)
_PARTS = ("modules", "binary", "base")
"""What lies in packages of its own: modules with Ubuntu, with Debian 14 the image itself too."""
_PART = re.compile(rf"\blinux-(?:{'|'.join(_PARTS)})-[0-9][a-z0-9.+-]*")
_FILE = re.compile(r"linux-image-(?:unsigned-)?(?P<release>[^_]+)_(?P<rest>[^/]+)\.deb")
_TIMEOUT_S = 300


def image_depended_on(control: str) -> tuple[str, str | None] | None:
    """Read which package of an image a package that only names one depends on.

    Examples
    --------
    >>> image_depended_on("Depends: linux-image-6.1.0-56-cloud-amd64 (= 6.1.192-2)")
    ('linux-image-6.1.0-56-cloud-amd64', '6.1.192-2')
    """
    for line in control.splitlines():
        match = _DEPENDS.search(line) if line.startswith("Depends:") else None
        if match:
            return match[1], match[2]
    return None


def exact(package: str, cache: Path) -> str:
    """Name the package of an image, with its version; nothing is downloaded.

    Parameters
    ----------
    package : str
        A package, with its version or without, that has a kernel or depends on one that has.
    cache : Path
        Where packages are unpacked. What apt does not say, as here it has no lists, is taken from
        there.

    Raises
    ------
    CapabilityError
        If neither apt nor the cache knows it.
    """
    kept = _kept(package, cache)
    if kept is not None and "=" in package:
        return kept[1]
    try:
        if shutil.which("apt-get") is None:
            raise CapabilityError(
                f"machine.kernel={package}: this distribution has no apt-get",
                "give a vmlinuz by path: --set machine.kernel=/boot/vmlinuz-…",
            )
        return _known_to_apt(package)
    except CapabilityError:
        if kept is None:
            raise
        return kept[1]


def _known_to_apt(package: str) -> str:
    control = _show(package)
    image = image_depended_on(control)
    if image is None or "modules" in image[0]:
        name, version = package.partition("=")[0], None
    else:
        name, version = image
        control = "" if version else _show(name)
    found = _VERSION.search(control)
    version = version or (found[1] if found else None)
    return f"{name}={version}" if version else name


def _show(package: str) -> str:
    return _run(["apt-cache", "show", "--no-all-versions", package], package)


def unpacked_before(package: str, cache: Path) -> Path | None:
    """Give the folder in which a package has been unpacked; ``None`` if it has not been."""
    kept = _kept(package, cache)
    return None if kept is None or not kept[0].is_dir() else kept[0]


def keep_names(asked: str, package: str, folder: Path, cache: Path) -> None:
    """Note under which names a folder of the cache is found again."""
    for name in {asked, package}:
        with contextlib.suppress(OSError):
            _name_file(name, cache).write_text(f"{folder.name}\n{package}\n")


def _kept(package: str, cache: Path) -> tuple[Path, str] | None:
    try:
        folder, *whole = _name_file(package, cache).read_text().split()
    except (OSError, ValueError):
        return None
    return cache / folder, whole[0] if whole else package


def _name_file(package: str, cache: Path) -> Path:
    return cache / f"{re.sub(r'[^A-Za-z0-9.+~=-]', '_', package)}.name"


def downloaded(package: str, cache: Path) -> Path:
    """Download a package by apt-get, which verifies its signature; gives where it is unpacked.

    Raises
    ------
    CapabilityError
        If it cannot be had.
    """
    with staging(cache) as folder:
        _run(["apt-get", "download", "-q", package], package, folder)
        found = next(iter(folder.glob("*.deb")), None)
        if found is None:
            raise CapabilityError(f"machine.kernel={package}: apt-get downloaded nothing", UPDATE)
        depends = _run(["dpkg-deb", "-f", str(found), "Depends"], package)
        for other in dict.fromkeys(_PART.findall(depends)):
            _run(["apt-get", "download", "-q", other], other, folder)
        return unpacked(found, cache)


def _run(command: list[str], package: str, folder: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CapabilityError(f"machine.kernel={package}: {error}", UPDATE) from error
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("E: ")]
        why = said[0][3:] if said else f"{command[0]} ended with code {done.returncode}"
        raise CapabilityError(f"machine.kernel={package}: {why}", UPDATE)
    return done.stdout


def described(package: Path) -> str:
    """Name what a file holds, as ``NAME=VERSION``.

    Raises
    ------
    UsageError, CapabilityError
        If it is no package, or there is no dpkg-deb.
    """
    _require_dpkg(package)
    said = dict(
        line.split(": ", 1)
        for line in _dpkg(package, "-f", "Package", "Version").splitlines()
        if ": " in line
    )
    return f"{said.get('Package')}={said.get('Version')}"


def unpacked(package: Path, cache: Path) -> Path:
    """Unpack a package, and those of its parts which lie beside it; gives the folder.

    Raises
    ------
    UsageError, CapabilityError
        If it is no package, or cannot be unpacked here.
    """
    _require_dpkg(package)
    packages = [package, *_parts_beside(package)]
    target = cache / "-".join(map(_digest, packages))
    if not target.is_dir():
        with staging(cache) as folder:
            part = folder / "whole"
            for one in packages:
                _dpkg(one, "-x", str(part))
            if not target.is_dir():
                os.rename(part, target)
    return target


def _require_dpkg(package: Path) -> None:
    if shutil.which("dpkg-deb") is None:
        raise CapabilityError(
            f"{package} cannot be unpacked: there is no dpkg-deb", "apt install dpkg"
        )


def _parts_beside(package: Path) -> list[Path]:
    """Find the packages with the parts of an image's package, where a distribution parts them."""
    match = _FILE.fullmatch(package.name)
    if match is None:
        return []
    release, rest = match["release"], match["rest"]
    names = [f"linux-{part}-{release}_{rest}.deb" for part in (*_PARTS, "binary-unsigned")]
    return [package.with_name(name) for name in names if package.with_name(name).is_file()]


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]


def _dpkg(package: Path, option: str, *words: str) -> str:
    done = subprocess.run(
        ["dpkg-deb", option, str(package), *words], capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        raise UsageError(
            f"machine.kernel={package}: not a package: {done.stderr.strip()[:200]}",
            "give a .deb of a kernel",
        )
    return done.stdout
