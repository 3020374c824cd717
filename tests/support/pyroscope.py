"""A server that takes profiles as Pyroscope does, and keeps them: for tests without Pyroscope.

It holds every message to https://github.com/grafana/pyroscope/blob/main/api/push/v1/push.proto and
to what its distributor demands by default (pkg/validation): labels, size, samples, time.
"""

from __future__ import annotations

import gzip
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.profile_proto import Profile, fields, messages, read_profile, texts

PATH = "/push.v1.PusherService/Push"
MAX_BYTES, MAX_SAMPLES, MAX_LABELS = 4 << 20, 16_000, 30
OLDEST_S, NEWEST_S = 3600, 600


@dataclass
class Pushed:
    """A profile that was taken."""

    labels: dict[str, str]
    uuid: str
    profile: Profile
    headers: dict[str, str]
    at_ns: int


@dataclass
class Fake:
    """What came, and how the next messages are answered.

    Attributes
    ----------
    answers : list
        Statuses of the next messages; then 200. ``None``: hang up without an answer.
    keeps_all : bool
        Take profiles of any age, as `-validation.reject-older-than=0` does.
    """

    url: str = ""
    taken: list[Pushed] = field(default_factory=list)
    tries: int = 0
    answers: list[int | None] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    keeps_all: bool = True
    delay_s: float = 0.0
    always: int | None = 200
    on_taken: Callable[[int], object] = lambda count: None

    def totals(self, **labels: str) -> Counter[str]:
        """Sums of weights by event's type, of profiles with all these labels."""
        found: Counter[str] = Counter()
        for pushed in self.taken:
            kind = pushed.profile.sample_types[-1][0]
            for _, values, own in pushed.profile.samples:
                told = pushed.labels | own
                if all(told.get(name) == value for name, value in labels.items()):
                    found[kind] += values[-1]
        return found

    def take(self, body: bytes, headers: dict[str, str]) -> str | None:
        """Keep a message; gives why it is refused."""
        series = messages(fields(body), 1)
        if len(series) != 1:
            return f"{len(series)} series"
        labels: dict[str, str] = {}
        for pair in messages(series[0], 1):
            name, value = texts(pair, 1)[0], texts(pair, 2)[0]
            if name in labels:
                return f"duplicate label {name}"
            labels[name] = value
        why = refuse_labels(labels)
        if why:
            return why
        for sample in messages(series[0], 2):
            (raw,) = sample[1]
            assert isinstance(raw, bytes)
            if len(gzip.decompress(raw)) > MAX_BYTES:
                return "profile too large"
            profile = read_profile(raw)
            why = self._refuse(profile)
            if why:
                return why
            uuid = texts(sample, 2)[0]
            self.taken.append(Pushed(labels, uuid, profile, headers, time.time_ns()))
        return None

    def _refuse(self, profile: Profile) -> str | None:
        age_s = time.time() - profile.time_ns / 1e9
        if not self.keeps_all and not -NEWEST_S < age_s < OLDEST_S:
            return "profile is outside of ingestion window"
        if not profile.samples or len(profile.samples) > MAX_SAMPLES:
            return f"{len(profile.samples)} samples"
        for kind, _ in profile.sample_types:
            if "-" in kind:
                return "sample type contains -"
        return None


def refuse_labels(labels: dict[str, str]) -> str | None:
    """Why labels are refused (pkg/validation/validate.go, `ValidateLabels`)."""
    if not labels.get("service_name") or not labels.get("__name__"):
        return "service name is not provided"
    if len(labels) > MAX_LABELS:
        return "too many labels"
    for name, value in labels.items():
        if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) or len(value) > 2048:
            return f"invalid label {name}"
    return None


@contextmanager
def fake_pyroscope() -> Iterator[Fake]:
    """Run a server on a free port of this host."""
    fake = Fake()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(fake.delay_s)
            with lock:
                fake.tries += 1
                status = fake.answers.pop(0) if fake.answers else fake.always
                if self.path != PATH or self.headers["Content-Type"] != "application/proto":
                    status = 404
                if status is None:
                    self.close_connection = True
                    return
                why = fake.take(body, dict(self.headers)) if status == 200 else "told to"
                if why and status == 200:
                    status = 400
                if status == 200:
                    fake.on_taken(len(fake.taken))
            text = b"" if status == 200 else json.dumps({"code": "x", "message": why}).encode()
            self.send_response(status)
            for name, value in fake.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
