"""Which modules of a kernel a machine needs before it can mount anything, and in which order.

A package that was only unpacked has no ``modules.dep``: what a module depends on is read from the
module itself (section ``.modinfo``), what is built in from ``modules.builtin``.
"""

from __future__ import annotations

import lzma
import subprocess
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from pyrometer.core.errors import CapabilityError

NEEDED = ("virtio_pci", "virtio_blk", "virtio_console", "ext4", "overlay")
"""Without these no machine of ours boots."""

WANTED = ("virtio-rng",)
"""Left out where a kernel lacks them."""

CHECKSUMS = ("crc32c_generic", "crc32c_cryptoapi")
"""What file systems ask for when they are mounted; their modules do not say that they depend on it.
Built in, or left out where a kernel has another one."""

OF_SCHEDULERS = {"mq-deadline": "mq_deadline", "bfq": "bfq", "kyber": "kyber_iosched"}
"""I/O schedulers, and the modules that have them."""

_MOST_BYTES = 64 << 20


def module_name(path: str) -> str:
    """Name of the module in a file, as the kernel writes it.

    Examples
    --------
    >>> module_name("kernel/drivers/char/hw_random/virtio-rng.ko.xz")
    'virtio_rng'
    """
    return PurePosixPath(path).name.partition(".ko")[0].replace("-", "_")


def content_of(path: str, data: bytes) -> bytes:
    """Unpack the module in a file, where it is packed.

    Raises
    ------
    CapabilityError
        If it is packed in a way that is not known here, or damaged.
    """
    try:
        if path.endswith(".ko"):
            return data
        if path.endswith(".xz"):
            return lzma.LZMADecompressor().decompress(data, _MOST_BYTES)
        if path.endswith(".gz"):
            return zlib.decompressobj(31).decompress(data, _MOST_BYTES)
        if path.endswith(".zst"):
            return _by_zstd(path, data)
    except (lzma.LZMAError, zlib.error) as error:
        raise CapabilityError(f"{path}: {error}", "install the kernel again") from error
    raise CapabilityError(
        f"{path}: packed in a way that is not known here",
        "use a kernel with .ko, .ko.xz, .ko.zst or .ko.gz",
    )


def _by_zstd(path: str, data: bytes) -> bytes:
    try:
        done = subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=False)
    except OSError as error:
        raise CapabilityError(
            f"{path}: zstd, which unpacks it, is missing", "sudo apt-get install zstd"
        ) from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise CapabilityError(f"{path}: {said[:200]}", "install the kernel again")
    return done.stdout


def dependencies(module: bytes) -> tuple[str, ...]:
    r"""Names of the modules that a module says it needs.

    Examples
    --------
    >>> dependencies(b"\0license=GPL\0depends=virtio,virtio_ring\0name=virtio_blk\0")
    ('virtio', 'virtio_ring')
    """
    at = module.rfind(b"\0depends=")
    if at < 0:
        return ()
    end = module.find(b"\0", at + 1)
    text = module[at + 9 : end if end > 0 else None].decode("ascii", "replace")
    return tuple(name.replace("-", "_") for name in text.split(",") if name)


def loading_order(
    files: Mapping[str, str],
    builtin: Sequence[str],
    read: Callable[[str], bytes],
    release: str,
    further: Sequence[str] = (),
) -> list[tuple[str, bytes]]:
    r"""Give the modules to load, each after those it needs, with their unpacked contents.

    Parameters
    ----------
    files : mapping
        Files of modules by name.
    builtin : sequence of str
        Names of modules that the kernel has built in.
    read : callable
        Reads a file.
    release : str
        Of the kernel, for messages.
    further : sequence of str
        Modules that are needed beside those of every machine.

    Raises
    ------
    CapabilityError
        If the kernel lacks one that is needed.

    Examples
    --------
    >>> read = {"b.ko": b"", "o.ko": b"\0depends=b\0"}.__getitem__
    >>> builtin = ["virtio_pci", "virtio_blk", "virtio_console", "ext4"]
    >>> [name for name, _ in loading_order({"b": "b.ko", "overlay": "o.ko"}, builtin, read, "6.1")]
    ['b', 'overlay']
    """
    inside = set(builtin)
    order: dict[str, bytes] = {}

    def add(name: str, above: tuple[str, ...]) -> None:
        if name in order or name in inside or name in above:
            return
        if name not in files:
            why = f", which {above[-1]} needs" if above else ""
            raise CapabilityError(
                f"kernel {release} has no module {name}{why}",
                "choose another: --set machine.kernel=linux-image-cloud-amd64",
            )
        content = content_of(files[name], read(files[name]))
        for other in dependencies(content):
            add(other, (*above, name))
        order[name] = content

    def add_known(names: Iterable[str]) -> None:
        for name in names:
            plain = name.replace("-", "_")
            if plain in files:
                add(plain, ())

    add_known(CHECKSUMS)
    for name in (*NEEDED, *further):
        add(name, ())
    add_known(WANTED)
    return list(order.items())
