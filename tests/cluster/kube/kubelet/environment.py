"""Variables of a container, from its description: values, references, the downward API."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import ceil
from typing import Any

from tests.cluster.kube.kubelet.api import Object

Reader = Callable[[str, str], Mapping[str, str] | None]
"""Gives the texts of one of the ``configmaps`` or ``secrets``; ``None``: it is missing."""

UNITS = {
    "": Decimal(1), "m": Decimal("0.001"), "u": Decimal("1e-6"), "n": Decimal("1e-9"),
    **{unit: Decimal(1000) ** (n + 1) for n, unit in enumerate("kMGTPE")},
    **{f"{unit}i": Decimal(1024) ** (n + 1) for n, unit in enumerate("KMGTPE")},
}  # fmt: skip

FIELDS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
"""Of a pod, which the downward API has by these names; there is one address of each kind."""

_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)")
_REFERENCE = re.compile(r"\$(\$|\(([^()]*)\))")
_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class MissingError(Exception):
    """Something that a description refers to is not there (yet)."""


def quantity(text: object) -> Decimal:
    """Read a quantity.

    Examples
    --------
    >>> quantity("1408Mi") // 1024**2, quantity("250m"), quantity(2)
    (Decimal('1408'), Decimal('0.250'), Decimal('2'))
    """
    found = _QUANTITY.fullmatch(str(text))
    if found is None or found[2] not in UNITS:
        raise ValueError(f"not a quantity: {text!r}")
    return Decimal(found[1]) * UNITS[found[2]]


def expanded(text: str, known: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` by what is known; what is not stays, and ``$$`` is a dollar sign.

    Examples
    --------
    >>> expanded("$(A)-$(B)-$$(A)-$A", {"A": "1"})
    '1-$(B)-$(A)-$A'
    """

    def of(found: re.Match[str]) -> str:
        return "$" if found[1] == "$" else known.get(found[2], found[0])

    return _REFERENCE.sub(of, text)


def variables(
    pod: Object, container: Object, given: Mapping[str, str], read: Reader
) -> dict[str, str]:
    """Give a container's variables.

    Parameters
    ----------
    pod, container : Object
        The pod, with a status that has its address, and one of its containers.
    given : mapping
        Variables of the image and of the cluster, which the container's own replace.
    read : callable
        Reads configuration and secrets.

    Raises
    ------
    MissingError
        If something is referred to that is not there and not optional.
    """
    found = dict(given)
    for source in container.get("envFrom", []):
        for kind, field in (("configmaps", "configMapRef"), ("secrets", "secretRef")):
            if field in source:
                texts = _read(read, kind, source[field])
                found |= {source.get("prefix", "") + key: text for key, text in texts.items()}
    for one in container.get("env", []):
        value: str | None = expanded(one.get("value", ""), found)
        if "valueFrom" in one:
            value = _referred(pod, container, one["valueFrom"], read)
        if value is not None:
            found[one["name"]] = value
    return found


def field(pod: Object, path: str) -> str:
    """Give a field of a pod by the downward API's name for it.

    Raises
    ------
    ValueError
        If there is no such field.

    Examples
    --------
    >>> field({"metadata": {"labels": {"a": "1"}}}, "metadata.labels['a']")
    '1'
    """
    if keyed := _KEYED.fullmatch(path):
        return str(pod["metadata"].get(keyed[1], {}).get(keyed[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        texts = pod["metadata"].get(path.partition(".")[2], {})
        return "".join(f'{key}="{text}"\n' for key, text in sorted(texts.items()))
    if path in FIELDS:
        where, _, name = path.partition(".")
        return str(pod.get(where, {}).get(name.removesuffix("s"), ""))
    raise ValueError(f"no field {path!r} of a pod can be had")


def _referred(pod: Object, container: Object, source: Object, read: Reader) -> str | None:
    if "fieldRef" in source:
        return field(pod, source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        return _resource(pod, container, source["resourceFieldRef"])
    for kind, name in (("configmaps", "configMapKeyRef"), ("secrets", "secretKeyRef")):
        if name in source:
            texts = _read(read, kind, source[name])
            if source[name]["key"] not in texts and not source[name].get("optional"):
                raise MissingError(f"{kind} {source[name]['name']} has no {source[name]['key']!r}")
            return texts.get(source[name]["key"])
    raise ValueError(f"no variable can be had from {', '.join(source)}")


def _read(read: Reader, kind: str, reference: Object) -> Mapping[str, str]:
    texts = read(kind, reference["name"])
    if texts is None and not reference.get("optional"):
        raise MissingError(f"{kind} {reference['name']} is not there")
    return texts or {}


def _resource(pod: Object, container: Object, reference: Object) -> str:
    name = reference.get("containerName", container["name"])
    (of,) = (one for one in pod["spec"]["containers"] if one["name"] == name)
    where, _, what = reference["resource"].partition(".")
    amount: Any = of.get("resources", {}).get(where, {}).get(what, 0)
    divisor = quantity(reference.get("divisor") or 1) or 1
    return str(ceil(quantity(amount) / divisor))
