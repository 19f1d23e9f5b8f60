"""Loader jitter: a few batches come late, the others in time."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.loader_waits import loader_card, shares
from tb_steptime.insights.rules.data_loading.out_of_order import out_of_turn
from tb_steptime.metrics.data_loading.overhead import Jitter
from tb_steptime.text import Phrase, agreeing, code, count, ns, phrase

_RARE = "Mean over the steps of what these waits cost beyond the usual one"

FORMULA = phrase(_RARE + ".")
#: Of the same replay as what the curve over the number of workers says of slow batches.
FORMULA_BRIDGED = phrase(_RARE + ", at most what as many batches in advance save of what slow ones hold up.")


def loader_jitter(facts: Facts) -> Insight | None:
    """Fires when rare long waits, beyond the usual one, are worth a card: all of them, if batches were made faster, or
    what more batches in advance bridge."""
    jitter = facts.data_loading.jitter
    if jitter is None:
        return None
    gain, formula = shares(facts).jitter_ns, FORMULA
    if jitter.prefetch is not None and jitter.bridged_ns < gain:
        gain, formula = jitter.bridged_ns, FORMULA_BRIDGED
    return loader_card(
        facts,
        "loader_jitter",
        phrase("Keep more batches in store" if jitter.prefetch else "Make the slowest batches faster"),
        _words(jitter, out_of_turn(facts)),
        gain,
        phrase("Seen in few steps only, so another span may have more or fewer of them."),
        Confidence.MEDIUM,
        jitter.steps,
        formula,
    )


def _words(jitter: Jitter, beside: Phrase | None) -> Phrase:
    words = "{number} (batch comes|batches come) late and (costs|cost) {long}, the others {typical}: "
    values = {"number": count(jitter.long_count), "long": ns(jitter.long_ns), "typical": ns(jitter.typical_ns)}
    if jitter.prefetch is not None:
        words += "{setting} bridges (it|them)"
        values["setting"] = code(f"prefetch_factor={jitter.prefetch}")
    else:
        words += "see what it takes to make (it|them)"
    ends = ", " + beside.template if beside else "."
    return Phrase(agreeing(words, jitter.long_count) + ends, values | (beside.values if beside else {}))
