"""Start TensorBoard on a log directory at a free port and print the address of the Step Insights tab.

python tools/demo.py LOGDIR [arguments for tensorboard]
"""

from __future__ import annotations

import argparse
import http.client
import socket
import subprocess
import sys
import time
from pathlib import Path

#: A first start imports all of TensorBoard's plugins from a cold disk.
START_SECONDS = 120.0


def main() -> int:
    logdir, port, rest = arguments()
    if not logdir.is_dir():
        print(f"{logdir}/ is not here: run this in the project's folder.", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir), "--port", str(port), *rest]
    print(f"Starting TensorBoard on {logdir}/ ...", flush=True)
    server = subprocess.Popen(command)
    try:
        if not answers(server, port):
            return server.wait() or 1
        print(f"\n    Step Insights:  http://localhost:{port}/#tb_steptime\n\n(Ctrl-C stops it.)", flush=True)
        return server.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        server.terminate()
        server.wait()


def arguments() -> tuple[Path, int, list[str]]:
    """The log directory, the port (the given one, or a free one), and what else TensorBoard is told."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("logdir", type=Path)
    parser.add_argument("--port", type=int, default=0)
    known, rest = parser.parse_known_args()
    return known.logdir, known.port or free_port(), rest


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(server: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until TensorBoard answers; False where it ends or stays silent."""
    until = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < until:
        try:
            connection = http.client.HTTPConnection("localhost", port, timeout=5)
            connection.request("GET", "/healthz")
            connection.getresponse()
            return True
        except OSError:
            time.sleep(0.2)
    return False


if __name__ == "__main__":
    sys.exit(main())
