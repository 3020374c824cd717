"""The folder that ``pyrometer agent`` writes: programs, and what installs them."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path, PurePosixPath
from posixpath import normpath
from string import Template
from typing import Any

import yaml

from pyrometer import __version__
from pyrometer.collect.agent.access import LEVELS, Access
from pyrometer.collect.agent.programs import NAMES
from pyrometer.core.errors import UsageError
from pyrometer.store.private import make_private

EXECUTABLE = 0o755
STORE = "file:///store"
"""The store of a pod whose volume is mounted at ``/store``."""
WORK = "/var/lib/pyrometer"
"""Where a pod's own volume is mounted: chunks that wait."""
CANARY_S = 60
"""Time between canaries; 0: none."""
MEMORY_MIB = 128
"""What an agent may use with its recorder."""
CANARY_MIB = 384
"""What a canary takes more, for a moment: three arrays of 32 MiB for each of four threads."""
_URL = re.compile(r"(file:///|(s3|gs|abfss?)://)[^\s\"'\\{}$%]+")
_UNSEEN = ("home", "root", "run/user")
_UNWRITTEN = ("usr", "boot", "efi", "etc")
_CREDENTIALS = re.compile(r"://[^/@]*:[^/@]*@|\A(?:s3|gs)://[^/]*@|[?#]")
_CERTIFICATES = "FROM alpine:3 AS certificates\n"
_TRUSTED = (
    "# Object stores are spoken to over TLS: whose certificates are trusted.\n"
    "COPY --from=certificates /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/\n"
)
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_IMAGE = re.compile(r"[\w][\w.:/@-]{0,254}", re.ASCII)


def checked(to: str, user: str, image: str) -> None:
    """Refuse words that would mean something else in the files.

    Raises
    ------
    UsageError
        If one of them is not what it should be.

    Examples
    --------
    >>> checked("s3://bucket/pyrometer", "spark", "registry/pyro-agent:1")
    """
    if _CREDENTIALS.search(to):
        raise UsageError(
            "--to: an address with a user, a password or parameters would be in every file",
            "leave credentials to the environment of the agent: s3://bucket/pyrometer",
        )
    if not _URL.fullmatch(to):
        raise UsageError(f"--to {to!r}: not a store", "--to file:///mnt/shared/pyrometer")
    if to.startswith("file://"):
        _check_seen(to.removeprefix("file://"))
    if not _USER.fullmatch(user):
        raise UsageError(f"--user {user!r}: not the name of a user", "--user spark")
    if not _IMAGE.fullmatch(image):
        raise UsageError(
            f"--image {image!r}: not the name of an image", "--image registry/pyro-agent:1"
        )


def _check_seen(folder: str) -> None:
    """Refuse a folder that the unit hides from the service, or where it may not write."""
    parts = PurePosixPath(normpath(folder)).parts[1:]
    for hidden, why in ((_UNSEEN, "does not see"), (_UNWRITTEN, "cannot write to")):
        for name in hidden:
            if parts[: name.count("/") + 1] == tuple(name.split("/")):
                raise UsageError(
                    f"--to: the service {why} anything below /{name} (ProtectHome, ProtectSystem in"
                    " pyro-agent.service)",
                    "give a folder elsewhere: --to file:///mnt/shared/pyrometer",
                )


def written(
    to: str, access: Access, user: str, image: str, canary_s: int = CANARY_S
) -> dict[str, str]:
    """Give the texts of the folder by their path in it.

    Parameters
    ----------
    to : str
        Where hosts ship to; of pods, a folder is mounted at ``/store``.
    access : Access
        What the agent may do.
    user : str
        Whom it runs as without rights.
    image : str
        The image that pods run.
    canary_s : int
        Time between canaries; 0: none.
    """
    of_pod, volume = _of_pods(to)
    words = {
        "to": to,
        "user": "root" if access.as_root else user,
        "capabilities": " ".join(f"CAP_{name}" for name in access.capabilities),
        "canary": str(canary_s),
        "memory_mib": str(_memory_mib(canary_s)),
        "version": __version__,
        "chart_to": json.dumps(of_pod),
        "certificates": "" if volume else _CERTIFICATES,
        "trusted": "" if volume else _TRUSTED,
        "image": json.dumps(image),
        "store": json.dumps(volume),
        "access": access.level,
        "levels": ", ".join(LEVELS),
        "chart_capabilities": " ".join(
            f'"{one.level}" (list{"".join(f" {json.dumps(name)}" for name in one.capabilities)})'
            for one in LEVELS.values()
        ),
    }
    named = {name: Template(_text(name)).substitute(words) for name in _TEMPLATES}
    manifest = yaml.safe_dump(daemon_set(of_pod, volume, access, image, canary_s), sort_keys=False)
    return {
        **named,
        "daemonset.yaml": f"# kubectl apply -n NAMESPACE -f daemonset.yaml\n{manifest}",
    }


_TEMPLATES = (
    "pyro-agent.service",
    "playbook.yml",
    "Dockerfile",
    "chart/Chart.yaml",
    "chart/values.yaml",
    "chart/templates/daemonset.yaml",
)


def _text(name: str) -> str:
    return files(__package__).joinpath("files", name).read_text(encoding="utf-8")


def _of_pods(to: str) -> tuple[str, dict[str, Any] | None]:
    """Give the store as pods name it, and the volume that holds it."""
    if not to.startswith("file://"):
        return to, None
    return STORE, {"hostPath": {"path": to.removeprefix("file://"), "type": "Directory"}}


def _memory_mib(canary_s: int) -> int:
    return MEMORY_MIB + (CANARY_MIB if canary_s else 0)


def daemon_set(
    to: str, volume: dict[str, Any] | None, access: Access, image: str, canary_s: int = CANARY_S
) -> dict[str, Any]:
    """Give the manifest of a DaemonSet: what the chart makes of its default values."""
    labels = {"app.kubernetes.io/name": "pyro-agent", "app.kubernetes.io/instance": "pyro-agent"}
    rights: dict[str, Any] = {"drop": ["ALL"]}
    if access.as_root:
        rights["add"] = list(access.capabilities)
    security: dict[str, Any] = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        **({} if access.as_root else {"runAsNonRoot": True}),
        "runAsUser": 0 if access.as_root else 185,
        "capabilities": rights,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    mounts = [{"name": "work", "mountPath": WORK}]
    volumes: list[dict[str, Any]] = [{"name": "work", "emptyDir": {"sizeLimit": "1Gi"}}]
    if volume is not None:
        mounts.append({"name": "store", "mountPath": STORE.removeprefix("file://")})
        volumes.append({"name": "store", **volume})
    container = {
        "name": "pyro-agent",
        "image": image,
        "args": [
            *("host", "--to", to, "--host", "$(NODE)"),
            *("--canary", str(canary_s), "--work-dir", f"{WORK}/agent"),
        ],
        "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "securityContext": security,
        "resources": {
            "requests": {"cpu": "20m", "memory": "48Mi"},
            "limits": {"memory": f"{_memory_mib(canary_s)}Mi"},
        },
        "volumeMounts": mounts,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "pyro-agent", "labels": dict(labels)},
        "spec": {
            "selector": {"matchLabels": dict(labels)},
            "template": {
                "metadata": {"labels": dict(labels)},
                "spec": {
                    "hostPID": True,
                    "automountServiceAccountToken": False,
                    "terminationGracePeriodSeconds": 60,
                    "containers": [container],
                    "volumes": volumes,
                },
            },
        },
    }


def write(folder: Path, binaries: dict[str, bytes], texts: dict[str, str]) -> None:
    """Write the folder, which must be new or empty.

    Raises
    ------
    UsageError
        If something is there, or it cannot be written.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} is not an empty folder", "give another one with -o")
        make_private(folder)
        for name in NAMES:
            path = folder / name
            path.write_bytes(binaries[name])
            path.chmod(EXECUTABLE)
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
