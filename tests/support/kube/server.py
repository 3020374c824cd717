"""An API server that knows pods of one node, and what a kubelet asks for beside them."""

from __future__ import annotations

import base64
import copy
import json
import ssl
import threading
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.cluster.kube.credentials import Credentials
from tests.cluster.kube.kubelet.api import Object


class Server(ThreadingHTTPServer):
    """Keeps pods, and tells whoever watches them.

    Parameters
    ----------
    address : str
        Where it listens.
    port : int
        0: any.
    known : Credentials
        Whose certificate it shows.
    """

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: str, port: int, known: Credentials) -> None:
        super().__init__((address, port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(known.file("server.crt"), known.file("server.key"))
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )
        self.ended = False
        self.changed = threading.Condition()
        self.pods: dict[str, Object] = {}
        self.events: list[tuple[str, Object]] = []
        self.objects: dict[str, Object] = {}
        self.nodes: set[str] = set()
        self.slices: list[Object] = []

    def begin(self) -> None:
        """Serve, in a thread."""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self) -> None:
        """Go away, connections that are open included."""
        self.ended = True
        self.shutdown()
        self.server_close()
        with self.changed:
            self.events.append(("END", {}))
            self.changed.notify_all()

    def create(self, name: str, container: Object, **spec: Any) -> str:
        """Make a pod that is bound to the node; returns its UID."""
        uid = str(uuid.uuid4())
        made = {
            "metadata": {"name": name, "namespace": "default", "uid": uid},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "host", **container}],
                **spec,
            },
            "status": {"phase": "Pending"},
        }
        self._tell("ADDED", made)
        return uid

    def delete(self, name: str, grace_s: int) -> None:
        """Ask for the end of a pod."""
        pod = copy.deepcopy(self.pods[name])
        pod["metadata"] |= {"deletionTimestamp": "now", "deletionGracePeriodSeconds": grace_s}
        self._tell("MODIFIED", pod)

    def put_status(self, name: str, uid: str, status: Object) -> bool:
        """Take what a kubelet says of a pod."""
        pod = copy.deepcopy(self.pods.get(name))
        if pod is None or pod["metadata"]["uid"] != uid:
            return False
        pod["status"] |= status
        self._tell("MODIFIED", pod)
        return True

    def event(self, at: int) -> tuple[str, Object]:
        """Wait for an event, by its number."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.events) > at)
            return self.events[at]

    def remove(self, name: str) -> None:
        """Take a pod out of the list."""
        self._tell("DELETED", self.pods[name])

    def _tell(self, kind: str, pod: Object) -> None:
        with self.changed:
            name = pod["metadata"]["name"]
            if kind == "DELETED":
                self.pods.pop(name, None)
            else:
                self.pods[name] = pod
            self.events.append((kind, pod))
            self.changed.notify_all()


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def parse_request(self) -> bool:
        """Read a request; one that comes after the end has no answer."""
        if self.server.ended:
            self.close_connection = True
            return False
        return super().parse_request()

    def do_GET(self) -> None:
        """Lists, watches, single objects."""
        url = urllib.parse.urlsplit(self.path)
        listed = url.path == "/api/v1/pods"
        if "watch=true" in url.query:
            self._watch(int(urllib.parse.parse_qs(url.query)["resourceVersion"][0]), listed)
        elif listed or url.path.endswith("/endpointslices"):
            with self.server.changed:
                items = list(self.server.pods.values()) if listed else self.server.slices
                version = len(self.server.events)
            self._answer(200, {"metadata": {"resourceVersion": str(version)}, "items": items})
        else:
            found = self.server.objects.get(url.path)
            self._answer(*((200, found) if found else (404, {"message": "not found"})))

    def do_POST(self) -> None:
        """Nodes, leases, tokens."""
        body = self._body()
        if self.path.endswith("/token"):
            self._answer(201, {"status": {"token": f"token-of-{self.path.split('/')[-2]}"}})
            return
        if self.path == "/api/v1/nodes":
            self.server.nodes.add(body["metadata"]["name"])
        self._answer(201, body)

    def do_PATCH(self) -> None:
        """What a kubelet says of its node and of its pods."""
        body, parts = self._body(), self.path.split("/")
        if "pods" in parts:
            uid = body["metadata"]["uid"]
            taken = self.server.put_status(parts[-2], uid, body["status"])
            self._answer(200 if taken else 409, {"message": "no such pod"})
        elif "nodes" in parts and parts[-2] not in self.server.nodes:
            self._answer(404, {"message": "no such node"})
        else:
            self._answer(200, body)

    def do_DELETE(self) -> None:
        """Pods that have ended."""
        options = self._body()
        name = self.path.split("/")[-1]
        pod = self.server.pods.get(name)
        if pod is None:
            self._answer(404, {"message": "no such pod"})
            return
        assert options["gracePeriodSeconds"] == 0
        assert options["preconditions"]["uid"] == pod["metadata"]["uid"]
        self.server.remove(name)
        self._answer(200, {})

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def _watch(self, at: int, listed: bool) -> None:
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while True:
            kind, pod = self.server.event(at)
            at += 1
            if kind == "END":
                return
            if listed:
                event = json.dumps({"type": kind, "object": pod}).encode()
                self.wfile.write(event + b"\n")
                self.wfile.flush()

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")

    def _answer(self, status: int, what: Object) -> None:
        data = json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def secret(**texts: str) -> Object:
    """Give a secret as the API has it."""
    coded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    return {"kind": "Secret", "data": coded}
