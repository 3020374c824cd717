"""Requests to the API server: one answer, or all changes of a list over restarts of the server."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Object = dict[str, Any]
"""An object of the API, as JSON has it."""

PATIENCE_S = 20.0
WATCH_S = 300
"""The server ends a watch after so long, and we list again."""
WAITS_S = (0.2, 0.5, 1.0, 2.0)
"""Between attempts at a server that does not answer; the last one from then on."""
MERGE = "application/strategic-merge-patch+json"


class ApiError(Exception):
    """The server's answer is no success.

    Parameters
    ----------
    status : int
        Of HTTP.
    message : str
        What the server said.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


UNANSWERED = (OSError, http.client.HTTPException, ValueError, ApiError)
"""Errors of a request that may do better later."""


@dataclass(frozen=True)
class Change:
    """What became of a list.

    Parameters
    ----------
    kind : {"all", "put", "gone"}
        All objects of the list; one that is new or other than before; one that was removed.
    objects : list of Object
        Of which it is one but for ``all``.
    """

    kind: Literal["all", "put", "gone"]
    objects: list[Object]


class Api:
    """Requests with one identity; each thread has a connection of its own.

    Parameters
    ----------
    url : str
        ``https://HOST:PORT``.
    ca_file : str
        Who vouches for the server.
    token : str
        Who we are.
    """

    def __init__(self, url: str, ca_file: str, token: str) -> None:
        self._host = urllib.parse.urlsplit(url).netloc
        self._context = ssl.create_default_context(cafile=ca_file)
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._kept = threading.local()

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        kind: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Object:
        """Give the object that a request is answered with.

        Raises
        ------
        ApiError
            If the server refuses.
        OSError, http.client.HTTPException
            If it does not answer.
        """
        connection = getattr(self._kept, "connection", None) or self._connect(PATIENCE_S)
        self._kept.connection = None
        try:
            answer = self._send(connection, method, _with(path, query), body, kind)
            text = answer.read()
        except BaseException:
            connection.close()
            raise
        self._kept.connection = connection
        _checked(answer.status, text)
        found = json.loads(text)
        return found if isinstance(found, dict) else {}

    def text(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """Give what a request is answered with where that is no object, as logs are."""
        connection = self._connect(PATIENCE_S)
        try:
            answer = self._send(connection, "GET", _with(path, query), None, "")
            text = answer.read()
        finally:
            connection.close()
        _checked(answer.status, text)
        return text.decode("utf-8", "replace")

    def changes(
        self, path: str, stop: threading.Event, query: Mapping[str, str] | None = None
    ) -> Iterator[Change]:
        """Follow a list until `stop` is set, over restarts of the server."""
        failures = 0
        while not stop.is_set():
            try:
                listed = self.ask("GET", path, query=query)
                yield Change("all", [item for item in listed["items"] if isinstance(item, dict)])
                failures = 0
                yield from self._watched(path, listed["metadata"]["resourceVersion"], query, stop)
            except UNANSWERED:
                stop.wait(WAITS_S[min(failures, len(WAITS_S) - 1)])
                failures += 1

    def _watched(
        self, path: str, version: str, query: Mapping[str, str] | None, stop: threading.Event
    ) -> Iterator[Change]:
        asked = {**(query or {}), "watch": "true", "resourceVersion": version}
        connection = self._connect(WATCH_S + PATIENCE_S)
        try:
            path = _with(path, {**asked, "timeoutSeconds": str(WATCH_S)})
            answer = self._send(connection, "GET", path, None, "")
            if answer.status != http.client.OK:
                _checked(answer.status, answer.read())
            while not stop.is_set() and (line := answer.readline()):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                if event["type"] != "BOOKMARK":
                    kind: Literal["gone", "put"] = "gone" if event["type"] == "DELETED" else "put"
                    yield Change(kind, [event["object"]])
        finally:
            connection.close()

    def _connect(self, patience_s: float) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._host, timeout=patience_s, context=self._context)

    def _send(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        kind: str,
    ) -> http.client.HTTPResponse:
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = kind
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection.getresponse()


def _with(path: str, query: Mapping[str, str] | None) -> str:
    return f"{path}?{urllib.parse.urlencode(query)}" if query else path


def _checked(status: int, text: bytes) -> None:
    if status < http.client.BAD_REQUEST:
        return
    said = text.decode("utf-8", "replace").strip()
    try:
        said = str(json.loads(said)["message"])
    except (ValueError, KeyError, TypeError):
        said = said[-500:]
    raise ApiError(status, said)
