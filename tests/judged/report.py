"""What the corpus shows about the rules, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from tests.judged.corpus import judged_here
from tests.judged.scores import by_card, by_group, in_short, scored


def report() -> Iterator[str]:
    """The results in docs/judgement.md, line by line."""
    groups = judged_here()
    everything = scored(pair for pairs in groups.values() for pair in pairs)
    yield in_short(everything)
    yield ""
    yield from by_group({**{name: scored(pairs) for name, pairs in groups.items()}, "**all**": everything})
    yield ""
    yield from by_card(everything)
