"""Tries the programs that have no result yet, and prints the tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import benchmarks.laboratory.programs  # noqa: F401
from benchmarks.laboratory.program import PROGRAMS
from benchmarks.laboratory.results import keep, kept, page, table
from benchmarks.laboratory.trial import try_program


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Follows the first card of real trainings and times what it gains.")
    parser.add_argument("--only", nargs="+", metavar="PROGRAM", choices=list(PROGRAMS), help="only these")
    parser.add_argument("--again", action="store_true", help="also those that have a result")
    parser.add_argument("--page", type=Path, metavar="FILE", help="try none, and write the page about what is there")
    options = parser.parse_args(arguments)
    trials = kept()
    if options.page:
        options.page.write_text(page(trials.values()))
        return 0
    for name in options.only or PROGRAMS:
        if options.again or name not in trials:
            trials[name] = try_program(PROGRAMS[name])
            keep(trials.values())
            print(table([trials[name]]).splitlines()[-1], flush=True)
    return int(any("**" in trials[name].remark for name in options.only or PROGRAMS))


if __name__ == "__main__":
    sys.exit(main())
