"""Another loader's epoch starts: each pass over its data, such as an evaluation, waits for its first batch."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.epoch_starts import starts_card
from tb_steptime.metrics.data_loading.epoch_starts import LoaderStarts
from tb_steptime.metrics.data_loading.loaders import in_a_sentence
from tb_steptime.text import Phrase, agreeing, count, phrase


def other_starts(facts: Facts) -> Insight | None:
    """Fires when waits for first batches of another loader than the judged one are worth a card, and worker processes
    make them; of the one that costs most."""
    starts = costliest(facts)
    if starts is None:
        return None
    row = facts.data_loading.loaders[starts.loader]
    title, reason = _deed(in_a_sentence(row.label), starts, row.role == "evaluation" and starts.whole > 0)
    why = phrase(
        agreeing(
            "{number} (pass|passes) of it (begins|begin) in these steps; others may have more or fewer.", starts.batches
        ),
        number=count(starts.batches),
    )
    return starts_card(facts, "other_starts", starts, title, reason, why)


def costliest(facts: Facts) -> LoaderStarts | None:
    """Of the other loaders with workers, as far as known."""
    starts, main = facts.data_loading.starts, facts.data_loading.main_loader
    others = [
        each
        for each in (starts.loaders if starts else ())
        if each.loader != main and each.workers is not False and each.wait_ns is not None
    ]
    return max(others, key=lambda each: each.exposed_ns, default=None)


def _deed(name: Phrase, starts: LoaderStarts, evaluates: bool) -> tuple[Phrase, Phrase]:
    """What to do, and why and how, as the end of a sentence with {each} and {setting}. evaluates: whole evaluations
    lie within the steps."""
    loader, values = name.template, name.values
    keep = f"Keep the workers of {loader}"
    less = "evaluate less often" if evaluates else f"begin {loader} less often"
    if starts.anew:
        title = keep
        ends = f"{loader} starts workers anew; a pass's first batch takes {{each}}: set {{setting}}."
    elif starts.anew is False:
        title = less[0].upper() + less[1:]
        ends = f"each pass of {loader} waits {{each}} for its first batch, as none is in store."
    else:
        title = f"{keep}, or {less}"
        ends = f"each pass of {loader} waits {{each}} for its first batch. Set {{setting}}, unless it is set."
    return Phrase(title, values), Phrase(ends, values)
