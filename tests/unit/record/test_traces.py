"""A trace is written while the training goes on, and nothing is left where it cannot be written."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import threading
from pathlib import Path

import pytest

from tb_steptime.record import profiling
from tb_steptime.record.profiling import TraceWriter
from tests.drawn.stores import PATIENCE_SECONDS

TEXT = '{"traceEvents": []}'


class Profiler:
    """Exports what torch would."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def export_chrome_trace(self, path: str) -> None:
        Path(path).write_text(TEXT)
        if self._error:
            raise self._error


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """The folder of the uncompressed texts."""
    folder = tmp_path / "texts"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_trace_appears_when_it_is_complete_and_the_training_does_not_wait_for_it(tmp_path, texts, monkeypatch):
    go_on = threading.Event()

    def copied(source, target, length):
        go_on.wait(PATIENCE_SECONDS)
        target.write(source.read())

    monkeypatch.setattr(profiling.shutil, "copyfileobj", copied)
    writer = TraceWriter(tmp_path / "logs" / "run")
    writer.write(Profiler())
    assert [name for name in names(tmp_path / "logs" / "run") if name.endswith(".gz")] == []
    go_on.set()
    writer.finish()
    (path,) = (tmp_path / "logs" / "run").iterdir()
    assert path.name.endswith(".pt.trace.json.gz")
    assert gzip.decompress(path.read_bytes()).decode() == TEXT
    assert names(texts) == []


def test_spans_that_follow_each_other_are_all_there(tmp_path, texts):
    writer = TraceWriter(tmp_path / "logs")
    for _ in range(5):
        writer.write(Profiler())
    writer.finish()
    assert len(names(tmp_path / "logs")) == 5
    assert names(texts) == []


def test_a_trace_that_torch_cannot_write_leaves_nothing(tmp_path, texts):
    writer = TraceWriter(tmp_path / "logs")
    with pytest.raises(RuntimeError, match="no profiler"):
        writer.write(Profiler(RuntimeError("no profiler")))
    writer.finish()
    assert names(tmp_path / "logs") == names(texts) == []


def test_a_trace_that_does_not_fit_on_the_disk_leaves_a_line_in_the_log(tmp_path, texts, monkeypatch, caplog):
    def full(source, target, length):
        target.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    writer = TraceWriter(tmp_path / "logs")
    writer.write(Profiler())
    writer.finish()
    assert names(tmp_path / "logs") == names(texts) == []
    assert [record.getMessage() for record in caplog.records] == [
        f"No trace was written to {tmp_path / 'logs'}: [Errno 28] No space left on device. Training continues."
    ]


def test_where_no_thread_can_start_the_trace_is_written_at_once(tmp_path, texts, monkeypatch):
    def start(self):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", start)
    TraceWriter(tmp_path / "logs").write(Profiler())
    assert len(names(tmp_path / "logs")) == 1
