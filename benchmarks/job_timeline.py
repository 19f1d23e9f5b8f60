"""Measures the job timeline of 256 simulated ranks in a real Chromium: `python -m benchmarks.job_timeline`.

work       what the page's main thread computes for an input, until nothing changes any more: script, style, layout and
           painting of the frame that follows, and of the frame with the server's answer
tasks      the longest times in which the page cannot react: at 60 frames a second, a frame has 16.7 ms
"""

from __future__ import annotations

import argparse
import functools
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from playwright.sync_api import Browser, Locator

from benchmarks.browsing import Visit, row, visit
from benchmarks.many import ALONE
from tests.truth.simulate.rank_jobs import Declared, run, write
from tools import chromium
from tools.serve import TensorBoard

RANKS, REDUCES = 256, 24
MOVES, WINDOWS = 40, 12
FRAME_MS = 1e3 / 60


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=RANKS)
    parser.add_argument("--logs", type=Path, help="a folder in which the job is kept from one time to the next")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tb_steptime_job.") as folder, chromium.browser() as browser:
        server = TensorBoard(_job(asked.logs or Path(folder), asked.ranks), module=ALONE)
        try:
            _measure(browser, server, asked.ranks)
        finally:
            server.stop()
    return 0


def _job(home: Path, ranks: int) -> Path:
    """Ranks whose computation differs, so that each of them waits at most of the all-reduces of a step."""
    logs = home / f"job_{ranks}"
    if not logs.exists():
        sizes = (4_194_304,) * REDUCES
        write(
            run(Declared(ranks, steps=4, late={ranks // 2: 6_000_000}, spread_ns=4_000_000, bucket_bytes=sizes)), logs
        )
    return logs


def _measure(browser: Browser, server: TensorBoard, ranks: int) -> None:
    with visit(browser, server, view="ranks") as one:
        picture = one.frame.locator("svg.chart.lanes")
        picture.wait_for(timeout=600_000)
        picture.scroll_into_view_if_needed()
        one.settle()
        print("| what | median | 95th percentile |\n|---|---:|---:|")
        for what, acts in (("pointer", _moves(one, picture)), ("change of window", _windows(one, picture))):
            _measured(one, f"job timeline of {ranks} ranks, {what}", acts)


def _measured(one: Visit, what: str, acts: Sequence[Callable[[], None]]) -> None:
    tasks: list[float] = []
    row(f"{what}, work", [one.painted_ms(act).worked_ms for act in acts])
    with one.tasks_ms(tasks):
        for act in acts:
            act()
            one.settle()
    long = sum(task > FRAME_MS for task in tasks)
    print(f"| {what}, tasks above {FRAME_MS:.1f} ms | {long} | longest {tasks[0]:.1f} ms |", flush=True)


def _moves(one: Visit, picture: Locator) -> list[Callable[[], None]]:
    box = picture.bounding_box()
    assert box is not None
    return [
        functools.partial(
            one.page.mouse.move, box["x"] + box["width"] * (0.1 + 0.8 * at / MOVES), box["y"] + 40 + (at * 37) % 200
        )
        for at in range(MOVES)
    ]


def _windows(one: Visit, picture: Locator) -> list[Callable[[], None]]:
    """Zooms in at the middle of the step, and out again."""
    picture.focus()
    return [functools.partial(one.page.keyboard.press, key) for _ in range(WINDOWS // 4) for key in "+++-"]


if __name__ == "__main__":
    sys.exit(main())
