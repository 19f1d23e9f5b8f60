"""Blocking calls that drain the GPU: while the host waits it launches nothing, and then the GPU waits for the host.

The script makes them itself (`sync_bubble`), or to read what ranks have just exchanged (`synchronous_exchange`). Others
are made by an op of the backward pass or of the optimizer, so the script does not show them (`hidden_sync_...`), or by
convolutions that compare algorithms (`algorithm_search`). The allocator makes them where it asks the driver for memory
that it should find cached (`allocator_steady`): shapes change, or the cache is emptied.

step        0        1        2
cudaMalloc  mmmmm                       warm-up: no card
cudaMalloc  mmmmm    m  m     m m       steady: a card
"""

from __future__ import annotations

from typing import Literal

from tb_steptime.insights.base import Insight, medium
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import (
    SEARCH,
    WaitingOp,
    bubble_ns,
    calls_of,
    in_this_job,
    leading_op,
    name_of,
    place_of,
    waiting_op,
)
from tb_steptime.insights.rules.host.idle_cards import beyond_bubbles_ns, calls_card, model_late, waits_card
from tb_steptime.metrics.idle.blocking_rows import BlockingRow, is_launch
from tb_steptime.text import Phrase, agreeing, count, filled, ns, phrase, text
from tb_steptime.text.patterns import expression


def sync_bubble(facts: Facts) -> Insight | None:
    """Fires when what blocking calls of the script cost, not how long they take, is worth a card.

    Similar pattern: a wait for a GPU that is busy all the time: it costs nothing, and only the idle time behind it
    counts. A wait for work from before the recording is left out. A wait for other ranks: `synchronous_exchange`. A
    process whose launches wait for their kernels, since a variable of its environment says so: the card is about that.

    Needs: CPU and GPU activity, with the launch calls.

    Jobs: those with a GPU, training and inference; a wait at the end of an inference request is wanted, so its card
    says what it costs and no more, and is a guess where the CPU then waits for the next request.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps. What a replay of a step without any wait gains beyond that
    idle time of all calls is added, by the time for which these calls make the CPU wait: the CPU lacks that time, so
    that later launches are late, too. It is the low end of the replay's range, and no idle time of another card; where
    graphs gain more, it is what is left after them.

    Left out: idle time before the call, and waits for the loader. Without a replay, and where the CPU works on what is
    read, later launches.
    """
    rows = calls_of(facts, "plain")
    if not rows:
        return None
    more_ns = beyond_bubbles_ns(facts, rows)
    split_ns = sum(model_late(facts.host).split.values())
    alternates = min(more_ns, split_ns) > bubble_ns(rows)
    op = leading_op(rows) if alternates else in_this_job(facts, waiting_op(rows[0]), rows[0])
    if any(is_launch(row.call) for row in rows):
        unset = _RETURN_AT_ONCE["amd" if facts.job.vendor == "amd" else "nvidia"]
        why = phrase(_EACH_LAUNCH, total=ns(bubble_ns(rows) + more_ns))
        return calls_card(facts, rows, more_ns, id="sync_bubble", title=_WITHOUT_WAITING, why=why, how=unset)
    template = "{op} in {place} leaves the GPU idle for {most} a step; all such calls for {total}."
    if more_ns:
        template = _FEW_BETWEEN if 2 * split_ns > more_ns else agreeing(_LATE_AFTER, len(rows))
    why = _why(rows[0], bubble_ns(rows) + more_ns, template)
    return calls_card(facts, rows, more_ns, id="sync_bubble", title=op.title, why=why, how=_how(facts, op, rows))


_WITHOUT_WAITING = phrase("Launch kernels without waiting for them")
_EACH_LAUNCH = "Each launch waits for the end of its kernel. That leaves the GPU idle for {total} a step."
_RETURN_AT_ONCE = {
    "nvidia": "unset CUDA_LAUNCH_BLOCKING",
    "amd": "unset HIP_LAUNCH_BLOCKING AMD_SERIALIZE_KERNEL CUDA_LAUNCH_BLOCKING",
}

#: The code where no training shows, which has no loss to print: it needs the values, such as the next token.
_READ_AT_ONCE = "values = x.tolist()  # once for all values of a step\n# or while the next step runs already"
#: The code for a rollout, whose next pass depends on each value, such as an action.
_READ_OF_MANY = "actions = policy(observations).tolist()  # of many environments at once: each wait is for all of them"
#: The same for the tokens of a language model.
_TOKENS_OF_MANY = "tokens = logits.argmax(-1).tolist()  # of many prompts at once: each wait is for all of them"
#: From so many reads a step on they are not of the few values that a loop prints.
MANY_READS = 8
_STACKED = "values = torch.stack(values).tolist()  # waits once for all of them"
#: Such as the factors of an iterative solver, or the class of each box.
_READ_IN_LOOPS = (
    f"{_STACKED}\n# or none: ops take tensors of one element, and a loop may test every tenth time whether it ends"
)
#: Such as whether the gradient of each parameter is finite.
_ASKED_AT_ONCE = "if torch.stack(conditions).any():  # waits once for all of them"
_BREAKS = "# TORCH_LOGS=graph_breaks names those that also split the compiled code"


def rolls_out(facts: Facts) -> bool:
    """Returns whether most layers of a training run in many passes without gradients, each of which may take more at
    once."""
    return facts.trains and facts.job.no_grad.in_many_passes


def generates(facts: Facts) -> bool:
    """Returns whether these passes have attention: those of a language model that generates, and not of a policy in an
    environment. Both read a value for each pass."""
    return rolls_out(facts) and (facts.waste.attention is not None or facts.fuses_attention)


def _how(facts: Facts, op: WaitingOp, rows: list[BlockingRow]) -> str | None:
    """Returns the code. What reads values depends on the job and on how many are read."""
    if rows[0].phase == "optimizer" and op.id in ("item", "truth"):
        return _how_to_update(facts, op)
    if rows[0].phase == "optimizer" and _DECOMPOSES.search(rows[0].outer_op or ""):
        return "\n".join(filter(None, (_DECOMPOSE_LESS, op.how)))
    reads = sum(row.count for row in rows if waiting_op(row) is op)
    if op.id == "truth" and reads >= MANY_READS:
        return f"{_ASKED_AT_ONCE}\n{op.how}"
    if op.id != "item":
        return op.how
    if not facts.trains:
        return _READ_AT_ONCE if reads < MANY_READS else _READ_IN_LOOPS
    if reads < MANY_READS:
        return op.how
    if rows[0].phase == "forward" and rolls_out(facts):
        return _TOKENS_OF_MANY if generates(facts) else _READ_OF_MANY
    return f"{_STACKED}\n{_BREAKS}" if facts.job.execution in ("compiled", "mixed") else _STACKED


#: Optimizers of torch that read their counters of steps if these are on the GPU, as after loading a checkpoint there,
#: unless they are told that a graph is to capture them.
_COUNTING = ("ASGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam")
_COUNTERS = "torch.optim.{optimizer}(model.parameters(), capturable=True)  # reads no counters of steps from the GPU"
#: LBFGS multiplies with each kept direction twice, by a factor that it reads (`add_(..., alpha=...)`).
_HISTORY = "torch.optim.LBFGS(params, history_size=10)  # reads two values in each iteration for each kept direction"
#: Optimizers that decompose matrices, as Shampoo, SOAP and K-FAC do, go on with those of some steps before.
_DECOMPOSES = expression(r"^aten::(linalg_(?!.*norm)|cholesky|inverse)")
_DECOMPOSE_LESS = "# decompose in every 10th step: SOAP(..., precondition_frequency=10); compare the losses"
_OWN = "# in its step(): tensors in place of .item(), float(tensor) and alpha=tensor"


def _how_to_update(facts: Facts, op: WaitingOp) -> str | None:
    """Returns what an optimizer does that reads fewer values: a script's reads are not in it."""
    if facts.job.optimizer == "LBFGS":
        return _HISTORY
    if facts.job.optimizer in _COUNTING:
        return _COUNTERS.format(optimizer=facts.job.optimizer)
    return _OWN if op.id == "item" else op.how


_FEW_BETWEEN = (
    "{op} and other calls that wait leave the GPU idle for {total} a step: between two of them the CPU launches too "
    "little to get ahead."
)
#: It agrees with the number of kinds of calls.
_LATE_AFTER = (
    "{op}( in {place}| and other calls that wait) (leaves|leave) the GPU idle for {total} a step: launches after "
    "(it|them) are late, too, until the CPU is ahead."
)


def hidden_sync_backward(facts: Facts) -> Insight | None:
    """Fires when blocking calls inside autograd nodes and hooks are worth a card.

    Similar pattern: a wait of the autograd thread for another stream or rank: only calls that block the host count.

    Needs: CPU and GPU activity, with the launch calls.

    Jobs: training with a GPU.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps. The part of these calls in what a replay without any wait
    gains beyond that is added, as for `sync_bubble`.

    Left out: idle time before the call, and waits for the loader.
    """
    return _hidden_sync(facts, "backward")


def hidden_sync_optimizer(facts: Facts) -> Insight | None:
    """Fires when blocking calls inside an optimizer step are worth a card.

    Similar pattern: a gradient scaler that searches for infinities once a step is one of these waits, and wanted; its
    gain is what it costs. LBFGS needs the values that it reads: its code asks for fewer. What decomposes matrices, as
    Shampoo does, is to do so in fewer steps: the gain is of all of them.

    Needs: CPU and GPU activity, with the launch calls, and the range `Optimizer.step`.

    Jobs: training with a GPU.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps. The part of these calls in what a replay without any wait
    gains beyond that is added, as for `sync_bubble`.

    Left out: idle time before the call, and waits for the loader.
    """
    return _hidden_sync(facts, "optimizer")


def _hidden_sync(facts: Facts, where: Literal["backward", "optimizer"]) -> Insight | None:
    rows = calls_of(facts, where)
    if not rows:
        return None
    more_ns = beyond_bubbles_ns(facts, rows)
    # the place is the line, module or op of the forward pass that the op belongs to
    why = _why(rows[0], bubble_ns(rows) + more_ns, "{op}, from {place}, leaves the GPU idle for {total} a step.")
    title = phrase("Remove the hidden wait from the " + ("backward pass" if where == "backward" else where))
    how = _how(facts, in_this_job(facts, waiting_op(rows[0]), rows[0]), rows)
    return calls_card(facts, rows, more_ns, id=f"hidden_sync_{where}", title=title, why=why, how=how)


_COMPARES = (
    "{op} and others run {kernels} kernels a step, {time}, only to compare algorithms, and wait for each. That leaves "
    "the GPU idle for {idle}."
)
_WAITS_FOR_EACH = "{op} waits for each algorithm that it tries, which leaves the GPU idle for {idle} a step."
_MAY_BE_SLOWER = medium(
    "Without the comparison the library takes the algorithm that it expects to be fastest, which may be a slower one. "
    "With it, each shape is searched once, so that a job of few shapes stops by itself."
)


def algorithm_search(facts: Facts) -> Insight | None:
    """Fires when what convolutions take to compare algorithms, which the library does for each new shape, is worth a
    card.

    Similar pattern: the first step, in which each convolution has a new shape: what comes once is left out. A job whose
    few shapes have not all occurred yet, which the trace does not tell: the card says so. Convolutions that order
    streams of their own by events: these do not wait.

    Needs: CPU and GPU activity, with the launch calls and the calls that wait for events.

    Jobs: those with a GPU and `torch.backends.cudnn.benchmark`, training and inference.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; and the time of the kernels that are compared, which are launched before the
    convolution's last wait; mean over the steps.

    Left out: what the algorithm that is chosen without a comparison takes longer.
    """
    rows = calls_of(facts, "search")
    if not rows:
        return None
    compared = facts.waste.compared
    compared_ns = round(compared.gain_ns) if compared else 0
    values = {
        "op": text(name_of(rows[0])),
        "kernels": count(round(compared.count)) if compared else count(0),
        "time": ns(compared_ns),
        "idle": ns(bubble_ns(rows)),
    }
    return waits_card(
        facts,
        rows,
        bubble_ns(rows) + compared_ns,
        id="algorithm_search",
        title=SEARCH.title,
        why=filled(_COMPARES if compared else _WAITS_FOR_EACH, values),
        how=SEARCH.how,
        formula="GPU idle time from the start of the call, or from when the GPU ran out of work, to the next work "
        "launched after the call, and the time of the kernels that a convolution launches before it; mean over the "
        "steps.",
        certainty=_MAY_BE_SLOWER,
    )


_READ = """if step % 100 == 0:  # on all ranks alike
    dist.all_reduce(loss)
    print(loss.item())"""
_BARRIER = "# remove dist.barrier() from the loop: exchanging gradients waits for all ranks anyway"


def synchronous_exchange(facts: Facts) -> Insight | None:
    """Fires when the script waits for a small collective that it launched just before, and what the GPU is idle after
    these waits is worth a card.

    Similar pattern: a blocking call after the backward pass, which waits for the last bucket of gradients: other
    threads send those, and they are large. A collective that had ended before the call began was not waited for.

    Needs: CPU and GPU activity, with the launch calls, and the bytes of collectives.

    Jobs: training in many ranks. At inference the ranks agree on what to compute next, which cannot come later: that is
    `sync_bubble`.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps. The part of these calls in what a replay without any wait
    gains beyond that is added, as for `sync_bubble`.

    Left out: the collective itself, whose exposed time is communication; idle time before the call.
    """
    rows = calls_of(facts, "exchanged")
    if not rows:
        return None
    barrier = rows[0].collective == "barrier"
    title = phrase("Remove barriers from the loop") if barrier else phrase("Read less often what ranks exchange")
    more_ns = beyond_bubbles_ns(facts, rows)
    why = _why(rows[0], bubble_ns(rows) + more_ns, _WAITS_LATE if more_ns else _WAITS_THEN)
    how = _BARRIER if barrier else _READ
    return calls_card(facts, rows, more_ns, id="synchronous_exchange", title=title, why=why, how=how)


_WAITS_THEN = (
    "{op} in {place} waits for {kind} of all ranks, then the GPU is idle for {most} a step; all such calls: {total}."
)
_WAITS_LATE = (
    "{op} in {place} waits for {kind} of all ranks. That leaves the GPU idle for {total} a step: launches after it are "
    "late, too."
)
_ARTICLES = {"all-reduce": "an all-reduce", "all-gather": "an all-gather", "all-to-all": "an all-to-all",
             "send and receive": "a send or receive"}  # fmt: skip


def _why(row: BlockingRow, total_ns: int, template: str) -> Phrase:
    """Returns the reason, without the place where that is not known, and without all such calls where there is one."""
    kind, place = row.collective or "", place_of(row)
    if place is None:
        template = template.replace(" in {place}", "").replace(", from {place},", "")
    if row.bubble_ns >= total_ns:
        template = template.partition("; all such calls")[0].removesuffix(".") + "."
    values = {
        "op": text(name_of(row)),
        "place": text(place or ""),
        "kind": text(_ARTICLES.get(kind, f"a {kind}")),
        "most": ns(row.bubble_ns),
        "total": ns(total_ns),
    }
    return filled(template, values)


_UNSET = "unset PYTORCH_NO_CUDA_MEMORY_CACHING"

#: Minimum share of the steps that wait for the allocator. Waits in this many steps are not part of the warm-up.
STEADY_FRACTION = 0.5

_KEEP_CACHE = "# no torch.cuda.empty_cache() in the loop; batches of one shape"
_EXPANDABLE = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n# and no torch.cuda.empty_cache() in the loop"

_NOT_FOUND = "{call} leaves the GPU idle for {idle} a step: tensor shapes change, or the cache was emptied."
_NOT_KEPT = "{call} leaves the GPU idle for {idle} a step: nothing is kept for the next allocation."
#: Calls that allocate memory of the host, which torch keeps for the next batch of that size.
_PINS = expression(r"(?i)\w*Host|\w*MallocHost")
_PINNED_ANEW = "{call} leaves the GPU idle for {idle} a step: every step pins memory of the host again."
_REUSE = """DataLoader(..., pin_memory=True)  # pins batches on a thread of its own
# or pin once, and reuse it: buffer = torch.empty(shape, pin_memory=True); buffer.copy_(batch)"""
_SHORT = (
    "Memory runs short: an allocation failed {times} times, and each time PyTorch emptied its cache and filled it "
    "again. That leaves the GPU idle for {idle} a step."
)


def allocator_steady(facts: Facts) -> Insight | None:
    """Fires when most steps wait for GPU memory, and that is worth a card.

    Similar pattern: memory runs short, so that each step gives back and asks again: the card says so. Pinned memory of
    the host is allocated, which no setting of the GPU's allocator changes: the card says so. The caching allocator is
    off, which one step shows: the card says what to unset. Warm-up: allocations in less than half of the steps, or in
    one step, are no card.

    Needs: the allocator's driver calls (`cudaMalloc`, `hipMalloc`, `cuMem…`).

    Jobs: those with a GPU, training and inference.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps.

    Left out: the time of calls during which the GPU works.
    """
    rows = calls_of(facts, "allocator")
    caching_off, short = facts.has_finding("caching_off"), facts.finding("memory_short")
    # a single step that waits does not show it, as it may be a warm-up
    waiting = sum(step.idle_ns.allocator > 0 for step in facts.host.steps)
    steady = waiting > 1 and waiting >= STEADY_FRACTION * len(facts.host.steps)
    if not rows or not (caching_off or steady):
        return None
    values = {"call": text(rows[0].call), "idle": ns(bubble_ns(rows))}
    title = "Stop allocating GPU memory in every step"
    why = _NOT_FOUND
    how = how_to_keep_memory(facts)
    if caching_off:
        title, why, how = "Turn the caching allocator on again", _NOT_KEPT, _UNSET
    elif _PINS.match(rows[0].call):
        title, why, how = "Pin memory outside the loop", _PINNED_ANEW, _REUSE
    elif short is not None:
        why, values["times"] = _SHORT, count(short.count)
    return calls_card(facts, rows, id="allocator_steady", title=phrase(title), why=filled(why, values), how=how)


def how_to_keep_memory(facts: Facts) -> str | None:
    """Returns the setting with which the allocator finds its memory cached; None where the host's memory is pinned."""
    if any(_PINS.match(row.call) for row in calls_of(facts, "allocator")[:1]):
        return None
    return _KEEP_CACHE if facts.job.vendor == "amd" else _EXPANDABLE  # which most releases for ROCm lack
