"""The judged step after some cards: what the first one gains, and what any set of them does by a replay.

cards      a 3.0   b 2.0   c 1.5                 the gain that each promises alone
replay     {a} 2.6   {a, b} 3.1   {b, c} 3.5     overlaps are resolved: less than the sum
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod

import msgspec

from tb_steptime.insights.base import CouldBe, Insight, Tried
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.severity import most_gain
from tb_steptime.metrics.means import whole_means
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.replay.whatif import WhatIf
from tb_steptime.text import filled, ns, phrase

#: Maximum number of cards that can be ticked: each further one doubles the number of sets.
MOST_TRIED = 6
#: Maximum difference between the replayed and the mean step, as a share: beyond it no gain is derived.
DIFFERS = 0.1
#: Minimum share of a card's gain that a replay of its change has to confirm.
CONFIRMED = 0.5

#: The change that is replayed for a card that advises a part of it: the gain of the whole bounds that of the card.
_CHANGES = {
    **dict.fromkeys(("no_workers", "more_workers", "slow_worker"), "input_bound"),
    **dict.fromkeys(("synchronous_exchange", "hidden_sync_backward", "hidden_sync_optimizer"), "sync_bubble"),
    **dict.fromkeys(("many_small_collectives", "collectives_on_compute_stream"), "exposed_communication"),
}

_NO_CHANGE = phrase(
    "What it gains together with other cards is not computed: no replay of its change confirms the gain."
)
_NO_REPLAY = phrase("What several cards gain together is not computed: the replay of a step is not reliable here.")
_ELSE = "What several cards gain together is not computed: the replayed step takes {step}, and the mean step {mean}."

NOT_TRIED = Tried([], [], [], _NO_REPLAY)


def could_be(facts: Facts, insights: Sequence[Insight]) -> CouldBe | None:
    """Returns the judged step less the largest gain; None where no card shortens a part of it enough for a warning."""
    first = most_gain(insights)
    if first is None or first.part is None:
        return None
    return _shortened(facts, [(first, min(first.gain_ns, facts.step_ns))])


def tried(facts: Facts, insights: Sequence[Insight]) -> Tried:
    """Returns all sets of the first cards whose change can be replayed. The first card is ticked if it is in them."""
    replayed = facts.replayed
    if replayed is None:
        return NOT_TRIED
    if _differs(facts, replayed):
        steps = {"step": ns(replayed.steady_step_ns), "mean": ns(facts.step_ns)}
        return msgspec.structs.replace(NOT_TRIED, why_not=filled(_ELSE, steps))
    cards, first = tickable(facts, insights), most_gain(insights)
    sets = [[card for bit, card in enumerate(cards) if place >> bit & 1] for place in range(2 ** len(cards))]
    return Tried(
        ids=[card.id for card in cards],
        steps=[_shortened(facts, _shares(replayed, each)) for each in sets] if cards else [],
        ticked=[first.id] if first in cards else [],
        why_not=_NO_CHANGE,
    )


def tickable(facts: Facts, insights: Sequence[Insight]) -> list[Insight]:
    """Returns the first cards whose change can be replayed, in their order."""
    replayed = facts.replayed
    if replayed is None or _differs(facts, replayed):
        return []
    cards = [
        card
        for card in insights
        if (card.gain_ns or card.later_ns)
        and (_change(replayed, card) is not None or (card.less_work_ns and replayed.device_ns))
    ]
    return [each for each in cards if _confirmed(replayed, each, cards)][:MOST_TRIED]


def _differs(facts: Facts, replayed: WhatIf) -> bool:
    return abs(replayed.steady_step_ns - facts.step_ns) > DIFFERS * facts.step_ns


def _confirmed(replayed: WhatIf, card: Insight, cards: Sequence[Insight]) -> bool:
    """Returns whether the replay gains what the card says: alone, or after all the others, such as behind a loader."""
    others = [each for each in cards if each is not card]
    after_ns = _replayed_ns(replayed, [*others, card]) - _replayed_ns(replayed, others)
    return max(_replayed_ns(replayed, [card]), after_ns) >= CONFIRMED * card.gain_ns


def _change(replayed: WhatIf, card: Insight) -> str | None:
    """Its change; None where that is replayed by the share of work that it takes off the device, or not at all."""
    change = _CHANGES.get(card.id, card.id)
    return change if any(change in each.ids for each in replayed.sets) else None


def _shares(replayed: WhatIf, cards: Sequence[Insight]) -> list[tuple[Insight, int]]:
    """Returns what each card adds to those before it, in ns."""
    saved = [_saved_ns(replayed, cards[:number]) for number in range(len(cards) + 1)]
    return [(card, max(after - before, 0)) for card, (before, after) in zip(cards, pairwise(saved), strict=True)]


def _saved_ns(replayed: WhatIf, cards: Sequence[Insight]) -> int:
    """Returns what all of them save by a replay. A card about late batches saves what it says, once the replay confirms
    that: the recorded steps may wait for more batches, or for fewer, than the one that is replayed again and again."""
    loaders = [card for card in cards if _CHANGES.get(card.id, card.id) == "input_bound"]
    more_ns = sum(max(0, card.gain_ns - _replayed_ns(replayed, [card])) for card in loaders)
    return min(_replayed_ns(replayed, cards) + more_ns, _promised_ns(cards))


def _promised_ns(cards: Sequence[Insight]) -> int:
    """Returns what the cards promise together: only the gain now for one card, and the later gain as well for
    several."""
    return sum(card.gain_ns if len(cards) == 1 else max(card.gain_ns, card.later_ns or 0) for card in cards)


def _replayed_ns(replayed: WhatIf, cards: Sequence[Insight]) -> int:
    """Returns what a replay of all of them saves, at most what they promise."""
    changes = {change for card in cards if (change := _change(replayed, card)) is not None}
    curve = next((each.device_curve for each in replayed.sets if set(each.ids) == changes), replayed.device_curve)
    work = [card.less_work_ns for card in cards if _change(replayed, card) is None]
    left = prod(1 - min(each / replayed.device_ns, 1.0) for each in work)
    saved_ns = round(replayed.steady_step_ns - replayed.with_less_work_ns(curve, 1 - left))
    return max(0, min(saved_ns, _promised_ns(cards)))


def _shortened(facts: Facts, gains: Iterable[tuple[Insight, int]]) -> CouldBe:
    """Returns the judged step less these gains, each taken from the part that its card shortens; the rest of a larger
    gain from the waits."""
    parts = _judged_parts(facts)
    for card, gain_ns in gains:
        order = dict.fromkeys((card.part or "cpu_exec", "cpu_exec", "other", "runtime", "data_loader", "kernel"))
        _take(parts, gain_ns, order)
    left = Parts(**parts)
    return CouldBe(left.total_ns, left, facts.step_ns - left.total_ns)


def _judged_parts(facts: Facts) -> dict[str, int]:
    """Returns the parts of the step that gains refer to. What is left out of the judged steps is taken from their last
    parts, where the bar of the mean step hatches it."""
    steps = [facts.overview.steps[each].parts_ns for each in facts.judged_steps]
    names = Parts.__struct_fields__
    sums = [sum(getattr(each, name) for each in steps) for name in names]
    parts = dict(zip(names, whole_means(sums, len(steps)), strict=True))
    _take(parts, facts.recorded_ns - facts.step_ns, reversed(names))
    return parts


def _take(parts: dict[str, int], taken_ns: int, order: Iterable[str]) -> None:
    """Takes a time from the parts, from the first one in the order as far as it has any."""
    for part in order:
        removed_ns = min(taken_ns, parts[part])
        parts[part] -= removed_ns
        taken_ns -= removed_ns
