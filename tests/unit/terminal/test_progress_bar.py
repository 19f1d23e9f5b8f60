"""The one line that a terminal shows while traces are read."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tb_steptime.terminal import progress_bar
from tb_steptime.terminal.indexing import _IndexBar
from tb_steptime.terminal.progress_bar import ProgressBar, SpansBar, status_line
from tb_steptime.text.printer import GAP
from tb_steptime.trace.kineto import ReadProgress


@contextmanager
def terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A pseudo-terminal as stderr; its output can be read from the yielded file descriptor."""
    shown, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(end, "w") as stderr:
        monkeypatch.setattr("sys.stderr", stderr)
        yield shown
    os.close(shown)


def lines(shown: int) -> list[str]:
    """Each drawn line, without cursor control characters."""
    os.set_blocking(shown, False)
    content = b""
    with suppress(BlockingIOError):
        while True:
            content += os.read(shown, 100_000)
    return content.decode().replace(GAP, " ").replace("\033[K", "").split("\r")[1:]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_each_drawing_is_one_line(columns: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress_bar, "_SECONDS_BETWEEN_DRAWINGS", 0.0)
    with terminal(columns, monkeypatch) as shown:
        with ProgressBar("12 of 56  ") as bar:
            bar.began -= 3  # so that it shows the remaining time
            for read_bytes in (1_000_000, 1_234_567_890, 2_000_000_000):
                bar.show(ReadProgress(read_bytes, 2_345_678_901, 12_345_678))
        with SpansBar("events of ") as spans:
            spans.show(123, 4_567)
        with _IndexBar({"a": 2_000_000_000, "b": 3_000_000_000}) as index:
            index.began -= 100
            index.left = {"a": 10, "logs/run/" + "x" * 300: 3_000_000_000}
            index.show({"logs/run/" + "x" * 300: 1_000_000})
        drawn = lines(shown)
    assert len(drawn) == 8  # five bars, and three lines that erase them
    assert max(map(len, drawn)) < columns
    assert [line for line in drawn if line and "░" not in line] == []
    assert drawn[1].startswith("12 of 56  ███")
    sentence = "1 235 MB of 2 346 MB, 3 s left, 12 345 678 events"
    assert drawn[1].partition("░ ")[2] == {40: "1 235 MB of 2 346 MB", 80: sentence, 200: sentence}[columns]


def test_a_terminal_that_does_not_know_its_width_has_80_columns(monkeypatch: pytest.MonkeyPatch):
    with terminal(0, monkeypatch):
        assert progress_bar.columns_of_stderr() == 80


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (100, "a ████████████░░░░░░░░░░░░ 1 of 2, 3 s left"),
        (28, "a ████░░░░░ 1 of 2, 3 s left"),
        (25, "a ███░░░ 1 of 2, 3 s left"),
        (24, "a ████████░░░░░░░ 1 of 2"),
        (12, "a █████░░░░░"),
        (5, "a"),
        (1, "a"),
    ],
)
def test_the_bar_is_shorter_before_words_are_left_out(width: int, line: str):
    assert status_line(0.5, "a ", ["1 of 2", "3 s left"], width).rstrip() == line
    assert len(line) <= width
