"""A contact sheet of the whole tab, to be looked at after a change: every view of many runs, in both themes.

python -m tools.docs.gallery [WORD ...]     all pictures, or those of the views, runs and themes named

They go to test-artifacts/gallery, with an index.html. Real traces of GPUs join where they are here (`make traces`). For
speed one TensorBoard, one browser and one page a theme take them all: only the address changes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from playwright.sync_api import Browser, ElementHandle, Frame, Page, TimeoutError

from tests.drawn.real_traces import is_real_trace_there, real_path
from tools.docs.screenshots import DRAWN_MS, ROOT, WIDTH, Picture, opened, showing
from tools.serve import TensorBoard

TARGET = ROOT / "test-artifacts" / "gallery"
DEMO = ROOT / "demo_logs"

VIEWS = (
    "overview", "trends", "data_loading", "tensor_cores", "gpu", "host", "operators", "memory", "ranks", "timeline",
    "compare",
)  # fmt: skip
THEMES = ("light", "dark")
#: A run of the contact sheet, and the folder of its real trace.
REAL = {
    "v100_workers0": "kineto_v100_resnet50/workers0",
    "v100_workers4": "kineto_v100_resnet50/workers4",
    "a100_ddp": "hta_a100_ddp_control",
    "a100_triton": "hta_a100_triton",
    "h100_bert": "tracelens_h100_bert",
    "h100_timesformer": "tracelens_h100_timesformer",
    "b200_eager": "tracelens_b200_eager",
    "mi250_toy": "hta_mi250_toy",
    "mi300_resnet": "tracelens_mi300_resnet",
    "mi300_vllm": "tracelens_mi300_vllm_graph",
    "cpu_gloo": "hta_cpu_gloo",
    "no_gpu": "hta_no_gpu_in_trace",
}
#: Runs of the demo: one of each kind that looks different.
SHOWN_DEMO = (
    "baseline_simulated",
    "num_dataloaders_simulated",
    "resnet50_baseline_simulated",
    "autocast_simulated",
    "forum_workers8_item_simulated",
    "forum_sparse_multi_gpu_simulated",
    "cpu_baseline",
    "cpu_recorded_workers",
    "cpu_kept_graph",
    "cpu_late_rank",
)
#: The other side of the Compare view, where it is not the first run.
OTHERS = {
    "v100_workers0": "v100_workers4",
    "baseline_simulated": "num_dataloaders_simulated",
    "resnet50_baseline_simulated": "autocast_simulated",
}

FIRST_HEIGHT = 860
#: A longer view is cut off: nobody looks at more on a contact sheet.
LARGEST_HEIGHT = 3_000
STILL_MS = 350
WAITS_NO_MORE = "!document.querySelector('[role=progressbar], .notice')"


def main(words: Sequence[str]) -> int:
    runs = {run: DEMO / run for run in SHOWN_DEMO}
    runs |= {run: real_path(f"traces/{folder}") for run, folder in REAL.items() if is_real_trace_there(folder)}
    TARGET.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    with showing(runs) as (browser, server):
        print(f"{len(runs)} runs read in {time.monotonic() - begun:.0f} s", flush=True)
        wanted = list(pictures(first_spans(server), set(words)))
        failed = [name for theme in THEMES for name in taken(browser, server, [p for p in wanted if p.theme == theme])]
    (TARGET / "index.html").write_text(contact_sheet(wanted), encoding="utf-8")
    print(f"{len(wanted)} pictures in {time.monotonic() - begun:.0f} s: {TARGET / 'index.html'}")
    return int(bool(failed))


def first_spans(server: TensorBoard) -> dict[str, str]:
    """The first span of each run, as the address names it."""
    runs = server.json_of("data/plugin/tb_steptime/index")["runs"]
    first = {run["name"]: run["workers"][0] for run in runs}
    return {run: f"{run}/{worker['name']}/{worker['spans'][0]['number']}" for run, worker in first.items()}


def pictures(runs: Mapping[str, str], words: set[str]) -> Iterable[Picture]:
    """The pictures that match one of the words of each kind that was given; all where none was. runs: their first
    spans.
    """
    for run in runs:
        other = OTHERS.get(run, "v100_workers0" if "v100_workers0" in runs else SHOWN_DEMO[0])
        for view in VIEWS:
            keys = {"with": runs[other]} if view == "compare" else {}
            for theme in THEMES:
                if all(not words & set(kind) or one in words for kind, one in kinds(runs, run, view, theme)):
                    yield Picture(view, run, theme, FIRST_HEIGHT, keys)


def kinds(runs: Iterable[str], run: str, view: str, theme: str) -> list[tuple[Iterable[str], str]]:
    return [(runs, run), (VIEWS, view), (THEMES, theme)]


def file_name(picture: Picture) -> str:
    return f"{picture.run}-{picture.view}-{picture.theme}.png"


def taken(browser: Browser, server: TensorBoard, wanted: Sequence[Picture]) -> list[str]:
    """Takes these, all of one theme, on one page; returns the names of those that were not drawn."""
    if not wanted:
        return []
    page = opened(browser, server, wanted[0])
    holder = page.wait_for_selector("iframe >> visible=true", timeout=DRAWN_MS)
    frame = holder.content_frame() if holder else None
    assert holder is not None and frame is not None
    failed = [file_name(picture) for picture in wanted if not drawn(page, holder, frame, picture, server.url)]
    page.close()
    return failed


def drawn(page: Page, holder: ElementHandle, frame: Frame, picture: Picture, url: str) -> bool:
    """Returns whether it was taken: a picture that waits forever must not stop the others."""
    page.set_viewport_size({"width": WIDTH, "height": FIRST_HEIGHT})
    page.evaluate("address => { location.href = address }", picture.address(url))
    try:
        of_view = f"[data-state='ready'] [data-view='{picture.view}']"
        frame.wait_for_selector(of_view, state="attached", timeout=DRAWN_MS // 4)  # for a CPU job some are empty
        page.wait_for_timeout(STILL_MS)
        frame.wait_for_function(WAITS_NO_MORE, timeout=DRAWN_MS // 4)
    except TimeoutError:
        print(f"{file_name(picture)} was not drawn", file=sys.stderr)
        (TARGET / file_name(picture)).write_bytes(holder.screenshot())
        return False
    if (height := height_of(frame)) > FIRST_HEIGHT:
        page.set_viewport_size({"width": WIDTH, "height": min(height, LARGEST_HEIGHT)})
        page.wait_for_timeout(STILL_MS)
    (TARGET / file_name(picture)).write_bytes(holder.screenshot())
    return True


def height_of(frame: Frame) -> int:
    """The height of a window that shows the whole view, in CSS pixels."""
    hidden = "(m => m.scrollHeight - m.clientHeight)(document.scrollingElement)"
    inner = "(m => m ? m.scrollHeight - m.clientHeight : 0)(document.querySelector('main'))"
    return FIRST_HEIGHT + int(frame.evaluate(f"Math.max({hidden}, {inner})"))


def contact_sheet(wanted: Iterable[Picture]) -> str:
    """One row per run and theme, one column per view; a click opens the picture."""
    rows: dict[tuple[str, str], list[str]] = {}
    for picture in wanted:
        name = escape(file_name(picture))
        image = f'<a href="{name}"><img src="{name}" alt="{name}" width="300" loading="lazy"></a>'
        rows.setdefault((picture.run, picture.theme), []).append(f"<td>{image}</td>")
    lines = "\n".join(f"<tr><th>{escape(run)}<br>{theme}</th>{''.join(row)}</tr>" for (run, theme), row in rows.items())
    style = "body{font:14px sans-serif;background:#888}td{vertical-align:top}th{text-align:left}"
    return f"<!doctype html><meta charset=utf-8><title>Gallery</title><style>{style}</style><table>{lines}</table>\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
