"""A slow service on this machine, for applications that wait for one."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from types import TracebackType
from urllib.request import urlopen


class Rates:
    """Rates by name, over HTTP: each request waits before it is answered."""

    def __init__(self, delay_s: float) -> None:
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                time.sleep(delay_s)
                names = self.path.lstrip("/").split(",")
                self.send_response(200)
                self.end_headers()
                rates = [(name, sum(map(ord, name)) / 100) for name in names]
                self.wfile.write(json.dumps(rates).encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Answer)

    def __enter__(self) -> Rates:
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        where: TracebackType | None,
    ) -> None:  # fmt: skip
        self._server.shutdown()

    def ask(self, names: list[str]) -> list[tuple[str, float]]:
        """Ask for rates, in one request."""
        address = f"http://127.0.0.1:{self._server.server_port}/{','.join(names)}"
        with urlopen(address) as answer:
            return [(str(name), float(rate)) for name, rate in json.load(answer)]
