"""Start a TensorBoard as a user starts it, on a free port, with every plugin that is installed.

python tools/serve.py LOGDIR [--run RUN] [arguments for tensorboard]

Starts it and prints the address of the Step Insights tab, which opens with the run, or with the newest.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

#: The first start imports every plugin from a cold disk, on a machine that may be busy.
START_SECONDS = 120.0

#: What TensorBoard prints once it listens.
_LISTENS = re.compile(r"^TensorBoard \S+ at http://\S+?:(\d+)/", re.MULTILINE)

#: TensorBoard ends at once when told to; other plugins may leave worker processes that keep it alive.
END_SECONDS = 5.0


class NoTensorBoard(Exception):
    """TensorBoard did not start; the text contains its last output."""


class TensorBoard:
    """A running TensorBoard. url ends in a slash and contains the path prefix; empty until its port is known."""

    def __init__(
        self,
        logdir: Path | str,
        arguments: Sequence[str] = (),
        port: int | None = None,
        module: str = "tensorboard.main",
    ) -> None:
        """Start it and wait until it answers; NoTensorBoard where it does not. port None: any free one, which
        TensorBoard takes itself: one that was found free before might be taken when it starts."""
        command = [sys.executable, "-m", module, "--logdir", str(logdir), "--port", str(port or 0), *arguments]
        self._prefix = path_prefix(arguments)
        self.url = self._url(port) if port else ""
        self.output = tempfile.NamedTemporaryFile(delete=False)  # noqa: SIM115 - lives as long as the server
        # A session of its own, so that its worker processes can be ended with it.
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output, start_new_session=True
        )
        try:
            self.wait_until_it_answers()
        except BaseException:
            self.stop()
            raise

    def wait_until_it_answers(self) -> None:
        until = time.monotonic() + START_SECONDS
        while not self.answers():
            if self.process.poll() is not None:
                raise NoTensorBoard(f"TensorBoard ended at its start. It said:\n\n{self.said()}")
            if time.monotonic() > until:
                raise NoTensorBoard(f"TensorBoard did not answer in {START_SECONDS:.0f} s. It said:\n\n{self.said()}")
            time.sleep(0.1)

    def _url(self, port: int) -> str:
        return f"http://localhost:{port}{self._prefix}/"

    def answers(self) -> bool:
        if not self.url:
            if not (found := _LISTENS.search(self.said())):
                return False
            self.url = self._url(int(found[1]))
        try:
            self.json_of("data/environment")
        except OSError:
            return False
        return True

    def json_of(self, path: str) -> Any:
        """The JSON that a GET returns; path: relative to this TensorBoard."""
        with urllib.request.urlopen(self.url + path, timeout=30) as response:
            return json.load(response)

    def said(self) -> str:
        """Its output so far."""
        return Path(self.output.name).read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """Stop it and every process that it started."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_SECONDS)
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.output.close()
        with contextlib.suppress(OSError):  # on Windows, while a process that is just ending has it open
            os.unlink(self.output.name)


def path_prefix(arguments: Sequence[str]) -> str:
    return next((word.partition("=")[2] for word in arguments if word.startswith("--path_prefix=")), "")


def main() -> int:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("logdir", type=Path)
    parser.add_argument("--port", type=int)
    parser.add_argument("--run", default="")
    known, arguments = parser.parse_known_args()
    if not known.logdir.is_dir():
        print(f"{known.logdir} is not here.", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # when stopped from outside, TensorBoard stops too
    try:
        print(f"Starting TensorBoard on {known.logdir} ...", flush=True)
        return serve(TensorBoard(known.logdir, arguments, known.port, "tools.tensorboard_with_ours"), known.run)
    except NoTensorBoard as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


def tab_address(server: TensorBoard, run: str = "") -> str:
    """The address as a link to the tab has it."""
    return f"{server.url}#tb_steptime" + (f"&p.tb_steptime.run={quote(run, safe='')}" if run else "")


def serve(server: TensorBoard, run: str) -> int:
    """Print the address and wait for TensorBoard's end, or ours."""
    try:
        print(
            f"\n    {tab_address(server, run)}\n\nOpen this address to see the Step Insights tab. Ctrl-C ends it.",
            flush=True,
        )
        return server.process.wait()
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
