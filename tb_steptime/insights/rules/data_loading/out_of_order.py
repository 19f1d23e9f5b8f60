"""Batches that lie ready while the step waits for the one in line: a loader that keeps the order holds them back."""

from __future__ import annotations

from tb_steptime.insights.facts import Facts
from tb_steptime.text import Phrase, Quantity, code, fraction, phrase

#: Of the requests whose batch is late. Fewer are passed by chance, or at the ends of epochs.
OFTEN = 0.5


#: What gives the order up.
ANY_ORDER = code("in_order=False")


def out_of_turn(facts: Facts) -> Phrase | None:
    """That the order may be given up, as the end of a sentence; None where no recorder tells that it costs."""
    passed = held_back(facts)
    if passed is None:
        return None
    return phrase(
        "or {any_order}: at {passed} of the waits later batches lie ready.", any_order=ANY_ORDER, passed=passed
    )


def held_back(facts: Facts) -> Quantity | None:
    """At which share of the waits later batches lie ready; None where that is no reason to give the order up."""
    passed = _passed_share(facts)
    return None if passed is None or passed < OFTEN else fraction(passed)


def _passed_share(facts: Facts) -> float | None:
    """Of the late requests for the judged loader; None where it keeps no order, or its torch knows no other way."""
    recorded = facts.data_loading.recorded
    main = recorded.main_loader if recorded else None
    if recorded is None or main is None or main.in_order is not True:
        return None
    queue = next((each for each in recorded.queues if each.loader == main.loader), None)
    return queue.passed_share / queue.late_share if queue and queue.late_share and queue.passed_share else None
