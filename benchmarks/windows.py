"""Measures what the server does for one large timeline: `python -m benchmarks.windows --size 1GB`.

made       the event file, once for a trace
opened     that file, as for the first picture after a restart, and the whole recording as the first answer
windows    of many widths at random places, with and without folded Python frames, as zooming and panning ask for them
searches   over all events, for words of few and of many names; their counts are compared with the trace's
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from benchmarks.generate import size_of, write_trace
from tb_steptime.ingest.cores import cores
from tb_steptime.timeline.build import write_events
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.page import timeline_page
from tb_steptime.timeline.search import PAGE_HITS, Search, search_page
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace

T = TypeVar("T")

#: The widths of the window, as shares of the whole recording.
SHARES = (1.0, 0.3, 0.03, 0.003, 0.0003)
PLACES = 20
SCREEN_COLUMNS = 1500
#: Words that find kernels, ops and their kernels, every op, and no event.
WORDS = ("gemm", "conv2d", "aten::", "no such name")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=size_of, default=size_of("1GB"), help="of the trace's JSON")
    size = parser.parse_args().size
    with tempfile.TemporaryDirectory(prefix="tb_steptime_windows.") as folder:
        print(f"| timeline of {size / 1e6:,.0f} MB | median, ms | most, ms |\n|---|---:|---:|")
        expected = _make(Path(folder), size)
        events, opened = _timed(lambda: EventFile.open(Path(folder)))
        _row("the event file opened", [opened])
        _windows(events)
        for words in WORDS:
            _search(events, words, expected[words])


def _make(folder: Path, size: int) -> dict[str, tuple[int, int]]:
    """Writes the event file in the folder; returns how many events of the trace match each of the words, and how long
    they are.
    """
    path = folder / "worker0.1.pt.trace.json"
    write_trace(path, size)
    trace = read_trace(path, processes=cores())
    path.unlink()
    _, took = _timed(lambda: write_events(trace, folder))
    _row("the event file made", [took])
    return {words: _in_trace(trace, words) for words in WORDS}


def _in_trace(trace: Trace, words: str) -> tuple[int, int]:
    found = np.array([words in name.lower() for name in trace.strings.strings])[trace.events.name]
    return int(found.sum()), int(trace.events.dur_ns[found].sum())


def _windows(events: EventFile) -> None:
    first, length = events.head.first_ns, events.head.last_ns - events.head.first_ns
    numbers = random.Random(1)
    for share in SHARES:
        wide = int(length * share)
        starts = [first + int(numbers.random() * (length - wide)) for _ in range(PLACES)]
        _row(f"a window of {share:.2%}", _windows_ms(events, starts, wide))


def _windows_ms(events: EventFile, starts: Iterable[int], wide: int) -> list[float]:
    """The times until the answer's JSON is created."""
    wanted = [(start, folded) for start in starts for folded in (True, False)]
    return [_timed(partial(_page, events, start, wide, folded))[1] for start, folded in wanted]


def _page(events: EventFile, start: int, wide: int, folded: bool) -> bytes:
    page = timeline_page(events, start, start + wide, max(1, wide // SCREEN_COLUMNS), folded=folded)
    return msgspec.json.encode(page)


def _search(events: EventFile, words: str, expected: tuple[int, int]) -> None:
    """The first page of hits, and the last."""
    page, first = _timed(lambda: search_page(events, Search(words, events.head.first_ns)))
    last_page, last = _timed(lambda: search_page(events, Search(words, 0, first=page.count - 1)))
    assert (page.count, page.total_ns) == expected, (words, page.count, expected)
    assert len(last_page.hits.event) == min(page.count, PAGE_HITS)
    _row(f'a search for "{words}", {page.count:,} events', [first, last])


def _timed(does: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    result = does()
    return result, 1e3 * (time.perf_counter() - start)


def _row(what: str, ms: list[float]) -> None:
    print(f"| {what} | {statistics.median(ms):.1f} | {max(ms):.1f} |", flush=True)


if __name__ == "__main__":
    main()
