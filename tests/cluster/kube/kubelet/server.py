"""What the API server asks a kubelet for: logs of containers, and whether it is well."""

from __future__ import annotations

import ssl
import sys
import time
import urllib.parse
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

from tests.cluster.kube.kubelet import sandbox
from tests.cluster.kube.kubelet.node import PORT, Node
from tests.cluster.kube.kubelet.worker import Worker

FOLLOW_S = 0.2
UNSUPPORTED = ("previous", "sinceSeconds", "sinceTime", "timestamps")
"""Of logs: they have neither times nor attempts here."""


def last_lines(data: bytes, count: int) -> bytes:
    r"""Give the last lines of a text.

    Examples
    --------
    >>> last_lines(b"a\nb\nc", 2), last_lines(b"a\n", 0)
    (b'b\nc', b'')
    """
    return b"".join(data.splitlines(keepends=True)[-count:]) if count > 0 else b""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    node: ClassVar[Node]
    protocol_version = "HTTP/1.1"
    timeout = 600

    def do_GET(self) -> None:
        """Answer a request."""
        url = urllib.parse.urlsplit(self.path)
        parts = url.path.strip("/").split("/")
        query = {key: values[-1] for key, values in urllib.parse.parse_qs(url.query).items()}
        if parts == ["healthz"]:
            self._answer(HTTPStatus.OK, b"ok")
        elif parts[0] == "containerLogs" and len(parts) == 4:
            _, namespace, name, container = parts
            self._logs(namespace, name, container, query)
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"not had on a test bed\n")

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def _logs(self, namespace: str, name: str, container: str, query: dict[str, str]) -> None:
        worker = next(
            (
                one
                for one in self.node.workers()
                if one.pod["metadata"].get("namespace") == namespace
                and one.pod["metadata"]["name"] == name
            ),
            None,
        )
        if refused := [one for one in UNSUPPORTED if query.get(one) not in (None, "false")]:
            said = f"logs with {', '.join(refused)} are not had on a test bed\n"
            self._answer(HTTPStatus.BAD_REQUEST, said.encode())
            return
        if worker is None or container not in sandbox.states(worker.folder):
            said = f"container {container} of pod {name} has not been started\n"
            self._answer(HTTPStatus.NOT_FOUND, said.encode())
            return
        file = worker.folder / "containers" / container / "log"
        data = file.read_bytes() if file.exists() else b""
        shown = last_lines(data, int(query["tailLines"])) if "tailLines" in query else data
        if "limitBytes" in query:
            shown = shown[: int(query["limitBytes"])]
        if query.get("follow") != "true":
            self._answer(HTTPStatus.OK, shown)
            return
        self._begin(HTTPStatus.OK, {"Transfer-Encoding": "chunked"})
        self._chunk(shown)
        self._follow(worker, container, file, len(data))
        self.wfile.write(b"0\r\n\r\n")

    def _follow(self, worker: Worker, container: str, file: Path, at: int) -> None:
        over = False
        while not over:
            over = sandbox.states(worker.folder).get(container, sandbox.State()).state != "running"
            over = over or not worker.is_alive()
            time.sleep(0 if over else FOLLOW_S)
            if file.exists() and file.stat().st_size > at:
                with file.open("rb") as source:
                    source.seek(at)
                    data = source.read()
                at += len(data)
                self._chunk(data)

    def _chunk(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()

    def _answer(self, status: HTTPStatus, data: bytes) -> None:
        self._begin(status, {"Content-Length": str(len(data))})
        self.wfile.write(data)

    def _begin(self, status: HTTPStatus, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {"Content-Type": "text/plain", **headers}.items():
            self.send_header(key, value)
        self.end_headers()


class Server(ThreadingHTTPServer):
    """Says in one line what went wrong with a connection."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Write it where the kubelet's own messages go."""
        print(f"{client_address}: {sys.exc_info()[1]}", file=sys.stderr, flush=True)


def serve(node: Node) -> Server:
    """Make the server; only callers that the cluster vouches for are answered."""
    told = node.settings
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=told.ca)
    context.load_cert_chain(told.certificate, told.key)
    context.verify_mode = ssl.CERT_REQUIRED
    server = Server((told.address, PORT), type("Of", (Handler,), {"node": node}))
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    return server
