"""python -m tests.fuzz --cases 100000 --first 0 --jobs 2   # what mutated traces do, as a Markdown table

Each line is a cause with how often it came and a case's number; `--case N FILE` writes that case's file to look at.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from pathlib import Path

from tests.fuzz import cases as jsons
from tests.fuzz import pftraces


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--case", nargs=2, metavar=("N", "FILE"), help="write the file of one case")
    parser.add_argument("--pftrace", action="store_true", help="Perfetto traces, which have numbers of their own")
    options = parser.parse_args()
    drawn = pftraces if options.pftrace else jsons
    if options.case:
        drawn.write_case(int(options.case[0]), Path(options.case[1]))
        return
    began = time.monotonic()
    causes: Counter[str] = Counter()
    example: dict[str, int] = {}
    with multiprocessing.Pool(options.jobs) as pool:
        cases = range(options.first, options.first + options.cases)
        for case, cause in zip(cases, pool.imap(drawn.outcome, cases, chunksize=50), strict=True):
            if cause:
                causes[cause] += 1
                example.setdefault(cause, case)
    wrong = causes.total()
    seconds = time.monotonic() - began
    lines = [f"{options.cases} cases in {seconds:.0f} s: {wrong} wrong, {len(causes)} causes", ""]
    lines += ["| cause | count | a case |", "|---|---:|---:|"]
    lines += [f"| {cause} | {count} | {example[cause]} |" for cause, count in causes.most_common()]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
