"""The timeline's part of `benchmarks.tab`: one large trace as the server sends it, and answers with more boxes in them.

Which answer has how many boxes depends on the trace; the server sends 20,000 at most. So the crowded answers are made
here, of a real one: each row of each track is tiled with boxes, until there are so many.

    real answer    [a     ][b][c    ]          crowded    [a][b][c][a][b][c][a][b][c]
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Browser, Locator, Route

from benchmarks.browsing import DRAWN_MS, Visit, go_to, row, visit
from tools.serve import TensorBoard

MOVES = 60
LONG_MS = 50

#: Boxes per answer, and the number of such answers: as many boxes as the server sends at most; and as many as all pages
#: that the tab keeps may hold, in the first answer, after which the tab draws from what it has.
CROWDS = {20_000: 1_000, 400_000: 1}


def timeline(browser: Browser, size: int, server: TensorBoard) -> None:
    """Uses a trace whose events are already loaded: reading them is the work of another process and no task of the
    page.
    """
    name = f"timeline of {size / 1e6:.0f} MB"
    with visit(browser, server, view="timeline", run="big") as one:
        _wait_for_boxes(one)
    opened: list[float] = []
    moved: list[float] = []
    searched: list[float] = []
    with visit(browser, server, view="overview", run="big", frames="all") as one:
        one.settle()
        with one.tasks_ms(opened):
            go_to(one, "Timeline")
            stage = _wait_for_boxes(one)
            one.settle()
        zooms, pans = _zooms(one, stage), _pans(one, stage)
        with one.tasks_ms(moved):
            _zooms(one, stage)
            _pans(one, stage)
        with one.tasks_ms(searched):
            _search(one)
    row(f"{name}, script of a frame, zooming", zooms)
    row(f"{name}, script of a frame, moving", pans)
    for what, tasks in {"opened": opened, "zoomed and moved": moved, "searched": searched}.items():
        _tasks(f"{name}, tasks above {LONG_MS} ms: {what}", tasks)
    for boxes, answers in CROWDS.items():
        _crowded(browser, server, boxes, answers)


def _crowded(browser: Browser, server: TensorBoard, boxes: int, answers: int) -> None:
    name = f"timeline of {boxes:,} boxes in an answer"
    opened: list[float] = []
    moved: list[float] = []
    with visit(browser, server, view="overview", run="big", frames="all") as one:
        left = iter(range(answers))
        one.page.route("**/tb_steptime/timeline?*", lambda route: _answer(route, boxes, left))
        one.settle()
        with one.tasks_ms(opened):
            go_to(one, "Timeline")
            stage = _wait_for_boxes(one)
            one.settle()
        with one.tasks_ms(moved):
            zooms, pans = _zooms(one, stage), _pans(one, stage)
    row(f"{name}, script of a frame, zooming", zooms)
    row(f"{name}, script of a frame, moving", pans)
    for what, tasks in {"opened": opened, "zoomed and moved": moved}.items():
        _tasks(f"{name}, tasks above {LONG_MS} ms: {what}", tasks)


def _answer(route: Route, boxes: int, left: Iterator[int]) -> None:
    """The server's own answer, crowded, and none after the last one. Waits for a trace that is still being read."""
    answer = route.fetch()
    if answer.status != 200:
        route.fulfill(response=answer)
    elif next(left, None) is not None:
        route.fulfill(response=answer, body=json.dumps(crowded(answer.json(), boxes)))


def crowded(page: dict[str, Any], count: int) -> dict[str, Any]:
    """A TimelinePage with about this many boxes, in its existing rows."""
    real = page["boxes"]
    rows = {place: at for at, place in enumerate(zip(real["track"], real["row"], strict=True))}
    each = max(1, count // max(1, len(rows)))
    length = (page["end_ns"] - page["start_ns"]) // each
    starts = [number * length for number in range(each)]
    boxes: dict[str, list[int]] = {key: [] for key in real}
    for (track, place), at in rows.items():
        boxes["track"] += [track] * each
        boxes["row"] += [place] * each
        boxes["start_ns"] += starts
        boxes["length_ns"] += [max(1, length * 9 // 10)] * each
        boxes["name"] += [(real["name"][at] + number) % len(page["names"]) for number in range(each)]
        boxes["colour"] += [real["colour"][at]] * each
        boxes["count"] += [1] * each
        boxes["event"] += [real["event"][at]] * each
    return page | {"boxes": boxes}


def _tasks(what: str, tasks: list[float]) -> None:
    long = sum(task > LONG_MS for task in tasks)
    print(f"| {what} | {long} | longest {tasks[0]:.0f} ms |", flush=True)


def _wait_for_boxes(one: Visit) -> Locator:
    one.frame.wait_for_function("Number(document.querySelector('.stage')?.dataset.boxes) > 0", timeout=DRAWN_MS)
    return one.frame.locator(".stage")


def _zooms(one: Visit, stage: Locator) -> list[float]:
    """Zooms out to the whole recording and in again."""
    stage.focus()
    keys = [*itertools.repeat("s", MOVES // 2), *itertools.repeat("w", MOVES // 2)]
    took = [one.script_ms(functools.partial(one.page.keyboard.press, key)) for key in keys]
    one.settle()
    return took


def _pans(one: Visit, stage: Locator) -> list[float]:
    x, y = _middle(stage)
    one.page.mouse.move(x, y)
    one.page.mouse.down()
    spots = [(x + 6 * at, y) for at in range(1, MOVES // 2)]
    took = [one.script_ms(functools.partial(one.page.mouse.move, *spot)) for spot in [*spots, *reversed(spots)]]
    one.page.mouse.up()
    one.settle()
    return took


def _search(one: Visit) -> None:
    field = one.frame.get_by_role("searchbox", name="Find events by name in the whole recording")
    for word in ("aten", "aten::add", "kernel", "forward"):
        field.fill(word)
        one.settle()
    for _ in range(5):
        field.press("Enter")
        one.settle()


def _middle(stage: Locator) -> tuple[float, float]:
    box = stage.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
