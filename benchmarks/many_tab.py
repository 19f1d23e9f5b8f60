"""Measures what a person waits for in the tab of a job of many spans: `python -m benchmarks.many_tab`.

From each input to the frame in which the last change that follows from it is painted, in a real TensorBoard and a real
Chromium:

trends     of 100 ranks with ten spans each, 43 steps in each: as the workers of one run, and as runs
ranks      a metric of 1,024 ranks at 100 steps
"""

from __future__ import annotations

import argparse
import functools
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Locator

from benchmarks.browsing import Visit, visit
from benchmarks.many import ALONE, held_mb
from benchmarks.many_spans import write_spans
from tools import chromium
from tools.serve import TensorBoard

MOVES = 40
RANKS, STEP_BYTES = 1024, 4_600_000
#: Indices of metrics with a button, and words that find others in the list of all.
IN_SIGHT = (1, 2, 3, 4, 0)
OTHERS = ("kernel_sum_time", "queue_mean", "starved_share", "bubble_time")
OVERS = ("Wall time", "Spans", "Steps", "Spans")

Move = Callable[[], None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--logs", type=Path, help="a folder in which spans are kept from one time to the next")
    parser.add_argument("--only", choices=("workers", "runs", "ranks"), help="one of the three")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tb_steptime_many.") as folder, chromium.browser() as browser:
        print("| what | median, ms | most, ms | of the page's thread, ms |\n|---|---:|---:|---:|")
        for name, measure in (("workers", _trends), ("runs", _trends), ("ranks", _ranks)):
            if asked.only in (None, name):
                _of(browser, _spans(asked.logs or Path(folder), name), measure)
    return 0


def _spans(home: Path, name: str) -> Path:
    logs = home / name
    if not logs.exists():
        if name == "ranks":
            write_spans(logs, RANKS, 1, trace_bytes=STEP_BYTES)
        else:
            write_spans(logs, runs=name == "runs")
    return logs


def _of(browser: Browser, logs: Path, measure: Callable[[Browser, TensorBoard, str], None]) -> None:
    server = TensorBoard(logs, module=ALONE)
    try:
        measure(browser, server, logs.name)
        print(f"| TensorBoard's memory, MB | {held_mb(server.process.pid):.0f} | | |", flush=True)
    finally:
        server.stop()


def _trends(browser: Browser, server: TensorBoard, name: str) -> None:
    with visit(browser, server, view="overview") as one:
        print(f"| first picture of 1,000 spans, {name} | {one.first_ms:.0f} | | |", flush=True)
        one.settle()
    with visit(browser, server, view="trends", over="steps") as one:  # the most points
        print(f"| Trends of 1,000 spans, {name}, in an empty browser | {one.first_ms:.0f} | | |", flush=True)
        one.settle()
        time.sleep(1)
        _row("a metric at hand", one, [_metric(one, place) for place in IN_SIGHT])
        chart = one.frame.locator("svg.chart.points").first
        _row("pointer over the lines", one, _moves(one, chart))
        _row("a point selected", one, _clicks(one, chart))
        _row("a letter of a search", one, _letters(one))
        _row("axis changed", one, [_chip(one, "Over", over) for over in OVERS])
        _row("a line hidden or shown", one, _keys(one))
        _row("pointer over the strips", one, _moves(one, one.frame.locator(".heatmap")))
        _row("another metric", one, [_listed(one, words) for words in OTHERS])


def _ranks(browser: Browser, server: TensorBoard, name: str) -> None:
    with visit(browser, server, view="ranks") as one:
        print(f"| Ranks of {RANKS} {name}, in an empty browser | {one.first_ms:.0f} | | |", flush=True)
        one.settle()
        time.sleep(1)
        _row("another metric", one, [_listed(one, words) for words in OTHERS])
        _row("a metric in sight", one, [_metric(one, place) for place in IN_SIGHT])
        picture = one.frame.locator(".rank-map")
        _row("pointer over the map", one, _moves(one, picture))
        _row("another order", one, [_chip(one, "Order of the ranks", by) for by in ("Value", "Rank", "Value")])


def _row(what: str, one: Visit, acts: list[Move]) -> None:
    """Performs the actions one after the other."""
    took = [one.painted_ms(act) for act in acts]
    waits = [each.last_ms for each in took if each.last_ms is not None]
    if waits:
        worked = statistics.median(each.worked_ms for each in took)
        print(f"| {what} | {statistics.median(waits):.0f} | {max(waits):.0f} | {worked:.0f} |", flush=True)
    else:
        print(f"| {what} | nothing changed | | |", flush=True)


def _metric(one: Visit, place: int) -> Move:
    return _press(one.frame.get_by_role("group", name="Metric", exact=True).get_by_role("button").nth(place))


def _chip(one: Visit, group: str, name: str) -> Move:
    return _press(one.frame.get_by_role("group", name=group, exact=True).get_by_role("button", name=name, exact=True))


def _press(button: Locator) -> Move:
    return lambda: button.click(no_wait_after=True)


def _listed(one: Visit, words: str) -> Move:
    """Chooses the first metric that the words find in the list of all, which is opened first."""

    def press() -> None:
        one.frame.get_by_role("button", name=re.compile(r"^All \d")).click()
        one.frame.get_by_role("searchbox", name="Search metrics").fill(words)
        one.settle()
        one.arm()
        one.frame.locator(".list button").first.click(no_wait_after=True)

    return press


def _letters(one: Visit) -> list[Move]:
    field = one.frame.locator(".run-search")
    return [functools.partial(field.press, letter) for letter in "42"] + [
        functools.partial(field.press, "Backspace") for _ in "42"
    ]


def _keys(one: Visit) -> list[Move]:
    return [_press(one.frame.locator(".line-key").first) for _ in range(4)]


def _moves(one: Visit, picture: Locator) -> list[Move]:
    """Moves across a picture, and up and down in it."""
    return [functools.partial(one.page.mouse.move, *spot) for spot in _spots(picture)]


def _clicks(one: Visit, picture: Locator) -> list[Move]:
    return [functools.partial(one.page.mouse.click, *spot) for spot in _spots(picture)[:4]]


def _spots(picture: Locator) -> list[tuple[float, float]]:
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None
    return [
        (box["x"] + box["width"] * (0.3 + 0.5 * at / MOVES), box["y"] + box["height"] * (0.5 + 0.2 * (-1) ** at))
        for at in range(MOVES)
    ]


if __name__ == "__main__":
    sys.exit(main())
