"""A bucket of an object store on this machine: S3 as moto plays it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_steptime.files.paths import AnyPath, any_path
from tests.drawn.small_trace import write_trace


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """Yields the server's address."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


def empty_bucket(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AnyPath:
    """A folder in the bucket; its credentials are in the environment of everything that reads it."""
    settings = {"AWS_ENDPOINT_URL": server, "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "very-secret"}
    for name, value in (settings | {"AWS_DEFAULT_REGION": "us-east-1", "XDG_CACHE_HOME": str(tmp_path)}).items():
        monkeypatch.setenv(name, value)
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    name = re.sub("[^a-z0-9]+", "-", tmp_path.name.lower()).strip("-")
    s3fs.S3FileSystem().mkdir(name)
    return any_path(f"s3://{name}/logs")


def put(place: AnyPath, tmp_path: Path, **drawn: Any) -> AnyPath:
    """Writes a small trace at an address."""
    local = tmp_path / place.name
    write_trace(local, **drawn)
    place.write_bytes(local.read_bytes())
    return place
