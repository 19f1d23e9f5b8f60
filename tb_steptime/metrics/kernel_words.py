"""How a table of kernels is told in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.phrases import Phrase, fraction, phrase

#: The kernels with most time that together take about this share of it are what the table's title speaks of.
TITLE_FRACTION = 0.25

#: Shares with a name of their own, and how near a share must be to be called so.
NAMED_SHARES = ((0.25, "a quarter"), (1 / 3, "a third"), (0.5, "half"), (2 / 3, "two thirds"), (0.75, "three quarters"))
NEAR_FRACTION = 0.015

#: More kernels than this are a crowd, in which none stands out.
FEW_KERNELS = ("One", "Two", "Three", "Four", "Five", "Six")

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
