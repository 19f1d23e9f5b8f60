"""A comparison in words: what changed, by how much, whether it is more than noise, and why it may be unfair; and how a
job scales."""

from __future__ import annotations

from collections.abc import Mapping

from tb_steptime.comparison.changes import ChangeId
from tb_steptime.comparison.comparison import Comparison, Prediction, StepChange
from tb_steptime.comparison.waterfall import REST, Contribution
from tb_steptime.insights.base import NoteText
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.idle.reasons import IDLE_MEANINGS
from tb_steptime.metrics.phases.sites import PHASE_LABELS
from tb_steptime.metrics.steps.parts import PART_MEANINGS
from tb_steptime.ranks.result import DecidingPath
from tb_steptime.ranks.scaling import PartId, Scaling, ScalingPart
from tb_steptime.text import Phrase, Quantity, Unit, agreeing, count, filled, fraction, joined, ns, phrase, text
from tb_steptime.text.printer import GAP

#: Minimum share of the change that a part has to explain to be named.
NAMED_FRACTION = 0.2
#: Below this ratio a change is given in percent: "1.0x" is no information.
FACTOR = 1.1

#: Labels of a waterfall's rows, by their ids. Modules, ops and kernels have names of their own.
CONTRIBUTION_LABELS: Mapping[str, str] = {
    **{part.id: part.label for part in PART_MEANINGS},
    "busy": "GPU busy",
    **{reason.id: reason.label for reason in IDLE_MEANINGS},
    **{str(phase): label for phase, label in PHASE_LABELS.items()},
    REST: "The rest of the step",
}

#: Differences of the candidate from its base that the traces show.
CHANGE_LABELS: Mapping[ChangeId, str] = {
    "workers": "More workers load the data",
    "smaller_batches": "Fewer bytes are copied to the GPU for the same inputs",
    "pinned_memory": "Copies come from pinned memory",
    "non_blocking": "Copies from pinned memory do not block",
    "half_precision": "More products run on tensor cores in 16 bits",
    "half_on_cpu": "More products are computed in 16 bits",
    "tf32": "More products run on tensor cores in TF32",
    "tensor_cores": "More products run on tensor cores",
    "channels_last": "Fewer kernels convert the layout of images",
    "fused_attention": "Attention runs in fused kernels",
    "item_removed": "Fewer numbers are read back, as by item()",
    "syncs_removed": "Fewer other calls block the CPU",
    "allocator": "Fewer calls ask the driver for memory",
    "optimizer": "The optimizer updates more tensors at once",
    "zero_gradients": "Zeroing the gradients launches fewer kernels",
    "compiled": "More of the model is compiled",
    "graphs": "More launches are in CUDA graphs",
    "gradient_buckets": "Fewer copies into gradient buckets",
}

#: Maximum number of parts that a residual names, and the minimum share of the residual for each.
RESIDUAL_PARTS, RESIDUAL_FRACTION = 3, 0.1


def comparison_headline(comparison: Comparison) -> Phrase:
    """Says what changed, in one or two sentences."""
    change, below = comparison_sentences(comparison)
    return change if below is None else joined(change, below)


def comparison_sentences(comparison: Comparison) -> tuple[Phrase, Phrase | None]:
    """Says what changed, and what stands below it: how sure that is, or which part changed most."""
    step = comparison.step
    if not comparison.same_work:
        return _apart(comparison), None
    if step.distinguishable is None:
        return _change(comparison), phrase("One side has too few steps to say how much of this is noise.")
    if not step.distinguishable:
        return _noise(comparison), _enough(comparison)
    return _change(comparison), _most_of_it(comparison)


def _apart(comparison: Comparison) -> Phrase:
    """Words the comparison of steps that do different work: neither is the faster one."""
    step = comparison.step
    return phrase(
        "[{candidate} takes {after} a step, {base} {before}], for different work.",
        **_names(comparison),
        after=ns(step.candidate_ns),
        before=ns(step.base_ns),
    )


def warning_texts(comparison: Comparison) -> list[NoteText]:
    return [worded(note) for note in comparison.warnings]


def _change(comparison: Comparison) -> Phrase:
    """ "workers4 is 1.31x faster than workers0: -31.2 ms a step (95 % interval -34.0 ms to -28.1 ms)." """
    step = comparison.step
    if step.change_ns == 0:
        return phrase("A step of {candidate} takes as long as one of {base}.", **_names(comparison))
    ratio = max(step.base_ns, step.candidate_ns) / max(min(step.base_ns, step.candidate_ns), 1)
    faster = "faster" if step.change_ns < 0 else "slower"
    by = "{by}x" if ratio >= FACTOR else "{by}"
    size = Quantity(ratio, Unit.NUMBER) if ratio >= FACTOR else fraction(abs(step.change_ns) / max(step.base_ns, 1))
    ends = f"{_signed('low', step.low)} to {_signed('high', step.high)}"
    interval = "" if step.low is None else f" (95{GAP}% interval {ends})"
    return Phrase(
        f"[{{candidate}} is {by} {faster}] than {{base}}: {_signed('change', step.change_ns)} a step{interval}.",
        {**_names(comparison), "by": size, "change": ns(step.change_ns), **_interval(step)},
    )


def _signed(key: str, ns: float | None) -> str:
    """Returns the place of a difference in a template, with its sign."""
    return f"{'+' if ns is not None and ns > 0 else ''}{{{key}}}"


def _noise(comparison: Comparison) -> Phrase:
    step = comparison.step
    steps = min(step.base_steps, step.candidate_steps)
    template = agreeing(
        "[{candidate} is not distinguishable from {base}] with {steps} (step|steps): the difference of "
        f"{_signed('change', step.change_ns)} a step has the 95{GAP}% interval "
        f"{_signed('low', step.low)} to {_signed('high', step.high)}.",
        steps,
    )
    return Phrase(
        template, {**_names(comparison), "steps": count(steps), "change": ns(step.change_ns), **_interval(step)}
    )


def _enough(comparison: Comparison) -> Phrase | None:
    enough = comparison.step.enough_steps
    if enough is None:
        return None
    return phrase("If it is real, about {enough} steps would show it.", enough=count(enough))


#: The least share of a change that shows in its printed digits.
_SHOWN_FRACTION = 0.001


def _most_of_it(comparison: Comparison) -> Phrase | None:
    """Names the part that changed most in the direction of the step. It may change by more than the step does."""
    step = comparison.step
    rows = comparison.waterfalls[0].rows
    same_way = [row for row in rows if row.change_ns * step.change_ns > 0]
    most: Contribution | None = max(same_way, key=lambda row: abs(row.change_ns), default=None)
    if most is None or abs(most.change_ns) < NAMED_FRACTION * abs(step.change_ns):
        return None
    values = {"part": text(CONTRIBUTION_LABELS[most.id]), "part_change": ns(most.change_ns)}
    others_ns = step.change_ns - most.change_ns
    if others_ns * most.change_ns < 0 and abs(others_ns) >= _SHOWN_FRACTION * abs(step.change_ns):
        both = _signed("part_change", most.change_ns), _signed("others", others_ns)
        template = "{{part}} changed by {}, all else by {}.".format(*both)
        return phrase(template, **values, others=ns(others_ns))
    return phrase(f"{{part}} accounts for {_signed('part_change', most.change_ns)} of it.", **values)


def residual_text(prediction: Prediction) -> Phrase:
    """ "The step is 3.7 ms longer than predicted: data loading +3.7 ms." """
    left_ns = prediction.predicted_ns - prediction.measured_ns
    what = "The step" if prediction.of is None else CONTRIBUTION_LABELS[prediction.of]
    values = {"what": text(what), "left": ns(abs(left_ns))}
    head = "{what} is {left} " + ("longer" if left_ns > 0 else "shorter") + " than predicted"
    if left_ns == 0:
        return phrase("The gain is as predicted.")
    if prediction.of is not None:
        return Phrase(head + ".", values)
    if not prediction.residual:
        return Phrase(head + "; the card does not say in which part.", values)
    least_ns = RESIDUAL_FRACTION * abs(left_ns)
    parts = [part for part in prediction.residual if abs(part.ns) >= least_ns][:RESIDUAL_PARTS]
    listed = ", ".join(f"{{part{number}}} {_signed(f'ns{number}', part.ns)}" for number, part in enumerate(parts))
    named = {f"part{number}": text(CONTRIBUTION_LABELS[part.part]) for number, part in enumerate(parts)}
    moved = {f"ns{number}": ns(part.ns) for number, part in enumerate(parts)}
    return Phrase(f"{head}: {listed}.", {**values, **named, **moved})


def _names(comparison: Comparison) -> dict[str, Quantity]:
    return {"base": text(comparison.base), "candidate": text(comparison.candidate)}


def _interval(step: StepChange) -> dict[str, Quantity]:
    return {} if step.low is None else {"low": ns(step.low), "high": ns(step.high)}


#: Phrases for the causes of lost time.
PART_WORDS: dict[PartId, str] = {
    "kernels": "longer kernels",
    "transfers": "exposed transfers",
    "waits": "waits for late ranks",
    "loading": "data loading",
    "copies": "copies",
    "host": "the CPU",
}
#: Minimum share of the step for a loss to be named.
WORTH_NAMING = 0.02


def scaling_text(scaling: Scaling) -> Phrase:
    """ "8 to 64 ranks: 71 % efficient, 19 % lost to exposed all-gather"; why not, where the efficiency is not known."""
    values = {"base": count(scaling.base_ranks), "ranks": count(scaling.ranks)}
    template = "{base} to {ranks} ranks:"
    if scaling.reason is not None or scaling.efficiency is None:
        return joined(Phrase(template, values), explain(scaling.reason) if scaling.reason else phrase(""))
    most = scaling.parts[0]
    is_lost = min(most.lost_ns, (1 - scaling.efficiency) * scaling.step_ns) >= WORTH_NAMING * scaling.step_ns
    template += " [{efficiency} efficient]" + (", {lost} lost to {part}." if is_lost else ".")
    values |= {"efficiency": fraction(scaling.efficiency), "lost": fraction(most.lost_ns / scaling.step_ns)}
    return filled(template, values | {"part": text(_part(most))})


def same_ranks_text(scaling: Scaling) -> Phrase:
    """Two jobs of as many ranks: what the whole job's step became, and the part that changed most."""
    most = max(scaling.parts, key=lambda part: abs(part.ns - part.base_ns))
    changed = abs(most.ns - most.base_ns) >= WORTH_NAMING * scaling.base_step_ns
    template = "Over all {ranks} ranks a step takes {after}, in the base {before}"
    values = {"ranks": count(scaling.ranks), "after": ns(scaling.step_ns), "before": ns(scaling.base_step_ns)}
    values |= {"part": text(_part(most)), "own": ns(most.ns), "was": ns(most.base_ns)}
    return filled(template + ("; most changed: {part}, {own} and {was}." if changed else "."), values)


def paths_text(scaling: Scaling) -> Phrase | None:
    """Words the length of the path that decides the step in both jobs, and the part of it that changed most; None where
    one of the two is not known."""
    if scaling.base_path is None or scaling.path is None:
        return None
    was, now = _path_parts(scaling.base_path), _path_parts(scaling.path)
    most = max(dict.fromkeys([*now, *was]), key=lambda part: abs(now.get(part, 0) - was.get(part, 0)))
    on_path, on_base_path = now.get(most, 0), was.get(most, 0)
    changed = abs(on_path - on_base_path) >= WORTH_NAMING * scaling.base_path.step_ns
    template = "The path that decides the step takes {path}, in the base {base_path}"
    template += (
        "; most changed on it: {on_path}, {on_path_ns} and {on_base_path_ns}."
        if changed
        else ", and no part of it changed by much."
    )
    values = {"path": ns(scaling.path.step_ns), "base_path": ns(scaling.base_path.step_ns)}
    values |= {"on_path": text(most), "on_path_ns": ns(on_path), "on_base_path_ns": ns(on_base_path)}
    return filled(template, values)


def _path_parts(path: DecidingPath) -> dict[str, int]:
    """Returns the parts by label, ns; they sum to the step."""
    arrivals = {f"late arrivals of rank {rank.rank}": rank.late_ns for rank in path.ranks}
    return {"work": path.work_ns, "transfers": path.transfer_ns} | arrivals


def _part(part: ScalingPart) -> str:
    return f"exposed {part.kind}" if part.id == "transfers" and part.kind else PART_WORDS[part.id]
