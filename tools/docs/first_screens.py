"""The first screen of the Overview of any recordings, as a new user meets it: for the test in docs/first_look.md.

python -m tools.docs.first_screens PATH ...     each path is a run: a folder with its traces, or one trace

Pictures of 1280 x 720 go to test-artifacts/first_screens, one for each run and theme.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.docs.screenshots import ROOT, Picture, opened, settled, showing

TARGET = ROOT / "test-artifacts" / "first_screens"
HEIGHT = 720


def main(paths: Sequence[str]) -> int:
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        runs = dict(as_run(Path(path), Path(folder)) for path in paths)
        with showing(runs) as (browser, server):
            for picture in (Picture("overview", run, theme, HEIGHT) for run in runs for theme in ("light", "dark")):
                page = opened(browser, server, picture)
                settled(page, picture)
                page.screenshot(path=TARGET / f"{picture.run}-{picture.theme}.png")
                page.close()
    print(f"{2 * len(runs)} pictures: {TARGET}")
    return 0


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
