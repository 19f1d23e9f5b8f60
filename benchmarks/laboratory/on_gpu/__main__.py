"""Judges the recordings, and prints the page or writes it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.laboratory.on_gpu.judging import all_judged, page


def main() -> int:
    parser = argparse.ArgumentParser(description="Judges recordings of a GPU by what their changes gained.")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page instead of printing it")
    options = parser.parse_args()
    tried = all_judged()
    if options.page:
        options.page.write_text(page(tried))
    else:
        print(page(tried), end="")
    return int(any("**" in each.remark for each in tried))


if __name__ == "__main__":
    sys.exit(main())
