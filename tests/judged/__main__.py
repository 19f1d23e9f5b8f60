"""python -m tests.judged                    # how often each card is right over the corpus, as Markdown
python -m tests.judged docs/judgement.md  # the same, written into the page, below its heading "Results"
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.judged.report import report

HEADING = "## Results\n"

lines = "".join(f"{line}\n" for line in report())
if sys.argv[1:]:
    page = Path(sys.argv[1])
    above, heading, _ = page.read_text().partition(HEADING)
    page.write_text(f"{above}{heading}\n{lines}")
else:
    sys.stdout.write(lines)
