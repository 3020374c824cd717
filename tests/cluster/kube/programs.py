"""Command lines of the control plane: pure."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.kube.credentials import Credentials

PORT = 443
"""Of the API server: that of the service ``kubernetes``, to which nothing translates here."""
ETCD = "http://127.0.0.1:2379"
ETCD_PEER = "http://127.0.0.1:2380"
SERVICES = "192.0.2.0/24"
"""Addresses of services, which nobody uses (RFC 5737): see ``kubelet/names.py``."""
ISSUER = "https://kubernetes.default.svc"
GRACE_S = 20
"""After so long without a word from a kubelet its node is not ready."""
CONTROLLERS = (
    "clusterrole-aggregation-controller", "daemonset-controller", "deployment-controller",
    "endpointslice-controller",
    "garbage-collector-controller", "job-controller", "namespace-controller",
    "node-lifecycle-controller", "pod-garbage-collector-controller", "replicaset-controller",
    "root-ca-certificate-publisher-controller", "service-cidr-controller",
    "serviceaccount-controller",
    "statefulset-controller", "taint-eviction-controller",
)  # fmt: skip
"""Controllers of what can be had on a test bed."""


def etcd(folder: str) -> list[str]:
    """Give the words of the store; what it holds need not outlive the machine."""
    return [
        "etcd", "--name=bed", f"--data-dir={folder}", "--unsafe-no-fsync", "--log-level=warn",
        f"--listen-client-urls={ETCD}", f"--advertise-client-urls={ETCD}",
        f"--listen-peer-urls={ETCD_PEER}", f"--initial-advertise-peer-urls={ETCD_PEER}",
        f"--initial-cluster=bed={ETCD_PEER}",
    ]  # fmt: skip


def api_server(known: Credentials, address: str) -> list[str]:
    """Give the words of the API server."""
    return [
        "kube-apiserver", f"--etcd-servers={ETCD}", f"--secure-port={PORT}",
        f"--advertise-address={address}", f"--service-cluster-ip-range={SERVICES}",
        f"--tls-cert-file={known.file('server.crt')}",
        f"--tls-private-key-file={known.file('server.key')}",
        f"--client-ca-file={known.file('ca.crt')}",
        f"--token-auth-file={known.file('tokens.csv')}",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={known.file('accounts.pub')}",
        f"--service-account-signing-key-file={known.file('accounts.key')}",
        f"--kubelet-client-certificate={known.file('caller.crt')}",
        f"--kubelet-client-key={known.file('caller.key')}",
        f"--kubelet-certificate-authority={known.file('ca.crt')}",
        "--kubelet-preferred-address-types=InternalIP",
        "--authorization-mode=RBAC", "--allow-privileged=true", "--profiling=false",
    ]  # fmt: skip


def controllers(known: Credentials, kubeconfig: Path) -> list[str]:
    """Give the words of the controllers."""
    return [
        "kube-controller-manager", f"--kubeconfig={kubeconfig}", "--leader-elect=false",
        "--bind-address=127.0.0.1", "--profiling=false",
        f"--controllers={','.join(CONTROLLERS)}",
        f"--root-ca-file={known.file('ca.crt')}",
        f"--service-account-private-key-file={known.file('accounts.key')}",
        f"--node-monitor-grace-period={GRACE_S}s",
    ]  # fmt: skip


def scheduler(kubeconfig: Path) -> list[str]:
    """Give the words of the scheduler."""
    return [
        "kube-scheduler", f"--kubeconfig={kubeconfig}", "--leader-elect=false",
        "--bind-address=127.0.0.1", "--profiling=false",
    ]  # fmt: skip
