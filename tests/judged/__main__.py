"""python -m tests.judged: how often each card is right over the corpus, as Markdown for docs/judgement.md."""

from __future__ import annotations

import sys

from tests.judged.corpus import judged_here
from tests.judged.scores import scored, summary, table

scores = scored(judged_here())
for line in (*summary(scores), "", *table(scores)):
    sys.stdout.write(f"{line}\n")
