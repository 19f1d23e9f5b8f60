"""Stores of this machine that are no S3: Google's and Azure's, as emulators play them, and WebHDFS.

Each is a log directory in an empty store, whose credentials are in the environment; skipped where its server, or the
package that reads it, is not installed.

    gs://       pip install gcsfs gcp-storage-emulator
    az://       pip install adlfs; npm install azurite, with its commands on the PATH
    webhdfs://  our own server of the documented answers, since a Hadoop is large
"""

from __future__ import annotations

import base64
import contextlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from tb_steptime.files.paths import AnyPath, any_path
from tests.drawn.webhdfs import web_hdfs_server

ACCOUNT, SECRET = "me", "very-secret"
START_SECONDS = 60


@contextlib.contextmanager
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnyPath]:
    """Without credentials gcsfs warns, at each question, that it cannot ask what kind of bucket it is."""
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    gcsfs = pytest.importorskip("gcsfs", reason="gcsfs is not installed")
    pytest.importorskip("gcp_storage_emulator", reason="gcp-storage-emulator is not installed")
    port = _free_port()
    command = [sys.executable, "-m", "gcp_storage_emulator", "start", "--in-memory", "--host", "127.0.0.1"]
    with _running([*command, "--port", str(port)], port):
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
        gcsfs.GCSFileSystem.clear_instance_cache()
        gcsfs.GCSFileSystem().mkdir("bucket")
        yield any_path("gs://bucket/logs")


@contextlib.contextmanager
def azure(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnyPath]:
    """Azurite, the emulator of Azure's makers."""
    adlfs = pytest.importorskip("adlfs", reason="adlfs is not installed")
    command = shutil.which("azurite-blob")
    if command is None:
        pytest.skip("azurite is not installed, or its commands are not on the PATH")
    port, key = _free_port(), base64.b64encode(SECRET.encode()).decode()
    monkeypatch.setenv("AZURITE_ACCOUNTS", f"{ACCOUNT}:{key}")
    options = ["--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    with _running([command, "--blobPort", str(port), *options], port):
        place = f"AccountName={ACCOUNT};AccountKey={key};BlobEndpoint=http://127.0.0.1:{port}/{ACCOUNT};"
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"DefaultEndpointsProtocol=http;{place}")
        adlfs.AzureBlobFileSystem.clear_instance_cache()
        adlfs.AzureBlobFileSystem().mkdir("container")
        yield any_path("az://container/logs")


@contextlib.contextmanager
def web_hdfs(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnyPath]:
    with web_hdfs_server() as port:
        yield any_path(f"webhdfs://127.0.0.1:{port}/logs")


#: By the scheme of their addresses.
STORES: dict[str, Callable[[pytest.MonkeyPatch], contextlib.AbstractContextManager[AnyPath]]] = {
    "gs": google,
    "az": azure,
    "webhdfs": web_hdfs,
}


def _free_port() -> int:
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        return int(asking.getsockname()[1])


@contextlib.contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    """A server, from when it answers; it is ended in the end."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(port)
            yield
        finally:
            server.terminate()


def _wait_for(port: int) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        assert time.monotonic() < end, "the server did not start"
        time.sleep(0.1)
