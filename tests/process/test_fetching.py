"""`make traces` against a local server, which can also break off a response, send other bytes, or lack the file."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import pty
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests import PROJECT
from tests.drawn.stores import PATIENCE_SECONDS
from tools import real_traces
from tools.real_traces import Row, main

TEXT = json.dumps({"traceEvents": [{"ph": "X", "name": f"op {i}", "ts": i, "dur": 1} for i in range(20_000)]}).encode()
PACKED = gzip.compress(TEXT, mtime=7)


class Host:
    """A file server that supports Range requests as the public one does.

    asked: the path and the Range header of each request. breaks: by path, the number of bytes after which each of the
    next answers breaks off. answers: by path, the status of each of the next answers.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.breaks: dict[str, list[int]] = {}
        self.answers: dict[str, list[int]] = {}
        self.knows_ranges = True
        host = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                host.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        range_header = request.headers.get("Range")
        self.asked.append((request.path, range_header))
        content, status = self.files.get(request.path), 200
        if self.answers.get(request.path):
            status = self.answers[request.path].pop(0)
        if content is None or status != 200:
            request.send_error(status if content is not None else 404)
            return
        if range_header and self.knows_ranges:
            begin = int(range_header.removeprefix("bytes=").removesuffix("-"))
            if begin >= len(content):
                request.send_error(416)
                return
            content, status = content[begin:], 206
        request.send_response(status)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        breaks = self.breaks.get(request.path)
        # A client that is told a wrong length does not wait for the rest.
        with contextlib.suppress(ConnectionError):
            request.wfile.write(content[: breaks.pop(0)] if breaks else content)
        request.close_connection = True


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setattr(real_traces, "PAUSE_SECONDS", 0.0)
    made = Host()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def row(name: str, path: str, content: bytes) -> Row:
    return Row(name, "some/one", "0123456789", path, hashlib.sha256(content).hexdigest(), len(content), "MIT")


#: The first file is stored exactly as the repository has it; the second one is compressed when it arrives.
AS_IT_IS = row("traces/a/a.json.gz", "data/a b.json.gz", PACKED)
PLAIN = row("traces_world/b.json.gz", "b.json", TEXT)
A, B = "/some/one/0123456789/data/a%20b.json.gz", "/some/one/0123456789/b.json"


def table(folder: Path, rows: Sequence[Row] = (AS_IT_IS, PLAIN)) -> Path:
    lines = ["\t".join(Row._fields), *("\t".join(map(str, each)) for each in rows)]
    path = folder / "table.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


def fetched(host: Host, folder: Path, *rows: Row) -> int:
    options = ["--from", host.address, "--to", str(folder / "to"), "--table", str(table(folder, rows))]
    return main(options)


def left(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder / "to")) for path in (folder / "to").rglob("*") if path.is_file())


def test_files_come_as_tests_look_for_them_and_once(host: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    host.files = {A: PACKED, B: TEXT}
    assert fetched(host, tmp_path, AS_IT_IS, PLAIN) == 0
    assert (tmp_path / "to" / AS_IT_IS.name).read_bytes() == PACKED
    assert gzip.decompress((tmp_path / "to" / PLAIN.name).read_bytes()) == TEXT
    assert left(tmp_path) == [AS_IT_IS.name, PLAIN.name]
    assert host.asked == [(A, None), (B, None)]
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.splitlines()[0].startswith("0 of 2 files are in ")
    assert shown.out.splitlines()[1:] == [
        "1/2 traces/a/a.json.gz fetched", "2/2 traces_world/b.json.gz fetched", "2 of 2 files are there.",
    ]  # fmt: skip
    assert fetched(host, tmp_path, AS_IT_IS, PLAIN) == 0
    assert len(host.asked) == 2, "what is there is not asked for again"


@pytest.mark.parametrize("damage", [slice(-9, None), slice(2_000, 2_010), slice(0, None)], ids=["end", "middle", "all"])
def test_a_damaged_file_is_fetched_again(host: Host, tmp_path: Path, damage: slice):
    host.files = {A: PACKED, B: TEXT}
    assert fetched(host, tmp_path, AS_IT_IS, PLAIN) == 0
    for each in (AS_IT_IS, PLAIN):
        content = bytearray((tmp_path / "to" / each.name).read_bytes())
        del content[damage]
        (tmp_path / "to" / each.name).write_bytes(content)
    assert fetched(host, tmp_path, AS_IT_IS, PLAIN) == 0
    assert host.asked[2:] == [(A, None), (B, None)]
    assert gzip.decompress((tmp_path / "to" / PLAIN.name).read_bytes()) == TEXT


def test_what_breaks_off_goes_on_where_it_stopped(host: Host, tmp_path: Path):
    host.files, host.breaks = {B: TEXT}, {B: [100_000, 50_000]}
    assert fetched(host, tmp_path, PLAIN) == 0
    assert host.asked == [(B, None), (B, "bytes=100000-"), (B, "bytes=150000-")]
    assert gzip.decompress((tmp_path / "to" / PLAIN.name).read_bytes()) == TEXT
    assert left(tmp_path) == [PLAIN.name]


def test_the_next_run_goes_on_too(host: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    host.files, host.breaks = {B: TEXT}, {B: [100_000, 0, 0, 0]}
    assert fetched(host, tmp_path, PLAIN) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{PLAIN.name}: {host.address}{B} breaks off at 0.1 MB of ")
    assert left(tmp_path) == [f"{PLAIN.name}.part"]
    count = len(host.asked)
    assert fetched(host, tmp_path, PLAIN) == 0
    assert host.asked[count:] == [(B, "bytes=100000-")]
    assert gzip.decompress((tmp_path / "to" / PLAIN.name).read_bytes()) == TEXT


def test_without_ranges_it_begins_again(host: Host, tmp_path: Path):
    host.files, host.breaks, host.knows_ranges = {B: TEXT}, {B: [100_000]}, False
    assert fetched(host, tmp_path, PLAIN) == 0
    assert gzip.decompress((tmp_path / "to" / PLAIN.name).read_bytes()) == TEXT


def test_a_part_of_another_file_is_given_up(host: Host, tmp_path: Path):
    """The part was begun for an earlier table. Appending to it does not give
    the right file, so all of it is fetched."""
    host.files = {B: TEXT}
    part = tmp_path / "to" / f"{PLAIN.name}.part"
    for begun in (b"x" * 1_000, b"x" * len(TEXT), b"x" * (len(TEXT) + 5)):
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(begun)
        (tmp_path / "to" / PLAIN.name).unlink(missing_ok=True)
        assert fetched(host, tmp_path, PLAIN) == 0
        assert gzip.decompress((tmp_path / "to" / PLAIN.name).read_bytes()) == TEXT
        assert not part.exists()


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (TEXT[:-1] + b" ", "what came is not the file of the table (SHA-256 "),
        (TEXT + b" ", f"has {len(TEXT) + 1:,} bytes, and the table says {len(TEXT):,}; it is not kept"),
        (TEXT[:-1], f"has {len(TEXT) - 1:,} bytes, and the table says {len(TEXT):,}; it is not kept"),
    ],
)
def test_other_bytes_are_not_kept_and_the_rest_is(
    host: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str], sent: bytes, says: str
):
    host.files = {A: PACKED, B: sent}
    assert fetched(host, tmp_path, PLAIN, AS_IT_IS) == 1
    shown = capsys.readouterr()
    (line,) = shown.err.splitlines()
    assert line.startswith(f"{PLAIN.name}: ") and says in line and "not kept" in line
    assert shown.out.splitlines()[-1] == "1 of 2 files are there."
    assert left(tmp_path) == [AS_IT_IS.name]


def test_what_is_not_known_is_named_and_the_rest_comes(host: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    host.files = {A: PACKED}
    assert fetched(host, tmp_path, PLAIN, AS_IT_IS) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"{PLAIN.name}: {host.address}{B} answers 404 Not Found"
    assert (host.asked, left(tmp_path)) == ([(B, None), (A, None)], [AS_IT_IS.name])


def test_a_host_that_is_busy_is_asked_again(host: Host, tmp_path: Path):
    host.files, host.answers = {A: PACKED}, {A: [503, 429]}
    assert fetched(host, tmp_path, AS_IT_IS) == 0
    assert len(host.asked) == 3


@pytest.fixture
def unused_address() -> Iterator[str]:
    """An address at which nobody listens: its port is taken meanwhile, so that no other program gets it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_without_a_network_there_is_one_line(unused_address: str, tmp_path: Path):
    """The command itself is run, as `make traces` runs it, with the address in the environment variable."""
    address = unused_address
    done = subprocess.run(
        [sys.executable, "-m", "tools.real_traces", "--to", str(tmp_path / "to"), "--table", str(table(tmp_path))],
        env={**os.environ, "TB_STEPTIME_TRACES_FROM": address},
        cwd=PROJECT, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{address}{A} cannot be reached: ")
    assert line.endswith("Without a network the tests that need these files are skipped.")
    assert left(tmp_path) == []


def test_a_host_that_closes_every_connection_is_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(real_traces, "PAUSE_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        accepted: list[int] = []

        def close_all() -> None:
            while len(accepted) < real_traces.TRIES:
                connection, _ = listening.accept()
                accepted.append(connection.fileno())
                connection.close()

        thread = threading.Thread(target=close_all)
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        code = main(["--from", address, "--to", str(tmp_path / "to"), "--table", str(table(tmp_path))])
        thread.join()
    assert (code, len(accepted)) == (1, real_traces.TRIES)


def test_a_folder_that_cannot_be_written_is_named(host: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    host.files = {A: PACKED}
    (tmp_path / "to").write_text("a file")
    assert fetched(host, tmp_path, AS_IT_IS) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{tmp_path / 'to' / AS_IT_IS.name} cannot be written: ")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--from", "example.org"), "example.org is no address"),
        (("--table", "nowhere.tsv"), "nowhere.tsv is not such a table"),
        (("--table", str(PROJECT / "setup.cfg")), "setup.cfg is not such a table"),
    ],
)
def test_what_is_asked_wrongly_is_said(options: Sequence[str], says: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        main(options)
    assert says in capsys.readouterr().err.splitlines()[-1]


def test_progress_fits_the_terminal(host: Host, tmp_path: Path):
    """One line is overwritten again and again. It is never wider than the terminal, which has 40 columns here."""
    host.files = {B: TEXT}
    long = PLAIN._replace(name=f"traces_world/{'long' * 20}.json.gz")
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "tools.real_traces", "--from", host.address, "--to", str(tmp_path / "to")]
    done = subprocess.run(
        [*command, "--table", str(table(tmp_path, [long]))],
        env={**os.environ, "COLUMNS": "40"}, cwd=PROJECT, stdout=slave, stderr=subprocess.PIPE,
        timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    os.close(slave)
    shown = b""
    while chunk := _read(master):
        shown += chunk
    os.close(master)
    assert (done.returncode, done.stderr) == (0, b"")
    first, progress, last = (line for line in shown.decode().split("\n") if line.strip())
    states = [re.sub(r"\x1b\[K", "", state) for state in progress.strip("\r").split("\r")]
    assert states[-1].endswith("... fetched") and any(" of 1.1 MB" in state for state in states), states
    assert max(map(len, states)) < 40
    assert (first[:6], last.strip()) == ("0 of 1", "1 of 1 files are there.")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # this is how Linux reports that the other end is closed
        return b""
