"""Slow steps: a few take much longer than the rest, and one thing is longer in them.

step 4  |kkkkkkkkhhhh|                  usual
step 5  |kkkkkkkkhhhhhhhhhhhhhh|        slow: what grew is this card's
step 6  |kkkkkkkkhhhhdddddddddd|        waits longer for its batch: has cards of its own

Steps at equal distances that do more than the others have a card of their own: evaluation, logging, checkpoints.
"""

from __future__ import annotations

import itertools

import msgspec

from tb_steptime.analyses.host import HostResult, HostStep
from tb_steptime.insights.base import Evidence, EvidenceRow, Insight, low, medium
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE, host_card, unlinked_share
from tb_steptime.insights.rules.host.blocking_calls import how_to_keep_memory
from tb_steptime.insights.rules.host.blocking_rows import PLACE_LENGTH, brief
from tb_steptime.insights.rules.host.long_waits import KEEP_FROM_COMPILING, LOGS
from tb_steptime.insights.severity import lowest, severity_of_gain
from tb_steptime.metrics.idle.bottleneck import LEADING_FRACTION
from tb_steptime.metrics.means import SLOW_FRACTION, median
from tb_steptime.metrics.steps.inserted import REGULAR, RecurringWork
from tb_steptime.metrics.steps.parts import Grown
from tb_steptime.text import Phrase, agreeing, code, count, filled, joined, label, ns, phrase, text

#: Minimum share of a slow step's excess that is its own. Below it, the step is slow for reasons that have other cards.
OWN_FRACTION = 0.5

_CERTAINLY_SLOW = medium("These steps are certainly slow; whether they can be faster is not known.")

#: Cards that name what makes single steps slow, and the share of this card's gain from which on they replace it.
_NAMING = ("garbage_collection", "host_stops", "compiled_waits", "cpu_compiles", "python_loop")
NEARLY_ALL = 0.8

#: Id of the segment in which nothing is recorded: Python.
_OUTSIDE = "nothing_recorded"

#: Maximum difference between the excesses of slow steps that count as equal, as a share of the largest excess.
_ALIKE = 0.1
#: Segments that grow if a step does more work: kernels, exchanges, copies, and ops that launch them.
_WORK = ("kernel", "communication", "memory", "launch_latency", "cpu_")

#: From this difference on, as a share of the usual number of launches, a step computes something else.
_OTHER_LAUNCHES = 0.1
#: Up to this ratio to the usual time for each launch, a step is longer because it launches more.
_IN_PROPORTION = 1.15

#: Segments that do not count here: waits for batches have cards of their own, and a tail is the end of the recording.
_OF_OTHERS = ("data_loading", "tail")


def slow_steps(facts: Facts) -> Insight | None:
    """Fires when outliers raise the mean step far enough above the median one, waits for batches left out of both. What
    is slow in them may have other cards too, so this gain may not be added to others.

    Similar pattern: the first recorded step, which begins with an idle GPU, or with work from before the recording, and
    does what comes once: it is not counted. Steps that wait for their batch: without that. Without launch calls a step
    ends with its mark on the host, whatever the GPU still has to do, and differs as far as the host runs ahead. Without
    a GPU, steps that other processes disturb: these do not come at equal distances, and their ops take longer, too. An
    update of the weights every few steps, or an evaluation: such steps do more, and all of them are longer by the same
    time, come at equal distances, or compute longer with another number of launches. Steps in which torch.compile works
    may be as long as each other, too, but the loop asks for nothing more in them. A step of a training without a
    backward pass is an evaluation, however much it launches. An inference whose kernels take longer, or that launches
    as much more, has more to compute in that step: a prompt between single tokens, a larger batch, or the encoder of
    the next window. An inference that may wait longer for a request in them: a guess.

    Needs: at least four steps after the first one, fewer have no outliers; launch calls where there is a GPU.

    Jobs: all, training and inference. Without a GPU only where at least three slow steps come at equal distances, and
    are longer outside ops.

    Gain: what the steps after the first one take beyond the median of them, without their waits for batches, mean over
    the steps that the verdict is about.

    Left out: waits for batches, and what of the recording is not judged at its beginning and end. Where another card
    names what makes them slow, or what these same steps do more, this one is not shown. How often a single slow
    step comes in a long run, or a new shape, for which torch.compile works once: the former is a minor card.
    """
    host = facts.host_as_recorded
    evaluating = {step.name for step in facts.overview.steps if step.forward_only}
    slow = [step for step in _slow(host) if step.step not in evaluating]
    if not slow or unlinked_share(host) >= LEADING_FRACTION:
        return None
    regular = _is_regular(host, slow)
    alike = len(slow) > 1 and slow[-1].excess_ns >= (1 - _ALIKE) * slow[0].excess_ns
    belong_together = alike or regular
    compile_all = all(_compiles(host, step) for step in slow)
    if (
        host.device is not None
        and not compile_all
        and all((belong_together and _grew(step, _WORK)) or _computes_other(facts, host, step) for step in slow)
    ):
        return None  # the loop computes more in these steps, so that they have to be longer
    if host.device is None and not (regular and all(_grew(step, (_OUTSIDE,)) for step in slow)):
        return None  # only a loop that itself does something now and then, outside ops
    lengths = [_own_ns(host.steps[step]) for step in host.judged_steps if step]
    usual_ns = median(lengths) if lengths else 0.0
    gain_ns = round(sum(length - usual_ns for length in lengths) / len(host.judged_steps))
    return host_card(
        facts,
        id="slow_steps",
        title=KEEP_FROM_COMPILING if compile_all else phrase("Investigate slow steps"),
        why=_why(host, slow),
        how=LOGS if _compiles(host, slow[0]) else how_to_keep_memory(facts) if _grew(slow[0], ("allocator",)) else None,
        gain_ns=gain_ns,
        formula="Mean over the steps of what they take beyond the median one, without waits for batches.",
        certainty=_CERTAINLY_SLOW,
        colour="ink",
        part=None,
        evidence=[Evidence(step.step, step.start_ns, step.end_ns) for step in slow[:EVIDENCE]],
        steps=[step.step for step in slow],
        row=EvidenceRow("slow", slow[0].step),
        of="one_step" if slow[0].excess_ns >= NEARLY_ALL * sum(step.excess_ns for step in slow) else "excess",
    )


def without_named(insights: list[Insight], first_step: str) -> list[Insight]:
    """Returns all cards, without the card about slow steps if a card that says why steps are slow, or what the same
    steps do more, has nearly all of its gain; likewise without the one about steps that do more if a card names the
    function that runs in the same steps. Otherwise slow steps are worth what no card names in them. Long waits for
    launches count as named where the longest ones are all in these steps, or in the first recorded one, which never
    counts as slow: usual steps have waits, too."""
    named = [card for card in insights if card.id in _NAMING]
    doing_more = [card for card in insights if card.id == "recurring_steps"]
    waits = [card for card in insights if card.id == "long_stretches"]

    def is_said(card: Insight) -> bool:
        if card.id == "slow_steps":
            more, within = _cards_of_same_steps(card, doing_more), _cards_within_steps(card, waits, first_step)
            return _is_named(card, [*named, *more, *within])
        return card.id == "recurring_steps" and _is_named(card, _cards_of_same_steps(card, named))

    return [_less_named(card, [*named, *waits], first_step) for card in insights if not is_said(card)]


def _less_named(card: Insight, named: list[Insight], first_step: str) -> Insight:
    """Returns the card about slow steps without what another card gains, whose longest time ranges are all in these
    steps."""
    within = [other.gain_ns for other in _cards_within_steps(card, named, first_step)]
    if card.id != "slow_steps" or not any(within):
        return card
    left = 1 - max(within) / card.gain_ns
    fraction = left * card.gain_fraction
    return msgspec.structs.replace(
        card,
        gain_ns=round(left * card.gain_ns),
        gain_fraction=fraction,
        severity=lowest(card.severity, severity_of_gain(fraction)),
        gain_formula=joined(card.gain_formula, phrase("What another card names in these steps is left out.")),
    )


def _cards_within_steps(card: Insight, others: list[Insight], first_step: str) -> list[Insight]:
    """Returns the other cards whose longest time ranges are all in the steps of this one, apart from the first step."""
    ranges = ((other, {range.step for range in other.evidence} - {first_step}) for other in others)
    return [other for other, steps in ranges if steps and steps <= set(card.steps)]


def _cards_of_same_steps(card: Insight, others: list[Insight]) -> list[Insight]:
    return [other for other in others if set(other.steps) == set(card.steps)]


def _is_named(card: Insight, named: list[Insight]) -> bool:
    """Returns whether one of the cards that say why has nearly all of its gain."""
    named_ns = max((card.gain_ns for card in named), default=0)
    return named_ns >= NEARLY_ALL * card.gain_ns


def _slow(host: HostResult) -> list[Grown]:
    """Returns slow steps that are longer for other reasons than their wait for a batch, the slowest first."""
    own_ns = {step.name: _own_ns(step) for step in host.steps[1:]}
    usual_ns = median(list(own_ns.values())) if own_ns else 0
    slow = [
        step for step in host.grown
        if step.step in own_ns
        and step.excess_ns >= SLOW_FRACTION * usual_ns
        and own_ns[step.step] - usual_ns >= OWN_FRACTION * step.excess_ns
    ]  # fmt: skip
    return sorted(slow, key=lambda step: -step.excess_ns)


def _is_regular(host: HostResult, slow: list[Grown]) -> bool:
    places = [place for place, step in enumerate(host.steps) if step.name in {slow_step.step for slow_step in slow}]
    distances = {later - place for place, later in itertools.pairwise(places)}
    return len(places) >= REGULAR and len(distances) == 1


def _grew(step: Grown, parts: tuple[str, ...]) -> bool:
    """Returns whether most of the step's excess is in segments whose ids begin like this."""
    return sum(part.excess_ns for part in step.grown if part.id.startswith(parts)) >= OWN_FRACTION * step.excess_ns


def _computes_other(facts: Facts, host: HostResult, slow: Grown) -> bool:
    """Returns whether the step takes longer since it has something else to compute: the GPU computes longer, and the
    step launches more or less than the others. In inference, inputs set how much there is to compute, so that kernels
    alone or as many more launches show it."""
    steps = {step.name: step for step in host.steps[1:]}
    launches = steps[slow.step].launches
    usual = median([step.launches for step in steps.values()])
    differs = abs(launches - usual) >= _OTHER_LAUNCHES * usual
    on_gpu = _grew(slow, ("kernel",))
    if facts.job.purpose != "inference" and facts.job.server is None:
        return on_gpu and differs
    usual_ns = median([_own_ns(step) for step in steps.values()])
    in_proportion = _own_ns(steps[slow.step]) * usual <= _IN_PROPORTION * usual_ns * launches
    return on_gpu or (differs and in_proportion)


def _own_ns(step: HostStep) -> int:
    """Returns the step's length without idle time that has other cards or reasons, and without time left out of
    judgement."""
    return step.judged_ns - step.idle_ns.data_loading - step.idle_ns.tail


def _why(host: HostResult, slow: list[Grown]) -> Phrase:
    """Says how many steps are slow, by how much the slowest one is longer, which part of it grew most, and in what the
    CPU is then."""
    worst = slow[0]
    values = {"slow": count(len(slow)), "steps": count(len(host.steps)), "step": text(worst.step),
              "excess": ns(worst.excess_ns)}  # fmt: skip
    template = "{slow} of {steps} steps (is|are) slow. Step {step} takes {excess} longer than usual"
    for part in [part for part in worst.grown if part.id not in _OF_OTHERS][:1]:
        values |= {"part": label(part.label), "grew": ns(part.excess_ns)}
        gaps = (gap for row in host.long_gaps for gap in row.longest if gap.step == worst.step)
        doing = next((gap.name for gap in gaps if gap.late_ns >= OWN_FRACTION * part.excess_ns), None)
        values |= {"doing": text(brief(doing, PLACE_LENGTH))} if doing else {}
        template += " ({part}: {grew})" if doing is None else ", mostly in {doing}"
    return Phrase(agreeing(template + ".", len(slow)), values)


def _compiles(host: HostResult, step: Grown) -> bool:
    """Returns whether torch.compile works in most of what the step takes longer: what it compiled before fits no
    longer."""
    gaps = [gap for row in host.long_gaps for gap in row.longest if gap.step == step.step and gap.compiles]
    return sum(gap.late_ns for gap in gaps) >= OWN_FRACTION * step.excess_ns


#: From this share of the excess on, the ops that these steps call more often say only where it is.
MOSTLY = 0.5


def recurring_steps(facts: Facts) -> Insight | None:
    """Fires when steps at equal distances are longer than the others and call more ops. Where the other steps vary as
    much: when these steps take longer where their own ops are inserted into the sequence that all steps have, or, with
    the same ops in all steps, at one place between them.

    Similar pattern: a rollout of reinforcement learning, which later steps need, and an evaluation, which may come less
    often: both call the model more, so that the card asks. An optimizer that steps after several passes, or one of a
    second network, such as a generator's: where optimizers step more often in these steps, there is no card. Steps that
    are slow by chance: these come at no equal distances, and call no more ops than the others, or take no longer at the
    place of these ops. A loader that begins to iterate, and waits for a batch, do not count. A rank that waits for
    others: with several ranks only ops count. A server, whose requests decide which steps process prompts besides
    tokens: its ops do not count. Steps in which torch.compile works: `slow_steps`.

    Needs: three such steps, two that call the same ops, or four with a pause between the same ops; the CPU ops.

    Jobs: all, training and inference, on a GPU or not; pauses without a GPU only.

    Gain: what these steps take beyond the median of the others, or beyond it at that place, mean over all steps.

    Left out: that some of it has to be done: a minor card. Where `python_loop` names the function that runs in the same
    steps, this one is not shown.
    """
    recurring = facts.host.recurring
    if recurring is None or (facts.job.server is not None and not _is_outside_ops(recurring)):
        return None
    slow = [step for step in facts.host.grown if step.step in recurring.steps]
    if slow and all(_compiles(facts.host, step) for step in slow):
        return None
    steps = [step for step in facts.host.steps if step.name in recurring.steps]
    return host_card(
        facts,
        id="recurring_steps",
        title=phrase("Find out whether one step in {every} has to do more", every=count(recurring.every)),
        why=_why_recurring(recurring),
        gain_ns=recurring.excess_ns * len(recurring.steps) // len(facts.host.steps),
        formula="What these steps take beyond the median of the others, mean over all steps.",
        certainty=low("These steps certainly do more; only you know whether the job needs it so often."),
        colour="ink",
        part=None,
        evidence=[Evidence(step.name, step.start_ns, step.end_ns) for step in steps[:EVIDENCE]],
        steps=recurring.steps,
        of="excess",
    )


def _is_outside_ops(recurring: RecurringWork) -> bool:
    return not recurring.name or recurring.outside_ns >= MOSTLY * recurring.excess_ns


def _why_recurring(recurring: RecurringWork) -> Phrase:
    template = "One step in {every} takes {excess} longer: it calls {name} {more} more (time|times)."
    if not recurring.name:
        template = "One step in {every} takes {excess} longer between the same two ops, where no op runs."
    elif _is_outside_ops(recurring):
        template = (
            "One step in {every} takes {excess} longer, {outside} of it outside ops, with {more} more (call|calls) of "
        )
        template += "{name}."
    values = {
        "every": count(recurring.every),
        "excess": ns(recurring.excess_ns),
        "outside": ns(recurring.outside_ns),
        "name": code(brief(recurring.name)),
        "more": count(recurring.more),
    }
    return filled(agreeing(template, recurring.more), values)
