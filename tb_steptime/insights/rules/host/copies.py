"""Copies between pageable memory and the GPU, which the driver stages while the CPU waits, asynchronous or not; and
copies of weights that move to the GPU and back. `pinned` is about those of pinned memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tb_steptime.insights.base import Insight, low, medium
from tb_steptime.insights.cards import Words, card
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import Bounds, host_card, shows_the_job, while_batches_are_late_ns
from tb_steptime.insights.rules.host.blocking_rows import (
    OF_GRADIENTS,
    calls_of,
    is_of_part_on_cpu,
    name_of,
    updates_on_cpu,
)
from tb_steptime.insights.rules.host.idle_cards import calls_card, without_waits_ns
from tb_steptime.metrics.host.copies import CopyRow
from tb_steptime.metrics.idle.blocking_rows import LARGE_BYTES, BlockingRow
from tb_steptime.metrics.idle.bottleneck import LEADING_FRACTION
from tb_steptime.metrics.phases.sites import SITE, site_of_name
from tb_steptime.text import Phrase, Quantity, count, filled, nbytes, ns, phrase, text


def pageable_copies(facts: Facts) -> Insight | None:
    """Fires when copies of pageable memory to the GPU leave it idle long enough for a card.

    Similar pattern: copies that wait for earlier work of the GPU: then the GPU is busy, and nothing is gained. A
    first copy that waits for work from before the recording is left out. Many small copies: each takes as long from
    pinned memory, so the card asks for fewer of them. Copies within the modules of the forward pass: they are no batch,
    and what they copy can stay on the GPU. Tensors that an op creates on the CPU right before, such as masks and random
    inputs: the advice is to create them on the GPU. What another op of the loop makes on the CPU: pinned memory would
    be one more copy, so the advice is to make it on the GPU, or in the loader's workers. Many tensors in a row in the
    only step may be the weights of a model, which are copied once: that is a guess.

    Needs: memory copies with their kind of memory, and the launch calls.

    Jobs: those with a GPU that copy from the host in each step.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps.

    Left out: the copies themselves, and waits for the loader.
    """
    rows = calls_of(facts, "pageable")
    if not rows:
        return None
    title, how = _OF_LOADER if _are_of_loader(facts, rows) else _OF_TENSOR
    title, how = _unless_batch(facts, rows) or (title, how)
    if _are_small(rows):
        title, how = _OF_VALUES
    doubt = None
    if _may_be_weights(facts):
        how, doubt = f"{how}\n{_OF_WEIGHTS}", _ONCE_PERHAPS
    return calls_card(facts, rows, doubt=doubt, id="pageable_copies", title=phrase(title), why=_why(rows), how=how)


def _to_gpu(facts: Facts) -> list[CopyRow]:
    """Returns the copies of pageable memory to the GPU."""
    return [row for row in facts.host.copies if row.direction == "HtoD" and row.source == "Pageable"]


#: Number of copies a step from which on they are of single values or of parts, and not of a batch's tensors.
_MANY_COPIES = 100


def _are_small(rows: list[BlockingRow]) -> bool:
    """Returns whether the CPU mostly waits in many copies whose start takes longer than their bytes."""
    small = [row for row in rows if (row.bytes or 0) < LARGE_BYTES * row.count]
    mostly = 2 * sum(row.blocked_ns for row in small) >= sum(row.blocked_ns for row in rows)
    return mostly and sum(row.count for row in small) >= _MANY_COPIES


#: Number of copies a step from which on they are more than the tensors of a batch.
MORE_THAN_A_BATCH = 16


def _are_of_model(rows: list[BlockingRow]) -> bool:
    """Returns whether most bytes are copied within the forward pass, as its modules or a range around it show, in more
    copies than a batch has tensors: masks, positions and the like, or weights that are kept on the host."""
    inside = [row for row in rows if row.phase == "forward" and (row.module or _is_forward(row))]
    mostly = 2 * sum(row.bytes or 0 for row in inside) > sum(row.bytes or 0 for row in rows)
    return mostly and sum(row.count for row in inside) >= MORE_THAN_A_BATCH


def _may_be_weights(facts: Facts) -> bool:
    """Returns whether the only recorded step copies many tensors to the GPU in a row, as `model.to("cuda")`."""
    many = (row for row in _to_gpu(facts) if row.in_a_row >= MORE_THAN_A_BATCH)
    return len(facts.overview.steps) == 1 and any((row.bytes or 0) >= LARGE_BYTES * row.count for row in many)


def _are_created(rows: Sequence[CopyRow]) -> bool:
    """Returns whether ops on the CPU mostly create what is copied, right before: random inputs, masks, positions."""
    return 2 * sum(row.created_ns for row in rows) > sum(row.total_ns for row in rows)


def _are_of_loader(facts: Facts, rows: Sequence[BlockingRow | CopyRow]) -> bool:
    """Returns whether these copies may be those of the loader's batches. Weights are not, such as those that an
    optimizer has updated on the CPU, or those of layers that stay there: these are more tensors than a batch has, and
    large ones."""
    if facts.data_loading.unknown is not None or updates_on_cpu(facts) or _made_by(facts) is not None:
        return False
    copies = sum(row.count for row in rows)
    batches = facts.data_loading.batches_per_step or 1.0
    are_large = sum(row.bytes or 0 for row in rows) >= _AS_WEIGHTS * copies
    return not (are_large and copies >= MORE_THAN_A_BATCH * max(batches, 1.0))


def _made_by(facts: Facts) -> str | None:
    """Returns the op of the loop that makes on the CPU what is copied to the GPU from pageable memory."""
    return next((row.made_by for row in _to_gpu(facts) if row.made_by is not None), None)


def _unless_batch(facts: Facts, rows: list[BlockingRow]) -> tuple[str, str] | None:
    """Returns title and code of the advice about copies to the GPU that need not be made, because the model keeps or an
    op makes on the CPU what they copy; None for those of batches and others. rows: the calls that copy."""
    if _are_of_model(rows):
        return _OF_MODEL
    if _are_created(_to_gpu(facts)):
        return _OF_CREATED
    op = None if updates_on_cpu(facts) else _made_by(facts)
    return None if op is None else (_OF_MADE[0], _OF_MADE[1].format(op=op))


def _is_forward(row: BlockingRow) -> bool:
    return row.user_range is not None and site_of_name(row.user_range) == SITE["forward.model"]


#: The title and the code of the advice. If no loader is recorded, the job may have none.
_OF_LOADER = "Pin the memory of the batch", "DataLoader(dataset, pin_memory=True)\nbatch.to(device, non_blocking=True)"
_OF_TENSOR = (
    "Pin the memory of the copied tensors",
    "tensor = tensor.pin_memory()  # allocated once, and reused\ntensor.to(device, non_blocking=True)",
)
_OF_MODEL = (
    "Keep on the GPU what the model copies there",
    'self.register_buffer("mask", mask)  # once: it moves with the model\n'
    "torch.ones(n, n, dtype=torch.bool, device=x.device)  # in place of .to(device) in the forward pass",
)
_OF_CREATED = (
    "Create on the GPU what is copied there",
    "torch.ones(n, n, device=x.device).tril()  # in place of .to(device); torch.randn takes device=, too\n"
    'self.register_buffer("mask", mask)  # once, where each step creates the same',
)
_OF_MADE = (
    "Make on the GPU what is copied there",
    "x = x.to(device)  # before {op}, which runs on the CPU: its result then needs no copy\n"
    "# what belongs to a batch: in the dataset or collate_fn of a DataLoader with workers and pin_memory=True",
)
_OF_VALUES = (
    "Copy small tensors together, or create them on the GPU",
    "torch.full((1,), value, device=x.device)  # instead of torch.tensor(value).to(device)\n"
    "torch.tensor(values).to(device)  # once, instead of one copy for each value",
)

#: Code that lets copies run while kernels run.
_AHEAD_OF_LOADER = "DataLoader(..., pin_memory=True)\nbatch.to(device, non_blocking=True)  # on a stream of its own"
_AHEAD = "tensor = tensor.pin_memory()\ntensor.to(device, non_blocking=True)  # on a stream of its own"
_BACK = (
    'host = torch.empty_like(result, device="cpu", pin_memory=True)  # once, and reused\n'
    "host.copy_(result, non_blocking=True)  # on a stream of its own; read after its event"
)


def bytes_of(rows: Sequence[BlockingRow | CopyRow]) -> Quantity:
    sizes = [row.bytes for row in rows if row.bytes is not None]
    return nbytes(sum(sizes) if sizes else None)


def with_bytes(template: str, rows: Sequence[CopyRow]) -> str:
    """Returns the sentence, which speaks of tensors where the bytes are not recorded, as in some shortened traces."""
    known = any(row.bytes is not None for row in rows)
    return template if known else template.replace("{bytes} a step", "Tensors", 1)


def copied_alone_ns(*rows: CopyRow) -> int:
    """Returns the time a step of these copies in which no kernel runs."""
    return sum(row.total_ns - row.hidden_ns for row in rows)


def _why(rows: list[BlockingRow]) -> Phrase:
    template = "{op} copies {bytes} a step from pageable memory and blocks the CPU for {blocked}."
    if _are_small(rows):
        template = "{op} makes {copies} copies, {bytes} a step, from pageable memory and blocks the CPU for {blocked}."
    values = {
        "op": text(name_of(rows[0])),
        "copies": count(round(sum(row.count for row in rows))),
        "bytes": bytes_of(rows),
        "blocked": ns(sum(row.blocked_ns for row in rows)),
    }
    return filled(template, values)


def pageable_batch_copies(facts: Facts) -> Insight | None:
    """Fires when copies from pageable memory to the GPU run alone for long enough, or when the CPU waits in them for
    the GPU's earlier work and is late afterwards. The copy's own time is no idle time of the GPU, so that no other card
    claims it; the idle time after such a wait may be part of other cards, too.

    Similar pattern: copies that no kernel could hide, because the step has none to run meanwhile: the confidence is
    medium for that reason. Where the copies take most of the step, the gain is that of pinned memory at the peak rate
    of the link to the host, and none is promised if that rate is not known. A CPU that waits in these copies and is
    ahead all the same loses nothing. Many tensors in a row to the GPU, and about as many bytes back: these are weights
    that the script moves, and neither a batch nor its results. In training, both ways must be before the backward pass:
    saved activations come back in it, and gradients leave in it or behind it. Weights that an optimizer has updated on
    the CPU, or that stay there until their layer needs them: copies of more tensors than a batch has, large ones where
    there is a loader, are called no batch. Tensors that an op creates on the CPU right before, such as masks and random
    inputs: pinned memory would be one more copy, so the advice is to create them on the GPU. A tensor that another op
    of the loop makes on the CPU: no setting of a loader pins it. Gradients that come from a loss or a layer on the CPU:
    no kernel could run meanwhile, and `sync_bubble` is about that part. Many tensors in a row in the only step may be
    the weights of a model, which are copied once: that is a guess.

    Needs: memory copies with their kind of memory (CUDA and ROCm traces name it).

    Jobs: those with a GPU that copy from the host in each step.

    Gain: the time of these copies while no kernel runs, mean over the steps; or, if that is more, what a replay
    gains in which these calls do not wait, at most the time that they take.

    Left out: the copies' time during which kernels run.
    """
    weights = _moved_weights(facts)
    if weights:
        return _weights_card(facts, weights)
    rows = _to_gpu(facts)
    if _are_of_part_on_cpu(facts, rows, "HtoD"):
        return None
    of_loader = _are_of_loader(facts, rows)
    how, title = _AHEAD_OF_LOADER if of_loader else _AHEAD, _OF_TENSOR[0]
    if _has_kernels(facts):
        few = sum(row.count for row in rows) < MORE_THAN_A_BATCH and not updates_on_cpu(facts)
        title = "Copy the next batch while kernels run" if of_loader or few else "Copy these tensors while kernels run"
    unless_batch = _unless_batch(facts, calls_of(facts, "pageable"))
    if unless_batch is not None:
        title, how = unless_batch
    elif facts.infers and len(facts.overview.steps) > 1 and any(map(_are_large_in_a_row, rows)):
        how = f"{how}\n{_OFFLOADED}"
    return _alone_card(facts, "HtoD", rows, copied_alone_ns(*rows), title, how, _waits_ns(facts))


#: Mean size of tensors from which on many of them in a row may be the weights of layers.
_AS_WEIGHTS = 1 << 20
#: Accelerate copies the weights of layers that it keeps on the CPU for each pass through them.
_OFFLOADED = "# weights of layers on the CPU, as of device_map: quantize them until all fit on the GPU"


def _are_large_in_a_row(row: CopyRow) -> bool:
    return row.in_a_row >= MORE_THAN_A_BATCH and (row.bytes or 0) >= _AS_WEIGHTS * row.count


def _waits_ns(facts: Facts) -> int:
    """Returns what a step gains if copies of pageable memory to the GPU alone make the CPU wait no longer, at the
    low end of the replay's range. It is 0 without a replay that can be trusted."""
    rows = calls_of(facts, "pageable")
    return min(without_waits_ns(facts, rows), sum(row.blocked_ns for row in rows))


def pageable_result_copies(facts: Facts) -> Insight | None:
    """Fires when copies from the GPU to pageable memory run alone for long enough. The copy's time is no idle time of
    the GPU, so that no other card claims it.

    Similar pattern: copies that no kernel could hide, because the step has none to run meanwhile: the confidence is
    medium for that reason. Where the copies take most of the step, the gain is that of pinned memory at the peak rate
    of the link to the host, and none is promised if that rate is not known. Values such as a loss, which take no time
    to copy: cards about waits are about them. Weights that move to the GPU and back: one card is about both ways. A
    checkpoint that few of the steps write: what less than half of the steps copy does not count. Gradients that an
    optimizer on the CPU needs: the card calls them so. What a part of the model on the CPU computes with at once, and
    gradients of its results: no kernel could run meanwhile, and cards about waits are about them.

    Needs: memory copies with their kind of memory (CUDA and ROCm traces name it).

    Jobs: those with a GPU that copy large results to the host, such as masks, images, logits or gradients.

    Gain: the time of these copies while no kernel runs, mean over the steps; at most that of a usual step.

    Left out: the copies' time during which kernels run, and the idle time after them.
    """
    if _moved_weights(facts):
        return None
    rows = [row for row in facts.host.copies if row.direction == "DtoH" and row.target == "Pageable"]
    rows = [row for row in rows if row.bytes is not None and row.bytes >= LARGE_BYTES * row.count]
    if _are_of_part_on_cpu(facts, rows, "DtoH"):
        return None
    title = "Copy results while kernels run" if _has_kernels(facts) else "Pin the memory of the results"
    how = _BACK
    if updates_on_cpu(facts):
        title = "Copy gradients to the CPU while kernels run"
        how = OF_GRADIENTS.how or _BACK
    return _alone_card(facts, "DtoH", rows, min(copied_alone_ns(*rows), facts.usual_copies_ns), title, how)


def _are_of_part_on_cpu(facts: Facts, rows: Sequence[CopyRow], direction: str) -> bool:
    """Returns whether most of these bytes are copied for a part of the model on the CPU. The GPU, or that part, needs
    them at once."""
    moved = (row for row in facts.host.blocking if row.direction == direction and is_of_part_on_cpu(row))
    return 2 * sum(row.bytes or 0 for row in moved) > sum(row.bytes or 0 for row in rows)


def _moved_weights(facts: Facts) -> list[CopyRow]:
    """Returns the pageable copies to the GPU and back of a job that keeps a part of its models on the host: they are
    mostly of many tensors in a row, of about as many bytes both ways. Otherwise an empty list."""
    rows = [row for row in facts.host.copies if row.pageable and row.direction in _WAYS]
    bursts = [row for row in rows if row.in_a_row >= MORE_THAN_A_BATCH and 2 * row.in_a_row >= row.count]
    sizes = [row.bytes or 0 for row in bursts]
    both_ways = {row.direction for row in bursts} == set(_WAYS) and 2 * min(sizes) >= max(sizes)
    computes = facts.overview.mean_parts_ns.kernel >= _LEAST_COMPUTING * facts.step_ns
    moves = both_ways and computes and (facts.infers or (facts.trains and _move_before_backward(facts, bursts)))
    return sorted(bursts, key=lambda row: row.direction == "DtoH") if moves else []


def _move_before_backward(facts: Facts, bursts: list[CopyRow]) -> bool:
    """Returns whether a usual step of a training copies large tensors both ways before its backward pass, as for a text
    encoder that makes room for the trained model."""
    if 2 * facts.usual_copies_ns < copied_alone_ns(*bursts) or updates_on_cpu(facts):
        return False
    moved = [row for row in facts.host.blocking if row.phase == "forward" and not is_of_part_on_cpu(row)]
    before: dict[str, int] = {way: sum(row.bytes or 0 for row in moved if row.direction == way) for way in _WAYS}
    return all(_are_large_in_a_row(row) and 2 * before[row.direction] > (row.bytes or 0) for row in bursts)


#: Kernels take more of the step in a model than in a measurement of the link to the host.
_LEAST_COMPUTING = 0.05
#: What Diffusers offers: its group offloading copies the next layers while kernels run.
_KEEP_WEIGHTS = """pipe.to("cuda")  # if they fit, in place of pipe.enable_model_cpu_offload()
# Diffusers, if not: pipe.unet.enable_group_offload(..., use_stream=True)  # copies while kernels run"""
_KEEP_ENCODER = """encoder.to("cuda")  # once, before the loop, if it fits: it then stays there
# a frozen one, if not: compute its results once for the whole dataset, and load them"""
_MOVED = (
    "{bytes} a step go to the GPU and {back} come back, many tensors in a row, as the weights of offloaded "
    "models do: for {alone} of it no kernel runs."
)


def _weights_card(facts: Facts, rows: list[CopyRow]) -> Insight | None:
    to_gpu, back = rows
    alone_ns = copied_alone_ns(*rows)
    values = {"bytes": bytes_of([to_gpu]), "back": bytes_of([back]), "alone": ns(alone_ns)}
    return host_card(
        facts,
        id="pageable_batch_copies",
        title=phrase("Keep the weights on the GPU"),
        why=filled(_MOVED, values),
        how=_KEEP_WEIGHTS if facts.infers else _KEEP_ENCODER,
        gain_ns=alone_ns,
        formula=_ALONE,
        certainty=medium("The copies are recorded; whether all weights fit on the GPU is not."),
        part="memcpy",
    )


_IN_COPIES = (
    "{bytes} a step come from pageable memory: before each copy the CPU waits until the GPU has no other work, and is "
    "late afterwards."
)
_ALONE = phrase("Mean over the steps of these copies' time during which no kernel runs.")
_REPLAYED = phrase(
    "What a replay gains in which these copies do not wait, at the low end of its range; at most their calls' time."
)
DEPENDS = phrase("The copies are recorded; whether kernels are there to run meanwhile depends on the script.")
_FASTER = low("No kernel runs in the steps, and how much faster pinned memory is copied is not known.")


def _has_kernels(facts: Facts) -> bool:
    """Returns whether kernels run in the steps. Where none does, copies of pinned memory are only faster."""
    parts = facts.overview.mean_parts_ns
    return parts.kernel + parts.communication > 0


Way = Literal["HtoD", "DtoH"]
#: By direction: the card about its copies of pageable memory, its title where they take most of the step, and what is
#: copied.
_WAYS: dict[Way, tuple[str, str, str]] = {
    "HtoD": (
        "pageable_batch_copies",
        "Copy less to the GPU, or from pinned memory",
        "{bytes} a step come from pageable memory, and for {alone} of the copy no kernel runs.",
    ),
    "DtoH": (
        "pageable_result_copies",
        "Copy less from the GPU, or to pinned memory",
        "{bytes} a step go to pageable memory, and for {alone} of the copy no kernel runs.",
    ),
}


def _alone_card(
    facts: Facts, way: Way, rows: list[CopyRow], alone_ns: int, title: str, how: str, waits_ns: int = 0
) -> Insight | None:
    """Returns the card about copies beside which no kernel runs. waits_ns: what a step gains if the CPU does not wait
    in these copies."""
    id, _, template = _WAYS[way]
    need_not_be = title in (_OF_CREATED[0], _OF_MADE[0])
    if facts.step_ns - facts.copying_ns < LEADING_FRACTION * alone_ns and not need_not_be:
        return _unhidden(facts, way, rows, alone_ns, how)
    certainty = medium(DEPENDS) if _has_kernels(facts) else _FASTER
    if way == "HtoD" and _may_be_weights(facts):
        how, certainty = f"{how}\n{_OF_WEIGHTS}", _ONCE_PERHAPS
    template = with_bytes(_IN_COPIES if waits_ns > alone_ns else template, rows)
    gain_ns = max(alone_ns, waits_ns)
    return host_card(
        facts,
        id=id,
        title=phrase(title),
        why=filled(template, {"bytes": bytes_of(rows), "alone": ns(alone_ns)}),
        how=how,
        gain_ns=gain_ns,
        formula=_REPLAYED if waits_ns > alone_ns else _ALONE,
        certainty=certainty,
        bounds=Bounds(most_now_ns=while_batches_are_late_ns(facts, gain_ns, "device")),
        part="memcpy",
    )


#: What the only step of a recording may copy, and no later one.
_OF_WEIGHTS = "# a model's weights are copied once: begin the recording after that"
_ONCE_PERHAPS = low("One step is recorded: it may copy these only once.")


def _unhidden(facts: Facts, way: Way, rows: list[CopyRow], alone_ns: int, how: str) -> Insight | None:
    """Returns the card where the rest of the step hides less than half of the copies, however they are placed. Pinned
    memory is copied at the rate of the link at most; where that is not known, no gain is promised."""
    id, title, template = _WAYS[way]
    only_step = len(facts.overview.steps) == 1
    rest_ns = facts.step_ns - facts.copying_ns
    least = [row.least_ns for row in rows if row.least_ns is not None]
    is_known, least_ns = len(least) == len(rows), sum(least)
    template += " The rest of the step, {rest}, can hide little of it; "
    template += "pinned, they take {least} at least." if is_known else "pinned memory is copied faster."
    values = {"bytes": bytes_of(rows), "alone": ns(alone_ns), "rest": ns(rest_ns), "least": ns(least_ns)}
    words: Words = {"id": id, "title": phrase(title), "why": filled(template, values), "how": how}
    if way == "HtoD" and only_step:
        words["how"] = f"{how}\n{_OF_WEIGHTS}"
    recorded = medium("The copies and their kinds of memory are recorded.")
    if not is_known:
        formula, words["about_ns"] = "Not computed: the rate of the link to the host is not known.", alone_ns
        worth = shows_the_job(facts) and facts.worth(alone_ns)
        return card(facts, formula=formula, certainty=recorded, part="memcpy", **words) if worth else None
    return host_card(
        facts,
        alone_ns - min(max(least_ns - rest_ns, 0), alone_ns),
        formula="Mean over the steps of these copies' time during which no kernel runs, less what the link between "
        "host and GPU needs for them at its peak rate beyond the rest of the step.",
        certainty=_ONCE_PERHAPS if only_step else recorded,
        part="memcpy",
        **words,
    )
