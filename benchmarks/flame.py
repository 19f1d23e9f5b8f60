"""Measures the flame graph and the roofline with far more in them than traces have: `python -m benchmarks.flame`.

The answers are made here and given to the tab in place of the server's own: a given number of frames of call paths,
from a few to several dozen levels deep, and of dots. Times are those of the page's main thread, by its own clock.

server      the answer put into words, and how large it is
opened      the longest task from the answer to the picture
zoom        tasks of the frames in which the picture moves into a frame and out again
pointer     tasks of a move over the picture, each to another frame
search      tasks of a letter typed
"""

from __future__ import annotations

import argparse
import functools
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from isal import igzip
from playwright.sync_api import Browser, Locator, Route

from benchmarks.browsing import DRAWN_MS, Visit, go_to, row, visit
from benchmarks.tab import ALONE
from tb_steptime.metrics.flame import FrameKind
from tb_steptime.timeline.flame import FlamePage, column_text, numbers_of
from tools import chromium
from tools.serve import TensorBoard

ROOT = Path(__file__).resolve().parents[1]
RUN = "autocast_simulated"

MOVES = 60
ZOOMS = 12
#: Longer than the transition of the picture.
MOVE_SECONDS = 0.4
LONG_MS = 50
WORDS = "layer 12"
DEPTH, LABELS = 40, 3000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--dots", type=int, default=3_000)
    options = parser.parse_args()
    print("| what | median | 95th percentile |\n|---|---:|---:|")
    page = paths(options.frames)
    _served(page)
    with tempfile.TemporaryDirectory(prefix="tb_steptime_flame.") as folder, chromium.browser() as browser:
        shutil.copytree(ROOT / "demo_logs" / RUN, Path(folder) / RUN)
        server = TensorBoard(Path(folder), module=ALONE)
        try:
            _flame(browser, server, page)
            _roofline(browser, server, options.dots)
        finally:
            server.stop()
    return 0


def paths(count: int) -> FlamePage:
    """This many frames, each called by a random earlier one, at most as deep as Python's stacks."""
    numbers = np.random.default_rng(1)
    parent, depth = np.full(count, -1), np.zeros(count, int)
    for at in range(1, count):
        caller = int(numbers.integers(at * 2 // 3, at))
        parent[at] = caller if depth[caller] < DEPTH else 0
        depth[at] = depth[parent[at]] + 1
    leaf = np.bincount(parent[1:], minlength=count) == 0
    own = numbers.integers(1_000, 1_000_000, count)
    kinds: list[FrameKind] = [("python", "module", "op", "kernel")[label % 4] for label in range(LABELS)]
    return FlamePage(
        by="stack",
        where="ran",
        smallest=2 * count,
        kinds=["all", *kinds],
        names=["all", *(f"{kind} of layer {label} in block {label % 97}" for label, kind in enumerate(kinds))],
        parent=column_text(parent),
        label=column_text(np.append(0, 1 + numbers.integers(0, LABELS, count - 1))),
        merged=column_text(np.zeros(count, int)),
        calls=column_text(numbers.integers(1, 1000, count)),
        host_ns=_with_inside(parent, np.where(leaf, 0, own)),
        device_ns=_with_inside(parent, np.where(leaf, own, 0)),
        idle_ns=_with_inside(parent, np.where(leaf, own // 7, 0)),
        allocated_bytes=_with_inside(parent, np.where(leaf, 0, own // 3)),
    )


def _with_inside(parent: np.ndarray, own: np.ndarray) -> str:
    total = own.tolist()
    for at in range(len(total) - 1, 0, -1):
        total[parent[at]] += total[at]
    return column_text(np.array(total))


def _served(page: FlamePage) -> None:
    began = time.process_time()
    text = msgspec.json.encode(page)
    packed = igzip.compress(text, 1, mtime=0)
    took = 1e3 * (time.process_time() - began)
    count = len(numbers_of(page.parent))
    size = f"{len(text) / 1e6:.1f} MB, {len(packed) / 1e6:.1f} MB packed"
    print(f"| answer with {count:,} frames: JSON and gzip | {took:.0f} ms | {size} |", flush=True)


def _flame(browser: Browser, server: TensorBoard, page: FlamePage) -> None:
    text, name = msgspec.json.encode(page), f"flame graph of {len(numbers_of(page.parent)):,} frames"
    with visit(browser, server, view="overview", run=RUN) as one:
        asked: list[Route] = []
        one.page.route("**/tb_steptime/flame?*", lambda route: asked.append(route))
        one.settle()
        go_to(one, "Operators")
        one.frame.get_by_role("heading", name="Which code takes").scroll_into_view_if_needed()
        one.settle()
        _tasks(f"{name}, opened", one, functools.partial(_answer, one, asked[0], text))
        box = one.frame.locator(".flame")
        x, y = _corner(box)
        _frames(f"{name}, zoom", one, box, [(x + 40 + 70 * at, y + 19 * (2 + at % 3) + 9) for at in range(ZOOMS)])
        spots = [(x + 15 * at + 7, y + 19 * (at % 12) + 30) for at in range(MOVES)]
        row(f"{name}, pointer", [_task_ms(one, functools.partial(one.page.mouse.move, *spot)) for spot in spots])
        field = one.frame.get_by_role("searchbox", name="Find frames")
        field.focus()
        row(f"{name}, search", [_task_ms(one, functools.partial(one.page.keyboard.type, key)) for key in WORDS])
        for choice in ("Host", "Bottom up", "Top down", "kernel"):
            button = one.frame.locator(".picture:has(.flame)").get_by_role("button", name=choice, exact=True)
            _tasks(f"{name}, {choice} chosen", one, button.click)


def _answer(one: Visit, route: Route, text: bytes) -> None:
    """Answers, and waits until the rest of the view has settled."""
    route.fulfill(body=text, content_type="application/json")
    one.frame.locator(".flame canvas").wait_for(timeout=DRAWN_MS)


def _corner(box: Locator) -> tuple[float, float]:
    place = box.bounding_box()
    assert place is not None
    return place["x"], place["y"]


def _frames(what: str, one: Visit, box: Locator, spots: list[tuple[float, float]]) -> None:
    """The time of the main thread for each zoom, divided by the number of frames that the browser drew during it."""
    one.frame.evaluate(
        "() => { window.seen = 0; const count = () => { seen++; requestAnimationFrame(count) }; count() }"
    )
    each_ms = []
    for spot in spots:
        one.page.mouse.move(*spot)
        time.sleep(MOVE_SECONDS)
        for act in (functools.partial(one.page.mouse.click, *spot), functools.partial(box.press, "Home")):
            before = one.frame.evaluate("seen")
            took = _task_ms(one, act, MOVE_SECONDS)
            each_ms.append(took / max(1, one.frame.evaluate("seen") - before))
    row(f"{what}, a frame", each_ms)


def _task_ms(one: Visit, act: Callable[[], None], seconds: float = 0.06) -> float:
    """All tasks of the main thread that an input causes, including layout and painting, not only script."""
    before = one.metric("TaskDuration")
    act()
    time.sleep(seconds)
    return 1e3 * (one.metric("TaskDuration") - before)


def _tasks(what: str, one: Visit, act: Callable[[], None]) -> None:
    tasks: list[float] = []
    with one.tasks_ms(tasks):
        act()
        one.settle()
    long = sum(task > LONG_MS for task in tasks)
    print(f"| {what}, tasks above {LONG_MS} ms | {long} | longest {tasks[0]:.0f} ms |", flush=True)


def _roofline(browser: Browser, server: TensorBoard, dots: int) -> None:
    name = f"roofline of {dots:,} dots"
    with visit(browser, server, view="overview", run=RUN) as one:
        one.page.route("**/tb_steptime/view?*", lambda route: _with_dots(route, dots))
        one.settle()
        picture = one.frame.locator("svg.roofline")
        _tasks(f"GPU view with a {name}, opened", one, functools.partial(_open, one, picture))
        picture.scroll_into_view_if_needed()
        one.settle()
        x, y = _corner(picture)
        spots = [(x + 80 + 12 * at, y + 60 + 20 * (at % 9)) for at in range(MOVES)]
        row(f"{name}, pointer", [_task_ms(one, functools.partial(one.page.mouse.move, *spot)) for spot in spots])


def _open(one: Visit, picture: Locator) -> None:
    go_to(one, "GPU")
    picture.wait_for(timeout=DRAWN_MS)


def _with_dots(route: Route, count: int) -> None:
    """The server's own answer; for the GPU view with `count` dots, spread around the existing ones."""
    answer = route.fetch()
    page: dict[str, Any] = answer.json()
    for device in page.get("result", {}).get("devices", []) if "view=gpu" in route.request.url else []:
        device["roofline"]["dots"] = _spread(device["roofline"]["dots"] or [_DOT], count)
    route.fulfill(response=answer, body=json.dumps(page))


#: For a trace whose ops have no inputs.
_DOT: dict[str, Any] = {
    "op": "aten::mm", "shapes": "[[512,512],[512,512]]", "dtype": "float", "kernel": "gemm", "short": "gemm",
    "kernel_count": 1.0, "calls": 10, "total_ns": 1_000_000, "flops": 10**10, "bytes": 10**8, "tensor_cores": False,
    "roof_tflops": 15.7, "efficiency": 0.5, "above": None, "bound": "compute", "gain_ns": 1000,
}  # fmt: skip


def _spread(dots: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    numbers = np.random.default_rng(1)
    bounds = ("compute", "memory", "launch", "grid", None)
    factors = np.exp(numbers.normal(0, 2, (count, 3)))
    return [
        dots[at % len(dots)]
        | {
            "shapes": f"[[{at + 1},512],[512,512]]",
            "bound": bounds[at % len(bounds)],
            "total_ns": int(1e6 * more) + 1,
            "flops": int(1e10 * work) + 1,
            "bytes": int(1e8 * size) + 1,
        }
        for at, (more, work, size) in enumerate(factors.tolist())
    ]


if __name__ == "__main__":
    sys.exit(main())
