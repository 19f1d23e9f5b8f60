"""Whether conclusions stay the same when a recording is rewritten in a way that does not change the job.

python -m tests.judged --variants              every real trace in every variant, as Markdown, and what moved
python -m tests.judged --variants resnet50     those whose paths contain this word

A variant lacks something, so its conclusions may be weaker if they say why. It must not name another cause, have a card
above minor that is at most minor in the recording, or promise a gain that differs by a quarter.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import msgspec

from tb_steptime.insights.base import Insight, Judgement, Severity
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text.printer import plain
from tests.drawn.real_traces import EVERY, real_path
from tests.judged.found import judgement_of
from tests.judged.variants import Document, variants

#: For a first card: a gain that differs by more than this has moved.
MOVED = 0.25
#: A fraction of the step: if the gain differs by less, it is the same card, on whichever side of a threshold.
LITTLE = 0.02

Change = Literal["weaker", "weaker, not said why", "other cause", "new card", "gain moved"]
CHANGES: tuple[Change, ...] = get_args(Change)


class Moved(NamedTuple):
    """One conclusion of a variant that differs from that of the recording."""

    change: Change
    what: str


def report(word: str = "") -> Iterator[str]:
    """For each variant, the number of recordings that keep their conclusions; then each conclusion that moved."""
    counts, lines = defaultdict[str, Counter[str]](Counter), list[str]()
    for path in (each for each in EVERY if word in each):
        for variant, moved in moved_in(real_path(path)):
            counts[variant]["recordings"] += 1
            counts[variant]["same"] += not moved
            counts[variant].update({each.change for each in moved})
            lines += (f"{path}, {variant}: {each.change}: {each.what}" for each in moved)
    columns = ("recordings", "same", *CHANGES)
    yield f"| variant | {' | '.join(columns)} |"
    yield f"|---|{'---:|' * len(columns)}"
    counts["**all**"] = sum(counts.values(), Counter[str]())
    for variant, counts_here in counts.items():
        yield f"| {variant} | {' | '.join(str(counts_here[column]) for column in columns)} |"
    yield ""
    yield from lines


def moved_in(path: Path) -> Iterator[tuple[str, list[Moved]]]:
    """For each variant of a recording, the conclusions that differ."""
    as_recorded = judgement_of(path)
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "variant.pt.trace.json"
        for name, document in variants(read(path)):
            written.write_bytes(encoded(document))
            yield name, list(moved(as_recorded, judgement_of(written)))


_ENCODER = msgspec.json.Encoder(decimal_format="number")


def encoded(document: Document) -> bytes:
    """The trace as JSON, with exact times."""
    return _ENCODER.encode(document)


def read(path: Path) -> Document:
    """The trace, with exact times."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    document = json.loads(text, parse_float=Decimal, strict=False)
    return document if isinstance(document, dict) else {"traceEvents": document}


def moved(before: Judgement, after: Judgement) -> Iterator[Moved]:
    """The conclusions that moved from a recording to one of its variants."""
    was, now = before.verdict.bound, after.verdict.bound
    weaker: Change = "weaker" if _reasons(before) != _reasons(after) else "weaker, not said why"
    if was is not now:
        said_less = now in (Bound.UNKNOWN, Bound.MIXED)
        yield Moved(weaker if said_less else "other cause", f"verdict {was.value} -> {now.value}")
    old, new = _by_id(before), _by_id(after)
    for id, card in new.items():
        earlier = old.get(id)
        if (
            _counts(card)
            and not _counts(earlier)
            and card.gain_fraction > LITTLE + (earlier.gain_fraction if earlier else 0)
        ):
            yield Moved("new card", f"{id} {_card_text(earlier)} -> {_card_text(card)}")
    first = next((card for card in before.insights if _counts(card)), None)
    if first is None:
        return
    left = new.get(first.id)
    if left is None or _order(left) > _order(first):
        yield Moved(weaker, f"{first.id} {_card_text(first)} -> {_card_text(left)}")
    elif abs(left.gain_fraction - first.gain_fraction) > MOVED * first.gain_fraction:
        yield Moved("gain moved", f"{first.id} {_card_text(first)} -> {_card_text(left)}")


def _reasons(judgement: Judgement) -> set[str]:
    """The reasons given why conclusions are not more certain: of the verdict, of the recording, of its results."""
    notes = {note.id for of_view in judgement.notes.values() for note in of_view}
    return notes | {finding.id for finding in judgement.quality} | {plain(judgement.verdict.why_confidence)}


def _by_id(judgement: Judgement) -> dict[str, Insight]:
    return {card.id: card for card in judgement.insights}


def _counts(card: Insight | None) -> bool:
    return card is not None and card.severity is not Severity.MINOR


def _order(card: Insight) -> int:
    return tuple(Severity).index(card.severity)


def _card_text(card: Insight | None) -> str:
    return f"{card.severity.value} {card.gain_fraction:.1%}" if card else "none"
