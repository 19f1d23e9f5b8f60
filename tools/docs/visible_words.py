"""The words that a reader meets on each page of the tab before any click, beside those of another state of the project.

python -m tools.docs.visible_words [--checkout FOLDER] [--save FILE] [--against FILE] PATH ...

Each path is a run: a folder with traces, or a trace. --checkout opens the tab of another checkout, which must be built
there; --save keeps what it shows, and --against compares with what was kept. It prints the words of each view, and
writes every line of text to test-artifacts/visible_words/<view>.txt, where "-" marks what only the kept state shows,
and "+" what only this one does. Compare shows each run beside the path before it.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Frame, Page

from tools.docs.first_screens import as_run
from tools.docs.gallery import FIRST_HEIGHT, STILL_MS, VIEWS, WAITS_NO_MORE, first_spans
from tools.docs.screenshots import DRAWN_MS, ROOT, Picture, opened, showing
from tools.serve import TensorBoard

TARGET = ROOT / "test-artifacts" / "visible_words"
#: A line of fewer words is a label: of a tile, a legend or an axis.
SENTENCE_WORDS = 5
#: Each line of text that is visible on the page, with its words outside and inside of tables, drawings, code and
#: controls. A line is the text of the innermost block around it.
LINES = """
() => {
  const main = document.querySelector("main");
  const roles = ["table", "grid", "tree", "img", "slider", "application"].map((role) => `[role=${role}]`);
  const DRAWN = `table, svg, canvas, ${roles}`;
  const INSIDE = `${DRAWN}, pre, code, select, button`;
  const lines = new Map();
  const words = (text) => (text.match(/[A-Za-z][A-Za-z’'-]+/g) ?? []).length;
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const within = node.parentElement;
    if (!node.textContent.trim() || within.closest("style, script, [role=tooltip], .visually-hidden")) continue;
    if (!within.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: false })) continue;
    const inside = within.closest(INSIDE);
    let block = inside?.closest(DRAWN) ?? within;
    while (block !== main && /^(inline|contents)/.test(getComputedStyle(block).display)) block = block.parentElement;
    const line = lines.get(block) ?? [0, 0, ""];
    lines.set(block, [
      line[0] + (inside ? 0 : words(node.textContent)),
      line[1] + (inside ? words(node.textContent) : 0),
      line[2] + node.textContent,
    ]);
  }
  return [...lines.values()].map(([outside, inside, text]) => [outside, inside, text.replace(/\\s+/g, " ").trim()]);
}
"""


class Line(NamedTuple):
    """A line of text, and its numbers of words outside and inside of tables, drawings, code and controls."""

    outside: int
    inside: int
    text: str


#: The lines of each page, by "view of run".
Pages = Mapping[str, Sequence[Line]]


class Words(NamedTuple):
    """Numbers of words: of sentences, of labels, and inside of tables, drawings, code and controls."""

    sentences: int
    labels: int
    inside: int


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.docs.visible_words", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--checkout", type=Path, default=ROOT, metavar="FOLDER")
    parser.add_argument("--save", type=Path, metavar="FILE")
    parser.add_argument("--against", type=Path, metavar="FILE")
    asked = parser.parse_args(arguments)
    before = read_pages(asked.against) if asked.against else None
    with tempfile.TemporaryDirectory() as folder:
        runs = dict(as_run(path.resolve(), Path(folder)) for path in asked.paths)
        pages = pages_of(runs, asked.checkout.resolve())
    if asked.save:
        asked.save.write_text(json.dumps(pages), "utf-8")
    TARGET.mkdir(parents=True, exist_ok=True)
    for view in VIEWS:
        (TARGET / f"{view}.txt").write_text("\n".join(page_lines(view, pages, before)) + "\n", "utf-8")
    print("\n".join(table(pages, before)))
    print(f"Every line: {TARGET}")
    return 0


def read_pages(file: Path) -> Pages:
    return {name: [Line(*line) for line in lines] for name, lines in json.loads(file.read_text("utf-8")).items()}


def pages_of(runs: Mapping[str, Path], checkout: Path) -> Pages:
    """The lines of each page, as the package in `checkout` shows it."""
    here, path = Path.cwd(), os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = str(checkout)
    os.chdir(checkout)  # Python looks for packages here first
    try:
        with showing(runs) as (browser, server):
            return read(browser, server, list(pictures(runs, first_spans(server))))
    finally:
        os.chdir(here)
        os.environ["PYTHONPATH"] = path


def pictures(runs: Iterable[str], firsts: Mapping[str, str]) -> Iterable[Picture]:
    """firsts: the first span of each run, as addresses name it."""
    ordered = list(runs)
    for at, run in enumerate(ordered):
        with_ = {"with": firsts[ordered[at - 1 if at else min(1, len(ordered) - 1)]]}
        for view in VIEWS:
            yield Picture(view, run, "light", FIRST_HEIGHT, with_ if view == "compare" else {})


def read(browser: Browser, server: TensorBoard, wanted: Sequence[Picture]) -> Pages:
    page = opened(browser, server, wanted[0])
    holder = page.wait_for_selector("iframe >> visible=true", timeout=DRAWN_MS)
    frame = holder.content_frame() if holder else None
    assert frame is not None
    found = {f"{picture.view} of {picture.run}": lines_of(page, frame, picture, server.url) for picture in wanted}
    page.close()
    return found


def lines_of(page: Page, frame: Frame, picture: Picture, url: str) -> list[Line]:
    page.evaluate("address => { location.href = address }", picture.address(url))
    frame.wait_for_selector(f"[data-state='ready'] [data-view='{picture.view}']", state="attached", timeout=DRAWN_MS)
    page.wait_for_timeout(STILL_MS)
    frame.wait_for_function(WAITS_NO_MORE, timeout=DRAWN_MS)
    page.wait_for_timeout(STILL_MS)
    return [Line(*line) for line in frame.evaluate(LINES)]


def counted(lines: Iterable[Line]) -> Words:
    """
    >>> counted([Line(6, 0, "The CPU sets the pace here."), Line(2, 0, "Step time"), Line(0, 9, "a table")])
    Words(sentences=6, labels=2, inside=9)
    """
    listed = list(lines)
    sentences = sum(line.outside for line in listed if line.outside >= SENTENCE_WORDS)
    return Words(sentences, sum(line.outside for line in listed) - sentences, sum(line.inside for line in listed))


def table(pages: Pages, before: Pages | None) -> list[str]:
    """One line for each view with its words, and a line with their sums; a share is that of the kept state's words."""
    return [
        f"{'view':14s}" + "".join(f"{name:>{24 if before else 12}s}" for name in Words._fields),
        *(f"{view:14s}{numbers(view, pages, before)}" for view in VIEWS),
        f"{'all':14s}{numbers('', pages, before)}",
    ]


def numbers(view: str, pages: Pages, before: Pages | None) -> str:
    def of(shown: Pages) -> Words:
        return counted(line for name, lines in shown.items() if name.startswith(view) for line in lines)

    if before is None:
        return "".join(f"{now:12d}" for now in of(pages))
    pairs = zip(of(before), of(pages), strict=True)
    return "".join(f"{f'{then} -> {now}':>17s}{f'{now / then:.0%}' if then else '-':>7s}" for then, now in pairs)


def page_lines(view: str, pages: Pages, before: Pages | None) -> Iterable[str]:
    """Each page of a view: its lines outside of tables, after a mark that says which state shows them."""
    for name, lines in pages.items():
        if name.startswith(f"{view} of "):
            shown = [line.text for line in lines if line.outside]
            kept = [line.text for line in (before or {}).get(name, ()) if line.outside]
            yield from ("", f"== {name}", *(difflib.ndiff(kept, shown) if before else shown))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
