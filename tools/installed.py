"""Does an installed package work? Run by an environment that has it, outside of a checkout's own.

python tools/installed.py LOGDIR --reader C|Python

Prints its figures, opens its summaries without the traces in TensorBoard, and fetches the tab and its parts.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from serve import TensorBoard

PLUGIN = "data/plugin/tb_steptime"
#: A header that a page of another origin cannot send: see SECURITY.md.
HEADER = {"X-Tb-Steptime": "1"}
#: The reader of the traces, by what `tb-steptime --version` reports.
READERS = {"C": "C", "Python": "Python only"}
SECONDS = 60.0


def check(logdir: Path, reader: str) -> None:
    """Raises AssertionError, and what urllib and subprocess raise."""
    import tb_steptime
    from tb_steptime.trace.extension import reader_name

    home = Path(tb_steptime.__file__).parent
    assert home.parent != Path.cwd(), f"{home} is of the checkout"
    assert reader_name() == READERS[reader], f"{reader_name()} reads, and {READERS[reader]} should"
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder, "logs", logdir.name)
        copied(logdir, alone, "*.steptime")
        read = Path(folder, "traces", logdir.name)
        copied(logdir, read, "*.json.gz")
        assert figures(read) == figures(alone), "a trace and its summary disagree"
        size, parts = served(alone.parent)
    print(f"{home}: {reader_name()} reads; the tab is served ({size} bytes and {parts} parts) and opens summaries")


def copied(source: Path, target: Path, pattern: str) -> None:
    target.mkdir(parents=True)
    files = list(source.glob(pattern))
    assert files, f"no {pattern} in {source}"
    for file in files:
        shutil.copy(file, target)


def figures(logdir: Path) -> list[tuple[Any, ...]]:
    """The steps of each span, their mean and its verdict, from the command line."""
    command = [sys.executable, "-m", "tb_steptime.cli", "summarize", "--format", "json", str(logdir)]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return [(span["steps"], span["mean"], span["verdict"]) for span in json.loads(done.stdout)["spans"]]


def served(logdir: Path) -> tuple[int, int]:
    """The size of the tab and the number of its parts, from a TensorBoard that shows a log directory."""
    server = TensorBoard(logdir)
    try:
        assert server.json_of("data/plugins_listing")["tb_steptime"]["enabled"]
        until = time.monotonic() + SECONDS
        while not is_read(answer(server, "index")):
            assert time.monotonic() < until, "TensorBoard did not open the summaries"
            time.sleep(0.2)
        script = content(server, "index.js")
        parts = set(re.findall(rb"parts/[\w-]+\.js", script))
        assert parts and all(content(server, part.decode()) for part in parts)
        return len(script), len(parts)
    except (AssertionError, OSError):
        print(server.said(), file=sys.stderr)
        raise
    finally:
        server.stop()


def is_read(index: Any) -> bool:
    states = [span["state"] for run in index["runs"] for worker in run["workers"] for span in worker["spans"]]
    return bool(states) and set(states) == {"ready"}


def answer(server: TensorBoard, route: str) -> Any:
    return json.loads(content(server, route))


def content(server: TensorBoard, route: str) -> bytes:
    asked = urllib.request.Request(f"{server.url}{PLUGIN}/{route}", headers=HEADER)
    with urllib.request.urlopen(asked, timeout=30) as response:
        said: bytes = response.read()
        return said


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logdir", type=Path)
    parser.add_argument("--reader", choices=READERS, required=True, help="what should read the traces")
    asked = parser.parse_args(arguments)
    check(asked.logdir.resolve(), asked.reader)


if __name__ == "__main__":
    main()
