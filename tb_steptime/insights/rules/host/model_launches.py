"""Late launches of the model and between its passes, by the remedy: graphs, fewer launches, or shorter waits.

late, by place    |ssssssssss|LLLLLLLL|cccc|ww|     s: short gaps, for `launch_graphs`
                                                    L: long gaps, c: of these, of compiled code, for `long_waits`
                                                    w: few launches between two calls that wait, for `sync_bubble`
If the model has few launches, all gaps count as long: a graph would have hardly any launches to save.
"""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.host_gains import late_by_site, late_ns, sites_of
from tb_steptime.metrics.idle.host_stalls import LEAST_STEPS, RARE_FRACTION
from tb_steptime.metrics.idle.long_gaps import LongGaps
from tb_steptime.metrics.idle.split_launches import FEW_LAUNCHES

HOOKS = ("backward.hooks",)
FORWARD = ("forward.model",)
BACKWARD = ("backward.loss", "backward.nodes", "backward.gradient_accumulation")
BETWEEN = ("data_loading", "other")
_MODEL = (*FORWARD, *BACKWARD, *HOOKS)

#: Rare long gaps below this share of a place's late time count with its short gaps. Graphs put the CPU ahead by more
#: than that, so they hide these gaps, too.
HIDDEN_FRACTION = 0.10


class ModelLate(msgspec.Struct, frozen=True):
    """How long the GPU waits for launches, in ns a step by place.

    short: for launches of the model in short gaps. between: for launches between the passes in short gaps. long: for
    both in long gaps. compiled: for both in long gaps of compiled code. split: for launches of the model where few
    launches lie between two calls that wait. These times are disjoint; places without any are left out. launches:
    number of launches a step from the model's places.

    Two kinds of long gaps are in none of these times: gaps that occur in few steps, unless they are a small part, and
    gaps in which something takes unusually long. Rare events make single steps slow, and are no cost of every step.
    """

    short: dict[str, int]
    between: dict[str, int]
    long: dict[str, int]
    compiled: dict[str, int]
    split: dict[str, int]
    launches: float


def model_late(host: HostResult) -> ModelLate:
    """Returns the late launches without waits for the loader, blocking calls, pauses, and copies out of DDP's buckets.
    If the process drives several GPUs, it launches the others' work between the passes of one; `between` is then empty,
    because such a process has a card of its own."""
    by_site = late_by_site(host)
    by_site[HOOKS[0]] = by_site.get(HOOKS[0], 0) - bucket_late_ns(host)
    sites = _MODEL if host.several_devices is not None else (*_MODEL, *BETWEEN)
    late = {site: by_site[site] for site in sites if by_site.get(site, 0) > 0}
    long, compiled, rare = _long(host, late)
    rest = {site: ns - long[site] - compiled[site] - rare[site] for site, ns in late.items()}
    short, between = ({site: rest[site] for site in sites if site in rest} for sites in (_MODEL, BETWEEN))
    launching = [site for site in _MODEL if site in late]
    launches = sum(row.launches for row in sites_of(host, launching))
    launches -= host.bucket_copies if HOOKS[0] in launching else 0.0
    split = {row.site: min(row.split_ns, short[row.site]) for row in sites_of(host, short)}
    if launches < FEW_LAUNCHES:
        long |= {site: long[site] + ns for site, ns in short.items()}
        short, split = {}, {}
    short = {site: ns - split[site] for site, ns in short.items()}
    return ModelLate(_some(short), _some(between), _some(long), _some(compiled), _some(split), launches)


def _rare(host: HostResult, gaps: LongGaps) -> bool:
    """Whether the long gaps begin in few steps only. False if the recording has too few steps to know that."""
    return len(host.steps) >= LEAST_STEPS and gaps.steps <= max(1, RARE_FRACTION * len(host.steps))


def _long(host: HostResult, late: dict[str, int]) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Returns the late time of each place in long gaps, in long gaps of compiled code, and in rare or unusual long
    gaps. The three times are disjoint."""
    long, compiled, rare = dict.fromkeys(late, 0), dict.fromkeys(late, 0), dict.fromkeys(late, 0)
    for gaps in host.long_gaps:
        if gaps.site in late:
            all_ns = min(gaps.late_ns, late[gaps.site])
            if _rare(host, gaps) and all_ns < HIDDEN_FRACTION * late[gaps.site]:
                continue
            rare[gaps.site] = all_ns if _rare(host, gaps) else min(gaps.unusual_ns, all_ns)
            compiled[gaps.site] = min(gaps.compiled_ns, all_ns - rare[gaps.site])
            long[gaps.site] = all_ns - rare[gaps.site] - compiled[gaps.site]
    return long, compiled, rare


def has_one_graph(host: HostResult) -> bool:
    """Whether the recording has a single launch of a graph. What is before it may be the head of the recording; it does
    not show that launches of graphs wait for the CPU."""
    return host.launches is not None and round(host.launches.graphs * len(host.steps)) == 1


def _some(by_site: dict[str, int]) -> dict[str, int]:
    return {site: ns for site, ns in by_site.items() if ns > 0}


def bucket_late_ns(host: HostResult) -> int:
    return min(host.bucket_late_ns, late_ns(host, HOOKS))
