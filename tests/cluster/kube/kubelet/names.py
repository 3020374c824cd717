"""Names that pods know: their own, those of hosts, and services, which are their endpoints here.

Nothing carries packages to the address of a service. Its name leads to the pods behind it, at their
own ports; that is what a headless service is everywhere, and all that Spark's are.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.cluster.kube.kubelet.api import Api, Object

SLICES = "/apis/discovery.k8s.io/v1/endpointslices"
SERVICE = "kubernetes.io/service-name"
DOMAIN = "cluster.local"

Table = Mapping[tuple[str, str], frozenset[str]]
"""Addresses of each service, by namespace and name."""


def table(slices: Iterable[Object]) -> Table:
    """Read which addresses services have."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    for one in slices:
        name = one["metadata"].get("labels", {}).get(SERVICE)
        if not name:
            continue
        key = (one["metadata"]["namespace"], name)
        ready = frozenset(
            address
            for endpoint in one.get("endpoints") or []
            if endpoint.get("conditions", {}).get("ready") is not False
            for address in endpoint["addresses"]
        )
        found[key] = found.get(key, frozenset()) | ready
    return found


def text(base: str, address: str, hostname: str, namespace: str, known: Table) -> str:
    """Give ``/etc/hosts`` of a pod.

    Examples
    --------
    >>> known = {("default", "kubernetes"): frozenset({"192.0.2.1"})}
    >>> print(text("", "192.0.2.9", "a", "b", known), end="")
    192.0.2.9 a
    192.0.2.1 kubernetes.default.svc kubernetes.default.svc.cluster.local kubernetes.default
    """
    lines = [f"{address} {hostname}"]
    for (space, name), addresses in sorted(known.items()):
        full = f"{name}.{space}.svc"
        names = [full, f"{full}.{DOMAIN}", f"{name}.{space}", *([name] * (space == namespace))]
        lines += [f"{one} {' '.join(names)}" for one in sorted(addresses)]
    return base + "".join(f"{line}\n" for line in lines)


class Names:
    """Services of the cluster, followed; and files of pods that are kept up to date.

    Parameters
    ----------
    base : str
        What a pod's file begins with.
    """

    def __init__(self, base: str) -> None:
        self._base = base
        self._lock = threading.Lock()
        self._slices: dict[str, Object] | None = None
        self._files: dict[Path, tuple[str, str, str]] = {}

    def follow(self, api: Api, stop: threading.Event) -> None:
        """Follow the endpoints of all services until `stop` is set."""
        for change in api.changes(SLICES, stop):
            named = {one["metadata"]["uid"]: one for one in change.objects}
            with self._lock:
                if change.kind == "all" or self._slices is None:
                    self._slices = named
                elif change.kind == "put":
                    self._slices |= named
                else:
                    self._slices = {k: v for k, v in self._slices.items() if k not in named}
                for file in self._files:
                    self._write(file)

    def keep(self, file: Path, address: str, hostname: str, namespace: str) -> None:
        """Write the file of a pod, now and whenever a service changes.

        One that an earlier kubelet wrote stays as it is until services are known.
        """
        with self._lock:
            self._files[file] = (address, hostname, namespace)
            if self._slices is not None or not file.exists():
                self._write(file)

    def forget(self, file: Path) -> None:
        """Write the file no more."""
        with self._lock:
            self._files.pop(file, None)

    def _write(self, file: Path) -> None:
        # It is mounted: another file of its name would be seen by nobody.
        data = text(self._base, *self._files[file], table((self._slices or {}).values())).encode()
        if file.exists() and file.read_bytes() == data:
            return
        opened = os.open(file, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            # Cut afterwards: whoever asks for a name meanwhile does not find an empty file.
            os.pwrite(opened, data, 0)
            os.ftruncate(opened, len(data))
        finally:
            os.close(opened)
