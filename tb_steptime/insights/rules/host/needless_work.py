"""Work that nobody needs: autograd looks for NaN in each gradient, creates nodes that no backward pass runs, or goes
through the graphs of all steps before; an inference drops activations by chance; and generation computes all earlier
tokens again for each new one."""

from __future__ import annotations

from tb_steptime.insights.base import Evidence, Insight, high, low, medium
from tb_steptime.insights.cards import Words, card
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import host_card
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.metrics.steps.without_cache import WithoutCache
from tb_steptime.text import Phrase, agreeing, code, count, filled, fraction, ns, phrase, text


def anomaly_detection(facts: Facts) -> Insight | None:
    """Fires when autograd's engine checks the gradients of its nodes for NaN, and that takes a share of the step that
    is worth a card.

    Similar pattern: hooks of the user's that search for NaN: they call other ops. Nodes that accumulate gradients
    return none, and are not checked.

    Needs: the CPU ops of the backward pass.

    Jobs: training, on a GPU or not.

    Gain: time of the checks and of keeping stacks, mean over the steps; where the recorder timed steps without the
    profiler, the same share of such a step. With a GPU at most its idle time, as each check waits for the GPU.

    Left out: keeping the stacks of forward ops, where call stacks are not recorded.
    """
    anomaly = facts.host.anomaly
    if anomaly is None:
        return None
    gain_ns = round((anomaly.ns if facts.idle is None else min(anomaly.ns, facts.idle.total_ns)) / facts.slowed)
    template = (
        "Autograd checks (one gradient|{checks} gradients) of a step for NaN, in {time}, and keeps the stack of "
        "each op."
    )
    return host_card(
        facts,
        id="anomaly_detection",
        title=phrase("Turn off autograd's anomaly detection"),
        why=phrase(agreeing(template, anomaly.checks), checks=count(anomaly.checks), time=ns(anomaly.ns)),
        gain_ns=gain_ns,
        formula="Time of the checks, and of keeping the stacks of forward ops where call stacks are recorded, mean "
        "over the steps; with a GPU at most its idle time. Without call stacks the step gains more.",
        certainty=high("The engine calls these checks in no other mode."),
        how="torch.autograd.set_detect_anomaly(False)  # Lightning: Trainer(detect_anomaly=False)",
    )


_HOW = (
    "with torch.no_grad():            # a teacher, an evaluation, a rollout\n"
    "    targets = teacher(inputs)\n"
    "# or leave out what no loss uses"
)
_HOW_TO_INFER = (
    "model.eval()                     # no dropout, fixed batch norm\n"
    "with torch.inference_mode():     # or torch.no_grad()\n"
    "    outputs = model(inputs)"
)
_COUNTED = phrase(
    "Nodes are counted as they are created and run. A trace does not tell apart an output that no loss uses."
)

_MAY_FOLLOW = phrase("Nodes are counted as they are created. A backward pass may lie outside of the recording.")


def unused_graph(facts: Facts) -> Insight | None:
    """Fires when a tenth of the nodes that autograd creates, with two layers or more among them, run in no backward
    pass of the recording, in two steps or more, which are not only the last two; and when an inference creates nodes
    for ten calls of layers or more.

    Similar pattern: frozen layers, and what runs under `no_grad`, create no nodes. A graph that is used in a later
    step: its nodes run there. What a checkpoint computes again, and what the end of the recording cuts off, does not
    count. A metric of the outputs has few nodes, and no layers. A head of the model that no loss uses: the same waste,
    and the card names this remedy as well. A forward pass that was recorded without its backward pass: the card says
    that none is recorded.

    Needs: the CPU ops with their sequence numbers; of a training three steps.

    Jobs: training and inference, eager, on a GPU or not.

    Gain: none is computed: creating nodes takes a small part of an op's time. It gives memory.

    Left out: the memory that is kept, which is not known without its record.
    """
    unused = facts.host.unused_graph
    if unused is None:
        return None
    infers = facts.infers
    template = (
        "Autograd creates {all} nodes a step, of {name} and others, and no backward pass is recorded."
        if infers
        else "Autograd creates {all} nodes in each of {steps} steps, and never runs {unused} of them: of {name} and "
        "others."
    )
    values = {"all": count(unused.all), "steps": count(len(unused.steps)), "unused": count(unused.unused)}
    starts = [step.name for step in facts.host.steps if step.start_ns <= unused.start_ns]
    return card(
        facts,
        id="unused_graph",
        title=phrase("Use `no_grad` where no backward pass follows"),
        why=filled(template, values | {"name": code(brief(unused.name))}),
        formula="No gain is computed: the ops stay, without their nodes and what these keep for a backward pass.",
        certainty=medium(_MAY_FOLLOW if infers else _COUNTED),
        part=None,
        how=_HOW_TO_INFER if infers else _HOW,
        steps=unused.steps,
        evidence=[Evidence(starts[-1], unused.start_ns, unused.end_ns)] if starts else [],
        about_ns=0 if infers else unused.ns,  # all ops of an inference create nodes: that says nothing of their cost
        instead=phrase("less memory"),
    )


#: Ops of dropout, and those by which it draws what to drop: on the CPU and Metal, on a GPU, and on one before 1.11.
_DROPOUT = ("aten::dropout", "aten::feature_dropout")
_DRAWS = ("aten::bernoulli_", "aten::native_dropout", "aten::_fused_dropout")
#: Minimum number of draws for each call of dropout. After `model.eval()` a call draws nothing.
DRAWS_EACH = 0.5
_DROPOUT_TIME = phrase("Time of all calls of dropout on the CPU, mean over the steps.")
_DROPOUT_ON_DEVICE = phrase("No gain is computed: what its kernels hide, or wait for, differs by job.")
_WITHOUT_GRAPH = phrase("The calls are counted, and autograd creates no nodes for a backward pass.")
_WITH_GRAPH = phrase("Autograd creates nodes: a backward pass, which wants dropout, may lie outside of the recording.")


def active_dropout(facts: Facts) -> Insight | None:
    """Fires when an inference runs dropout, for which it draws random numbers.

    Similar pattern: dropout after `model.eval()`: the op runs, and draws nothing. Random numbers that a job draws
    itself, as for sampling: by far fewer calls than those of dropout. Monte Carlo dropout, which wants to draw them. A
    training of which only forward passes are recorded: where autograd creates nodes, the confidence is low.

    Needs: the CPU ops.

    Jobs: inference, eager, on a GPU or not.

    Gain: on the CPU the time of dropout, mean over the steps; where the recorder timed steps without the profiler, the
    same share of such a step. None on a GPU.

    Left out: dropout of attention in one op; batch norm, which takes its statistics from the batch.
    """
    by_name = facts.operators.tables[0].rows if facts.operators and facts.operators.tables else []
    dropout = [row for row in by_name if row.name in _DROPOUT]
    calls, draws = sum(row.calls for row in dropout), sum(row.calls for row in by_name if row.name in _DRAWS)
    if not facts.infers or not calls or draws < DRAWS_EACH * calls:
        return None
    steps = max(1, len(facts.overview.steps))
    spent_ns = sum(row.host_total_ns for row in dropout) // steps
    on_cpu = facts.job.device == "cpu"
    template = "Dropout is on: it drops other activations in each pass, so outputs differ by chance."
    template += " Its {calls} calls take {time} a step ({share})." if on_cpu else ""
    values = {"calls": count(round(calls / steps)), "time": ns(spent_ns), "share": fraction(facts.share(spent_ns))}
    return card(
        facts,
        id="active_dropout",
        title=phrase("Put the model into evaluation mode"),
        why=filled(template, values if on_cpu else {}),
        formula=_DROPOUT_TIME if on_cpu else _DROPOUT_ON_DEVICE,
        certainty=medium(_WITHOUT_GRAPH) if facts.host.unused_graph is None else low(_WITH_GRAPH),
        gain_ns=round(spent_ns / facts.slowed) if on_cpu else 0,
        how="model.eval()  # before an inference: no dropout, and batch norm with its running statistics",
        instead=phrase("the same outputs each time"),
    )


_DETACH = (
    "state = state.detach()    # a hidden state, before the next step\n"
    "total += loss.item()      # not loss, which keeps its graph"
)


def growing_graph(facts: Facts) -> Insight | None:
    """Fires when each step's backward pass has more nodes than that of the step before, by about the same number, while
    the other ops of the steps are the same.

    Similar pattern: inputs that get longer from step to step, such as sequences: the forward pass then grows, too, and
    there is no card. A loss that is kept without a backward pass through it: memory grows, and the nodes do not.

    Needs: five steps, and the CPU ops of the backward pass.

    Jobs: training, on a GPU or not.

    Gain: the mean step less the first one of the recording.

    Left out: what the graph had grown by before the recording, and grows by after it.
    """
    growing = facts.host.growing
    if growing is None:
        return None
    template = (
        "The backward pass grows by {more} nodes a step ({first} in step {begin}, {last} in step {end}), while the "
        "forward pass stays the same: it includes earlier steps."
    )
    ends = facts.host.steps[-1:]
    return host_card(
        facts,
        id="growing_graph",
        title=phrase("Detach what a step keeps of the one before"),
        why=phrase(
            template,
            more=count(growing.more),
            first=count(growing.first),
            begin=text(growing.first_step),
            last=count(growing.last),
            end=text(growing.last_step),
        ),
        gain_ns=growing.excess_ns,
        formula="The mean step less the first one of the recording. The graph grows on until the job ends, so a job "
        "gains more.",
        certainty=high("The nodes of each backward pass are counted; all else that a step does is the same each time."),
        evidence=[Evidence(step.name, step.start_ns, step.end_ns) for step in ends],
        steps=[step.name for step in ends],
        how=_DETACH,
        of="excess",
    )


_HOW_TO_CACHE = (
    "model.generate(..., use_cache=True)    # Transformers\n"
    "# else keep the keys and values of each layer, and pass only the new tokens"
)
_TITLE = phrase("Cache keys and values: earlier tokens are computed again")
_BY_SLOPE = phrase(
    "Time that each further token adds to a repetition, times the number of earlier tokens, mean over the steps (est.)."
)
_BY_WORK = phrase(
    "Time of matrix products and attention, times the share of the earlier tokens, mean over the steps (est.): "
    "products are assumed to take time in proportion to their rows."
)
_NO_TIME = phrase(
    "No gain is computed: whether fewer tokens take less time on a device does not follow from this trace."
)
_CAUSAL = phrase("All attention is causal, so earlier tokens give the same keys and values again.")
_MASKED = phrase("No op says that its attention is causal; a model whose tokens depend on later ones has no cache.")


def without_cache(facts: Facts) -> Insight | None:
    """Fires when tokens that have just been computed are put behind the others, and all of them are embedded again,
    five times in a row and by the same number.

    Similar pattern: a cache of keys and values: the tokens grow likewise, but only the new ones are embedded. Training
    on longer and longer texts, and inference over texts sorted by length: nothing is put behind what was embedded.

    Needs: shapes, also of lists of tensors (PyTorch 2.1 or later), and the CPU ops.

    Jobs: inference, on a GPU or not.

    Gain: what the earlier tokens take, by how much longer repetitions take with more tokens, or on the CPU by the work
    of products; none where neither is known. Where the recorder timed steps without the profiler, the same share of
    such a step.

    Left out: reading the cache. Models without an embedding. Texts cut to the model's length no longer grow, and their
    repetitions are not found.
    """
    repeated = facts.host.without_cache
    if repeated is None:
        return None
    certainty = medium(_CAUSAL) if repeated.is_causal else low(_MASKED)
    words: Words = {"id": "without_cache", "title": _TITLE, "why": _why(repeated), "how": _HOW_TO_CACHE}
    if not repeated.ns:
        return card(facts, formula=_NO_TIME, certainty=certainty, part=None, **words)
    gain_ns = round(min(repeated.ns, facts.step_ns) / facts.slowed)
    return host_card(facts, gain_ns, _BY_SLOPE if repeated.by_slope else _BY_WORK, certainty, **words)


def _why(repeated: WithoutCache) -> Phrase:
    template = "{repetitions} repetitions compute {first} to {last} tokens of each text, of which {added} (is|are) new."
    return phrase(
        agreeing(template, repeated.added),
        repetitions=count(repeated.repetitions),
        first=count(repeated.first),
        last=count(repeated.last),
        added=count(repeated.added),
    )
