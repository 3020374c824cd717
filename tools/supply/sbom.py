"""Write the wheel's bill of materials (CycloneDX, JSON): whatever is in it, and what pip adds.

Hashes are those that the lock files hold; nothing is looked up. The graph says which file of the
wheel contains what. `tools/build_backend.py` puts it into the wheel (PEP 770).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseAcknowledgement
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from . import parts
from .parts import Part

FILE = "pyrometer.cdx.json"
NOTE = "Linked in by the compiler; the version is the one of the machine that built the wheel."


def component(part: Part) -> Component:
    """One part as CycloneDX has it; what pip adds is required, but not in the wheel."""
    group, _, name = part.name.rpartition(":")
    described = Component(
        name=name,
        group=group or None,
        version=part.version or None,
        type=ComponentType.LIBRARY,
        bom_ref=f"{part.kind}:{part.label}",
        purl=None if part.kind == "linked" else _purl(part),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in part.sha256],
        scope=ComponentScope.REQUIRED,
        copyright=part.copyright or None,
        description=NOTE if part.kind == "linked" else None,
        properties=[Property(name="pyrometer:in-wheel", value=str(part.kind != "pypi").lower())],
    )
    if part.licence:
        expression = part.licence.replace("/", " OR ")
        declared = LicenseAcknowledgement.DECLARED
        licence = LicenseFactory().make_from_string(expression, license_acknowledgement=declared)
        described.licenses.add(licence)
    return described


def _purl(part: Part) -> PackageURL:
    group, _, name = part.name.rpartition(":")
    return PackageURL(part.kind, group or None, name, part.version or None)


def bill(inside: dict[str, list[Part]], packages: Iterable[Part]) -> Bom:
    """Join the parts, by the file of the wheel that each is in, with the packages that pip adds."""
    version = parts.project_version()
    wheel = Component(
        name="pyrometer",
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=f"pypi:pyrometer {version}",
        purl=PackageURL("pypi", None, "pyrometer", version),
        licenses=[LicenseFactory().make_from_string("Apache-2.0")],
    )
    bom = Bom()
    bom.metadata.component = wheel
    # The same sources give the same file.
    bom.metadata.timestamp = None  # type: ignore[assignment]
    known: dict[str, Component] = {}

    def add(part: Part) -> Component:
        if part.label not in known:
            known[part.label] = component(part)
            bom.components.add(known[part.label])
        return known[part.label]

    added = [add(package) for package in packages]
    files = []
    for name, held in inside.items():
        file = Component(name=name, type=ComponentType.FILE, bom_ref=f"file:{name}")
        bom.components.add(file)
        files.append(file)
        bom.register_dependency(file, [add(part) for part in held])
    for part in {part.label: part for held in inside.values() for part in held}.values():
        bom.register_dependency(known[part.label], [known[need] for need in part.needs])
    bom.register_dependency(wheel, [*files, *added])
    return bom


def text() -> str:
    """Write the bill of this checkout."""
    bom = bill(parts.wheel_parts(ask=True), parts.python_packages())
    bom.serial_number = UUID(int=0)
    content = JsonV1Dot6(bom).output_as_string()
    bom.serial_number = UUID(bytes=hashlib.sha256(content.encode()).digest()[:16], version=4)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else f"dist/{FILE}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text())
    print(path)
