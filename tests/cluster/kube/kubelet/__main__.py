"""Start a kubelet: ``python -S -m tests.cluster.kube.kubelet SETTINGS``."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

from tests.cluster.kube.kubelet.node import Node
from tests.cluster.kube.kubelet.server import serve
from tests.cluster.kube.kubelet.settings import Settings


def main() -> None:
    """Be a kubelet until a signal comes; pods go on without it."""
    node = Node(Settings.read(Path(sys.argv[1])))
    server = serve(node)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ended = threading.Thread(target=node.run, daemon=True)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    ended.start()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    node.stop.set()
    server.shutdown()


if __name__ == "__main__":
    main()
