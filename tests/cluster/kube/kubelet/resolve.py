"""From a pod's description to what its sandbox runs: images, commands, variables, mounts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cluster.kube.kubelet import groups, volumes
from tests.cluster.kube.kubelet.api import Object
from tests.cluster.kube.kubelet.environment import Reader, expanded, quantity, variables
from tests.cluster.kube.kubelet.sandbox import Container, Pod
from tests.cluster.kube.kubelet.settings import Image
from tests.cluster.kube.kubelet.status import identity
from tests.cluster.kube.kubelet.tree import Mount

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UNSUPPORTED = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe", "volumeDevices")
"""Of a container, what would be wrong to pass over in silence."""
UNSUPPORTED_OF_POD = ("activeDeadlineSeconds", "hostAliases", "ephemeralContainers")


class ImageError(Exception):
    """There is no image of that name."""


def hostname(pod: Object) -> str:
    """Give what a pod calls itself."""
    return str(pod["spec"].get("hostname") or pod["metadata"]["name"])[:63].rstrip("-.")


def unsupported(pod: Object) -> list[str]:
    """Give what a pod asks for that this kubelet does not do."""
    return (
        [what for what in UNSUPPORTED_OF_POD if pod["spec"].get(what)]
        + [
            f"{one['name']}: {what}"
            for one in pod["spec"].get("initContainers", []) + pod["spec"]["containers"]
            for what in UNSUPPORTED
            if what in one
        ]
        + [
            f"{one['name']}: restartPolicy"
            for one in pod["spec"].get("initContainers", [])
            if one.get("restartPolicy")
        ]
    )


def sandbox(
    pod: Object,
    folder: Path,
    images: Mapping[str, Image],
    given: Mapping[str, str],
    read: Reader,
    host_groups: list[str],
) -> Pod:
    """Resolve a pod whose volumes are prepared; its control groups and folders are made.

    Parameters
    ----------
    pod : Object
        With a status that has its address.
    folder : Path
        Its own, on the host.
    images : mapping of str to Image
        By name.
    given : mapping
        Variables of every container.
    read : callable
        Reads configuration and secrets.
    host_groups : list of str
        Control groups of the host.

    Raises
    ------
    ImageError
        For an image that is none.
    MissingError
        If something is referred to that is not there (yet).
    ValueError
        For what cannot be had on a test bed.
    """
    spec = pod["spec"]
    described = [(one, True) for one in spec.get("initContainers", [])]
    described += [(one, False) for one in spec["containers"]]
    for one, _ in described:
        if one.get("image") not in images:
            known = ", ".join(sorted(images))
            raise ImageError(f"no image {one.get('image')!r} on this test bed; there are: {known}")
    below = groups.path(pod)
    containers = []
    for one, init in described:
        own = folder / "containers" / str(one["name"])
        own.mkdir(parents=True, exist_ok=True)
        image = images[one["image"]]
        base = {"PATH": PATH, "HOME": "/root", "HOSTNAME": hostname(pod), **image.env, **given}
        env = variables(pod, one, base, read)
        named = f"{below}/{identity(pod, one['name'])}"
        containers.append(
            Container(
                name=one["name"],
                command=command(one, image, env),
                env=env,
                folder=one.get("workingDir") or image.folder,
                mounts=[*image.mounts, *mounts(pod, one, folder)],
                groups=groups.make(host_groups, named, groups.limits(one)),
                own=str(own),
                init=init,
                user=_user(spec, one, "runAsUser"),
                group=_user(spec, one, "runAsGroup"),
            )
        )
    in_memory = {
        str(volumes.source(volume, folder)): _memory(volume["emptyDir"])
        for volume in spec.get("volumes", [])
        if volume.get("emptyDir", {}).get("medium") == "Memory"
    }
    return Pod(
        hostname=hostname(pod),
        groups=groups.make(host_groups, f"{below}/sandbox"),
        containers=containers,
        restart=spec.get("restartPolicy", "Always"),
        own_network=not spec.get("hostNetwork", False),
        own_processes=not spec.get("hostPID", False),
        in_memory=in_memory,
    )


def command(container: Object, image: Image, env: Mapping[str, str]) -> list[str]:
    """Give a container's program and arguments.

    Examples
    --------
    >>> command({"args": ["driver", "$(A)"]}, Image(entrypoint=["/entry"]), {"A": "1"})
    ['/entry', 'driver', '1']
    >>> command({"command": ["sleep"], "args": ["1"]}, Image(entrypoint=["/entry"]), {})
    ['sleep', '1']
    """
    words = [*(container.get("command") or image.entrypoint), *container.get("args", [])]
    if not words:
        raise ValueError(f"{container.get('name')}: neither it nor its image has a command")
    return [expanded(word, env) for word in words]


def mounts(pod: Object, container: Object, folder: Path) -> list[Mount]:
    """Give the mounts of a container: volumes, those of outer folders first, and its names."""
    by_name = {volume["name"]: volume for volume in pod["spec"].get("volumes", [])}
    found = []
    for one in container.get("volumeMounts", []):
        if "subPathExpr" in one:
            raise ValueError(f"{container['name']}: subPathExpr is not had on a test bed")
        volume = by_name[one["name"]]
        place = volumes.source(volume, folder)
        if part := one.get("subPath"):
            if part.startswith("/") or ".." in Path(part).parts:
                raise ValueError(f"{part!r} is no path within a volume")
            place = place / part
            if not place.exists():
                place.mkdir(parents=True)
        written = any(kind in volume for kind in volumes.WRITTEN)
        found.append(Mount(str(place), one["mountPath"], bool(one.get("readOnly") or written)))
    found.sort(key=lambda mount: len(Path(mount.target).parts))
    own = [] if pod["spec"].get("hostNetwork") else ["hosts", "resolv.conf"]
    return found + [Mount(str(folder / name), f"/etc/{name}") for name in own]


def _user(spec: Object, container: Object, what: str) -> int:
    own = container.get("securityContext", {}).get(what)
    return int(spec.get("securityContext", {}).get(what, 0) if own is None else own)


def _memory(described: Mapping[str, Any]) -> str:
    size = described.get("sizeLimit")
    return f"mode=777,size={int(quantity(size))}" if size else "mode=777"
