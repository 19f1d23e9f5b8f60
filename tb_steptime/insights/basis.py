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
    overview, said = facts.overview, list[Phrase]()
    if overview.cut_short:
        words = "Partial: the file is cut, so all figures are of the {steps} (step that is|steps that are) whole in it."
        number = len(overview.steps)
        said.append(phrase(agreeing(words, number), steps=count(number)))
    if leaves_out(facts) and not little_is_judged(facts):
        words = (
            "The verdict and the cards are about {judged} a step: {what}, {left} of the mean step of {mean}, are left "
            "out."
        )
        mean_ns, what = overview.mean_duration_ns, text(_what_is_left_out(facts))
        judged, left = ns(facts.step_ns), ns(mean_ns - facts.step_ns)
        said.append(phrase(words, judged=judged, left=left, mean=ns(mean_ns), what=what))
    if (number := len(facts.host.devices)) > 1:
        words = "{device} {main} is the busiest of {number}; for {works} of the step at least one of them works."
        device, main = text(facts.job.accelerator), text(str(overview.device))
        works = fraction(facts.share_as_recorded(overview.works_ns))
        said.append(phrase(words, device=device, main=main, number=text(str(number)), works=works))
    return joined(*said) if said else None


def leaves_out(facts: Facts) -> bool:
    """Whether the judged step is visibly shorter than the mean step."""
    return facts.share_as_recorded(facts.overview.mean_duration_ns - facts.step_ns) >= VISIBLE_FRACTION


def _what_is_left_out(facts: Facts) -> str:
    steps = facts.overview.steps
    kinds = {
        "one-time costs": sum(step.once_ns for step in steps),
        "the profiler's own work": sum(step.profiler_ns for step in steps),
    }
    kinds["the edges of the recording"] = facts.left_out_ns - sum(kinds.values())
    *others, last = [name for name, left_ns in kinds.items() if left_ns]
    return f"{', '.join(others)} and {last}" if others else last
