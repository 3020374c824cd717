"""Who is who in a cluster: an authority of its own, certificates, and tokens."""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyrometer.core.errors import CapabilityError
from tests.cluster.bed import Bed

DAYS = "365"
CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
SERVICE = "kubernetes"
OPENSSL_S = 30
USERS = {
    "admin": "system:masters",
    "controllers": "system:masters",
    "scheduler": "system:masters",
    "kubelet": "system:masters",
    "developer": "developers",
}
"""Users, each with its group. Only the last one is not the bed itself."""


@dataclass(frozen=True)
class Credentials:
    """Files and tokens of a cluster.

    Parameters
    ----------
    folder : Path
        With the files: ``ca.crt``, and ``NAME.crt`` and ``NAME.key`` of ``server`` (API server and
        kubelets) and ``caller`` (the API server as it calls kubelets); ``accounts.key`` and
        ``accounts.pub``, with which tokens of pods are signed; ``tokens.csv``.
    tokens : dict
        By user.
    """

    folder: Path
    tokens: dict[str, str]

    def file(self, name: str) -> str:
        """Give the path of a file."""
        return str(self.folder / name)

    def kubeconfig(self, user: str, url: str) -> Path:
        """Write what a client of a user's needs to know."""
        file = self.folder / f"{user}.conf"
        cluster = {"server": url, "certificate-authority": self.file("ca.crt")}
        told = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "bed", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self.tokens[user]}}],
            "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": user}}],
            "current-context": "bed",
        }
        file.write_text(json.dumps(told, indent=1), "utf-8")
        return file


def make(bed: Bed, folder: Path) -> Credentials:
    """Make all credentials of a cluster.

    Raises
    ------
    CapabilityError
        If openssl is missing or refuses.
    """
    folder.mkdir(mode=0o700)
    ca = ("-x509", "-days", DAYS, "-subj", "/CN=pyrometer-test-bed")
    _openssl(folder, "req", *ca, *CURVE, "-keyout", "ca.key", "-out", "ca.crt")
    names = [SERVICE, f"{SERVICE}.default", f"{SERVICE}.default.svc"]
    names += [f"{SERVICE}.default.svc.cluster.local", "localhost"]
    names += [bed.host_name(n) for n in bed.numbers]
    addresses = ["127.0.0.1", bed.gateway, *(bed.address(n) for n in bed.numbers)]
    stated = [*(f"DNS:{one}" for one in names), *(f"IP:{one}" for one in addresses)]
    _certify(folder, "server", "kube-apiserver", stated)
    _certify(folder, "caller", "kube-apiserver-kubelet-client", [])
    _openssl(folder, "genrsa", "-out", "accounts.key", "2048")
    _openssl(folder, "rsa", "-in", "accounts.key", "-pubout", "-out", "accounts.pub")
    tokens = {user: secrets.token_hex(16) for user in USERS}
    rows = [f'{tokens[user]},{user},{user},"{group}"' for user, group in USERS.items()]
    (folder / "tokens.csv").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return Credentials(folder, tokens)


def _certify(folder: Path, name: str, subject: str, stated: Sequence[str]) -> None:
    extra = ["-addext", f"subjectAltName={','.join(stated)}"] if stated else []
    _openssl(
        folder, "req", "-x509", "-CA", "ca.crt", "-CAkey", "ca.key", "-days", DAYS,
        "-subj", f"/CN={subject}", *extra, "-addext", "basicConstraints=critical,CA:FALSE",
        *CURVE, "-keyout", f"{name}.key", "-out", f"{name}.crt",
    )  # fmt: skip


def _openssl(folder: Path, *words: str) -> None:
    try:
        done = subprocess.run(
            ["openssl", *words], cwd=folder, capture_output=True, text=True, check=False,
            timeout=OPENSSL_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise CapabilityError("openssl is not installed", "apt-get install openssl") from error
    if done.returncode:
        raise CapabilityError(f"openssl {words[0]}: {done.stderr.strip()[-500:]}")
