"""The tab of a TensorBoard whose log directory is a bucket: S3 emulated by moto on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import OpenTab, StartTensorBoard
from tests.drawn.bucket import empty_bucket, put, s3_server


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.mark.live
def test_the_tab_opens_on_a_bucket(
    server: str, tensorboard: StartTensorBoard, tmp_path: Path, tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = empty_bucket(server, tmp_path, monkeypatch)
    trace = put(bucket / "job" / "worker0.1.pt.trace.json.gz", tmp_path)
    one = tab(tensorboard(str(bucket)))
    one.view("overview")
    assert one.verdict()
    one.go_to("Timeline")
    one.view("timeline")
    assert trace.with_name(trace.name + ".steptime").is_file()
