"""The pictures of the README and the documentation: the tab in a real TensorBoard and a real Chromium, on `demo_logs/`.

python -m tools.docs.screenshots [NAME ...]     take all pictures, or these, and write them to docs/screenshots

All are taken in one go, from one build of the tab, so that they fit together.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Browser, ElementHandle, Frame, Page

from tools import chromium
from tools.serve import TensorBoard

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "docs" / "screenshots"

#: The first view has to wait until the recording has been analysed.
DRAWN_MS = 60_000
#: The time for all recordings, while other tabs may read at the same time.
READ_SECONDS = 300
UNREAD = ("unread", "reading")
#: Whether each visible place of a card's evidence has its picture, or says why it has none.
EVIDENCE_IS_DRAWN = """() => [...document.querySelectorAll(".evidence-place")].every((place) =>
    place.getBoundingClientRect().top > innerHeight || place.querySelector("canvas, .link, .quiet"))"""
#: Whether the tab draws with its own fonts. Where they are late, the first view that is opened has others.
HAS_FONTS = "() => [...document.fonts].some((font) => font.family.includes('Roboto'))"
MOST_RELOADS = 5
SETTLE_MS = 1_000
#: The largest file that a reader should have to load for one picture.
LARGEST_BYTES = 250_000


class Picture(NamedTuple):
    """`run` is a directory of demo_logs; height: that of the window, in CSS pixels; keys: more of the tab's state.
    part: only the picture of the view that contains an element of this class.
    """

    view: str
    run: str
    theme: str
    height: int
    keys: Mapping[str, str] = {}
    part: str = ""

    @property
    def name(self) -> str:
        return f"{self.part or self.view}-{self.theme}.png"

    def address(self, url: str) -> str:
        """The tab's address with this state, like that of a shared link."""
        keys = {"view": self.view, "run": self.run, **self.keys}
        return f"{url}#tb_steptime" + "".join(f"&p.tb_steptime.{key}={quote(value)}" for key, value in keys.items())


#: Runs of one training, each with a different remedy for its waits for data.
TUTORIAL = ("baseline_simulated", "num_dataloaders_simulated", "transforms_simulated")

PICTURES = (
    Picture("overview", "gpu_num_dataloaders", "light", 980),
    Picture("trends", "num_dataloaders_simulated", "light", 860, {"runs": "\n".join(TUTORIAL)}),
    Picture("data_loading", "cpu_recorded_workers", "light", 1110),
    Picture("tensor_cores", "gpu_resnet50_baseline", "dark", 860),
    Picture("gpu", "gpu_autocast", "light", 980),
    Picture("host", "forum_sparse_multi_gpu_simulated", "light", 980),
    Picture("operators", "gpu_resnet50_baseline", "light", 1160, {"op": "aten::cudnn_convolution"}),
    Picture("memory", "cpu_kept_graph", "light", 1160),
    Picture("operators", "forum_sparse_multi_gpu_simulated", "light", 1900, {"work": "made"}, "flame"),
    Picture("compare", "gpu_transforms", "light", 900, {"with": "gpu_baseline/cuda/1"}),
    Picture("ranks", "cpu_late_rank", "light", 860),
    Picture("timeline", "forum_sparse_multi_gpu_simulated", "dark", 1180),
)
WIDTH = 1280


def main(names: Sequence[str]) -> int:
    wanted = [picture for picture in PICTURES if not names or picture.name in names or picture.view in names]
    TARGET.mkdir(exist_ok=True)
    bases = {picture.keys["with"].split("/")[0] for picture in PICTURES if "with" in picture.keys}
    runs = {*TUTORIAL, *bases, *(picture.run for picture in PICTURES)}
    with showing({run: ROOT / "demo_logs" / run for run in runs}) as (browser, server):
        sizes = [take(browser, server, picture) for picture in wanted]
    return int(any(size > LARGEST_BYTES for size in sizes))


@contextlib.contextmanager
def showing(runs: Mapping[str, Path]) -> Iterator[tuple[Browser, TensorBoard]]:
    """A browser, and a TensorBoard that has read copies of these folders, by run. SystemExit without a browser."""
    with tempfile.TemporaryDirectory() as folder, chromium.browser() as browser:
        server = TensorBoard(copied(runs, Path(folder)), module="tools.tensorboard_with_ours")
        try:
            read_all(browser, server, Picture("overview", min(runs), "light", 860))
            yield browser, server
        finally:
            server.stop()


def copied(runs: Mapping[str, Path], folder: Path) -> Path:
    """Copies without summaries of earlier visits: this build measures them, and writes none beside the originals."""
    target = folder / "logs"
    for run, source in runs.items():
        shutil.copytree(source, target / run, ignore=shutil.ignore_patterns("*.steptime*"))
    return target


def read_all(browser: Browser, server: TensorBoard, first: Picture) -> None:
    """Open the tab and wait until every recording is read: its bar shows how many are, and pictures must agree."""
    page = opened(browser, server, first)
    until = time.monotonic() + READ_SECONDS
    while unread := [span["state"] for span in spans(server) if span["state"] in UNREAD]:
        if time.monotonic() > until:
            raise TimeoutError(f"The recordings were not read in {READ_SECONDS} s: {Counter(unread)}.")
        time.sleep(1)
    page.close()


def spans(server: TensorBoard) -> list[dict[str, Any]]:
    runs = server.json_of("data/plugin/tb_steptime/index")["runs"]
    return [span for run in runs for worker in run["workers"] for span in worker["spans"]]


def take(browser: Browser, server: TensorBoard, picture: Picture) -> int:
    """Writes one picture and returns its size in bytes."""
    page = opened(browser, server, picture)
    target = TARGET / picture.name
    target.write_bytes(small_png(settled(page, picture)))
    page.close()
    size = target.stat().st_size
    print(f"{target.relative_to(ROOT)}  {size / 1000:.0f} kB" + ("  TOO LARGE" if size > LARGEST_BYTES else ""))
    return size


def opened(browser: Browser, server: TensorBoard, picture: Picture) -> Page:
    page = browser.new_page(viewport={"width": WIDTH, "height": picture.height}, color_scheme="light")
    setting = f"localStorage.setItem('_tb_global_settings', '{json.dumps({'theme': picture.theme})}')"
    page.add_init_script(f"if (location.protocol === 'http:') {setting}")
    page.goto(picture.address(server.url))
    return page


def settled(page: Page, picture: Picture) -> bytes:
    """The tab without TensorBoard's own bar, once nothing moves any more."""
    holder, frame = _ready(page, picture)
    for _ in range(MOST_RELOADS):
        if frame.evaluate(HAS_FONTS):
            break
        page.reload()
        holder, frame = _ready(page, picture)
    frame.wait_for_function("!document.querySelector('[role=progressbar], .notice')", timeout=DRAWN_MS)
    frame.wait_for_function(EVIDENCE_IS_DRAWN, timeout=DRAWN_MS)
    page.wait_for_timeout(SETTLE_MS)
    if not picture.part:
        return holder.screenshot()
    frame.wait_for_selector(f".{picture.part}", timeout=DRAWN_MS)
    page.wait_for_timeout(SETTLE_MS)
    return frame.locator(f"section:has(.{picture.part})").screenshot()


def _ready(page: Page, picture: Picture) -> tuple[ElementHandle, Frame]:
    holder = page.wait_for_selector("iframe >> visible=true", timeout=DRAWN_MS)
    frame = holder.content_frame() if holder else None
    assert holder is not None and frame is not None
    frame.wait_for_selector(f"[data-state='ready'] [data-view='{picture.view}']", timeout=DRAWN_MS)
    page.wait_for_timeout(SETTLE_MS)
    return holder, frame


def small_png(png: bytes) -> bytes:
    """Recompressed without transparency; without a palette, because small patches of a rare colour would change their
    colour.
    """
    packed = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").save(packed, "PNG", optimize=True)
    return packed.getvalue()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
