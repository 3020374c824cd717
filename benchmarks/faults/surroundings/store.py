"""A store of files behind HTTP (WebHDFS, reading only), each of whose answers takes a while.

``python store.py FOLDER SECONDS`` serves until its standard input ends; the first line that it
writes is its port.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PREFIX = "/webhdfs/v1"


def served(folder: str, seconds: float) -> str:
    """Serve a folder until this process ends; give the address of its files."""
    server = subprocess.Popen(
        [sys.executable, __file__, folder, str(seconds)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    _RUNNING.append(server)
    return f"webhdfs://127.0.0.1:{server.stdout.readline().strip()}"


_RUNNING: list[subprocess.Popen[str]] = []


class Store(ThreadingHTTPServer):
    """A server of a folder."""

    daemon_threads = True

    def __init__(self, folder: Path, seconds: float) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.folder, self.seconds = folder, seconds


class Request(BaseHTTPRequestHandler):
    """What is asked of the store."""

    server: Store
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer after a while."""
        time.sleep(self.server.seconds)
        url = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        path = self.server.folder / unquote(url.path.removeprefix(PREFIX)).lstrip("/")
        operation = asked.get("op", "").upper()
        if operation == "GETDELEGATIONTOKEN":
            self._json({"Token": None})
        elif operation == "GETHOMEDIRECTORY":
            self._json({"Path": "/"})
        elif not path.exists():
            self._json(_error("FileNotFoundException", f"{path} does not exist"), 404)
        elif operation == "GETFILESTATUS":
            self._json({"FileStatus": _status(path, "")})
        elif operation == "LISTSTATUS":
            found = [_status(one, one.name) for one in sorted(path.iterdir())]
            self._json({"FileStatuses": {"FileStatus": found}})
        elif operation == "OPEN" and "part" not in asked:
            self.send_response(307)
            self.send_header("Location", f"http://{self.headers['Host']}{self.path}&part=data")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif operation == "OPEN":
            self._file(path, int(asked.get("offset", 0)))
        else:
            self._json(_error("UnsupportedOperationException", operation), 400)

    def _file(self, path: Path, offset: int) -> None:
        left = path.stat().st_size - offset
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(left))
        self.end_headers()
        try:
            with path.open("rb") as file:
                while left > 0:
                    sent = os.sendfile(self.connection.fileno(), file.fileno(), offset, left)
                    offset, left = offset + sent, left - sent
        except (BrokenPipeError, ConnectionResetError):  # it has read what it wanted
            self.close_connection = True

    def _json(self, answer: dict[str, Any], code: int = 200) -> None:
        body = json.dumps(answer).encode()
        self.send_response(code)  # no type: Spark's shaded client lacks what parses one
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _status(path: Path, suffix: str) -> dict[str, Any]:
    known = path.stat()
    is_folder = path.is_dir()
    return {
        "pathSuffix": suffix, "type": "DIRECTORY" if is_folder else "FILE",
        "length": 0 if is_folder else known.st_size, "owner": "user", "group": "group",
        "permission": "755", "accessTime": 0, "modificationTime": int(known.st_mtime * 1000),
        "blockSize": 1 << 27, "replication": 1, "childrenNum": 0, "fileId": known.st_ino,
        "storagePolicy": 0,
    }  # fmt: skip


def _error(name: str, message: str) -> dict[str, Any]:
    package = "java.io" if name.startswith("File") else "java.lang"
    about = {"exception": name, "javaClassName": f"{package}.{name}", "message": message}
    return {"RemoteException": about}


def main() -> None:
    """Serve until the standard input ends."""
    store = Store(Path(sys.argv[1]), float(sys.argv[2]))
    threading.Thread(target=store.serve_forever, daemon=True).start()
    print(store.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
