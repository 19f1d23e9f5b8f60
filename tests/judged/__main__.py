"""The conclusions of the package, compared with the right ones.

python -m tests.judged                    how often each card is right over the corpus, as Markdown
python -m tests.judged docs/judgement.md  the same and the world's jobs, written into the page below its headings
python -m tests.judged --world            other people's jobs: how many judgements are right, and each that is wrong
python -m tests.judged --save FILE        every conclusion on every recording at hand
python -m tests.judged --changes FILE     each conclusion that moved since, with the figures that moved
python -m tests.judged --variants [WORD]  each conclusion that moves where a recording is rewritten, but not the job
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.judged import conclusions, page, stability, world


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.judged", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--world", action="store_true")
    parser.add_argument("--save", type=Path, metavar="FILE")
    parser.add_argument("--changes", type=Path, metavar="FILE")
    parser.add_argument("--variants", nargs="?", const="", metavar="WORD")
    options = parser.parse_args()
    if options.save:
        conclusions.save(options.save)
    elif options.changes:
        show(conclusions.changes(options.changes))
    elif options.variants is not None:
        show(stability.report(options.variants))
    elif options.world:
        show(world.report())
    elif options.page:
        page.write(options.page)
    else:
        for heading in (page.SIMULATED, page.MEASURED):
            show([heading, "", *page.RESULTS[heading](), ""])


def show(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
