"""python -m tests.truth.simulate demo_logs: write the simulated demo recordings, the same bytes each time.
python -m tests.truth.simulate causes: print what each declared cause costs beside what the package finds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from tests.truth.simulate.demo import write_demo


def lines(word: str) -> Iterable[str]:
    if word != "causes":
        return map(str, write_demo(Path(word)))
    from tests.truth.simulate.judging import table

    return table()


for line in lines(sys.argv[1]):
    sys.stdout.write(f"{line}\n")
