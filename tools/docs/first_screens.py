"""The first screen of the Overview of any recordings, as a new user meets it: for the test in docs/first_look.md.

python -m tools.docs.first_screens PATH ...     each path is a run: a folder with its traces, or one trace

Pictures of 1280 x 720 go to test-artifacts/first_screens, one for each run and theme. What their first two lines say is
written into the tables of docs/first_look.md, for each run that has a row there.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from playwright.sync_api import Page

from tools.docs.screenshots import ROOT, Picture, opened, settled, showing

TARGET = ROOT / "test-artifacts" / "first_screens"
PAGE = ROOT / "docs" / "first_look.md"
HEIGHT = 720
#: The headline and the line below it, without buttons; an arrow is a picture there.
_LINES = """
() => {
  const head = document.querySelector(".verdict").cloneNode(true);
  for (const button of head.querySelectorAll("button, [role=tooltip]")) button.remove();
  for (const arrow of head.querySelectorAll("svg[aria-label=to]")) arrow.replaceWith(" \u2192 ");
  return ["h1", "p"].map((name) => (head.querySelector(name)?.textContent ?? "").replace(/\\s+/g, " ").trim());
}
"""


def main(paths: Sequence[str]) -> int:
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        runs, said = dict(as_run(Path(path), Path(folder)) for path in paths), {}
        with showing(runs) as (browser, server):
            for picture in (Picture("overview", run, theme, HEIGHT) for run in runs for theme in ("light", "dark")):
                page = opened(browser, server, picture)
                settled(page, picture)
                page.screenshot(path=TARGET / f"{picture.run}-{picture.theme}.png")
                said[picture.run] = _lines(page)
                page.close()
    PAGE.write_text(with_answers(PAGE.read_text("utf-8"), said), "utf-8")
    print(f"{2 * len(runs)} pictures: {TARGET}")
    return 0


def _lines(page: Page) -> tuple[str, str]:
    holder = page.wait_for_selector("iframe >> visible=true")
    frame = holder.content_frame() if holder else None
    assert frame is not None
    head, below = frame.evaluate(_LINES)
    return head, below


def with_answers(text: str, said: Mapping[str, tuple[str, str]]) -> str:
    """The page with what the first screens of these runs say.

    >>> row = "| `a` | old | old | old |"
    >>> with_answers(row, {"a": ("The GPU sets the pace.", "Use the tensor cores: 9 ms \u2192 4 ms (est.)")})
    '| `a` | The GPU sets the pace. | Use the tensor cores: 9 ms \u2192 4 ms (est.) | how much |'
    """

    def row(found: re.Match[str]) -> str:
        lines = said.get(found[1])
        return f"| `{found[1]}` | {lines[0]} | {lines[1]} | {_gives(lines[1])} |" if lines else found[0]

    return re.sub(r"^\| `(\w+)` \|.*\|$", row, text, flags=re.MULTILINE)


def _gives(action: str) -> str:
    """What the line below the headline says of the gain."""
    if re.search("\u2192|up to", action):
        return "how much"
    if "not computed" in action:
        return "that it is not computed"
    return "no gain to name: another recording" if action.startswith("Record") else "where to look"


def as_run(path: Path, folder: Path) -> tuple[str, Path]:
    """The name of the run and its folder; a trace that stands alone gets one."""
    if path.is_dir():
        return path.name, path
    run = folder / path.name.split(".json")[0]
    run.mkdir()
    shutil.copyfile(path, run / path.name)
    return run.name, run


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
