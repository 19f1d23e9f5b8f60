"""HDFS as its interface for the web answers, as far as fsspec asks: one server is name node and data node.

CREATE   an empty file, made where the answer's Location leads; one that is there is written over
APPEND   its bytes, likewise
OPEN     bytes from offset on, of a length
RENAME   nothing is moved onto a file that is there: the answer says false, with status 200
"""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest


@contextlib.contextmanager
def web_hdfs_server() -> Iterator[int]:
    """Yields the server's port. Folders exist as long as they contain files."""

    handler = type("Handler", (_Handler,), {"files": {}})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield int(server.server_address[1])
    server.shutdown()
    server.server_close()


@contextlib.contextmanager
def web_hdfs_store(folder: Path, environment: pytest.MonkeyPatch) -> Iterator[str]:
    """Yields an address, in the same way as the functions of `emulators`."""
    with web_hdfs_server() as port:
        yield f"webhdfs://127.0.0.1:{port}"


class _Handler(http.server.BaseHTTPRequestHandler):
    """files: content and modification time in ms, by path."""

    protocol_version = "HTTP/1.1"
    files: dict[str, tuple[bytes, int]]

    def do_GET(self) -> None:
        query, path = self._query(), self._path()
        if query["op"] == "OPEN" and path in self.files:
            start = int(query.get("offset", 0))
            content = self.files[path][0]
            self._answer(content[start : start + int(query.get("length", len(content)))])
        elif query["op"] == "GETFILESTATUS" and (status := self._status(path)):
            self._answer({"FileStatus": status})
        elif query["op"] == "LISTSTATUS" and self._status(path):
            self._answer({"FileStatuses": {"FileStatus": self._within(path)}})
        else:
            self._answer({"RemoteException": {"exception": "FileNotFoundException", "message": path}}, 404)

    def do_PUT(self) -> None:
        query, path = self._query(), self._path()
        if query["op"] == "CREATE" and "datanode" not in query:
            self._lead_on()
        elif query["op"] == "CREATE":
            self._write(b"")
        elif query["op"] == "RENAME":
            new = query["destination"]
            moved = path in self.files and new not in self.files
            if moved:
                self.files[new] = self.files.pop(path)
            self._answer({"boolean": moved})
        else:
            self._answer({"boolean": True})

    def do_POST(self) -> None:
        """APPEND: the bytes of a file that was created, all at once or in parts."""
        if "datanode" in self._query():
            self._write(self.files[self._path()][0])
        else:
            self._lead_on()

    def do_DELETE(self) -> None:
        self._answer({"boolean": self.files.pop(self._path(), None) is not None})

    def _lead_on(self) -> None:
        self._answer(b"", 307, Location=f"http://{self.headers['Host']}{self.path}&datanode=true")

    def _write(self, before: bytes) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.files[self._path()] = (before + body, time.time_ns() // 1_000_000)
        self._answer(b"", 201)

    def _status(self, path: str) -> dict[str, object] | None:
        if path in self.files:
            content, changed_ms = self.files[path]
            return {"pathSuffix": "", "type": "FILE", "length": len(content), "modificationTime": changed_ms}
        if any(file.startswith(f"{path.rstrip('/')}/") for file in self.files):
            return {"pathSuffix": "", "type": "DIRECTORY", "length": 0, "modificationTime": 0}
        return None

    def _within(self, folder: str) -> list[dict[str, object]]:
        start = f"{folder.rstrip('/')}/"
        names = {file.removeprefix(start).partition("/")[0] for file in self.files if file.startswith(start)}
        return [{**(self._status(start + name) or {}), "pathSuffix": name} for name in sorted(names)]

    def _query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}

    def _path(self) -> str:
        return unquote(urlsplit(self.path).path).removeprefix("/webhdfs/v1")

    def _answer(self, content: object, status: int = 200, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
