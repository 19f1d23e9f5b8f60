"""How kernels are told in one sentence: which of them take the time, and how much of it uses tensor cores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.metrics.tensor_cores.profiler_tab import VISIBLE_FRACTION
from tb_steptime.metrics.tensor_cores.usage import Split
from tb_steptime.text import Phrase, fraction, phrase

#: The kernels with most time that together take about this share of it are what the table's title speaks of.
TITLE_FRACTION = 0.25

#: Shares with a name of their own, and how near a share must be to be called so.
NAMED_SHARES = ((0.25, "a quarter"), (1 / 3, "a third"), (0.5, "half"), (2 / 3, "two thirds"), (0.75, "three quarters"))
NEAR_FRACTION = 0.015

#: More kernels than this are a crowd, in which none stands out.
FEW_KERNELS = ("One", "Two", "Three", "Four", "Five", "Six")

#: Time that could use tensor cores is the news from this share of kernel time on.
WORTH_SAYING_FRACTION = 0.05

#: What kernels are called when all of them do the same, by the words of their rule.
KINDS = {
    "convolution": "convolution ",
    "matrix product": "matrix-product ",
    "attention": "attention ",
    "communication": "communication ",
    "normalization": "normalization ",
}


def most_of_the_time(rows: Sequence[tuple[float, str]]) -> Phrase:
    """How few kernels take how much: "Two convolution kernels take a quarter of kernel time".

    rows: share of kernel time and what the tensor-core rule says of the kernel; the largest share first.
    """
    if not rows or not rows[0][0]:
        return phrase("No kernel runs within the steps")
    reach = np.cumsum([share for share, _ in rows])
    few = int(np.searchsorted(reach, TITLE_FRACTION - NEAR_FRACTION)) + 1
    if few > len(FEW_KERNELS) or few > len(rows):
        return phrase("No kernel stands out: the longest takes {share} of kernel time", share=fraction(rows[0][0]))
    share = float(reach[few - 1])
    named = next((name for value, name in NAMED_SHARES if abs(share - value) <= NEAR_FRACTION), "{share}")
    values = {"share": fraction(share)} if named == "{share}" else {}
    verb = "kernel takes" if few == 1 else "kernels take"
    return Phrase(f"{FEW_KERNELS[few - 1]} {_kind(rows[:few])}{verb} {named} of kernel time", values)


def _kind(rows: Sequence[tuple[float, str]]) -> str:
    """The word for what all these kernels do; empty where they differ."""
    return next((word for key, word in KINDS.items() if all(key in reason for _, reason in rows)), "")


def use_of_tensor_cores(split: Split, has: bool) -> Phrase:
    """How much of some kernel time runs on tensor cores, within its bounds, and how much more could. has: there are
    any."""
    low, high, eligible = split.share_low, split.share_high, split.matmul_like_share
    if not has or low is None or high is None or eligible is None:
        return phrase("Kernel time by what it does")
    values = {"low": fraction(low), "high": fraction(high), "eligible": fraction(eligible)}
    if not high:
        if eligible < WORTH_SAYING_FRACTION:
            return phrase("No kernel runs on tensor cores, and hardly any could")
        return Phrase("{eligible} of kernel time could use tensor cores, and none of it does", values)
    used = "{low} of kernel time runs on tensor cores"
    if high - low >= VISIBLE_FRACTION:
        used = "Between {low} and {high} of kernel time runs on tensor cores"
    return Phrase(used + (", another {eligible} could" if eligible >= WORTH_SAYING_FRACTION else ""), values)
