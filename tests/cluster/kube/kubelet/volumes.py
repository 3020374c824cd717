"""Volumes of a pod as folders of its host: written before its containers begin."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.kube.kubelet.api import Object
from tests.cluster.kube.kubelet.environment import MissingError, field

Files = dict[str, bytes]
"""Content by path within a volume."""
Reader = Callable[[str, str], Files | None]
"""Gives the content of one of the ``configmaps`` or ``secrets``; ``None``: it is missing."""
Tokens = Callable[[str | None, int], str]
"""Makes a token of the pod's service account, for an audience, that holds for some seconds."""

WRITTEN = ("configMap", "secret", "downwardAPI", "projected")
TOKEN_S = 3607
RENEWED_AFTER = 0.8
"""Part of a token's time after which there is a new one."""


@dataclass(frozen=True)
class Sources:
    """What volumes are filled from.

    Parameters
    ----------
    read : callable
        Configuration and secrets.
    token : callable
        Tokens.
    """

    read: Reader
    token: Tokens


def content(found: Object) -> Files:
    """Give the files that an object of configuration, or a secret, stands for.

    Examples
    --------
    >>> content({"kind": "ConfigMap", "data": {"a": "1"}, "binaryData": {"b": "Mg=="}})
    {'a': b'1', 'b': b'2'}
    """
    if found.get("kind") == "Secret":
        return {key: base64.b64decode(text) for key, text in (found.get("data") or {}).items()}
    texts = {key: text.encode() for key, text in (found.get("data") or {}).items()}
    coded = {key: base64.b64decode(t) for key, t in (found.get("binaryData") or {}).items()}
    return texts | coded


def source(volume: Object, folder: Path) -> Path:
    """Give the folder, or file, of the host that a volume is.

    Raises
    ------
    ValueError
        For a kind of volume that this kubelet has not.
    """
    if "hostPath" in volume:
        return Path(volume["hostPath"]["path"])
    if "emptyDir" in volume or any(kind in volume for kind in WRITTEN):
        return folder / "volumes" / str(volume["name"])
    kind = next((key for key in volume if key != "name"), "none")
    raise ValueError(f"volume {volume['name']}: {kind} is not had on a test bed")


def prepare(pod: Object, folder: Path, sources: Sources) -> None:
    """Write all volumes of a pod.

    Raises
    ------
    MissingError
        If one refers to something that is not there (yet).
    ValueError
        If there is a kind of volume that this kubelet has not.
    """
    for volume in pod["spec"].get("volumes", []):
        place = source(volume, folder)
        if "hostPath" in volume:
            kind = volume["hostPath"].get("type", "")
            if kind == "DirectoryOrCreate":
                place.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                raise MissingError(f"volume {volume['name']}: no {place} on this host")
            continue
        place.mkdir(parents=True, exist_ok=True)
        if "emptyDir" in volume:
            place.chmod(0o777)
        else:
            _write(place, files(pod, volume, sources))


def renew(pod: Object, folder: Path, sources: Sources) -> None:
    """Write volumes with tokens again if most of their time is over."""
    for volume in pod["spec"].get("volumes", []):
        parts = volume.get("projected", {}).get("sources", [])
        lives = [
            part["serviceAccountToken"].get("expirationSeconds", TOKEN_S)
            for part in parts
            if "serviceAccountToken" in part
        ]
        if not lives:
            continue
        place = source(volume, folder)
        written = min((one.stat().st_mtime for one in place.iterdir()), default=0.0)
        if time.time() - written > RENEWED_AFTER * min(lives):
            _write(place, files(pod, volume, sources))


def files(pod: Object, volume: Object, sources: Sources) -> Files:
    """Give the content of a volume that is written once.

    Raises
    ------
    MissingError
        If it refers to something that is not there and not optional.
    """
    if "projected" in volume:
        found: Files = {}
        for part in volume["projected"].get("sources", []):
            (kind,) = part
            found |= _part(pod, kind, part[kind], sources)
        return found
    kind = next(kind for kind in WRITTEN if kind in volume)
    return _part(pod, kind, volume[kind], sources)


def _part(pod: Object, kind: str, described: Object, sources: Sources) -> Files:
    if kind == "serviceAccountToken":
        seconds = described.get("expirationSeconds", TOKEN_S)
        return {described["path"]: sources.token(described.get("audience"), seconds).encode()}
    if kind == "downwardAPI":
        items = described.get("items", [])
        return {one["path"]: field(pod, one["fieldRef"]["fieldPath"]).encode() for one in items}
    if kind not in ("configMap", "secret"):
        raise ValueError(f"{kind} is not had on a test bed")
    name = described.get("secretName") or described.get("name", "")
    known = sources.read("configmaps" if kind == "configMap" else "secrets", name)
    if known is None:
        if described.get("optional"):
            return {}
        raise MissingError(f"{kind} {name} is not there")
    return _chosen(known, described, f"{kind} {name}")


def _chosen(known: Mapping[str, bytes], described: Object, what: str) -> Files:
    items = described.get("items")
    if not items:
        return dict(known)
    lacking = [one["key"] for one in items if one["key"] not in known]
    if lacking and not described.get("optional"):
        raise MissingError(f"{what} has no {json.dumps(lacking[0])}")
    return {one["path"]: known[one["key"]] for one in items if one["key"] in known}


def _write(place: Path, wanted: Files) -> None:
    for path, data in wanted.items():
        parts = Path(path).parts
        if not parts or path.startswith("/") or ".." in parts:
            raise ValueError(f"{path!r} is no path within a volume")
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.tmp")
        partial.write_bytes(data)
        partial.replace(file)
