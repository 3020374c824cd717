"""Find the kernel that a machine is to have: installed, in a package, or a file; no root needed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyrometer.core.errors import CapabilityError, PyrometerError, UsageError
from pyrometer.guests.parts import packages
from pyrometer.guests.parts.modules import loading_order, module_name

DEFAULT_PACKAGE = "linux-image-cloud-amd64"
BOOT = Path("/boot")
_PACKAGE = re.compile(r"([a-z0-9][a-z0-9.+-]+)(?:=([A-Za-z0-9.+:~-]+))?")
_HEADER_BYTES = 1 << 16


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

    def loading_order(self, further: Sequence[str] = ()) -> list[tuple[str, bytes]]:
        """Modules that a machine needs, in the order in which they are loaded.

        Parameters
        ----------
        further : sequence of str
            Modules beside those of every machine.

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
            files, builtin, lambda name: (self.modules / name).read_bytes(), self.release, further
        )


def release_of(image: bytes) -> str | None:
    """Read the release in the header of an image (Documentation/arch/x86/boot.rst).

    Returns
    -------
    str or None
        ``None`` if it is no image of an x86 kernel.
    """
    return (_header(image) or "").partition(" ")[0] or None


def _header(image: bytes) -> str | None:
    if image[0x202:0x206] != b"HdrS":
        return None
    start = int.from_bytes(image[0x20E:0x210], "little") + 0x200
    return image[start : start + 256].partition(b"\0")[0].decode("ascii", "replace")


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
    meant = _meant(level, boot)
    if meant is None:
        return _any(boot, cache)
    return _of_path(meant, cache) if isinstance(meant, Path) else _package(meant, cache)


def known(level: str | None, cache: Path, boot: Path = BOOT) -> str:
    """Say which kernel a level means here and now, without downloading it.

    Returns
    -------
    str
        Of an image what its header says: its release, then how it was built; of a package
        ``NAME=VERSION``.

    Raises
    ------
    UsageError, CapabilityError
        If there is none: as :func:`find`, as far as that is known before a download.
    """
    meant = _meant(level, boot)
    if meant is None:
        newest, unfit = _newest(boot)
        if newest is not None:
            return _build(newest.image)
        with _beside(unfit):
            return packages.exact(DEFAULT_PACKAGE, cache)
    if isinstance(meant, str):
        try:
            return packages.exact(meant, cache)
        except CapabilityError as error:
            raise CapabilityError(
                f"machine.kernel={level}: it is not in {boot}, and apt has no package of it"
                f" ({error.message.partition(': ')[2]})",
                error.remedy,
            ) from error
    _check_file(meant)
    if meant.suffix == ".deb":
        return packages.described(meant)
    return _build(_of_image(meant).image)


def pinned(level: str | None, said: str) -> str:
    """Write a level that means the kernel that :func:`known` named, also later.

    Examples
    --------
    >>> pinned(None, "6.1.0-51-cloud-amd64 (debian-kernel@lists.debian.org) #1 SMP")
    '6.1.0-51-cloud-amd64'
    >>> pinned("linux-image-cloud-amd64", "linux-image-6.1.0-57-cloud-amd64=6.1.192-3")
    'linux-image-6.1.0-57-cloud-amd64=6.1.192-3'
    >>> pinned("./bzImage", "6.12.0 (me@here) #7")
    './bzImage'
    """
    return level if level is not None and _is_path(level) else said.partition(" ")[0]


def _is_path(level: str) -> bool:
    return "/" in level or level.endswith(".deb")


def _meant(level: str | None, boot: Path) -> Path | str | None:
    """Give the file or the package that a level means; ``None``: any kernel that fits."""
    if level is None:
        return None
    if _is_path(level):
        return Path(level).expanduser()
    if (installed := _installed(level, boot)) is not None:
        return installed
    if _PACKAGE.fullmatch(level) is None:
        raise UsageError(
            f"machine.kernel={level}: neither a release in {boot}, nor a path, nor a package",
            f"--set machine.kernel={DEFAULT_PACKAGE}",
        )
    return f"linux-image-{level}" if level[0].isdigit() else level


def _installed(release: str, boot: Path) -> Path | None:
    """Find the image of an installed kernel; Arch names it by its package: ``vmlinuz-linux``."""
    named = boot / f"vmlinuz-{release}"
    if named.is_file():
        return named
    return next((one for one in _images(boot) if _release_there(one) == release), None)


def _images(boot: Path) -> list[Path]:
    return sorted(boot.glob("vmlinuz-*"))


def _release_there(image: Path) -> str | None:
    """Read the release of an image; ``None`` if it is no kernel, or may not be read."""
    try:
        return _build(image).partition(" ")[0] or None
    except OSError:
        return None


def _any(boot: Path, cache: Path) -> Kernel:
    """Find the newest installed kernel that fits, else the package; says why neither is there."""
    newest, unfit = _newest(boot)
    if newest is not None:
        return newest
    with _beside(unfit):
        return _package(DEFAULT_PACKAGE, cache)


def _newest(boot: Path) -> tuple[Kernel | None, PyrometerError | None]:
    """Find the newest installed kernel that fits; without one, why the newest does not."""
    unfit: PyrometerError | None = None
    by_release = {
        image: _natural(_release_there(image) or image.name.removeprefix("vmlinuz-"))
        for image in _images(boot)
    }
    for image in sorted(by_release, key=by_release.__getitem__, reverse=True):
        try:
            found = _of_image(image)
            found.loading_order()
        except (UsageError, CapabilityError) as error:
            unfit = unfit or error
        except OSError as error:
            unfit = unfit or CapabilityError(f"{image}: {error}")
        else:
            return found, None
    return None, unfit


@contextlib.contextmanager
def _beside(unfit: PyrometerError | None) -> Iterator[None]:
    """Add, to why a package cannot be had, why no installed kernel fits."""
    try:
        yield
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
    _check_file(path)
    if path.suffix == ".deb":
        return _in_folder(packages.unpacked(path, cache), path.name)
    return _of_image(path)


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise UsageError(
            f"machine.kernel={path}: there is no such file", "give a .deb, or a vmlinuz"
        )


def _build(image: Path) -> str:
    """Give what the header of an image says: its release, and how it was built."""
    with image.open("rb") as file:
        return _header(file.read(_HEADER_BYTES)) or ""


def _of_image(image: Path, *, packed: bool = False) -> Kernel:
    try:
        with image.open("rb") as file:
            release = release_of(file.read(_HEADER_BYTES))
    except PermissionError as error:
        raise CapabilityError(
            f"machine.kernel: {image} may not be read", f"sudo chmod +r {image}"
        ) from error
    if release is None:
        raise UsageError(f"machine.kernel={image}: not an image of an x86 kernel", "give a vmlinuz")
    above = image.absolute().parents
    # Fedora's and Debian 14's images lie in the folder of their modules.
    places = [above[0], Path("/lib/modules", release)]
    if len(above) > 1:
        places[1:1] = [above[1] / part / release for part in ("lib/modules", "usr/lib/modules")]
    for place in places:
        if (place / "modules.builtin").is_file():
            return Kernel(release, image.absolute(), place, str(image))
    raise CapabilityError(
        f"machine.kernel={image}: modules of {release} are not there: {places[-1]}",
        f"put the packages that have them beside it: linux-modules-{release}_….deb, and"
        f" linux-base-{release}_….deb where there is one"
        if packed
        else "give the .deb of the kernel instead",
    )


def _package(asked: str, cache: Path) -> Kernel:
    """Give the kernel of a package; it is downloaded and unpacked unless it has been."""
    package = packages.exact(asked, cache)
    folder = packages.unpacked_before(package, cache)
    if folder is not None:
        with contextlib.suppress(OSError, CapabilityError):
            return _in_folder(folder, package)
    folder = packages.downloaded(package, cache)
    found = _in_folder(folder, package)
    packages.keep_names(asked, package, folder, cache)
    return found


def _in_folder(folder: Path, origin: str) -> Kernel:
    images = [
        *sorted((folder / "boot").glob("vmlinuz-*")),
        *sorted((folder / "usr/lib/modules").glob("*/vmlinuz")),
    ]
    if not images:
        raise CapabilityError(
            f"machine.kernel={origin}: the package holds no kernel",
            "give a package whose name begins with linux-image- and a version; where that only"
            " depends on linux-binary-…, put that one beside it",
        )
    found = _of_image(images[0], packed=True)
    return Kernel(found.release, found.image, found.modules, origin)
