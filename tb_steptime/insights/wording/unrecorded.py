"""What launched work waits for while the process runs nothing that is recorded on the GPU."""

from __future__ import annotations

from tb_steptime.insights.facts import Facts
from tb_steptime.text import Phrase, ns, phrase, text

_FOR = "For {unrecorded} of a step of {step}, "
_IN_GRAPHS = _FOR + "the {gpu} must be busy with graphs, whose kernels this trace does not show."
_BY_OTHERS = _FOR + "launched work waits while nothing is recorded on the {gpu}: usually another process uses it."
_BY_ANYTHING = _FOR + "the {gpu} must be busy with work that this trace does not show: record again, after a warm-up."


def hidden_in_graphs(facts: Facts) -> bool:
    """Whether graphs are launched, and none of their kernels is recorded."""
    return facts.job.execution == "graphs" and facts.job.graph_share is None


def by_others(facts: Facts) -> bool:
    """Whether graphs cannot be what the work waits for: the job launches none."""
    launches = facts.host.launches
    return launches is not None and not launches.graphs and facts.job.execution != "graphs"


def unrecorded_sentence(facts: Facts, before: str = "") -> Phrase:
    """before: words in front of the sentence."""
    words = _IN_GRAPHS if hidden_in_graphs(facts) else _BY_OTHERS if by_others(facts) else _BY_ANYTHING
    gpu, waits, step = text(facts.job.accelerator), ns(facts.unrecorded_ns), ns(facts.step_ns)
    return phrase(before + words, gpu=gpu, unrecorded=waits, step=step)
