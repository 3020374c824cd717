"""Requests to an API server, which may go away and come back."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.bed import Bed, HostSpec
from tests.cluster.kube import credentials
from tests.cluster.kube.kubelet.api import UNANSWERED, Api, ApiError, Change
from tests.support import needs

WATCHES: list[list[dict[str, Any]]] = [
    [{"type": "ADDED", "object": {"n": 2}}, {"type": "BOOKMARK", "object": {}}],
    [{"type": "ERROR", "object": {"code": 410}}],
    [{"type": "DELETED", "object": {"n": 2}}],
]
"""What each watch sends before its connection ends."""


class Server(ThreadingHTTPServer):
    """Answers as an API server does, and ends connections as it pleases."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str, Any]] = []
        self.watches = 0
        self.refused_lists = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.answer()

    def do_PATCH(self) -> None:
        self.answer()

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, json.loads(body or b"null")))
        if self.headers["Authorization"] != "Bearer known":
            self.send(401, {"message": "who are you"})
        elif "watch=true" in self.path:
            self.watch()
        elif self.path == "/log":
            self.send(200, "räw")
        elif self.path.startswith("/broken"):
            self.close_connection = True
        elif self.path.startswith("/items") and self.server.refused_lists > 0:
            self.server.refused_lists -= 1
            self.send(503, {"message": "not yet"})
        else:
            self.send(200, {"metadata": {"resourceVersion": "7"}, "items": [{"n": 1}]})

    def watch(self) -> None:
        events = WATCHES[min(self.server.watches, len(WATCHES) - 1)]
        self.server.watches += 1
        self.server.refused_lists = 1
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(json.dumps(event).encode() + b"\n")
        self.close_connection = True

    def send(self, status: int, what: object) -> None:
        data = (what if isinstance(what, str) else json.dumps(what)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> credentials.Credentials:
    needs.tool("openssl")
    bed = Bed("b", "198.18.3.0/24", (HostSpec(), HostSpec()))
    return credentials.make(bed, tmp_path_factory.mktemp("api") / "known")


@pytest.fixture
def server(known: credentials.Credentials) -> Iterator[Server]:
    made = Server()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(known.file("server.crt"), known.file("server.key"))
    made.socket = context.wrap_socket(made.socket, server_side=True)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def api(server: Server, known: credentials.Credentials, token: str = "known") -> Api:
    return Api(f"https://127.0.0.1:{server.server_port}", known.file("ca.crt"), token)


def test_an_object_is_asked_for_and_changed(server: Server, known: credentials.Credentials) -> None:
    client = api(server, known)
    assert client.ask("GET", "/items", query={"a": "b=c"})["items"] == [{"n": 1}]
    client.ask("PATCH", "/items/one", {"status": 1})
    assert server.asked == [
        ("GET", "/items?a=b%3Dc", None),
        ("PATCH", "/items/one", {"status": 1}),
    ]
    assert client.text("/log") == "räw"


def test_a_refusal_says_what_the_server_said(
    server: Server, known: credentials.Credentials
) -> None:
    with pytest.raises(ApiError, match="401: who are you") as refused:
        api(server, known, "unknown").ask("GET", "/items")
    assert refused.value.status == 401


def test_a_server_that_ends_the_connection_is_asked_again_by_whoever_asks(
    server: Server, known: credentials.Credentials
) -> None:
    client = api(server, known)
    with pytest.raises(UNANSWERED):
        client.ask("GET", "/broken")
    assert client.ask("GET", "/items")["items"] == [{"n": 1}]


def test_a_server_that_nobody_vouches_for_is_told_nothing(server: Server, tmp_path: Path) -> None:
    bed = Bed("b", "198.18.3.0/24", (HostSpec(), HostSpec()))
    other = credentials.make(bed, tmp_path / "other")
    with pytest.raises(ssl.SSLCertVerificationError):
        api(server, other).ask("GET", "/items")
    assert server.asked == []


def test_a_list_is_followed_over_watches_that_end_and_lists_that_fail(
    server: Server, known: credentials.Credentials
) -> None:
    stop = threading.Event()
    found: list[Change] = []
    for change in api(server, known).changes("/items", stop, {"fieldSelector": "x"}):
        found.append(change)
        if len(found) == 5:
            stop.set()
    everything = Change("all", [{"n": 1}])
    assert found[:5] == [
        everything,
        Change("put", [{"n": 2}]),
        everything,
        everything,
        Change("gone", [{"n": 2}]),
    ]
    watched = [path for _, path, _ in server.asked if "watch" in path]
    assert all("resourceVersion=7" in path and "fieldSelector=x" in path for path in watched)
