"""The verdict if most of a recording is left out: it shows no typical step of the job, but a later one would."""

from __future__ import annotations

from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.text import Phrase, ns, phrase, text

#: From this share of the one-time costs on, a single cost counts as all of them.
MOST = 0.99
RECORD_LATER = phrase("Record later steps: begin the recording after a warm-up.")


def sentence_of_little(facts: Facts) -> Phrase:
    """Says what most of the recording is."""
    steps, costs = facts.overview.steps, facts.host.one_time
    recorded_ns, once_ns = sum(step.duration_ns for step in steps), sum(step.once_ns for step in steps)
    if not costs or 2 * once_ns < facts.left_out_ns:
        return phrase(
            "For {time} of the recorded {recorded} the GPU runs work from before the recording, or has none left.",
            time=ns(facts.left_out_ns),
            recorded=ns(recorded_ns),
        )
    longest_ns = costs[0].worst_ns
    words = "{time} of the recorded {recorded} is one-time work, mostly {name} ({longest})."
    if longest_ns > MOST * once_ns:
        words = "{time} of the recorded {recorded} is one-time work in {name}."
    return phrase(
        words,
        time=ns(once_ns),
        recorded=ns(recorded_ns),
        longest=ns(longest_ns),
        name=text(costs[0].place.format(name=brief(costs[0].where))),
    )
