"""Measures the timeline of one large trace in a real TensorBoard and a real Chromium: `python -m benchmarks.large_tab`.

first picture    of a trace whose event file is there, from the address to the first boxes
zoom, pan        from each input to the first frame, and to the frame in which what the server answers is painted
search           over all events, to the frame with counts and hits; next and previous hit
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from playwright.sync_api import Browser, Locator

from benchmarks.browsing import DRAWN_MS, Visit, visit
from benchmarks.generate import size_of, write_trace
from benchmarks.many import ALONE, held_mb
from tools import chromium
from tools.serve import TensorBoard

LOADS, ZOOMS, PANS = 5, 12, 12
#: Words that find kernels, ops and their kernels, every op, and no event.
WORDS = ("gemm", "conv2d", "aten::", "no such name")
#: Within this time the trace is read and its event file written.
READ_MS = 600_000

Move = Callable[[], None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=size_of, default=size_of("1GB"), help="of the trace's JSON")
    parser.add_argument("--logs", type=Path, help="a folder in which the trace is kept from one time to the next")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tb_steptime_large.") as folder, chromium.browser() as browser:
        server = TensorBoard(_trace(asked.logs or Path(folder), asked.size), module=ALONE)
        try:
            print(f"| timeline of {asked.size / 1e6:,.0f} MB | median, ms | most, ms | of the page's thread, ms |")
            print("|---|---:|---:|---:|")
            _measure(browser, server)
            print(f"| TensorBoard's memory, MB | {held_mb(server.process.pid):.0f} | | |")
        finally:
            server.stop()
    return 0


def _trace(home: Path, size: int) -> Path:
    logs = home / f"large_{size}"
    if not logs.exists():
        (logs / "big").mkdir(parents=True)
        write_trace(logs / "big" / "worker.1.pt.trace.json", size)
    return logs


def _measure(browser: Browser, server: TensorBoard) -> None:
    keys = {"view": "timeline", "run": "big"}
    with visit(browser, server, **keys) as one:
        _boxes(one, READ_MS)
    firsts, ours = [], []
    for _ in range(LOADS):
        with visit(browser, server, **keys) as one:
            _boxes(one)
            firsts.append(one.painted_since_start_ms())
            ours.append(firsts[-1] - (one.first_ms - one.frame_ms))
    print(f"| first boxes in an empty browser | {statistics.median(firsts):.0f} | {max(firsts):.0f} | |", flush=True)
    print(f"| of these, since our frame was opened | {statistics.median(ours):.0f} | {max(ours):.0f} | |", flush=True)
    with visit(browser, server, **keys) as one:
        stage = _boxes(one)
        one.settle()
        _inputs(one, stage)
        for words in WORDS:
            _search(one, words)


def _boxes(one: Visit, wait_ms: float = DRAWN_MS) -> Locator:
    one.frame.wait_for_function("Number(document.querySelector('.stage')?.dataset.boxes) > 0", timeout=wait_ms)
    return one.frame.locator(".stage")


def _inputs(one: Visit, stage: Locator) -> None:
    box = stage.bounding_box()
    assert box is not None
    x, y = box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2
    stage.focus()
    key = one.page.keyboard.press
    out = [functools.partial(key, "s") for _ in range(ZOOMS)]
    into = [functools.partial(key, "w") for _ in range(ZOOMS)]
    _row("zoom out by a key", one, out)
    _row("zoom in by a key", one, into)
    one.page.mouse.move(x, y)
    one.page.keyboard.down("Control")
    _row("zoom by the wheel", one, [functools.partial(one.page.mouse.wheel, 0, -120 * way) for way in (1, 1, -1, -1)])
    one.page.keyboard.up("Control")
    one.page.mouse.down()
    _row("pan by the pointer", one, [functools.partial(one.page.mouse.move, x + 12 * at, y) for at in range(1, PANS)])
    one.page.mouse.up()
    one.settle()
    _row("pan by a key", one, [functools.partial(key, "d") for _ in range(PANS)])
    _row("hover", one, [functools.partial(one.page.mouse.move, x - 25 * at, y) for at in range(1, PANS)])
    _row("scroll", one, [functools.partial(one.page.mouse.wheel, 0, 90 * way) for way in (1, 1, -1, -1)])


def _search(one: Visit, words: str) -> None:
    field = one.frame.get_by_role("searchbox", name="Find events by name in the whole recording")
    _row(f"search of “{words}”", one, [functools.partial(field.fill, words)])
    _row("next hit", one, [functools.partial(field.press, "Enter") for _ in range(4)])
    _row("previous hit", one, [functools.partial(field.press, "Shift+Enter") for _ in range(3)])
    field.fill("")
    one.settle()


def _row(what: str, one: Visit, acts: Sequence[Move]) -> None:
    took = [one.painted_ms(act) for act in acts]
    worked = statistics.median(each.worked_ms for each in took)
    for which, waits in (("first frame", [each.first_ms for each in took]), ("all", [each.last_ms for each in took])):
        known = [wait for wait in waits if wait is not None]
        figures = f"{statistics.median(known):.0f} | {max(known):.0f}" if known else "nothing changed | "
        print(f"| {what}, {which} | {figures} | {worked:.0f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
