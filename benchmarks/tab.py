"""Measures what a person waits for in the tab, in a real Chromium: `python -m benchmarks.tab` (some minutes).

first picture   from the address to the view, in a log directory of 34 runs with their summary files
switching       from the press to the last change of the page
script          what the page's main thread computes for one movement of the pointer or one key
tasks           times in which the page cannot react, on one large trace with all its Python frames
heap            after 10, 100 and 200 switches of view: what is not given back would grow on and on
"""

from __future__ import annotations

import argparse
import functools
import gzip
import itertools
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from pathlib import Path

from playwright.sync_api import Browser, Locator, sync_playwright

from benchmarks.browsing import DRAWN_MS, FLAGS, Visit, visit
from benchmarks.generate import size_of, write_trace
from tb_steptime.ingest.places import Place
from tb_steptime.serve.bundle import STATIC
from tb_steptime.serve.store import Store
from tools.serve import TensorBoard

#: TensorBoard with its own plugins and ours; the other serves whatever else is installed.
ALONE, BESIDE = "tests.browser.tensorboard_with_ours", "tensorboard.main"

RUNS, MANY_RUNS = 34, 100
SMALL_BYTES = 5_000_000
#: Some eighty steps in each.
SMALL_LAYERS = 3
LOADS = 7
MOVES = 60
SWITCHES = (10, 100, 200)
LONG_MS = 50
VIEWS = ("Overview", "Trends", "Data loading", "Tensor cores", "GPU", "Host", "Timeline")
READ_SECONDS = 120
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=size_of, default=size_of("200MB"), help="of the large trace's JSON")
    size: int = parser.parse_args().size
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        print("No Chromium or Chrome is here. Install one, or name it in CHROMIUM.", file=sys.stderr)
        return 1
    print(f"{platform.machine()}, {os.cpu_count()} cores, {_load()} before")
    print("\n| what | median | 95th percentile |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="tb_steptime_tab.") as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        _measure(browser, Path(folder), size)
        browser.close()
    print(f"\n{_load()} after")
    return 0


def _measure(browser: Browser, folder: Path, size: int) -> None:
    few, many, large = folder / "few", folder / "many", folder / "large"
    _runs(few, RUNS)
    _runs(many, MANY_RUNS, like=few)
    _with(few, functools.partial(_first_pictures, browser))
    _with(few, functools.partial(_switching, browser))
    _with(few, functools.partial(_trends, browser))
    _with(many, functools.partial(_trends, browser, runs=MANY_RUNS))
    (large / "big").mkdir(parents=True)
    write_trace(large / "big" / "worker.1.pt.trace.json", size)
    _with(large, functools.partial(_timeline, browser, size))
    _with(few, functools.partial(_held, browser))
    _beside(browser, few)
    first = sum(map(_packed_bytes, [STATIC / "index.js", *STATIC.glob("parts/shared-*.js")]))
    print(f"| bundle until the first picture, gzipped | {first / 1e3:.1f} kB | |")
    print(f"| bundle with all views, gzipped | {sum(map(_packed_bytes, STATIC.rglob('*.js'))) / 1e3:.1f} kB | |")


def _packed_bytes(file: Path) -> int:
    return len(gzip.compress(file.read_bytes(), 9))


def _with(logs: Path, measure: Callable[[TensorBoard], None], module: str = ALONE) -> None:
    """Measure in a TensorBoard of its own."""
    server = TensorBoard(logs, module=module)
    try:
        measure(server)
    finally:
        server.stop()


def _runs(logs: Path, count: int, like: Path | None = None) -> None:
    """So many runs with their summaries. One is read, its summary serves as that of all; like: where that was done."""
    first = logs / "run-000"
    if like is not None:
        shutil.copytree(like / first.name, first)
    else:
        first.mkdir(parents=True)
        write_trace(first / "worker.1.pt.trace.json.gz", SMALL_BYTES, layers=SMALL_LAYERS)
        _read(logs)
    for number in range(1, count):
        shutil.copytree(first, logs / f"run-{number:03}")


def _read(logs: Path) -> None:
    """Write the summary files of what is there."""
    store = Store([Place("", logs, logs.name)])
    until = time.monotonic() + READ_SECONDS
    while not store.index(work=True).spans_ready:
        assert time.monotonic() < until
        time.sleep(0.1)
    store.close()


def _first_pictures(browser: Browser, server: TensorBoard) -> None:
    whole, own = [], []
    with visit(browser, server) as one:
        _row(f"first picture of {RUNS} runs with summaries, in an empty browser", [one.first_ms])
        for _ in range(LOADS):
            one.reload()
            whole.append(one.first_ms)
            own.append(one.frame_ms)
    _row(f"first picture of {RUNS} runs with summaries, {LOADS} more loads", whole)
    _row("of these, since TensorBoard opened our frame", own)


def _switching(browser: Browser, server: TensorBoard) -> None:
    with visit(browser, server, run="run-000") as one:
        one.settle()
        first = [one.press_ms(functools.partial(_go_to, one, view)) for view in (*VIEWS[1:], VIEWS[0])]
        again = [one.press_ms(functools.partial(_go_to, one, view)) for view in (*VIEWS[1:], VIEWS[0])]
        runs = [one.press_ms(functools.partial(_choose_run, one, f"run-{number:03}")) for number in range(1, 9)]
    _row("switch of view, the first time", first)
    _row("switch of view, to one that was open before", again)
    _row("switch of run", runs)


def _go_to(one: Visit, view: str) -> None:
    one.frame.get_by_role("navigation").get_by_text(view, exact=True).first.click()


def _choose_run(one: Visit, run: str) -> None:
    one.frame.locator("button.pick").first.click()
    field = one.frame.get_by_role("combobox")
    field.fill(run)
    field.press("Enter")


def _trends(browser: Browser, server: TensorBoard, runs: int = RUNS) -> None:
    with visit(browser, server, view="trends") as one:
        one.settle()
        chart = one.frame.locator("svg.chart.points").first
        _row(f"Trends of {runs} runs, script of a pointer move", _moves(one, chart))
        strips = one.frame.locator(".heatmap")
        _row(f"Trends of {runs} runs, script of a pointer move over the strips", _moves(one, strips))


def _moves(one: Visit, picture: Locator) -> list[float]:
    """Script of each of some moves across a picture, to and fro in height."""
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None
    middle, wide = box["y"] + box["height"] / 2, box["width"]
    spots = [
        (box["x"] + wide * (0.3 + 0.6 * at / MOVES), middle + box["height"] / 5 * (-1) ** at) for at in range(MOVES)
    ]
    one.page.mouse.move(*spots[0])
    one.settle()
    return [one.script_ms(functools.partial(one.page.mouse.move, *spot)) for spot in spots]


def _timeline(browser: Browser, size: int, server: TensorBoard) -> None:
    """From a trace whose events are at hand: reading them is another process's work and no task of the page."""
    name = f"timeline of {size / 1e6:.0f} MB"
    with visit(browser, server, view="timeline", run="big") as one:
        _wait_for_boxes(one)
    opened: list[float] = []
    moved: list[float] = []
    searched: list[float] = []
    with visit(browser, server, view="overview", run="big", frames="all") as one:
        one.settle()
        with one.tasks_ms(opened):
            _go_to(one, "Timeline")
            stage = _wait_for_boxes(one)
            one.settle()
        zooms, pans = _zooms(one, stage), _pans(one, stage)
        with one.tasks_ms(moved):
            _zooms(one, stage)
            _pans(one, stage)
        with one.tasks_ms(searched):
            _search(one)
    _row(f"{name}, script of a frame, zooming", zooms)
    _row(f"{name}, script of a frame, moving", pans)
    for what, tasks in {"opened": opened, "zoomed and moved": moved, "searched": searched}.items():
        long = sum(task > LONG_MS for task in tasks)
        print(f"| {name}, tasks above {LONG_MS} ms: {what} | {long} | longest {tasks[0]:.0f} ms |", flush=True)


def _wait_for_boxes(one: Visit) -> Locator:
    one.frame.wait_for_function("Number(document.querySelector('.stage')?.dataset.boxes) > 0", timeout=DRAWN_MS)
    return one.frame.locator(".stage")


def _zooms(one: Visit, stage: Locator) -> list[float]:
    """Out to the whole recording and in again."""
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


def _held(browser: Browser, server: TensorBoard) -> None:
    """What the page holds after some switches of view, and after many."""
    with visit(browser, server, run="run-000") as one:
        views = itertools.cycle(VIEWS)
        held = {}
        for number in range(1, SWITCHES[-1] + 1):
            _go_to(one, next(views))
            if number % 10 == 0:
                one.settle()
            if number in SWITCHES:
                _go_to(one, VIEWS[0])
                one.settle()
                held[number] = one.heap_bytes(), one.elements()
    for number, (heap, elements) in held.items():
        print(f"| heap after {number} switches of view | {heap / 1e6:.1f} MB | {elements:.0f} nodes |", flush=True)


def _beside(browser: Browser, logs: Path) -> None:
    """Beside what holds the interpreter that answers us: a thread that never rests, and the PyTorch Profiler tab."""
    what = f"first picture of {RUNS} runs"
    print(f"| {what} beside a thread that computes without rest | ", end="", flush=True)
    _with(logs, functools.partial(_first_load, browser), "benchmarks.spinning")
    if not any("torch_tb_profiler" in point.value for point in entry_points(group="tensorboard_plugins")):
        print(f"| {what} while torch-tb-profiler reads them | not measured: it is not active here | |")
        return
    print(f"| {what} while torch-tb-profiler reads them | ", end="", flush=True)
    _with(logs, functools.partial(_first_load, browser), BESIDE)


def _first_load(browser: Browser, server: TensorBoard) -> None:
    with visit(browser, server) as one:
        print(f"{one.first_ms:.0f} ms | {one.frame_ms:.0f} ms since our frame was opened |", flush=True)


def _row(what: str, each_ms: Iterable[float]) -> None:
    times = sorted(each_ms)
    most = times[min(len(times) - 1, round(0.95 * len(times)))]
    print(f"| {what} | {statistics.median(times):.1f} ms | {most:.1f} ms |", flush=True)


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main())
