"""Late launches of the model and between its passes, by the remedy: graphs, fewer launches, or shorter waits.

late, by place    |ssssssssss|LLLLLLLL|cccc|ww|     s: short gaps, for `launch_graphs`
                                                    L: long gaps, c: of these, of compiled code, for `long_waits`
                                                    w: few launches between two calls that wait, for `sync_bubble`
If the model has few launches, all gaps count as long: a graph would have hardly any launches to save.

Some of the launches in short gaps are late because a call made the CPU wait for the GPU. Behind the bubble of such a
call, further launches are late until the CPU is ahead again.

thread   [sync       ]  l  l  l  lllllllllll       [sync      ]
device   kkkkkkkkkkkkk   kk kk kk kkkkkkkkkkkkkkkkkkkkkkkkkkkkk
idle                  bbb  r  r  r                               b: bubble, r: behind it

These are the first launches after a wait, as far as a step without waits would be shorter in a replay.
"""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import late_by_site, late_ns, sites_of
from tb_steptime.insights.rules.host.blocking_rows import bubble_ns, calls_of
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.metrics.idle.host_stalls import LEAST_STEPS, RARE_FRACTION
from tb_steptime.metrics.idle.long_gaps import FEW_LAUNCHES, LongGaps
from tb_steptime.replay.whatif import Gain

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

    Three kinds of long gaps are in none of these times: gaps that occur in few steps, unless they are a small part,
    gaps in which something takes unusually long, and gaps whose launch takes long to reach the device. Rare events make
    single steps slow, and are no cost of every step; after its launch the host does nothing for the device.
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
    long, compiled, rare = _longest_gap_ns(host, late)
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
    short, between, long, compiled, split = (
        {site: ns for site, ns in each.items() if ns > 0} for each in (short, between, long, compiled, split)
    )
    return ModelLate(short, between, long, compiled, split, launches)


def _rare(host: HostResult, gaps: LongGaps) -> bool:
    """Whether the long gaps begin in few steps only. False if the recording has too few steps to know that."""
    steps = len(host.judged_steps)
    return steps >= LEAST_STEPS and gaps.steps <= max(1, RARE_FRACTION * steps)


def _longest_gap_ns(host: HostResult, late: dict[str, int]) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
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


def bucket_late_ns(host: HostResult) -> int:
    return min(host.bucket_late_ns, late_ns(host, HOOKS))


class BehindWaits(msgspec.Struct, frozen=True):
    """Late launches of the model that the script's waits cause, ns a step. split_ns: of those of which few lie between
    two waits; short_ns: of all others in short gaps behind a wait; lead_ns: of those that are late much later, because
    the wait took the CPU's lead. not_graphs_ns: what graphs do not gain of these others."""

    split_ns: int = 0
    short_ns: int = 0
    lead_ns: int = 0
    not_graphs_ns: int = 0

    @property
    def total_ns(self) -> int:
        return self.split_ns + self.short_ns + self.lead_ns


#: Waits make launches late where graphs, once nothing waits, would not gain at least this share of the short gaps.
#: Nothing of these is left to graphs where the first launches after waits have at least this share of them.
MOST = 0.5


def behind_waits(facts: Facts) -> BehindWaits:
    """Returns at most what the replay without any waits gains beyond the bubbles. Where graphs would still gain
    something then, so much of the short gaps is left to them. Waits whose bubbles are worth no card make few launches
    late right behind them: these stay with the graphs."""
    rows, change = calls_of(facts, "plain"), facts.replayed_gain("sync_bubble")
    if not rows or change is None or change.gain_ns is None or change.low_ns is None:
        return BehindWaits()
    model = model_late(facts.host)
    split_ns = max(0, min(sum(model.split.values()), change.gain_ns - bubble_ns(rows)))
    if not facts.worth(bubble_ns(rows)):
        lead_ns = _lead_ns(facts, rows, model, change, bubble_ns(rows) + split_ns)
        return BehindWaits(split_ns, lead_ns=lead_ns, not_graphs_ns=lead_ns)
    beyond_ns = max(0, change.low_ns - facts.host.blocking_bubble_ns - split_ns)
    not_graphs_ns, script = _not_graphs_ns(facts, model), _of_script(facts)
    refill_ns = sum(min(row.refill_ns, model.short[row.site]) for row in sites_of(facts.host, model.short))
    short_ns = min(refill_ns, not_graphs_ns, beyond_ns)
    most = short_ns >= MOST * not_graphs_ns
    not_graphs_ns = round((not_graphs_ns if most else short_ns) * script)
    return BehindWaits(split_ns, round(short_ns * script), not_graphs_ns=not_graphs_ns)


def _not_graphs_ns(facts: Facts, model: ModelLate) -> int:
    """Returns the short gaps that graphs would not shorten if nothing waited, if these are most of them. It is 0 where
    graphs alone gain more than a step without waits, so that the replay takes them first."""
    graphs = facts.replayed_gain(_graphs(facts))
    if _graphs_first(facts):
        return 0
    left_ns = (graphs.gain_after_ns or 0) if graphs is not None else 0
    short_ns = sum(model.short.values())
    found_ns = max(0, short_ns - max(left_ns, 0))
    return found_ns if found_ns >= MOST * short_ns else 0


def _graphs(facts: Facts) -> str:
    return "between_graphs" if in_graphs(facts) else "launch_graphs"


def _graphs_first(facts: Facts) -> bool:
    """Whether graphs gain more in the replay than a step without waits."""
    change_ids = [each.id for each in facts.replayed.changes] if facts.replayed else []
    return _graphs(facts) in change_ids and change_ids.index(_graphs(facts)) < change_ids.index("sync_bubble")


def _lead_ns(facts: Facts, rows: list[BlockingRow], model: ModelLate, change: Gain, counted_ns: int) -> int:
    """Returns what waits during which the GPU works cost later, where the CPU sets the pace: it lacks the time that it
    waited. It is what the replay without waits gains at the low end of its range, and after graphs where these gain
    more; by the script's own calls, but no more than these wait, beyond what is counted already."""
    if facts.host.bound is not Bound.HOST:
        return 0
    gain_ns = change.low_ns or 0
    if _graphs_first(facts):
        gain_ns = min(gain_ns, change.gain_after_ns or 0)
    gain_ns = min(round(gain_ns * _of_script(facts)), sum(row.blocked_ns for row in rows))
    return min(max(0, gain_ns - counted_ns), sum(model.short.values()))


def _of_script(facts: Facts) -> float:
    """Returns the share of the script's own calls in the time for which calls make the CPU wait."""
    waits_ns = sum(row.blocked_ns for row in facts.host.blocking if row.kind != "allocator")
    return sum(row.blocked_ns for row in calls_of(facts, "plain")) / max(waits_ns, 1)


#: From this share of kernel time on, most of the work counts as launched in graphs.
MOSTLY = 0.5


def in_graphs(facts: Facts) -> bool:
    return (facts.job.graph_share or 0.0) >= MOSTLY
