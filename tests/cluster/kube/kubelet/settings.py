"""What a kubelet is told when it starts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.cluster.kube.kubelet.tree import Mount


@dataclass(frozen=True)
class Image:
    """What stands behind the name of an image.

    Parameters
    ----------
    env : dict
        Variables of its containers.
    entrypoint : list of str
        What is run where a container names no command.
    mounts : list of Mount
        Files of the host that are elsewhere, or not otherwise there, in its containers.
    folder : str
        Where its containers begin.
    """

    env: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)
    folder: str = "/"


@dataclass(frozen=True)
class Settings:
    """Of one kubelet.

    Parameters
    ----------
    node : str
        Name of its node, and of its host.
    address : str
        Of its host.
    api : str
        ``https://HOST:PORT`` of the API server.
    ca, certificate, key : str
        Files: who vouches for the server and its callers, and what this kubelet shows them.
    token : str
        Who it is to the API server.
    groups : list of str
        Control groups of its host.
    first_address, last_address : str
        Addresses of its pods, from and to.
    images : dict of str to Image
        Which images there are.
    cores : int
        What the node offers.
    memory_mib : int
        The same.
    folder : str
        Its own, on its host's own file tree.
    """

    node: str
    address: str
    api: str
    ca: str
    certificate: str
    key: str
    token: str
    groups: list[str]
    first_address: str
    last_address: str
    images: dict[str, Image]
    cores: int
    memory_mib: int
    folder: str = "/var/tmp/kubelet"

    def write(self, file: Path) -> None:
        """Write what :meth:`read` reads; only root may, as a token is in it."""
        file.touch(0o600)
        file.write_text(json.dumps(asdict(self)), "utf-8")

    @classmethod
    def read(cls, file: Path) -> Settings:
        """Read what :meth:`write` wrote."""
        fields = json.loads(file.read_text("utf-8"))
        images = {
            name: Image(**{**one, "mounts": [Mount(**mount) for mount in one["mounts"]]})
            for name, one in fields.pop("images").items()
        }
        return cls(**fields, images=images)
