"""Ops that make the host wait for the GPU, and what to do instead: a table, first match wins.

Each line: what marks it, among the names around the call; the deed; what to type or do, as the end of a sentence.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.text import Phrase, code, phrase


class Maker(NamedTuple):
    """inner names the op that waits, or an op or range around it. Sizes of results and values are what ops wait for."""

    id: str
    names: re.Pattern[str]
    deed: Phrase
    remedy: Phrase


def _maker(id: str, names: str, deed: str, remedy: Phrase) -> Maker:
    return Maker(id, re.compile(names), phrase(deed), remedy)


#: From the particular to the general: an op of the first lines calls those of the last ones.
MAKERS = (
    _maker("grad_scaler", r"(?i)grad_?scaler|scaler[.(]|_amp_update_scale", "Scale gradients without a wait",
           phrase("{bf16} needs no scaler, {fused} no wait", bf16=code("bfloat16"), fused=code("fused=True"))),
    _maker("clip_grad", r"clip_grad", "Clip gradients without a wait",
           phrase("keep {flag}", flag=code("error_if_nonfinite=False"))),
    # the transpose of a coalesced matrix is not coalesced: the backward pass does it anew, whatever the input is
    _maker("product_gradient", r"Sparse(Add)?[Mm]mBackward", "Coalesce the transpose before the loop",
           phrase("coalesce the transpose once, in a {function}", function=code("torch.autograd.Function"))),
    _maker("product", r"sparse_(add)?mm|Sparse(Add)?[Mm]m", "Coalesce sparse inputs before the loop",
           phrase("{coalesce} before the loop, or dense inputs", coalesce=code("coalesce()"))),
    _maker("coalesce", r"coalesce|[Ss]parse", "Let gradients be dense",
           phrase("{dense} makes the gradient dense", dense=code("sparse=False"))),
    _maker("unique", r"aten::_?unique", "Find unique values before the step", phrase("let the loader find them")),
    _maker("repeat_interleave", r"aten::repeat_interleave", "Tell repeat_interleave its size",
           phrase("pass {size}", size=code("output_size="))),
    _maker("multinomial", r"aten::multinomial", "Draw samples without a wait",
           phrase("{draw} with exponential noise", draw=code("(p / noise).argmax()"))),
    _maker("bincount", r"aten::bincount", "Count into a vector of known length",
           phrase("{scatter} into zeros", scatter=code("scatter_add_"))),
    _maker("truth", r"aten::(is_nonzero|equal|allclose)$", "Decide on the GPU",
           phrase("{where} instead of {branch}", where=code("torch.where"), branch=code("if"))),
    _maker("mask", r"aten::(nonzero|masked_select|argwhere|index|index_put_?|_index_put_impl_)$",
           "Index without a mask",
           phrase("{where} keeps the shape fixed", where=code("torch.where"))),
    _maker("item", r"aten::(item|_local_scalar_dense)$|tolist|numpy", "Read values from the GPU less often",
           phrase("read them every few steps")),
    _maker("copy", r"aten::(to|_to_copy|copy_|cpu)$|[Mm]emcpy", "Copy without waiting",
           phrase("pinned memory and {flag}", flag=code("non_blocking=True"))),
    _maker("event", r"EventSynchronize", "Wait for events later", phrase("ask for them a step later")),
    _maker("explicit", r"Synchronize", "Stop waiting for the GPU in the loop",
           phrase("drop {call}", call=code("torch.cuda.synchronize()"))),
)  # fmt: skip

OTHER = Maker("other", re.compile(""), phrase("Take the blocking call out of the step"),
              phrase("see what it waits for"))  # fmt: skip


def maker_of(row: BlockingRow) -> Maker:
    """What makes a group of calls wait. The call itself is asked last: a copy of an op is the op's."""
    around = [name for name in (row.op, row.outer_op, row.user_range, row.source, row.module) if name]
    for names in (around, [row.call]):
        for maker in MAKERS:
            if any(maker.names.search(name) for name in names):
                return maker
    return OTHER
