"""The purpose of a group of ranks, as far as names, kinds and phases show it, else "unknown".

all-reduce from the hooks of the backward pass                       DistributedDataParallel's buckets
all-gather and reduce-scatter of one group, or within FSDP's ranges  FSDP's or ZeRO's parameters and gradients
the same, where the forward pass reduces and scatters, too           tensor-parallel layers that split the sequence
all-reduce in the forward and as many in the backward pass           tensor-parallel layers
all-to-alls that take tokens to other ranks and back                 experts on several ranks
sends and receives                                                   stages of a pipeline
a group that is named for its purpose ("mesh_tp", "EXPERT_PARALLEL") what its name says
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tb_steptime.metrics.communication.exchanges import ExchangeClass
from tb_steptime.ranks.result import Role
from tb_steptime.text import Reason

_WORDS: dict[Role, str] = {
    "expert_parallel": r"ep|experts?|expert_(?:model_)?parallel\w*|moe",
    "tensor_parallel": r"tp|tensor|tensor_(?:model_)?parallel\w*",
    "pipeline": r"pp|pipeline\w*|stages?",
    "fsdp": r"fsdp\d?|dp_shard\w*|zero\d?",
    "ddp": r"ddp|dp_replicate",
}
#: Patterns of group names and descriptions by role; the first one that matches counts.
_NAMES: dict[Role, re.Pattern[str]] = {
    role: re.compile(rf"(?:^|[^a-z])(?:{words})(?:[^a-z]|$)", re.IGNORECASE) for role, words in _WORDS.items()
}
#: An exchange of at most this many bytes in the optimizer is a norm, a loss, or whether a gradient overflowed.
FEW_BYTES = 65_536

#: Roles that count only if a group has no other one.
_MINOR: tuple[Role, ...] = ("unknown", "buffers", "checks")

#: How often a group exchanges each class.
Counts = Mapping[ExchangeClass, int]


def role_of_group(name: str, counts: Counts, routes: bool = False) -> tuple[Role, Reason]:
    """Returns the role, and the reason for it. name: the group's name with the description that its creator gave it.
    routes: its all-to-alls route tokens."""
    named = next((role for role, words in _NAMES.items() if words.search(name)), None)
    if named is not None:
        return named, Reason("role_shown_by_name")
    # a group of all ranks may exchange gradients beside tokens: then it is one of data parallelism
    shown: dict[Role, None] = dict.fromkeys(
        role_of_class(each, counts, routes)
        for each in sorted(counts, key=lambda each: (each.kind == "all_to_all", -counts[each]))
    )
    role: Role = next((role for role in shown if role not in _MINOR), next(iter(shown), "unknown"))
    return role, Reason("role_not_shown") if role == "unknown" else Reason("role_shown_by_exchanges")


def role_of_class(each: ExchangeClass, counts: Counts, routes: bool) -> Role:
    """Returns the role of exchanges of one class, given all that their group exchanges."""
    kinds = {one.kind for one in counts}
    if each.kind == "send_receive":
        return "pipeline"
    if each.kind == "all_to_all" and routes:
        return "expert_parallel"
    if each.wrapper == "fsdp":
        return "fsdp"
    if each.kind in ("all_gather", "reduce_scatter") and {"all_gather", "reduce_scatter"} <= kinds:
        # data parallelism reduces and scatters gradients, in the backward pass only
        activations = any((one.kind, one.site) == ("reduce_scatter", "forward.model") for one in counts)
        return "tensor_parallel" if activations else "fsdp"
    if each.kind == "broadcast" and each.site == "forward.buffer_broadcast":
        return "buffers"
    return _role_of_reduce(each, counts) if each.kind == "all_reduce" else "unknown"


def _role_of_reduce(each: ExchangeClass, counts: Counts) -> Role:
    if each.site in ("backward.hooks", "backward.gradient_accumulation"):
        return "ddp"
    if each.site in ("forward.model", "backward.nodes"):
        passes = [_count(counts, each, site) for site in ("forward.model", "backward.nodes")]
        return "tensor_parallel" if min(passes) and max(passes) <= 2 * min(passes) else "unknown"
    return "checks" if each.site == "optimizer" and (each.bytes or FEW_BYTES) < FEW_BYTES else "unknown"


def _count(counts: Counts, like: ExchangeClass, site: str) -> int:
    """Counts exchanges of the same kind and bytes that are launched at this site."""
    return sum(
        number for one, number in counts.items() if (one.kind, one.bytes, one.site) == (like.kind, like.bytes, site)
    )


def full_name(parts: Sequence[str | None]) -> str:
    return " ".join(part for part in parts if part)
