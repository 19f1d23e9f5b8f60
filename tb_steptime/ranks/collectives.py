"""The table of matched collectives: one row for each kind, size and type in a group, with their cost over its ranks.

transfer + wait = running = exposed + hidden, in integers, over all ranks of the group.

The purpose of a group of ranks is "unknown" unless names, kinds and phases show it:

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
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.metrics.communication.collectives import KIND_LABELS
from tb_steptime.metrics.communication.exchanges import ExchangeClass
from tb_steptime.metrics.phases.sites import SITES
from tb_steptime.ranks.arrivals import Arrivals
from tb_steptime.ranks.matching import MatchedGroup, bytes_of
from tb_steptime.ranks.messages import Links
from tb_steptime.ranks.result import ExchangeTime, GroupRow, JobCollective, Role
from tb_steptime.ranks.routing import routes_tokens
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.text import Reason
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.table import Int64, distinct_in

_PHASE_OF: Mapping[str, str] = {site.id: site.phase for site in SITES}

#: If one kind in a group has more sizes than this, sizes within a quarter of a power of two share a row.
MANY_SIZES = 12
_SIZES_PER_DOUBLING = 4
_NANOSECONDS = 1e9
#: A call stalls if it takes at least STALL_TIMES the median of at least _FEWEST_CALLS calls, and STALL_NS longer than
#: it.
STALL_TIMES, _FEWEST_CALLS, STALL_NS = 10, 5, 5_000_000
#: Metrics of computing time: kernels where there is a GPU, else ops.
_COMPUTING = ("kernel_time", "cpu_exec_time")


@dataclass(frozen=True, eq=False)
class _Row:
    """The rows of a matched group that one row of the table summarises."""

    group: MatchedGroup
    rows: Int64
    first: ExchangeClass
    role: Role


def collective_rows(matched: Sequence[MatchedGroup], spans: Sequence[RankSpan], links: Links) -> list[JobCollective]:
    """Returns the rows, most exposed first."""
    rows = [_row(each, spans, links) for group in matched for each in _rows_of(group, routes_tokens(group, spans))]
    return sorted(rows, key=lambda row: (-row.exposed_ns, -row.running_ns, row.kind, row.group or "", row.bytes or 0))


def group_rows(matched: Sequence[MatchedGroup], spans: Sequence[RankSpan]) -> list[GroupRow]:
    """Returns the groups, those with most ranks first."""
    rows = []
    for group in matched:
        role, shown_by = role_of_group(_name(group), _counts(group), routes_tokens(group, spans))
        size = group.group.size or len(group.group.ranks) or None
        rows.append(GroupRow(group.group.name or "", size, group.ranks(spans), role, shown_by))
    return sorted(rows, key=lambda row: (-len(row.ranks), row.name, row.ranks))


def _name(group: MatchedGroup) -> str:
    return full_name((group.group.name, group.group.description))


def _counts(group: MatchedGroup) -> Counter[ExchangeClass]:
    numbers, counts = np.unique(group.of, return_counts=True)
    return Counter(
        {group.classes[number]: count for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)}
    )


def _rows_of(group: MatchedGroup, routes: bool = False) -> list[_Row]:
    """Returns the rows of the table for a group. routes: its all-to-alls route tokens. Which exchanges are alike does
    not depend on that."""
    counts = _counts(group)
    of_group, shown_by = role_of_group(_name(group), counts, routes)
    named = shown_by.code == "role_shown_by_name"
    roles = {count: of_group if named else role_of_class(count, counts, routes) for count in counts}
    keys = _keys(group, roles)
    same_class = Groups.of(keys[group.of]) if len(keys) else Groups.of(group.of)
    firsts = [group.classes[number] for number in group.of[same_class.first].tolist()]
    return [
        _Row(group, np.flatnonzero(same_class.place == place), first, roles[first])
        for place, first in enumerate(firsts)
    ]


def _keys(group: MatchedGroup, roles: dict[ExchangeClass, Role]) -> Int64:
    """Returns a number for each class. Classes with the same number share a row."""
    sizes = Counter((one.kind, one.dtype) for one in {(one.kind, one.dtype, one.bytes): one for one in roles}.values())
    numbers: dict[tuple[str | int | None, ...], int] = {}

    def key(one: ExchangeClass) -> tuple[str | int | None, ...]:
        size = one.bytes
        if size and sizes[one.kind, one.dtype] > MANY_SIZES:
            size = round(_SIZES_PER_DOUBLING * float(np.log2(size)))
        return one.kind, one.dtype, size, roles.get(one)

    return np.array([numbers.setdefault(key(one), len(numbers)) for one in group.classes], np.int64)


def _row(each: _Row, spans: Sequence[RankSpan], links: Links) -> JobCollective:
    group, first = each.group, each.first
    length, exposed = group.length[each.rows], int(group.exposed[each.rows].sum())
    transfer, ranks = length.min(axis=1), len(group.members)
    size = bytes_of(group.classes)[group.of[each.rows]]
    bus = bus_factor(first.kind, group.group.size or len(group.group.ranks) or ranks)
    rate = _rate(size, transfer)
    running = int(length.sum())
    peak = links.peak([spans[place].host for place in group.members.tolist()])
    beyond = _stalled(group, each.rows)
    larger = each.rows[:0] if group.gathers_more is None else each.rows[group.gathers_more[each.rows]]
    return JobCollective(
        kind=first.kind,
        label=KIND_LABELS[first.kind],
        group=group.group.name,
        ranks=ranks,
        members=group.ranks(spans),
        dtype=first.dtype,
        bytes=int(np.median(size)) if (size >= 0).all() else None,
        role=each.role,
        count=len(each.rows),
        transfer_ns=int(group.transfer_ns[each.rows].sum()),
        wait_ns=int(group.wait_ns[each.rows].sum()),
        off_ns=int(group.off_ns[each.rows].sum()),
        running_ns=running,
        exposed_ns=exposed,
        hidden_ns=running - exposed,
        transfer_p50_ns=int(np.median(transfer)),
        algorithm_rate=rate,
        bus_rate=None if rate is None or bus is None else rate * bus,
        of_peak=None if rate is None or bus is None or peak is None else rate * bus / peak,
        prefetched=1 - exposed / running if each.role == "fsdp" and first.kind == "all_gather" and running else None,
        stalled=int(np.count_nonzero(beyond)),
        stalled_ns=int(beyond.sum()) * ranks,
        stalled_exposed_ns=int(np.minimum(group.exposed[each.rows], beyond[:, None] + group.off_ns[each.rows]).sum()),
        larger=len(larger),
        larger_ns=int(group.transfer_ns[larger].sum()),
        phases=sorted({_PHASE_OF[group.classes[number].site] for number in distinct_in(group.of[each.rows]).tolist()}),
    )


def group_roles(matched: Sequence[MatchedGroup], spans: Sequence[RankSpan]) -> list[Role]:
    return [role_of_group(_name(group), _counts(group), routes_tokens(group, spans))[0] for group in matched]


def stalled_ns(group: MatchedGroup) -> Int64:
    """Returns for each transfer its time beyond that of others of its kind, or 0 unless it takes far longer than they
    do, and not because it gathers more."""
    stalled = np.zeros(len(group.of), np.int64)
    for each in _rows_of(group):
        stalled[each.rows] = _stalled(group, each.rows)
    return stalled


def _stalled(group: MatchedGroup, rows: Int64) -> Int64:
    """Returns the same as `stalled_ns` for rows that are alike."""
    stalled = _stalled_ns(group.length[rows].min(axis=1))
    return stalled if group.gathers_more is None else np.where(group.gathers_more[rows], 0, stalled)


def with_larger(group: MatchedGroup, spans: Sequence[RankSpan]) -> MatchedGroup:
    """Returns the collectives, and which of them gather more, as the kernels after them show on every rank. Results of
    the ranks are read only where an all-gather takes far longer than the others."""
    gathers = np.array([one.kind == "all_gather" for one in group.classes], bool)[group.of]
    if not (stalled_ns(group)[gathers] > 0).any():
        return group
    more = np.zeros(len(group.of), bool)
    dtypes = [_gathering_more(spans[place], group.group.name) for place in group.members.tolist()]
    for dtype in set.intersection(*dtypes):
        of_dtype = np.flatnonzero(gathers & np.array([one.dtype == dtype for one in group.classes], bool)[group.of])
        in_time = of_dtype[np.lexsort((group.start[of_dtype, 0], group.step[of_dtype]))]
        more[in_time[np.append(np.diff(group.step[in_time]) > 0, True)]] = True
    return replace(group, gathers_more=more) if more.any() else group


def _gathering_more(span: RankSpan, group: str | None) -> set[str | None]:
    """Returns the types of which the last all-gathers of the rank's steps, in this group, gather more. Where the trace
    does not show groups, that is known if all of its all-gathers are alike."""
    overview = span.results.get("overview")
    communication = overview.communication if isinstance(overview, OverviewResult) else None
    rows = [row for row in communication.rows if row.kind == "all_gather"] if communication else []
    ours = rows if len(rows) == 1 and rows[0].group is None else [row for row in rows if row.group == group]
    return {row.dtype for row in ours if row.gathers_more}


def _stalled_ns(transfer: Int64) -> Int64:
    """Returns for each transfer its time beyond the median, if that is far longer, and 0 otherwise. Such a transfer
    waits for something that no rank recorded, and fewer bytes would not shorten it.

    >>> _stalled_ns(np.array([3_000, 441_000, 4_000, 3_500, 5_000]) * 1_000).tolist()
    [0, 437000000, 0, 0, 0]
    """
    usual = np.median(transfer).astype(np.int64)
    is_stalled = (len(transfer) >= _FEWEST_CALLS) & (transfer >= STALL_TIMES * usual) & (transfer - usual >= STALL_NS)
    return np.where(is_stalled, transfer - usual, 0)


def _rate(size: Int64, transfer: Int64) -> float | None:
    """Returns the median of bytes a second, or None where bytes are not recorded, or are 0."""
    if not (size > 0).all():
        return None
    return float(np.median(size / np.maximum(transfer, 1))) * _NANOSECONDS


def exchange_time(
    spans: Sequence[RankSpan], arrivals: Arrivals, rows: Sequence[JobCollective], steps: int
) -> ExchangeTime:
    """Returns the time that a step of the job spends in exchanges. rows: of the whole table, over this many steps."""
    cells = max(1, steps * len(spans))
    exposed = sum(row.exposed_ns for row in rows)
    waits = int(arrivals.exposed_wait_ns.sum())
    hidden_ns = sum(row.hidden_ns for row in rows) // cells
    overview = spans[0].results.get("overview")
    communication = overview.communication if isinstance(overview, OverviewResult) else None
    compiled = isinstance(overview, OverviewResult) and bool(overview.job.compiled_share)
    return ExchangeTime(
        exposed_transfer_ns=(exposed - waits) // cells,
        exposed_stall_ns=sum(row.stalled_exposed_ns for row in rows) // cells,
        exposed_wait_ns=waits // cells,
        free_compute_ns=max(0, _computing_ns(spans) - hidden_ns),
        free_backward_ns=communication.free_backward_ns if communication else None,
        before_gradients_ns=communication.before_gradients_ns if communication and compiled else 0,
    )


def _computing_ns(spans: Sequence[RankSpan]) -> int:
    """Returns the computing time of the median rank in the mean step, or 0 where it is not measured."""
    for metric in _COMPUTING:
        means = [float(np.nanmean(span.figures[metric])) for span in spans if metric in span.figures]
        if means and np.median(means) > 0:
            return round(float(np.median(means)))
    return 0


# The bandwidths of a collective, as nccl-tests define them.
#
# algorithm bandwidth   bytes / time of the transfer
# bus bandwidth         that times the share of the bytes that each link carries; it can be compared with a link's peak
#                       for any number of ranks
#
# all-reduce       2 (n - 1) / n       each rank sends and receives all but its own part, twice
# all-gather, reduce-scatter, all-to-all   (n - 1) / n     once
# broadcast, reduce                     1

_TWICE = ("all_reduce",)
_ONCE = ("all_gather", "reduce_scatter", "all_to_all")
_WHOLE = ("broadcast", "reduce")


def bus_factor(kind: str, ranks: int) -> float | None:
    """Returns the factor from algorithm to bus bandwidth. Returns None for a kind without a usual definition, and for
    one rank.

    >>> bus_factor("all_reduce", 8), bus_factor("all_gather", 4), bus_factor("barrier", 4)
    (1.75, 0.75, None)
    """
    if ranks < 2:
        return None
    carried = (ranks - 1) / ranks
    factors = dict.fromkeys(_TWICE, 2 * carried) | dict.fromkeys(_ONCE, carried) | dict.fromkeys(_WHOLE, 1.0)
    return factors.get(kind)


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
    named = next((role for role, pattern in _NAMES.items() if pattern.search(name)), None)
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
        sites = {one.site for one in counts if one.kind == "reduce_scatter"}
        if sites == {"unknown"}:
            return "unknown"
        return "tensor_parallel" if "forward.model" in sites else "fsdp"
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
