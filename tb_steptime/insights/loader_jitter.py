"""Loader jitter: a few batches come late, the others in time."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.loader_waits import loader_card, shares
from tb_steptime.insights.out_of_turn import out_of_turn
from tb_steptime.phrases import agreeing, code, count, ns, phrase


def loader_jitter(facts: Facts) -> Insight | None:
    """Fires when rare long waits, beyond the usual one, are worth a card."""
    jitter = facts.data_loading.jitter
    if jitter is None:
        return None
    beside = out_of_turn(facts)
    return loader_card(
        facts,
        "loader_jitter",
        phrase("Keep more batches in store"),
        phrase(
            agreeing("{number} (batch comes|batches come) late and (costs|cost) {long}", jitter.long_count)
            + agreeing(", the others {typical}: {setting} bridges (it|them)", jitter.long_count)
            + (", " + beside.template if beside else "."),
            number=count(jitter.long_count),
            long=ns(jitter.long_ns),
            typical=ns(jitter.typical_ns),
            setting=code("prefetch_factor=4"),
            **(beside.values if beside else {}),
        ),
        shares(facts).jitter_ns,
        phrase("Seen in few steps only, so another span may have more or fewer of them."),
        Confidence.MEDIUM,
        jitter.steps,
    )
