"""Find the kernel that a machine is to have: installed, in a package, or a file; no root needed."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pyrometer.core.errors import CapabilityError, PyrometerError, UsageError
from pyrometer.guests.cache import staging
from pyrometer.guests.parts.modules import loading_order, module_name

DEFAULT_PACKAGE = "linux-image-cloud-amd64"
BOOT = Path("/boot")
_PACKAGE = re.compile(r"([a-z0-9][a-z0-9.+-]+)(?:=([A-Za-z0-9.+:~-]+))?")
_DEPENDS = re.compile(r"\b(linux-image-[a-z0-9.+-]+)(?: \(= ([^)]+)\))?")
_MODULES = re.compile(r"\blinux-modules-[a-z0-9.+-]+")
_FILE = re.compile(r"linux-image-(?:unsigned-)?(?P<release>[^_]+)_(?P<rest>[^/]+)\.deb")
_TIMEOUT_S = 300


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be started.

    Attributes
    ----------
    release : str
        As ``uname -r`` would say.
    image : Path
        What is started.
    modules : Path
        Folder that holds ``kernel/`` and ``modules.builtin``.
    origin : str
        Where it is from, for people.
    """

    release: str
    image: Path
    modules: Path
    origin: str

    def loading_order(self) -> list[tuple[str, bytes]]:
        """Modules that a machine needs, in the order in which they are loaded.

        Raises
        ------
        CapabilityError
            If it lacks one.
        """
        files = {
            module_name(path.name): str(path.relative_to(self.modules))
            for path in sorted((self.modules / "kernel").rglob("*.ko*"))
        }
        text = (self.modules / "modules.builtin").read_text(encoding="ascii", errors="replace")
        builtin = [module_name(line) for line in text.split()]
        return loading_order(
            files, builtin, lambda name: (self.modules / name).read_bytes(), self.release
        )


def release_of(image: bytes) -> str | None:
    """Read the release in the header of an image (Documentation/arch/x86/boot.rst).

    Returns
    -------
    str or None
        ``None`` if it is no image of an x86 kernel.
    """
    if image[0x202:0x206] != b"HdrS":
        return None
    start = int.from_bytes(image[0x20E:0x210], "little") + 0x200
    text = image[start : start + 256].partition(b"\0")[0].decode("ascii", "replace")
    return text.partition(" ")[0] or None


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


def find(level: str | None, cache: Path, boot: Path = BOOT) -> Kernel:
    """Find the kernel of a level of ``machine.kernel``.

    Parameters
    ----------
    level : str or None
        A release, a path, or a package; ``None``: any that fits.
    cache : Path
        Where packages are unpacked.
    boot : Path
        Where installed kernels lie.

    Raises
    ------
    UsageError
        If there is no such file, or it is no kernel.
    CapabilityError
        If it cannot be had here.
    """
    if level is None:
        return _any(boot, cache)
    if "/" in level or level.endswith(".deb"):
        return _of_path(Path(level).expanduser(), cache)
    installed = boot / f"vmlinuz-{level}"
    if installed.is_file():
        return _of_image(installed)
    match = _PACKAGE.fullmatch(level)
    if match is None:
        raise UsageError(
            f"machine.kernel={level}: neither a release in {boot}, nor a path, nor a package",
            f"--set machine.kernel={DEFAULT_PACKAGE}",
        )
    name = f"linux-image-{match[1]}" if match[1][0].isdigit() else match[1]
    return _package(name, match[2], cache)


def _any(boot: Path, cache: Path) -> Kernel:
    """Find the newest installed kernel that fits, else the package; says why neither is there."""
    unfit: PyrometerError | None = None
    images = sorted(boot.glob("vmlinuz-*"), key=lambda one: _natural(one.name), reverse=True)
    for image in images:
        try:
            found = _of_image(image)
            found.loading_order()
        except (UsageError, CapabilityError) as error:
            unfit = unfit or error
        except OSError as error:
            unfit = unfit or CapabilityError(f"{image}: {error}")
        else:
            return found
    try:
        return _package(DEFAULT_PACKAGE, None, cache)
    except CapabilityError as error:
        if unfit is None:
            raise
        raise CapabilityError(
            f"{unfit.message}; and instead of it: {error.message}", unfit.remedy or error.remedy
        ) from error


def _natural(text: str) -> list[tuple[int, str]]:
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", text)
    ]


def _of_path(path: Path, cache: Path) -> Kernel:
    if not path.is_file():
        raise UsageError(
            f"machine.kernel={path}: there is no such file", "give a .deb, or a vmlinuz"
        )
    return _unpacked(path, cache) if path.suffix == ".deb" else _of_image(path)


def _of_image(image: Path, *, packed: bool = False) -> Kernel:
    try:
        with image.open("rb") as file:
            release = release_of(file.read(1 << 16))
    except PermissionError as error:
        raise CapabilityError(
            f"machine.kernel: {image} may not be read", f"sudo chmod +r {image}"
        ) from error
    if release is None:
        raise UsageError(f"machine.kernel={image}: not an image of an x86 kernel", "give a vmlinuz")
    above = image.absolute().parents
    places = [Path("/lib/modules", release)]
    if len(above) > 1:
        places.insert(0, above[1] / "lib/modules" / release)
        places.insert(1, above[1] / "usr/lib/modules" / release)
    for place in places:
        if (place / "modules.builtin").is_file():
            return Kernel(release, image.absolute(), place, str(image))
    raise CapabilityError(
        f"machine.kernel={image}: modules of {release} are not there: {places[0]}",
        f"put the package that has them, linux-modules-{release}_….deb, beside it"
        if packed
        else "give the .deb of the kernel instead",
    )


def _package(name: str, version: str | None, cache: Path) -> Kernel:
    """Download a package by apt-get, which verifies its signature, and unpack it."""
    if shutil.which("apt-get") is None:
        raise CapabilityError(
            f"machine.kernel={name}: this distribution has no apt-get",
            "give a vmlinuz by path: --set machine.kernel=/boot/vmlinuz-…",
        )
    asked = f"{name}={version}" if version else name
    control = _run(["apt-cache", "show", "--no-all-versions", asked], asked)
    image = image_depended_on(control)
    if image is not None and "modules" not in image[0]:
        name, version = image[0], image[1]
    whole = f"{name}={version}" if version else name
    known = _by_name(cache, whole)
    if known is not None:
        return known
    with staging(cache) as folder:
        _run(["apt-get", "download", "-q", whole], whole, folder)
        found = next(iter(folder.glob("*.deb")), None)
        if found is None:
            raise CapabilityError(f"machine.kernel={whole}: apt-get downloaded nothing", _UPDATE)
        depends = _run(["dpkg-deb", "-f", str(found), "Depends"], whole)
        for other in dict.fromkeys(_MODULES.findall(depends)):
            _run(["apt-get", "download", "-q", other], other, folder)
        kernel = _unpacked(found, cache)
    (cache / f"{_file_name(whole)}.name").write_text(
        kernel.image.relative_to(cache.absolute()).parts[0] + "\n"
    )
    return kernel


_UPDATE = "sudo apt-get update, and try again; apt-cache search linux-image lists packages"


def _file_name(package: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+~=-]", "_", package)


def _by_name(cache: Path, package: str) -> Kernel | None:
    if "=" not in package:
        return None
    try:
        folder = cache / (cache / f"{_file_name(package)}.name").read_text().strip()
        return _in_folder(folder, package)
    except (OSError, CapabilityError):
        return None


def _run(command: list[str], package: str, folder: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CapabilityError(f"machine.kernel={package}: {error}", _UPDATE) from error
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("E: ")]
        why = said[0][3:] if said else f"{command[0]} ended with code {done.returncode}"
        raise CapabilityError(f"machine.kernel={package}: {why}", _UPDATE)
    return done.stdout


def _unpacked(package: Path, cache: Path) -> Kernel:
    if shutil.which("dpkg-deb") is None:
        raise CapabilityError(
            f"{package} cannot be unpacked: there is no dpkg-deb", "apt install dpkg"
        )
    packages = [package, *_modules_beside(package)]
    target = cache / "-".join(map(_digest, packages))
    if not target.is_dir():
        with staging(cache) as folder:
            part = folder / "whole"
            for one in packages:
                _unpack(one, part)
            if not target.is_dir():
                os.rename(part, target)
    return _in_folder(target, package.name)


def _modules_beside(package: Path) -> list[Path]:
    """Find the package with the modules of an image's package, where a distribution parts them."""
    match = _FILE.fullmatch(package.name)
    names = [] if match is None else [f"linux-modules-{match['release']}_{match['rest']}.deb"]
    return [package.with_name(name) for name in names if package.with_name(name).is_file()]


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]


def _unpack(package: Path, folder: Path) -> None:
    done = subprocess.run(
        ["dpkg-deb", "-x", str(package), str(folder)], capture_output=True, text=True,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        raise UsageError(
            f"machine.kernel={package}: not a package: {done.stderr.strip()[:200]}",
            "give a .deb of a kernel",
        )


def _in_folder(folder: Path, origin: str) -> Kernel:
    images = sorted((folder / "boot").glob("vmlinuz-*"))
    if not images:
        raise CapabilityError(
            f"machine.kernel={origin}: the package holds no kernel",
            "give a package whose name begins with linux-image- and a version",
        )
    found = _of_image(images[0], packed=True)
    return Kernel(found.release, found.image, found.modules, origin)
