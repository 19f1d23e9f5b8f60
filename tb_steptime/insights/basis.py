"""The whole that the shares in a headline refer to, where a bar or a tile next to it has another whole.

mean step as recorded   |kkkkkkkkkkk.....|lllllll|    bar, legend, tiles, sidebar
as it is judged         |kkkkkkkkkkk.....|            headline, cards: without what is left out
"""

from __future__ import annotations

from tb_steptime.insights.facts import Facts, little_is_judged
from tb_steptime.text import Phrase, agreeing, count, fraction, joined, ns, phrase, text

#: Minimum share of the mean step: a smaller part changes no share that is written in whole percent.
VISIBLE_FRACTION = 0.005


def basis_of(facts: Facts) -> Phrase | None:
    """None where all shares are of the mean step, and of the one device."""
    said = [*_partial(facts), *_without_left_out(facts), *_of_several(facts)]
    return joined(*said) if said else None


def _partial(facts: Facts) -> list[Phrase]:
    if not facts.overview.cut_short:
        return []
    words = "Partial: the file is cut, so all figures are of the {steps} (step that is|steps that are) whole in it."
    number = len(facts.overview.steps)
    return [Phrase(agreeing(words, number), {"steps": count(number)})]


def leaves_out(facts: Facts) -> bool:
    """Whether the judged step is visibly shorter than the mean step."""
    return facts.share_as_recorded(facts.overview.mean_duration_ns - facts.step_ns) >= VISIBLE_FRACTION


def _without_left_out(facts: Facts) -> list[Phrase]:
    if not leaves_out(facts) or little_is_judged(facts):
        return []
    mean_ns = facts.overview.mean_duration_ns
    said = phrase(
        "The verdict and the cards are about {judged} a step: {what}, {left} of the mean step of {mean}, are left out.",
        judged=ns(facts.step_ns),
        left=ns(mean_ns - facts.step_ns),
        mean=ns(mean_ns),
        what=text(_what_is_left_out(facts)),
    )
    return [said]


def _what_is_left_out(facts: Facts) -> str:
    steps = facts.overview.steps
    kinds = {
        "one-time costs": sum(step.once_ns for step in steps),
        "the profiler's own work": sum(step.profiler_ns for step in steps),
    }
    kinds["the edges of the recording"] = facts.left_out_ns - sum(kinds.values())
    *others, last = [name for name, left_ns in kinds.items() if left_ns]
    return f"{', '.join(others)} and {last}" if others else last


def _of_several(facts: Facts) -> list[Phrase]:
    overview, number = facts.overview, len(facts.host.devices)
    if number < 2:
        return []
    device = facts.job.accelerator
    said = phrase(
        "{device} {main} is the busiest of {number}; for {works} of the step at least one of them works.",
        device=text(device),
        main=text(str(overview.device)),
        number=text(str(number)),
        works=fraction(facts.share_as_recorded(overview.works_ns)),
    )
    return [said]
