"""Autograd looks for NaN in each gradient."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import host_card
from tb_steptime.text import agreeing, count, ns, phrase

_FORMULA = phrase(
    "Time of the checks, and of keeping the stacks of forward ops where call stacks are recorded, mean over the steps; "
    "with a GPU at most its idle time. Without call stacks the step gains more."
)
_CERTAIN = phrase("The engine calls these checks in no other mode.")


def anomaly_detection(facts: Facts) -> Insight | None:
    """Fires when autograd's engine checks the gradients of its nodes for NaN, and that takes a share of the step that
    is worth a card.

    Similar pattern: hooks of the user's that look for NaN: they call other ops. Nodes that accumulate gradients return
    none, and are not checked.

    Needs: the CPU ops of the backward pass.

    Jobs: training, on a GPU or not.

    Gain: time of the checks and of keeping stacks, mean over the steps; where the recorder timed steps without the
    profiler, the same share of such a step. With a GPU at most its idle time, as each check waits for the GPU.

    Left out: keeping the stacks of forward ops, where call stacks are not recorded.
    """
    found = facts.host.anomaly
    if found is None:
        return None
    gain_ns = round((found.ns if facts.idle is None else min(found.ns, facts.idle.total_ns)) / facts.slowed)
    words = (
        "Autograd checks (one gradient|{checks} gradients) of a step for NaN, in {time}, and keeps the stack of "
        "each op."
    )
    return host_card(
        facts,
        id="anomaly_detection",
        title=phrase("Turn off autograd's anomaly detection"),
        why=phrase(agreeing(words, found.checks), checks=count(found.checks), time=ns(found.ns)),
        gain_ns=gain_ns,
        formula=_FORMULA,
        best=Confidence.HIGH,
        why_confidence=_CERTAIN,
        how="torch.autograd.set_detect_anomaly(False)  # Lightning: Trainer(detect_anomaly=False)",
    )
