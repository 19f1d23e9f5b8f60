"""Work of the GPU that the trace does not show. The card says what to record, and has no gain."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.insights.wording.host import by_others, hidden_in_graphs
from tb_steptime.insights.wording.vendors import device_activity
from tb_steptime.text import ns, phrase

_HOW = """profile(
    activities=[ProfilerActivity.CPU, {activity}],
    schedule=schedule(wait=1, warmup=2, active=3),
)
# nvidia-smi (AMD: rocm-smi) lists other processes on the GPU"""


_WHY = "For {unrecorded} a step launched work waits, yet nothing else is recorded on the GPU: "
_BEHIND_ANYTHING = _WHY + "graphs without their kernels, earlier work, or another process."
_BEHIND_GRAPHS = _WHY + "it waits for graphs, whose kernels this trace does not show."
_BEHIND_OTHERS = _WHY + "another process, whose turn it is, or work from before the recording."
_HOW_OF_OTHERS = "nvidia-smi  # AMD: rocm-smi; lists the processes on the GPU"
_HOW_OF_GRAPHS = "# record one run without graphs: then each kernel is in the trace"


def unrecorded_work(facts: Facts) -> Insight | None:
    """Fires when for a twentieth of the step the GPU must be busy with work that the trace does not show, or its next
    work waits for something although the process has no other GPU.

    Similar pattern: a slow launch, or a copy that stages its bytes: the time that these take on an idle GPU is left
    out, several times over. Waits for another GPU of the process, and before collectives, do not count.

    Needs: launch calls, blocking calls and GPU activity.

    Jobs: those with a GPU.

    Gain: none; the other figures become certain.

    Left out: everything: what the GPU does meanwhile is not known.
    """
    if facts.share(facts.unrecorded_ns) < WARNING_FRACTION:
        return None
    how, instead = _HOW.format(activity=device_activity(facts.job.accelerator)), "better data"
    title, why = "Record the GPU's work after a warm-up", _BEHIND_ANYTHING
    if hidden_in_graphs(facts):
        title, why, how = "Record the kernels of graphs", _BEHIND_GRAPHS, _HOW_OF_GRAPHS
    elif by_others(facts):
        title, why, how = "Check for other processes on the GPU", _BEHIND_OTHERS, _HOW_OF_OTHERS
        instead = "a free GPU"
    return Insight(
        id="unrecorded_work",
        title=phrase(title),
        why=phrase(why, unrecorded=ns(facts.unrecorded_ns)),
        how=how,
        gain_formula=phrase("No gain: the other figures become certain."),
        confidence=Confidence.MEDIUM,
        why_confidence=phrase("Launches, synchronizes and copies take far longer than an idle GPU lets them take."),
        view="host",
        colour="kernel",
        about_ns=facts.unrecorded_ns if by_others(facts) else 0,  # another process may take this time away
        instead=phrase(instead),
    )
