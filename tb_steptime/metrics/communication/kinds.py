"""The kind of a collective, read from any of its names: of its arguments, its op, its mark, its kernel.

"allreduce"  "nccl:all_reduce"  "c10d::allreduce_"  "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"   ->   all_reduce
"""

from __future__ import annotations

from functools import lru_cache

from tb_steptime.text.patterns import expression

#: Every kind with its name in PyTorch's documentation.
KIND_LABELS = {
    "all_reduce": "all-reduce",
    "reduce_scatter": "reduce-scatter",
    "all_gather": "all-gather",
    "all_to_all": "all-to-all",
    "broadcast": "broadcast",
    "send_receive": "send and receive",
    "barrier": "barrier",
    "gather": "gather",
    "scatter": "scatter",
    "reduce": "reduce",
    "unknown": "collective",
}
KINDS = tuple(KIND_LABELS)
UNKNOWN_KIND = KINDS.index("unknown")

#: Patterns for names in lower case without underscores; the first match counts. "reduce" is part of three others,
#: "gather" of one.
_SPELLINGS = (
    ("all_reduce", r"allreduce|crossdevicereduce|lamport"),
    ("reduce_scatter", r"reducescatter"),
    ("all_gather", r"allgather"),
    ("all_to_all", r"alltoall|moea2a|dispatch|combine|notify"),
    ("broadcast", r"broadcast"),
    ("send_receive", r"sendrecv|(?<![a-z])(?:i?send|i?recv)"),
    ("barrier", r"barrier"),
    ("gather", r"gather"),
    ("scatter", r"scatter"),
    ("reduce", r"reduce"),
)
_COMPILED = tuple((KINDS.index(kind), expression(pattern)) for kind, pattern in _SPELLINGS)


@lru_cache(maxsize=1024)
def kind_of(name: str) -> int:
    """The place in KINDS of a collective with this name; that of "unknown" if the name does not show it.

    >>> KINDS[kind_of("nccl:_all_gather_base")], KINDS[kind_of("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096>)")]
    ('all_gather', 'unknown')
    """
    squashed = name.replace("(anonymous namespace)", "").partition("(")[0].lower().replace("_", "")
    return next((kind for kind, pattern in _COMPILED if pattern.search(squashed)), UNKNOWN_KIND)
