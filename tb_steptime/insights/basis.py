"""Of which time the conclusions are: the whole that the shares in a headline refer to, where a bar or a tile next to it
has another whole; and one sentence for each kind of excess, which is time of the recorded steps, but not of the steady
step.

mean step as recorded   |kkkkkkkkkkk.....|lllllll|    bar, legend, tiles, sidebar
as it is judged         |kkkkkkkkkkk.....|            headline, cards: without what is left out

Of a job on the CPU, CPU exec in the bar has named ranges, too, in which no op runs; sentences do not count these.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tb_steptime.analyses.host import HostStep
from tb_steptime.insights.facts import Facts, little_is_judged
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.metrics.excluded_time.steady_step import ExcessId, ExcessRow
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.reasons import IDLE_MEANINGS
from tb_steptime.metrics.means import median, whole_mean
from tb_steptime.text import Finding, Phrase, agreeing, count, filled, fraction, joined, ns, phrase, text

#: Steps are of several kinds if all those from one step on take more than this many times as long as any before it, or
#: the other way round, with at least so many steps on each side: one long step at either end may come once.
TIMES_APART, LEAST_OF_KIND = 1.5, 2
#: Where steps of the first kind come again, each kind has at least so many steps in a row: two may be disturbed by
#: chance.
LEAST_IN_A_ROW = 3
#: Minimum share of the difference for its largest part to be named.
_MOST = 0.5
_LABELS = {meaning.id: meaning.label for meaning in IDLE_MEANINGS}

#: Minimum share of the mean step: a smaller part changes no share that is written in whole percent.
VISIBLE_FRACTION = 0.005


def basis_of(facts: Facts) -> Phrase | None:
    """Returns what the shares are of; None where all of them are of the mean step, and of the one device."""
    overview, sentences = facts.overview, list[Phrase]()
    if overview.cut_short:
        template = (
            "Partial: the file is cut, so all figures are of {steps} (step|steps), and of what is left of (it|them)."
        )
        number = len(overview.steps)
        sentences.append(phrase(agreeing(template, number), steps=count(number)))
    evaluating = _evaluating(facts)
    if evaluating:
        template = "Verdict, cards and steady step leave out {number} (step that runs|steps that run) no backward pass."
        sentences.append(phrase(agreeing(template, evaluating), number=count(evaluating)))
    if leaves_out(facts) and not little_is_judged(facts):
        steps = len(overview.steps)
        partial = len(overview.steps) - len(facts.judged_steps) - evaluating
        rest = f", without {{left}} of {{what}} in the {'mean' if steps > 1 else 'recorded'} step of {{mean}}."
        if facts.starts_longer and partial == 1:
            rest = ": the first step, which takes longer than all others, is left out."
        elif partial:
            rest = ": {partial} of {steps} steps, which (includes|include) {what}, (is|are) left out."
        template = "The verdict and the cards cover {judged}" + (" a step" if steps > 1 else "") + rest
        sentences.append(filled(agreeing(template, partial), {
            "judged": ns(facts.step_ns), "left": ns(_left_out_ns(facts)), "mean": ns(overview.mean_duration_ns),
            "what": text(_what_is_left_out(facts)), "partial": count(partial), "steps": count(steps),
        }))  # fmt: skip
    between_ns = facts.host_as_recorded.between_ops_ns
    if facts.host.cpu is not None and facts.share_as_recorded(between_ns) >= WARNING_FRACTION:
        template = "CPU exec in the bar includes {between} a step in named ranges between ops; the verdict does not."
        sentences.append(phrase(template, between=ns(between_ns)))
    sentences += _beside_exchanges(facts)
    sentences += _sentences_on_kinds(facts)
    if (number := len(facts.host.devices)) > 1:
        template = "{device} {main} is the busiest of {number}; for {works} of the step at least one of them works."
        device, main = text(facts.job.accelerator), text(str(overview.device))
        works = fraction(facts.share_as_recorded(overview.works_ns))
        sentences.append(phrase(template, device=device, main=main, number=text(str(number)), works=works))
    return joined(*sentences) if sentences else None


def _beside_exchanges(facts: Facts) -> list[Phrase]:
    """Says how much of the bar's communication the verdict of a job on the CPU does not count."""
    exchanged = facts.communication
    if facts.host.cpu is None or facts.host.bound is not Bound.COMMUNICATION or exchanged is None:
        return []
    beside_ns = facts.host_parts_ns.communication - exchanged.exposed_ns
    if facts.share(beside_ns) < WARNING_FRACTION:
        return []
    template = "Communication in the bar includes {beside} a step in which ops run, too; the verdict does not."
    return [phrase(template, beside=ns(beside_ns))]


def _evaluating(facts: Facts) -> int:
    """Returns how many steps are left out because they only run a forward pass."""
    return sum(facts.forward_only) if not any(facts.forward_only[each] for each in facts.judged_steps) else 0


def leaves_out(facts: Facts) -> bool:
    """Returns whether what is left out is a visible part of the mean step. A longer first step always is."""
    return facts.starts_longer or facts.share_as_recorded(_left_out_ns(facts)) >= VISIBLE_FRACTION


def _left_out_ns(facts: Facts) -> int:
    return whole_mean(facts.left_out_ns, len(facts.overview.steps))


def _what_is_left_out(facts: Facts) -> str:
    steps = facts.overview.steps
    kinds = {"one-time costs": facts.once_ns, "the profiler's own work": sum(step.profiler_ns for step in steps)}
    kinds["the edges of the recording"] = facts.left_out_ns - sum(kinds.values())
    kinds["a longer first step"] = steps[0].judged_ns if facts.starts_longer else 0
    *others, last = [name for name, left_ns in kinds.items() if left_ns]
    return f"{', '.join(others)} and {last}" if others else last


#: Maximum number of kinds that a sentence lists.
_MOST_KINDS = 4


def kinds_of_steps(facts: Facts) -> list[list[HostStep]]:
    """Returns the steps by kind, where they change for good during the recording, or to another kind and back: what is
    timed one after another, such as variants in a benchmark. All in one list where they do not."""
    left_out = facts.forward_only if _evaluating(facts) else [False] * len(facts.host.steps)
    steps = [
        step for step, out in zip(facts.host.steps, left_out, strict=True)
        if not out and step.left_out_ns < WARNING_FRACTION * (step.end_ns - step.start_ns)
    ]  # fmt: skip
    lengths = [step.judged_ns for step in steps]
    borders = _borders(lengths) or _borders_in_turn(lengths)
    return [steps[low:high] for low, high in itertools.pairwise([0, *borders, len(steps)])]


def _sentences_on_kinds(facts: Facts) -> list[Phrase]:
    """Says that no step is like the mean, where the steps are of several kinds."""
    kinds = kinds_of_steps(facts)
    if len(kinds) == 1:
        return []
    lengths = [median([step.judged_ns for step in each]) for each in kinds]
    if len(kinds) > 2:
        return [_sentence_on_many_kinds(kinds, lengths)]
    (before, after), (first, then) = kinds, lengths
    values = {"step": text(after[0].name), "before": ns(first), "after": ns(then)}
    template = "Steps from {step} on take {after}, those before it {before}: no step is like the mean."
    part, more_ns = _changed_most(before, after)
    if abs(more_ns) >= _MOST * abs(then - first):
        values |= {"part": text(part), "more": ns(abs(more_ns)), "than": text("more" if more_ns > 0 else "less")}
        template = (
            "Steps from {step} on take {after}, those before it {before}, with {more} {than} idle time of the GPU for "
            "this reason: {part}. No step is like the mean."
        )
    return [filled(template, values)]


def _sentence_on_many_kinds(kinds: Sequence[Sequence[HostStep]], lengths: Sequence[float]) -> Phrase:
    if len(kinds) > _MOST_KINDS:
        template = "Steps are of {number} kinds, one after another: no step is like the mean."
        return phrase(template, number=count(len(kinds)))
    values = {"ns0": ns(lengths[0])}
    parts = ["{ns0}"]
    for place in range(1, len(kinds)):
        values |= {f"step{place}": text(kinds[place][0].name), f"ns{place}": ns(lengths[place])}
        parts.append(f"from {{step{place}}} on {{ns{place}}}")
    return filled(f"Steps take {', '.join(parts[:-1])}, and {parts[-1]}: no step is like the mean.", values)


def _borders(lengths: Sequence[int]) -> list[int]:
    """Returns the places of the first steps of the second kind and of later ones; empty if steps are of one kind."""
    lows, highs = ([*itertools.accumulate(lengths, each)] for each in (min, max))
    later_lows, later_highs = ([*itertools.accumulate(reversed(lengths), each)][::-1] for each in (min, max))
    for border in range(LEAST_OF_KIND, len(lengths) - LEAST_OF_KIND + 1):
        longer = max(lows[border - 1], later_lows[border])
        if longer > TIMES_APART * min(highs[border - 1], later_highs[border]):
            later = [border + each for each in _borders(lengths[border:])]
            return [*_borders(lengths[:border]), border, *later]
    return []


def _borders_in_turn(lengths: Sequence[int]) -> list[int]:
    """Returns the places where steps of two kinds take turns, in at most as many rows as a sentence lists: in more, the
    loop itself does something now and then.

    >>> _borders_in_turn([10, 11, 10, 30, 31, 30, 10, 10, 11])
    [3, 6]
    """
    ordered = sorted(lengths)
    level = max(itertools.pairwise(ordered), key=lambda pair: pair[1] / max(pair[0], 1), default=(0, 0))
    longer = [length >= level[1] for length in lengths]
    borders = [place for place in range(1, len(longer)) if longer[place] != longer[place - 1]]
    rows = [high - low for low, high in itertools.pairwise([0, *borders, len(longer)])]
    in_turn = 2 < len(rows) <= _MOST_KINDS and min(rows) >= LEAST_IN_A_ROW
    return borders if in_turn and level[1] > TIMES_APART * level[0] else []


def _changed_most(before: Sequence[HostStep], after: Sequence[HostStep]) -> tuple[str, float]:
    """Returns the label of the reason for idle time that changed most between the median steps, and by how much, ns."""
    first, then = ([msgspec.structs.asdict(step.idle_ns) for step in side] for side in (before, after))
    more = {
        reason: median([idle[reason] for idle in then]) - median([idle[reason] for idle in first]) for reason in _LABELS
    }
    most = max(more, key=lambda reason: abs(more[reason]))
    return _LABELS[most], more[most]


#: Minimum share of the recorded steps for an excess to be mentioned.
LEAST_FRACTION = 0.01

_OF_STEPS = "{time} of (the recorded step|the {steps} recorded steps)"
_NAMED: Mapping[ExcessId, str] = {
    "once": f"{_OF_STEPS} is one-time work, mostly {{names}}.",
    "interrupted": f"{_OF_STEPS} is lost to interruptions of calls that otherwise take far less, mostly {{names}}.",
    "periodic": f"{_OF_STEPS} is work of every few steps, mostly {{names}}.",
    "unknown": f"{_OF_STEPS} is beyond similar calls, mostly {{names}}. Whether it repeats is not known.",
}
_UNNAMED: Mapping[ExcessId, str] = {
    "once": f"{_OF_STEPS} is one-time work.",
    "interrupted": f"{_OF_STEPS} is lost to interruptions.",
    "periodic": f"{_OF_STEPS} is work of every few steps.",
    "profiler": f"{_OF_STEPS} is the profiler's own time.",
    "edge": f"For {_OF_STEPS}, the GPU runs work from before the recording or has none left.",
    "unknown": f"{_OF_STEPS} is beyond similar calls.",
}
#: Where a file holds several recordings.
_EDGES = f"For {_OF_STEPS}, the profiler was off between recordings, or work at their edges is not recorded."
_PYTHON = "Python code between ops"


def excess_sentences(facts: Facts) -> dict[str, Phrase]:
    """Returns a sentence for each kind, most time first; kinds with less than a hundredth of the recorded steps are
    left out."""
    overview, least_ns = facts.overview, LEAST_FRACTION * facts.all_steps_ns
    rows = [row for row in overview.excess if row.total_ns >= least_ns]
    return {row.kind: sentence(row, len(overview.steps), overview.findings) for row in rows}


def sentence(row: ExcessRow, steps: int, findings: Iterable[Finding] = ()) -> Phrase:
    """Describes the excess of one kind. steps: how many were recorded; findings: those of the recording."""
    template = _NAMED[row.kind] if row.names and row.kind in _NAMED else _UNNAMED[row.kind]
    joined = row.kind == "edge" and any(each.id == "recordings_joined" for each in findings)
    template = _EDGES if joined else template
    listed = {f"name{place}": text(brief(each.name or _PYTHON)) for place, each in enumerate(row.names)}
    words = agreeing(template, steps).replace("{names}", ", ".join(f"{{{name}}}" for name in listed))
    values = {"time": ns(row.total_ns), "steps": count(steps), **listed}
    return Phrase(words, {name: value for name, value in values.items() if f"{{{name}}}" in words})
