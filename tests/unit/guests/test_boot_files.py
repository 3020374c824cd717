"""What a machine boots from: archive, modules in order, kernels found, needs of programs."""

from __future__ import annotations

import io
import lzma
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import needs

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.guests.parts import closure, cpio, elf, kernels
from pyrometer.guests.parts.initrd import start_script
from pyrometer.guests.parts.modules import NEEDED, content_of, dependencies, loading_order


def test_the_archive_is_what_cpio_reads(tmp_path: Path) -> None:
    reader = ["cpio"] if shutil.which("cpio") else [needs.tool("busybox"), "cpio"]
    data = cpio.archive(
        [
            cpio.folder("d"), cpio.file("d/run", b"#!/bin/sh\n", 0o755), cpio.file("odd", b"x" * 5),
            cpio.link("sh", "d/run"), cpio.file("none", b""),
        ]
    )  # fmt: skip
    subprocess.run([*reader, "-i", "-d"], input=data, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "d/run").read_bytes() == b"#!/bin/sh\n"
    assert (tmp_path / "d/run").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "odd").read_bytes() == b"xxxxx"
    assert (tmp_path / "none").read_bytes() == b""
    assert (tmp_path / "sh").readlink() == Path("d/run")


def test_equal_entries_are_equal_bytes() -> None:
    assert cpio.archive([cpio.file("a", b"1")]) == cpio.archive([cpio.file("a", b"1")])


def module(*needed: str) -> bytes:
    return b"\x7fELF\0license=GPL\0depends=" + ",".join(needed).encode() + b"\0name=x\0"


def test_modules_come_after_those_they_need_and_built_in_ones_not_at_all() -> None:
    files = {
        "virtio_blk": "b.ko", "virtio_console": "c.ko", "overlay": "o.ko", "virtio_pci": "p.ko.xz",
        "virtio": "v.ko", "virtio_ring": "r.ko", "virtio_rng": "g.ko",
    }  # fmt: skip
    contents = {
        "b.ko": module("virtio_ring", "virtio"), "c.ko": module("virtio"), "o.ko": module(),
        "p.ko.xz": lzma.compress(module("virtio", "virtio-ring")), "v.ko": module(),
        "r.ko": module("virtio"), "g.ko": module("virtio"),
    }  # fmt: skip
    found = [name for name, _ in loading_order(files, ["ext4"], contents.__getitem__, "6.1")]
    assert found[0] == "virtio"
    assert found.index("virtio_ring") < found.index("virtio_pci") < found.index("virtio_blk")
    assert set(found) == set(files)
    assert dict(loading_order(files, ["ext4"], contents.__getitem__, "6.1"))["virtio_pci"] == (
        module("virtio", "virtio-ring")
    )


def test_checksums_come_before_the_file_systems_that_do_not_say_they_need_them() -> None:
    files = {"ext4": "e.ko", "crc32c_generic": "c.ko"}
    contents = dict.fromkeys(files.values(), module())
    builtin = [name for name in NEEDED if name != "ext4"]
    order = loading_order(files, builtin, contents.__getitem__, "6.1")
    assert [name for name, _ in order] == ["crc32c_generic", "ext4"]


def test_levels_bring_their_modules() -> None:
    files = {"xfs": "x.ko", "bfq": "q.ko", "kyber_iosched": "k.ko"}
    contents = dict.fromkeys(files.values(), module())
    order = loading_order(files, NEEDED, contents.__getitem__, "6.1", ["xfs", "bfq"])
    assert [name for name, _ in order] == ["xfs", "bfq"]
    assert loading_order(files, NEEDED, contents.__getitem__, "6.1") == []
    with pytest.raises(CapabilityError, match=r"kernel 6\.1 has no module btrfs"):
        loading_order(files, NEEDED, contents.__getitem__, "6.1", ["btrfs"])


def test_a_kernel_that_lacks_a_needed_module_is_refused_by_name() -> None:
    builtin = [name for name in NEEDED if name != "overlay"]
    with pytest.raises(CapabilityError, match=r"kernel 6\.1 has no module overlay"):
        loading_order({}, builtin, dict[str, bytes]().__getitem__, "6.1")
    with pytest.raises(CapabilityError, match="no module fancy, which overlay needs"):
        loading_order({"overlay": "o.ko"}, builtin, {"o.ko": module("fancy")}.__getitem__, "6.1")


def test_a_damaged_or_unknown_packing_is_one_error() -> None:
    with pytest.raises(CapabilityError, match=r"a\.ko\.xz"):
        content_of("a.ko.xz", b"no xz")
    with pytest.raises(CapabilityError, match="not known here"):
        content_of("a.ko.lz4", b"")


STAND_IN = """\
#!/bin/sh
# Stands for zstd: what it is given is packed by a word in front.
[ "$*" = -dcq ] && read -r word && [ "$word" = packed ] && exec cat
echo "not in zstd format" >&2
exit 1
"""


def test_modules_of_ubuntu_and_arch_are_unpacked_by_zstd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CapabilityError, match="zstd, which unpacks it, is missing") as caught:
        content_of("a.ko.zst", b"")
    assert caught.value.remedy == "sudo apt-get install zstd"
    (tmp_path / "zstd").write_text(STAND_IN)
    (tmp_path / "zstd").chmod(0o755)
    (tmp_path / "cat").symlink_to(shutil.which("cat", path="/usr/bin:/bin") or "/bin/cat")
    assert content_of("a.ko.zst", b"packed\n" + module("virtio")) == module("virtio")
    with pytest.raises(CapabilityError, match=r"a\.ko\.zst: not in zstd format"):
        content_of("a.ko.zst", b"other\n")


@given(st.binary(max_size=300))
def test_any_bytes_say_what_they_need_or_nothing(data: bytes) -> None:
    assert isinstance(dependencies(data), tuple)
    assert isinstance(elf.needs(io.BytesIO(b"\x7fELF\x02\x01" + data)), elf.Needs)


@given(st.binary(min_size=64, max_size=64), st.binary(max_size=400))
def test_damaged_programs_need_nothing_and_break_nothing(head: bytes, rest: bytes) -> None:
    data = bytearray(b"\x7fELF\x02\x01" + head[6:] + rest)
    data[54:56] = (56).to_bytes(2, "little")
    data[56:58] = (head[0] % 70).to_bytes(2, "little")
    data[32:40] = (64).to_bytes(8, "little")
    assert isinstance(elf.needs(io.BytesIO(bytes(data))), elf.Needs)


def test_a_program_needs_its_loader_and_the_c_library() -> None:
    with open(Path(sys.executable).resolve(), "rb") as file:
        found = elf.needs(file)
    assert found.loader is not None
    assert Path(found.loader).exists()
    assert any(name.startswith("libc.so") for name in found.libraries)


def elf_file(tags: dict[int, str]) -> bytes:
    """A library with dynamic entries: 1 needs a library, 15 and 29 are folders of libraries."""
    strings, entries = b"\0", b""
    for tag, text in tags.items():
        entries += struct.pack("<qQ", tag, len(strings))
        strings += text.encode() + b"\0"
    start = 64 + 2 * 56
    at = start + len(entries) + 48
    entries += struct.pack("<qQqQqQ", 5, at, 10, len(strings), 0, 0)
    whole = at + len(strings)
    head = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0,
    )  # fmt: skip
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, whole, whole, 4096)
    dynamic = struct.pack("<IIQQQQQQ", 2, 4, start, start, start, len(entries), len(entries), 8)
    return head + load + dynamic + entries + strings


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ({1: "libx.so.1", 29: "$ORIGIN/../lib"}, "env/lib/libx.so.1"),
        ({1: "libx.so.1", 15: "/nowhere:${ORIGIN}/../lib"}, "env/lib/libx.so.1"),
        ({1: "libx.so.1", 15: "$ORIGIN/../lib", 29: "$ORIGIN"}, "system/libx.so.1"),
        ({1: "libx.so.1"}, "system/libx.so.1"),
    ],
)
def test_a_program_brings_the_libraries_that_lie_beside_it(
    tags: dict[int, str], found: str, tmp_path: Path
) -> None:
    for name in ("env/bin/tool", "env/lib/libx.so.1", "system/libx.so.1"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(elf_file({}))
    tool = tmp_path / "env/bin/tool"
    tool.write_bytes(elf_file(tags))
    tool.chmod(0o755)
    listing = closure.collect([tool], {"libx.so.1": str(tmp_path / "system/libx.so.1")})
    assert set(listing.files) == {str(tool), str(tmp_path / found)}


def image(release: str) -> bytes:
    data = bytearray(0x400)
    data[0x202:0x206] = b"HdrS"
    data[0x20E:0x210] = (0x300 - 0x200).to_bytes(2, "little")
    data[0x300 : 0x300 + len(release) + 8] = f"{release} (x) #1\0".encode()[: len(release) + 8]
    return bytes(data)


def installed(root: Path, release: str, name: str | None = None) -> Path:
    boot, modules = root / "boot", root / "lib/modules" / release
    boot.mkdir(exist_ok=True)
    (modules / "kernel").mkdir(parents=True)
    (boot / f"vmlinuz-{name or release}").write_bytes(image(release))
    (modules / "modules.builtin").write_text("".join(f"kernel/x/{n}.ko\n" for n in NEEDED))
    return boot


def test_the_newest_installed_kernel_that_fits_is_taken(tmp_path: Path) -> None:
    installed(tmp_path, "6.1.0-9-amd64")
    boot = installed(tmp_path, "6.1.0-51-amd64")
    installed(tmp_path, "6.12.0-1-amd64")
    (tmp_path / "lib/modules/6.12.0-1-amd64/modules.builtin").write_text("")
    assert kernels.find(None, tmp_path / "cache", boot).release == "6.1.0-51-amd64"
    assert kernels.find("6.1.0-9-amd64", tmp_path / "cache", boot).release == "6.1.0-9-amd64"
    found = kernels.find(str(boot / "vmlinuz-6.1.0-9-amd64"), tmp_path / "cache", tmp_path)
    assert found.modules == tmp_path / "lib/modules/6.1.0-9-amd64"


def test_kernels_whose_images_are_named_by_their_packages_are_found_by_release(
    tmp_path: Path,
) -> None:
    installed(tmp_path, "6.6.30-1-lts", "linux-lts")
    boot = installed(tmp_path, "6.9.1-arch1-1", "linux")
    (boot / "vmlinuz-broken").write_bytes(b"")
    cache = tmp_path / "cache"
    # An experiment keeps the release of what it found first.
    level = kernels.pinned(None, kernels.known(None, cache, boot))
    assert level == "6.9.1-arch1-1"
    assert kernels.known(level, cache, boot) == kernels.known(None, cache, boot)
    for release, name in ((level, "linux"), ("6.6.30-1-lts", "linux-lts")):
        found = kernels.find(release, cache, boot)
        assert (found.release, found.image) == (release, boot / f"vmlinuz-{name}")


def test_where_no_kernel_fits_the_newest_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = installed(tmp_path, "6.1.0-51-amd64")
    (tmp_path / "lib/modules/6.1.0-51-amd64/modules.builtin").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CapabilityError, match="has no module virtio_pci") as caught:
        kernels.find(None, tmp_path / "cache", boot)
    assert "no apt-get" in caught.value.message


@pytest.mark.parametrize(
    ("level", "why"),
    [
        ("./missing.deb", "no such file"),
        ("Not A Package", "neither a release"),
        ("--option", "neither a release"),
        ("{tmp}/text", "not an image of an x86 kernel"),
        ("{tmp}/text.deb", "not a package"),
    ],
)
def test_what_is_no_kernel_is_refused(level: str, why: str, tmp_path: Path) -> None:
    if level.endswith("text.deb"):
        needs.tool("dpkg-deb")
    for name in ("text", "text.deb"):
        (tmp_path / name).write_text("hello")
    with pytest.raises(UsageError, match=why):
        kernels.find(level.replace("{tmp}", str(tmp_path)), tmp_path / "cache", tmp_path)
    assert not list((tmp_path / "cache").glob("*"))


def packed(folder: Path, name: str, *files: Path) -> Path:
    """A package of files, which lie below `folder`."""
    root = folder / f"{name}.root"
    (root / "DEBIAN").mkdir(parents=True)
    control = f"Package: {name}\nVersion: 1\nArchitecture: amd64\nMaintainer: x\nDescription: x\n"
    (root / "DEBIAN/control").write_text(control)
    for file in files:
        place = root / file.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    made = folder / f"{name}_1_amd64.deb"
    subprocess.run(["dpkg-deb", "-b", str(root), str(made)], check=True, capture_output=True)
    return made


@pytest.mark.parametrize("kind", ["", "unsigned-"])
def test_a_package_of_modules_beside_that_of_the_image_is_unpacked_with_it(
    kind: str, tmp_path: Path
) -> None:
    needs.tool("dpkg-deb")
    release = "6.8.0-9999-generic"
    vmlinuz = installed(tmp_path, release) / f"vmlinuz-{release}"
    builtin = tmp_path / "lib/modules" / release / "modules.builtin"
    deb = packed(tmp_path, f"linux-image-{kind}{release}", vmlinuz)
    with pytest.raises(CapabilityError, match=r"modules of .* are not there") as caught:
        kernels.find(str(deb), tmp_path / "cache")
    assert f"linux-modules-{release}_" in (caught.value.remedy or "")
    packed(tmp_path, f"linux-modules-{release}", builtin)
    found = kernels.find(str(deb), tmp_path / "cache")
    assert found.release == release
    assert found.modules.is_relative_to(tmp_path / "cache")
    assert (found.modules / "modules.builtin").read_text() == builtin.read_text()


def test_an_image_in_the_folder_of_its_modules_is_found_in_three_packages(tmp_path: Path) -> None:
    """Debian 14's: image, modules and what is built in lie in packages of their own."""
    needs.tool("dpkg-deb")
    release = "7.2.13+deb14-cloud-amd64"
    vmlinuz = installed(tmp_path, release) / f"vmlinuz-{release}"
    folder = tmp_path / "usr/lib/modules" / release
    (folder / "kernel").mkdir(parents=True)
    shutil.move(vmlinuz, folder / "vmlinuz")
    (folder / "modules.builtin").write_text("kernel/fs/ext4/ext4.ko\n")
    (folder / "kernel/x.ko").write_bytes(b"")
    deb = packed(tmp_path, f"linux-image-{release}")
    with pytest.raises(CapabilityError, match="holds no kernel") as caught:
        kernels.find(str(deb), tmp_path / "cache")
    assert "linux-binary-" in (caught.value.remedy or "")
    packed(tmp_path, f"linux-binary-{release}", folder / "vmlinuz")
    packed(tmp_path, f"linux-modules-{release}", folder / "kernel/x.ko")
    with pytest.raises(CapabilityError, match=r"modules of .* are not there") as caught:
        kernels.find(str(deb), tmp_path / "cache")
    assert f"linux-base-{release}_" in (caught.value.remedy or "")
    packed(tmp_path, f"linux-base-{release}", folder / "modules.builtin")
    found = kernels.find(str(deb), tmp_path / "cache")
    assert found.release == release
    assert found.image.name == "vmlinuz"
    assert {one.name for one in found.modules.iterdir()} == {"kernel", "modules.builtin", "vmlinuz"}
    assert found.modules.is_relative_to(tmp_path / "cache")


APT = """\
#!/bin/sh
# Stands for apt-get and apt-cache: one package that depends on another, which lies in a folder.
for name; do :; done
case "$0 $1" in
*apt-get*) echo "$name" >>{here}/downloads; exec cp {here}/linux-image-{release}_1_amd64.deb . ;;
*) case "$name" in
    linux-image-cloud-amd64*) echo "Version: 7"; echo "Depends: linux-image-{release}" ;;
    linux-image-{release}*) echo "Version: 1"; echo "Depends: kmod" ;;
    *) echo "E: No packages found" >&2; exit 100 ;;
    esac ;;
esac
"""


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an apt that has one kernel; gives the file of what was downloaded."""
    needs.tool("dpkg-deb")
    release = "6.8.0-9999-generic"
    vmlinuz = installed(tmp_path, release) / f"vmlinuz-{release}"
    builtin = tmp_path / "lib/modules" / release / "modules.builtin"
    packed(tmp_path, f"linux-image-{release}", vmlinuz, builtin)
    (tmp_path / "bin").mkdir()
    for name in ("apt-get", "apt-cache"):
        (tmp_path / "bin" / name).write_text(APT.format(here=tmp_path, release=release))
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    return tmp_path / "downloads"


@pytest.mark.parametrize(
    "level",
    [
        "linux-image-6.8.0-9999-generic", "6.8.0-9999-generic", "linux-image-cloud-amd64", None,
        "linux-image-6.8.0-9999-generic=1",
    ],
)  # fmt: skip
def test_a_package_is_downloaded_once_and_then_found_without_apt(
    level: str | None, apt: Path, tmp_path: Path
) -> None:
    cache, boot = tmp_path / "cache", tmp_path / "none"
    assert kernels.known(level, cache, boot) == "linux-image-6.8.0-9999-generic=1"
    assert not apt.exists()
    first = kernels.find(level, cache, boot)
    assert kernels.find(level, cache, boot) == first
    assert first.origin == "linux-image-6.8.0-9999-generic=1"
    # Without a network, and without the lists of apt.
    for name in ("apt-get", "apt-cache"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\nexit 100\n")
    assert kernels.find(level, cache, boot) == first
    assert kernels.find(kernels.pinned(level, first.origin), cache, boot) == first
    assert apt.read_text().split() == ["linux-image-6.8.0-9999-generic=1"]


def test_what_is_no_kernel_is_known_without_a_download(apt: Path, tmp_path: Path) -> None:
    cache, boot = tmp_path / "cache", tmp_path / "boot"
    with pytest.raises(CapabilityError, match=r"machine\.kernel=6\.9\.9: it is not in") as caught:
        kernels.known("6.9.9", cache, boot)
    assert "No packages found" in caught.value.message
    assert "apt-cache search" in (caught.value.remedy or "")
    with pytest.raises(UsageError, match="no such file"):
        kernels.known("./nothing.deb", cache, boot)
    (tmp_path / "text.deb").write_text("hello")
    with pytest.raises(UsageError, match="not a package"):
        kernels.known(str(tmp_path / "text.deb"), cache, boot)
    deb = str(next(tmp_path.glob("linux-image-*.deb")))
    assert kernels.known(deb, cache, boot) == "linux-image-6.8.0-9999-generic=1"
    assert kernels.known("6.8.0-9999-generic", cache, boot) == "6.8.0-9999-generic (x) #1"
    assert not cache.exists()
    assert not apt.exists()


def test_the_start_script_quotes_what_it_is_given() -> None:
    script = start_script({"A": "$(reboot)", "B": "a b"}, "/x y", ["echo", "a;b"])
    shown = script.replace("exec /pyrometer/busybox env -i", "printf '%s\\n'")
    done = subprocess.run(
        ["sh", "-c", shown], capture_output=True, text=True, check=True,
        env={"STREAM": "/dev/x", "PATIENCE": "20", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "STREAM=/dev/x", "PYROMETER_PATIENCE=20", "A=$(reboot)", "B=a b", "echo", "a;b"
    ]  # fmt: skip
