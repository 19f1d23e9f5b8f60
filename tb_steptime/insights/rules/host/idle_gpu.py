"""A GPU that the recording lists while the job computes on the CPU."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.cards import card
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.cpu_ops import LEADING_OPS_FRACTION
from tb_steptime.metrics.host.cpu_ops import CpuGroupId
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import code, ns, phrase, text

#: Kinds of ops that a GPU computes many times faster. Of other ops memory bandwidth decides.
_PRODUCTS: tuple[CpuGroupId, ...] = ("convolution", "recurrent", "matmul", "attention")
#: Mean time of such an op from which on a GPU is worth it: a hundred times what it takes to launch one there. The ops
#: of a small policy that acts in a simulated world take less.
_LONG_NS = 1_000_000


def idle_gpu(facts: Facts) -> Insight | None:
    """Fires when a job computes long products on the CPU although the recording lists a GPU.

    Similar pattern: a job on the GPU of which only the CPU was recorded: its allocations are the GPU's. Preparing data,
    which computes no products. A small model, whose ops are too short for a GPU.

    Needs: the CPU ops, the device properties that torch writes, and allocations (`profile_memory=True`), all of them on
    the CPU.

    Jobs: those that compute on the CPU on a machine with a GPU.

    Gain: not computed: how fast the ops are on the GPU is not recorded.

    Left out: everything; whether another job uses the GPU is not recorded either.
    """
    work = facts.host.cpu if facts.host.bound is Bound.CPU else None
    if facts.job.idle_gpu is None or work is None:
        return None
    products = [group for group in work.groups if group.id in _PRODUCTS]
    products_ns, calls = sum(group.usual_ns for group in products), sum(group.calls for group in products)
    if facts.share(products_ns) < LEADING_OPS_FRACTION or products_ns < _LONG_NS * calls:
        return None
    return card(
        facts,
        "idle_gpu",
        title=phrase("Run the model on the GPU"),
        why=phrase(
            "The recording lists {gpu}, and all allocations are on the CPU, where products, mostly {op}, take {time} a "
            "step.",
            gpu=text(facts.job.idle_gpu),
            op=code(max(products, key=lambda group: group.op_ns).op),
            time=ns(products_ns),
        ),
        formula=phrase("Not computed: how fast the ops are on the GPU is not recorded."),
        why_confidence=phrase("Whether another job uses the GPU is not recorded."),
        how='model.to("cuda")  # and its inputs; in smaller batches where the GPU\'s memory does not hold one',
        about_ns=products_ns,
    )
