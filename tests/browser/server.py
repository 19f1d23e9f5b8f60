"""A real TensorBoard, started as a user starts it, with every plugin that is installed beside ours."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

#: A first start imports every plugin from a cold disk, on a machine that may be busy.
START_SECONDS = 120.0


class TensorBoard:
    """A running TensorBoard. url ends in a slash and holds the path prefix; log is what it printed."""

    def __init__(self, logdir: Path, arguments: tuple[str, ...], log: Path) -> None:
        port = free_port()
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir), "--port", str(port), *arguments]
        self.log = log
        self.url = f"http://localhost:{port}{path_prefix(arguments)}/"
        with log.open("w") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.wait_until_it_answers()

    def wait_until_it_answers(self) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise AssertionError(f"TensorBoard ended at its start:\n{self.log.read_text()}")
            if self.answers():
                return
            time.sleep(0.2)
        self.stop()
        raise AssertionError(f"TensorBoard did not answer in {START_SECONDS:.0f} s:\n{self.log.read_text()}")

    def answers(self) -> bool:
        try:
            self.json_of("data/environment")
        except OSError:
            return False
        return True

    def json_of(self, path: str) -> Any:
        """The JSON that a GET answers, path relative to this TensorBoard."""
        with urllib.request.urlopen(self.url + path, timeout=30) as response:
            return json.load(response)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def path_prefix(arguments: tuple[str, ...]) -> str:
    return next((word.partition("=")[2] for word in arguments if word.startswith("--path_prefix=")), "")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
