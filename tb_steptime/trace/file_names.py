"""Which rank of a job a trace belongs to, according to its file name."""

from __future__ import annotations

import re

from tb_steptime.text.patterns import expression

#: Examples: "rank3_trace", "rank-34.host", "node1_rank_3", "exp[llama]-rank[3]", "megatron_kineto_3".
_RANK = expression(r"(?:^|[^a-z])(?:rank(?:\[|[-_ ]?)|kineto_)(\d+)", re.IGNORECASE)
#: SGLang names the rank within each group. Data- and expert-parallel groups subdivide the tensor-parallel ranks.
_OF_GROUPS = expression(r"(?:^|-)TP-(\d+)(?:-DP-\d+)?(?:-PP-(\d+))?(?:-EP-\d+)?(?:-[A-Z]|$)")
#: vLLM: "dp1_pp0_tp0_dcp0_ep0_rank0" is rank 0 of engine 1, whose ranks are numbered separately.
_OF_OTHER_ENGINE = expression(r"(?:^|_)dp[1-9]\d*_.*rank", re.IGNORECASE)


def rank_in_name(name: str) -> int | None:
    """Returns the rank in the name of a file or worker, or None if there is none, or if it does not identify a rank of
    the whole job.

    >>> [rank_in_name(name) for name in ("rank-34.host", "TP-3-EP-3", "TP-0-PP-1", "dp1_tp0_rank0", "gpubox_4711")]
    [34, 3, None, None, None]
    """
    if groups := _OF_GROUPS.search(name):
        return int(groups[1]) if int(groups[2] or 0) == 0 else None
    match = _RANK.search(name)
    return int(match[1]) if match and not _OF_OTHER_ENGINE.search(name) else None
