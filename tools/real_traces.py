"""Fetch real traces that others recorded, for the tests that run on them: make traces

python -m tools.real_traces [--from ADDRESS] [--to FOLDER] [--table FILE]

The table `real_traces.tsv` beside this file says of each file where it is public, at which commit, and its SHA-256. A
file is kept only if it is the one of the table. What was broken off goes on where it stopped, in this run or the next.
Exit status: 0 where all files are there, 1 where some are not.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import http.client
import os
import shutil
import socket
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_suffix(".tsv")
#: Git ignores it.
FETCHED = Path(__file__).parents[1] / "real_traces"
#: Its addresses end with repository, commit and path.
PUBLIC = "https://raw.githubusercontent.com"

#: How long a connection waits for the next bytes.
PATIENCE_SECONDS = 30.0
#: How often a file is requested before giving up, and the pause before the second attempt, which doubles each time.
TRIES, PAUSE_SECONDS = 4, 0.5
CHUNK_BYTES = 1 << 16


class Row(NamedTuple):
    """One line of the table.

    name: the path below the folder, as the tests look for it. sha256, bytes: of the file in the repository at that
    commit.
    """

    name: str
    repository: str
    commit: str
    path: str
    sha256: str
    bytes: int
    licence: str

    @property
    def is_packed_here(self) -> bool:
        """The repository contains plain text, which the tests read as gzip."""
        return self.name.endswith(".gz") and not self.path.endswith(".gz")

    def address(self, host: str) -> str:
        return f"{host.rstrip('/')}/{self.repository}/{self.commit}/{urllib.parse.quote(self.path)}"


class NotFetched(Exception):
    """Why a file is not there, in one line."""


class WrongFile(NotFetched):
    """The file that came is a different one, of which nothing is kept."""


class Unreachable(NotFetched):
    """No other file of that host will come either."""


#: Answers after which the same request may succeed.
PASSING = (http.HTTPStatus.REQUEST_TIMEOUT, http.HTTPStatus.TOO_MANY_REQUESTS)
#: The connection failed or was lost.
LOST = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError)


def rows(table: Path = TABLE) -> list[Row]:
    with table.open(newline="", encoding="utf-8") as file:
        return [Row(**{**line, "bytes": int(line.get("bytes") or "")}) for line in csv.DictReader(file, delimiter="\t")]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make traces", description="Fetch real traces for the tests.")
    host = os.environ.get("TB_STEPTIME_TRACES_FROM", PUBLIC)
    parser.add_argument("--from", dest="host", default=host, metavar="ADDRESS", help=f"in place of {PUBLIC}")
    parser.add_argument("--to", type=Path, default=FETCHED, metavar="FOLDER", help=f"in place of {FETCHED.name}/")
    parser.add_argument("--table", type=Path, default=TABLE, metavar="FILE", help=f"in place of tools/{TABLE.name}")
    options = parser.parse_args(arguments)
    if not options.host.startswith(("http://", "https://")):
        parser.error(f"{options.host} is no address: it begins with neither http:// nor https://")
    try:
        wanted = rows(options.table)
    except (OSError, TypeError, ValueError) as error:
        parser.error(f"{options.table} is not such a table: {error}")
    try:
        return fetch_all(wanted, options.host, options.to)
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from here.", file=sys.stderr)
        return 130


def fetch_all(wanted: Sequence[Row], host: str, folder: Path) -> int:
    """Returns the exit status. A file that cannot be fetched is named; the others are fetched nevertheless."""
    missing = [row for row in wanted if not is_here(row, folder)]
    size = sum(row.bytes for row in missing)
    print(f"{len(wanted) - len(missing)} of {len(wanted)} files are in {folder}; {megabytes(size)} are to be fetched.")
    failed = 0
    for number, row in enumerate(missing, 1):
        progress = Progress(f"{number}/{len(missing)} {row.name}", row.bytes)
        try:
            fetch(row, host, folder, progress)
        except Unreachable as error:
            progress.end(None)
            print(f"{error}. Without a network the tests that need these files are skipped.", file=sys.stderr)
            return 1
        except NotFetched as error:
            progress.end(None)
            print(f"{row.name}: {error}", file=sys.stderr)
            failed += 1
        except OSError as error:
            progress.end(None)
            print(f"{folder / row.name} cannot be written: {error.strerror or error}", file=sys.stderr)
            return 1
        else:
            progress.end("fetched")
    print(f"{len(wanted) - failed} of {len(wanted)} files are there.")
    return 1 if failed else 0


def is_here(row: Row, folder: Path) -> bool:
    """Whether the file is complete and is the one in the table."""
    try:
        content = (folder / row.name).read_bytes()
        return digest(gzip.decompress(content) if row.is_packed_here else content) == row.sha256
    except (OSError, EOFError, zlib.error):
        return False


def fetch(row: Row, host: str, folder: Path, progress: Progress) -> None:
    """NotFetched where it cannot be fetched; what has arrived is kept for the next attempt, unless it is wrong."""
    target = folder / row.name
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    address, why = row.address(host), ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_SECONDS * 2 ** (attempt - 1))
        goes_on = part.exists()
        try:
            receive(address, part, row.bytes, progress)
            if part.stat().st_size < row.bytes:
                why = f"{address} breaks off at {megabytes(part.stat().st_size)} of {megabytes(row.bytes)}"
                continue
            return keep(row, part, target)
        except WrongFile:
            part.unlink(missing_ok=True)
            if not goes_on:
                raise
            why = f"{address} is not what an earlier part is of"
        except urllib.error.HTTPError as error:
            why = f"{address} answers {error.code} {error.reason}"
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                part.unlink(missing_ok=True)
            elif error.code < 500 and error.code not in PASSING:
                raise NotFetched(why) from None
        except LOST as error:
            reason = getattr(error, "reason", error)
            why = f"{address} cannot be reached: {reason or type(error).__name__}"
            if isinstance(reason, socket.gaierror | ConnectionRefusedError):
                raise Unreachable(why) from None
    raise NotFetched(why) if part.exists() or "cannot be reached" not in why else Unreachable(why)


def receive(address: str, part: Path, whole: int, progress: Progress) -> None:
    """Append to `part` what is missing, as far as it arrives; at most one chunk beyond `whole` bytes."""
    have = part.stat().st_size if part.exists() else 0
    if have >= whole:
        return
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
            have = 0
            if answer.length is not None and answer.length != whole:
                raise WrongFile(f"{address} has {answer.length:,} bytes, and the table says {whole:,}; it is not kept")
        with part.open("ab" if have else "wb") as file:
            while have <= whole and (chunk := _next_of(answer)):
                file.write(chunk)
                have += len(chunk)
                progress.show(have)


def _next_of(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read(CHUNK_BYTES)
    except OSError as error:  # of the network, not of the disk
        raise ConnectionError(str(error)) from error


def keep(row: Row, part: Path, target: Path) -> None:
    """Gives the file its name where it is the one in the table."""
    content = part.read_bytes()
    if digest(content) != row.sha256:
        raise WrongFile(f"what came is not the file of the table (SHA-256 {digest(content)[:12]}..., "
                        f"expected {row.sha256[:12]}...); it is not kept")  # fmt: skip
    if row.is_packed_here:
        part.write_bytes(gzip.compress(content, mtime=0))
    part.replace(target)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


class Progress:
    """The progress of one file: a line that is overwritten in a terminal, elsewhere only its last state."""

    def __init__(self, name: str, whole: int) -> None:
        self.name, self.whole = name, whole
        self.rewrites = sys.stdout.isatty()

    def show(self, have: int) -> None:
        if self.rewrites:
            self._write(f"{megabytes(have)} of {megabytes(self.whole)}")

    def end(self, how: str | None) -> None:
        """how: the outcome; None clears the line, because an error reports it."""
        if how is None:
            print("\r\x1b[K" if self.rewrites else "", end="", flush=True)
        else:
            self._write(how)
            print(flush=True)

    def _write(self, state: str) -> None:
        room = shutil.get_terminal_size().columns - len(state) - 2
        name = self.name if len(self.name) <= room or not self.rewrites else f"{self.name[: room - 3]}..."
        print(f"{chr(13)}\x1b[K{name} {state}" if self.rewrites else f"{name} {state}", end="", flush=True)


if __name__ == "__main__":
    sys.exit(main())
