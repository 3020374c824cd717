"""Speaks to a Pyroscope server: one profile a message, so that each is taken whole or not at all.

``push.v1.PusherService/Push`` is in the scope that Pyroscope calls public and stable
(https://grafana.com/docs/pyroscope/latest/reference-server-api/); the message, in protobuf over
the Connect protocol: https://github.com/grafana/pyroscope/blob/main/api/push/v1/push.proto.
"""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from pyrometer import __version__
from pyrometer.core.errors import UsageError
from pyrometer.core.json_text import parse_json

if TYPE_CHECKING:
    import httpx

__all__ = ["Answer", "Reply", "Server", "message", "parse_url"]

PATH = "/push.v1.PusherService/Push"
CONNECT_S = 10.0
ANSWER_S = 30.0
# Bytes of an answer that are read: an error's text.
_ANSWER_BYTES = 4096
_NOT_YET = {429, 502, 503}
_DENIED = {301, 302, 303, 307, 308, 401, 403, 404, 405, 407}
_UNSURE = {408, 500, 504}


class Answer(Enum):
    """What became of a message.

    `TAKEN`; `NOT_YET`, surely not taken, but it may be later; `DENIED`, nor will any other be
    until somebody changes something; `REFUSED`, this one for its content; `UNSURE`, it was sent,
    and whether it was taken is unknown.
    """

    TAKEN = "taken"
    NOT_YET = "not yet"
    DENIED = "denied"
    REFUSED = "refused"
    UNSURE = "unsure"


@dataclass(frozen=True)
class Reply:
    """An answer, with the server's words and how long it asks to wait."""

    answer: Answer
    detail: str = ""
    wait_s: float | None = None


def parse_url(text: str) -> SplitResult:
    """Read the address of a server.

    Raises
    ------
    UsageError
        If it is no such address, or holds a password, which anybody could read.

    Examples
    --------
    >>> parse_url("http://localhost:4040/").netloc
    'localhost:4040'
    """
    try:
        url = urlsplit(text)
        host, _ = url.hostname, url.port
    except ValueError as error:
        raise UsageError(f"{text}: {error}", "give one such as http://localhost:4040") from error
    if url.username or url.password:
        raise UsageError(
            "the address of the server holds a name or a password, which others could read",
            "--user NAME --token-file FILE",
        )
    if url.scheme not in ("http", "https") or not host:
        raise UsageError(
            f"{text}: not the address of a server", "give one such as http://localhost:4040"
        )
    if url.query or url.fragment:
        raise UsageError(
            f"{text}: only an address and a path are understood", "leave out ?… and #…"
        )
    return url


def message(labels: Mapping[str, str], profile: bytes, uuid: str) -> bytes:
    """Encode a ``PushRequest`` of one series with one profile.

    Parameters
    ----------
    labels : mapping of str to str
        Of the series; ``__name__`` and ``service_name`` among them.
    profile : bytes
        pprof, gzipped.
    uuid : str
        Id of the profile.
    """
    from pyrometer.export.protobuf.pyroscope_pb2 import PushRequest

    request = PushRequest()
    series = request.series.add()
    for name, value in sorted(labels.items()):
        series.labels.add(name=name, value=value.encode("utf-8", "replace").decode())
    series.samples.add(raw_profile=profile, id=uuid)
    return request.SerializeToString()


@dataclass
class Server:
    """A server and our credentials.

    Parameters
    ----------
    url : SplitResult
        From :func:`parse_url`.
    tenant : str, optional
        ``X-Scope-OrgID``.
    user, token : str, optional
        Token as bearer or, with a user, name and password.
    answer_s : float
        Seconds to wait for an answer.

    Raises
    ------
    UsageError
        If a token would go over the network in clear, or cannot be a header.
    """

    url: SplitResult
    tenant: str | None = None
    user: str | None = None
    token: str | None = field(default=None, repr=False)
    answer_s: float = ANSWER_S
    _tls: ssl.SSLContext | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for what, text in (("tenant", self.tenant), ("user", self.user), ("token", self.token)):
            if text is not None and not re.fullmatch(r"[\x20-\x7e]+", text):
                raise UsageError(f"the {what} is empty or holds characters that are not ASCII")
        if self.token and self.url.scheme == "http" and not _is_this_host(self.url.hostname or ""):
            raise UsageError(
                f"{self.address}: over http a token could be read by others", "use https://"
            )

    @property
    def address(self) -> str:
        """Address without a slash at the end."""
        return self.url.geturl().rstrip("/")

    def headers(self) -> dict[str, str]:
        """Headers of a message."""
        headers = {
            "Content-Type": "application/proto",
            "Connect-Protocol-Version": "1",
            "User-Agent": f"pyrometer/{__version__}",
        }
        if self.tenant:
            headers["X-Scope-OrgID"] = self.tenant
        if self.token and self.user:
            pair = base64.b64encode(f"{self.user}:{self.token}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        elif self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def send(self, body: bytes) -> Reply:
        """Send one message and say what became of it. Raises nothing for a server's failing."""
        import httpx

        sent = False

        def trace(event: str, _: Mapping[str, object]) -> None:
            nonlocal sent
            sent = sent or event.endswith(".send_request_body.complete")

        try:
            with self._client() as client, client.stream(
                "POST", self.address + PATH, content=body, headers=self.headers(),
                extensions={"trace": trace},
            ) as response:  # fmt: skip
                reply = self._reply(response)
        except httpx.HTTPError as error:
            cause = _cause(error)
            if isinstance(cause, ssl.SSLCertVerificationError):
                return Reply(Answer.DENIED, f"certificate: {cause.verify_message}")
            detail = getattr(cause, "strerror", None) or str(error) or type(error).__name__
            if sent:
                return Reply(Answer.UNSURE, f"sent, no answer: {detail}")
            return Reply(Answer.NOT_YET, detail)
        if not sent and reply.answer in (Answer.TAKEN, Answer.UNSURE):
            # Without all of the body no server can have taken it.
            return Reply(Answer.NOT_YET, reply.detail or "hung up before it had read all")
        return reply

    def _client(self) -> httpx.Client:
        """Make a client for one message.

        A connection that the server has closed while it lay idle would fail after the body was
        sent, and nobody could say whether it was taken: each message opens a new one.
        """
        import httpx

        # The certificates of the system, as for other tools here, not those of a package.
        self._tls = self._tls or ssl.create_default_context()
        return httpx.Client(
            verify=self._tls,
            timeout=httpx.Timeout(self.answer_s, connect=CONNECT_S),
            trust_env=False,
        )

    def _reply(self, response: httpx.Response) -> Reply:
        status = response.status_code
        if response.is_success:
            return Reply(Answer.TAKEN)
        start = next(response.iter_bytes(_ANSWER_BYTES), b"")
        detail = f"HTTP {status}: {self._error_text(start) or response.reason_phrase}"
        if status in _NOT_YET:
            return Reply(Answer.NOT_YET, detail, _seconds(response.headers.get("Retry-After")))
        if status in _DENIED:
            return Reply(Answer.DENIED, detail)
        if status in _UNSURE or status >= 500:
            return Reply(Answer.UNSURE, detail)
        return Reply(Answer.REFUSED, detail)

    def _error_text(self, text: bytes) -> str:
        """Read a Connect error, ``{"code": …, "message": …}``; the token is never repeated."""
        try:
            found = parse_json(text)
            words = f"{found['code']}: {found.get('message', '')}"
        except (ValueError, TypeError, KeyError, AttributeError):
            words = text.decode("utf-8", "replace")
        if self.token:
            words = words.replace(self.token, "***")
        return " ".join(words.split())[:300]


def _seconds(text: str | None) -> float | None:
    """Read ``Retry-After`` in seconds; a date, which Pyroscope does not send, is passed over."""
    return float(text) if text and re.fullmatch(r"\d{1,5}", text) else None


def _is_this_host(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _cause(error: BaseException) -> BaseException:
    """Return what an error began with: that of the operating system, below httpx's."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    return error
