"""Stores of Google and Azure on this machine, emulated by programs that `nox -s stores` installs."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drawn.stores import PATIENCE_SECONDS, until

#: The account of every Azurite; its key is public.
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@contextlib.contextmanager
def google_store(folder: Path, environment: pytest.MonkeyPatch) -> Iterator[str]:
    """Yields the address of a bucket."""
    gcsfs = pytest.importorskip("gcsfs", reason="gcsfs is not installed")
    with _running("gcp-storage-emulator", "start", "--host", "127.0.0.1", "--in-memory", "--port") as port:
        environment.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
        environment.setenv("GOOGLE_CLOUD_PROJECT", "project")
        gcsfs.GCSFileSystem.clear_instance_cache()
        gcsfs.GCSFileSystem().mkdir("bucket")
        yield "gs://bucket"


@contextlib.contextmanager
def azure_store(folder: Path, environment: pytest.MonkeyPatch) -> Iterator[str]:
    """Yields the address of a container."""
    adlfs = pytest.importorskip("adlfs", reason="adlfs is not installed")
    program = ("azurite-blob", "--silent", "--disableTelemetry", "--skipApiVersionCheck", "--location", str(folder))
    with _running(*program, "--blobHost", "127.0.0.1", "--blobPort") as port:
        address = f"http://127.0.0.1:{port}/{_ACCOUNT}"
        account = f"DefaultEndpointsProtocol=http;AccountName={_ACCOUNT};AccountKey={_KEY};BlobEndpoint={address};"
        environment.setenv("AZURE_STORAGE_CONNECTION_STRING", account)
        adlfs.AzureBlobFileSystem.clear_instance_cache()
        adlfs.AzureBlobFileSystem().mkdir("container")
        yield "az://container"


@contextlib.contextmanager
def _running(program: str, *arguments: str) -> Iterator[int]:
    """Runs a program whose last argument is a free port, and waits until it listens there."""
    path = shutil.which(program) or pytest.skip(f"{program} is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    process = subprocess.Popen([path, *arguments, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: _listens(port))
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
