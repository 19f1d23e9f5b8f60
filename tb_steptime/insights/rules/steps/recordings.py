"""Recordings that lack what a verdict needs, or consist of what comes once: launch calls, work of the GPU, later steps.
The cards say what to record, and have no gain."""

from __future__ import annotations

from collections.abc import Sequence

from tb_steptime.insights.base import Certainty, Evidence, Insight, high, medium
from tb_steptime.insights.cards import card
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.insights.severity import MAJOR_FRACTION, WARNING_FRACTION
from tb_steptime.insights.wording.host import by_host_functions, by_others, hidden_in_graphs
from tb_steptime.insights.wording.terms import device_activity
from tb_steptime.metrics.excluded_time.ranges import OneTimeCause, OneTimeCost
from tb_steptime.text import Phrase, filled, ns, phrase, text

_CERTAIN = phrase("No gain: the other figures become certain.")


def trace_quality(facts: Facts) -> Insight | None:
    """Fires when a twentieth of the step is idle time before work whose launch is not recorded.

    Similar pattern: captured graphs, whose kernels have no launch call each: where the graph's own call is recorded,
    all of them belong to it.

    Needs: GPU activity.

    Jobs: those with a GPU.

    Gain: none; the other figures become certain.

    Left out: everything: the other figures become certain.
    """
    idle = facts.idle
    if idle is None or facts.has_finding("launches_untied") or facts.share(idle.unknown) < WARNING_FRACTION:
        return None
    title, device = "Record the launches too", device_activity(facts.job.accelerator)
    how = f"activities=[ProfilerActivity.CPU, {device}]"
    if facts.host.launches is not None and facts.host.launches.calls > 0:  # the others are earlier, or those of graphs
        title, how = "Record the launches after a warm-up", "schedule=schedule(wait=1, warmup=2, active=3)"
    return card(
        facts,
        id="trace_quality",
        title=phrase(title),
        why=phrase(
            "For {unknown} a step the GPU is idle before work whose launch call the trace does not have.",
            unknown=ns(idle.unknown),
        ),
        formula=_CERTAIN,
        certainty=high("It is a count of the work without a launch call."),
        counted=True,
        part=None,
        colour="other",
        how=f"profile({how})",
        instead=phrase("better data"),
    )


_HOW = """profile(
    activities=[ProfilerActivity.CPU, {activity}],
    schedule=schedule(wait=1, warmup=2, active=3),
)
# nvidia-smi (AMD: rocm-smi) lists other processes on the GPU"""


_WHY = "For {unrecorded} a step launched work waits, yet nothing else is recorded on the GPU: "
_BEHIND_ANYTHING = (
    _WHY + "graphs without their kernels, functions of the CPU in graphs, earlier work, or another process."
)
_BEHIND_GRAPHS = _WHY + "it waits for graphs, whose kernels this trace does not show."
_BEHIND_OTHERS = _WHY + "another process, whose turn it is, or work from before the recording."
_BEHIND_FUNCTIONS = "For {unrecorded} a step work on the GPU waits for functions of the CPU that are in its stream."
_BEHIND_NODES = (
    "For {unrecorded} a step graphs wait for what this trace does not show, always in the same places: for functions "
    "of the CPU in them, for example."
)
_HOW_OF_FUNCTIONS = "py-spy record --native --pid PID -o calls.svg  # shows what the threads of the CPU compute"
_HOW_OF_OTHERS = "nvidia-smi  # AMD: rocm-smi; lists the processes on the GPU"
_HOW_OF_GRAPHS = "# record one run without graphs: then each kernel is in the trace"


def unrecorded_work(facts: Facts) -> Insight | None:
    """Fires when for a twentieth of the step the GPU must be busy with work that the trace does not show, or its next
    work waits for something for longer than another GPU of the process works.

    Similar pattern: a slow launch, or a copy that stages its bytes: the time that these take on an idle GPU is left
    out, several times over. Functions of the CPU that the script puts into the stream: the card is about these, and so
    it is where each launch of a graph waits in the same places. Waits for another GPU of the process, and before
    collectives, do not count. Launches whose own work was dropped: the note on the recording says so.

    Needs: launch calls, blocking calls and GPU activity.

    Jobs: those with a GPU.

    Gain: none; the other figures become certain.

    Left out: everything: what the GPU does meanwhile is not known.
    """
    if facts.share(facts.unrecorded_ns) < WARNING_FRACTION or facts.has_finding("launches_lost"):
        return None
    how = _HOW.format(activity=device_activity(facts.job.accelerator))
    instead = "better data"
    title, why = "Record the GPU's work after a warm-up", _BEHIND_ANYTHING
    if by_host_functions(facts):
        title, why, how = "Shorten what the CPU computes for the GPU", _BEHIND_FUNCTIONS, _HOW_OF_FUNCTIONS
        why = why if by_others(facts) else _BEHIND_NODES
        instead = "gain not computed"
    elif hidden_in_graphs(facts):
        title, why, how = "Record the kernels of graphs", _BEHIND_GRAPHS, _HOW_OF_GRAPHS
    elif by_others(facts):
        title, why, how = "Check for other processes on the GPU", _BEHIND_OTHERS, _HOW_OF_OTHERS
        instead = "a free GPU"
    return card(
        facts,
        id="unrecorded_work",
        title=phrase(title),
        why=phrase(why, unrecorded=ns(facts.unrecorded_ns)),
        formula=_CERTAIN,
        certainty=medium("Launches, synchronizes and copies take far longer than an idle GPU lets them take."),
        counted=True,
        part=None,
        colour="kernel",
        how=how,
        about_ns=facts.unrecorded_ns if by_others(facts) else 0,  # another process may take this time away
        instead=phrase(instead),
    )


#: What takes most of the one-time work, by its cause.
_LONGEST: dict[OneTimeCause, str] = {
    "compilation": "torch.compile takes {longest}",
    "graph_capture": "a graph is captured in {longest}",
    "first_call": "{longest} in the first {name}",
    "set_up": "{longest} in the first {name}",
    "loading": "kernels are loaded at their first launch, which takes up to {longest}",
    "first_backward": "{longest} in the first {name}",
    "between_ops": "{longest} in Python code between ops",
    "allocation": "{longest} in {name}",
}
#: Instead, where a data loader is set up meanwhile.
_STARTS_WORKERS, _SETS_UP_LOADER = (
    "a data loader starts its workers in {longest}",
    "a data loader is set up in {longest}",
)
#: Minimum share of that Python code.
_OF_LOADER_FRACTION = 0.5


def one_time(facts: Facts) -> Insight | None:
    """Fires when a large part of the recorded steps is what comes once: compiling, loading, setting up.

    Similar pattern: a long call in each step, which is no first one; a call that waits for the GPU, or for batches,
    which is never counted here.

    Needs: the calls of the runtime, or ops; compilation also marks itself.

    Jobs: all, on a GPU or not, whose recording begins with the job, or with new code.

    Gain: none; later steps are without this already.

    Left out: everything: the verdict and all gains are without this time.
    """
    costs = facts.host.one_time
    if not _is_partly_once(facts):
        return None
    values = {"once": ns(facts.once_ns), "longest": ns(costs[0].named_ns), "name": text(brief(costs[0].where))}
    return _warm_up_card(
        facts,
        id="one_time",
        why=filled(f"{{once}} of the recorded steps is one-time work: {_longest(facts, costs[0])}.", values),
        certainty=high("It is measured, and left out of the verdict and of all gains."),
        colour="runtime",
        evidence=[Evidence(each.worst_step, each.worst_start_ns, each.worst_end_ns) for each in costs][:EVIDENCE],
    )


def _longest(facts: Facts, cost: OneTimeCost) -> str:
    """Returns what takes most of the one-time work. While a loader starts its workers, no op is recorded."""
    causes = facts.data_loading.causes if facts.has("data_loading") else None
    if cost.cause == "between_ops" and causes and causes.starts:
        setup_ns = causes.starts.setup_ns * len(facts.data_loading.steps)
        if setup_ns >= _OF_LOADER_FRACTION * cost.named_ns:
            return _STARTS_WORKERS if facts.data_loading.multiprocess else _SETS_UP_LOADER
    return _LONGEST[cost.cause]


def _warm_up_card(
    facts: Facts,
    id: str,
    why: Phrase,
    certainty: Certainty,
    colour: str,
    about_ns: int = 0,
    evidence: Sequence[Evidence] = (),
) -> Insight:
    """Returns a card that asks to record later steps, which are without what its words are about."""
    return card(
        facts,
        id=id,
        why=why,
        certainty=certainty,
        colour=colour,
        about_ns=about_ns,
        evidence=list(evidence),
        title=phrase("Begin recording after a warm-up"),
        formula="No gain: later steps are without this already.",
        counted=True,
        part=None,
        how="schedule(wait=1, warmup=3, active=3)  # and prof.step() after each batch",
        instead=phrase("better data"),
    )


def _is_partly_once(facts: Facts) -> bool:
    return bool(facts.host.one_time) and facts.once_ns >= MAJOR_FRACTION * facts.all_steps_ns


#: Evidence of a GPU, by what is recorded of it.
_SHOW_SET_UP = ("device_activities", "runtime_calls")


def first_pass(facts: Facts) -> Insight | None:
    """Fires when the only recorded step begins with the first pass of its process, and nothing but ops is recorded.
    Measured on a CPU without a profiler, such a pass took 1.3 times as long as later ones in a transformer that was
    trained, 2 times in convolutions and 3 times in two linear layers. On a GPU it also creates the context and loads
    libraries: for 10 of the 11 s of one recording.

    Similar pattern: a process that has run passes without gradients, which leave no number; the confidence says so.
    Several steps, of which each is compared with the others. A GPU whose calls are recorded: these show what is set
    up. One-time work that is found and is a large part of the recording has a card of its own.

    Needs: CPU activity of ops with gradients, which have the number of the next node of autograd.

    Jobs: training, and inference with gradients, on the CPU or on a GPU that is not recorded.

    Gain: none; later steps are without this already.

    Left out: how much of the step is set-up: nothing shows it inside an op.
    """
    work = facts.host.cpu
    if work is None or not work.first_pass or any(each.code in _SHOW_SET_UP for each in facts.job.evidence):
        return None
    if len(facts.overview.steps) > 1 or _is_partly_once(facts):
        return None
    return _warm_up_card(
        facts,
        id="first_pass",
        why=phrase(
            "The only step, of {step}, begins with the first pass of its process. Its ops also set up what they need, "
            "and nothing shows how long that takes.",
            step=ns(facts.step_ns),
        ),
        certainty=medium("Passes without gradients may have run before."),
        colour="cpu",
        about_ns=work.busy_ns,
    )
