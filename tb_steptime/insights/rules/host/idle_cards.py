"""Late launches of the model and between its passes, by the remedy: graphs, fewer launches, or shorter waits.

late, by place    |ssssssssss|LLLLLLLL|cccc|ww|     s: short gaps, for `launch_graphs`
                                                    L: long gaps, c: of these, of compiled code, for `long_waits`
                                                    w: few launches between two calls that wait, for `sync_bubble`
If the model has few launches, all gaps count as long: a graph would have hardly any launches to save.

Some launches are late because a call made the CPU wait for the GPU. Behind the bubble of such a call, further launches
are late until the CPU is ahead again.

thread   [sync       ]  l  l  l  lllllllllll       [sync      ]
device   kkkkkkkkkkkkk   kk kk kk kkkkkkkkkkkkkkkkkkkkkkkkkkkkk
idle                  bbb  r  r  r                               b: bubble, r: behind it

A replay of a step without waits shows how much of it that is.

The two kinds of cards about an idle GPU are about such launches from one place, and about blocking calls.

late launches    |---- idle ----| until work from the place is launched and reaches the device
blocking calls   |--- bubble ---| from the drain, or the call's start, to the next work that is launched after it
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.base import Certainty, Evidence, EvidenceRow, Insight, high, low, medium
from tb_steptime.insights.cards import Reasoned, Words
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import (
    EVIDENCE,
    ONLY_PROFILED,
    PROFILING_SLOWS,
    Bounds,
    evidence_of_sites,
    host_card,
    late_by_site,
    late_ns,
    sites_of,
    while_batches_are_late_ns,
)
from tb_steptime.insights.rules.host.blocking_rows import bubble_ns, origin_of
from tb_steptime.metrics.idle.blocking_rows import ORIGINS, BlockingRow, WaitOrigin
from tb_steptime.metrics.idle.bottleneck import LEADING_FRACTION, Bound
from tb_steptime.metrics.idle.host_stalls import LEAST_STEPS, RARE_FRACTION
from tb_steptime.metrics.idle.long_gaps import FEW_LAUNCHES, LongGaps
from tb_steptime.text import Phrase, joined, ns, phrase

if TYPE_CHECKING:
    from typing_extensions import Unpack

HOOKS = ("backward.hooks",)
FORWARD = ("forward.model",)
BACKWARD = ("backward.loss", "backward.nodes", "backward.gradient_accumulation")
INPUTS = ("forward.inputs",)
BETWEEN = ("data_loading", "other")
_MODEL = (*FORWARD, *BACKWARD, *HOOKS)

#: Rare long gaps below this share of a place's late time count with its short gaps. Graphs put the CPU ahead by more
#: than that, so they hide these gaps, too.
HIDDEN_FRACTION = 0.10


class ModelLate(msgspec.Struct, frozen=True):
    """How long the GPU waits for launches, in ns a step by place.

    short: for launches of the model in short gaps. between: for others of the passes' threads in short gaps. long: for
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
    sites = _MODEL if host.several_devices is not None else (*_MODEL, *INPUTS, *BETWEEN)
    late = {site: by_site[site] for site in sites if by_site.get(site, 0) > 0}
    long, compiled, rare = _longest_gap_ns(host, late)
    rest = {site: ns - long[site] - compiled[site] - rare[site] for site, ns in late.items()}
    short, between = ({site: rest[site] for site in sites if site in rest} for sites in (_MODEL, (*INPUTS, *BETWEEN)))
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
    """Returns whether the long gaps begin in few steps only. False if the recording has too few steps to know that."""
    steps = len(host.judged_steps)
    return steps >= LEAST_STEPS and gaps.steps <= max(1, RARE_FRACTION * steps)


def _longest_gap_ns(host: HostResult, late: dict[str, int]) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Returns the late time of each place in long gaps, in long gaps of compiled code, and in rare or unusual long
    gaps. The three times are disjoint."""
    long = dict.fromkeys(late, 0)
    compiled = dict.fromkeys(late, 0)
    rare = dict.fromkeys(late, 0)
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
    """Returns whether the recording has a single launch of a graph. What is before it may be the head of the recording;
    it does not show that launches of graphs wait for the CPU."""
    return host.launches is not None and round(host.launches.graphs * len(host.steps)) == 1


def bucket_late_ns(host: HostResult) -> int:
    return min(host.bucket_late_ns, late_ns(host, HOOKS))


class Claims(NamedTuple):
    """Idle time that cards about waits and about graphs could both claim, ns a step. waits: what a step without the
    waits of each origin gains beyond their bubbles. short, split: the late launches of these two kinds that are left to
    graphs."""

    waits: dict[WaitOrigin, int]
    short: int
    split: int


def claims(facts: Facts) -> Claims:
    """Divides idle time between waits and graphs. Without its waits, the CPU would be ahead, so that fewer launches
    would be late. A replay shows what that gains, and whether graphs gain more. What gains more comes first.

    idle time       |oo|pppp|ssssssssssss|    s: short, p: split; o: no other card is about it
    waits first     |wwwwwwwwwwwww|gggggg|
    graphs first    |wwwwwwww|ggggggggggg|    no more than both gain in the replay
    """
    model = model_late(facts.host)
    short_ns, split_ns = sum(model.short.values()), sum(model.split.values())
    waits, graphs = facts.replayed_gain("sync_bubble"), facts.replayed_gain(_graphs(facts))
    if waits is None or not _would_get_ahead(facts):
        return Claims({}, short_ns, split_ns)
    bubbles_ns, free_ns = _bubbles_ns(facts), split_ns + _unclaimed_ns(facts)
    alone = _beyond_bubbles_ns(facts)
    waits_ns = min(_of_step(facts, waits.low_ns) - bubbles_ns, sum(alone.values()), free_ns + short_ns)
    if graphs is not None and (graphs.gain_ns or 0) > (waits.gain_ns or 0):
        of_graphs_ns = _of_step(facts, graphs.gain_ns)
        both_ns = of_graphs_ns + _of_step(facts, waits.gain_after_ns)
        taken_ns = min(short_ns, of_graphs_ns)
        waits_ns = min(waits_ns, free_ns + short_ns - taken_ns, both_ns - bubbles_ns - taken_ns)
    else:
        short_ns -= max(0, waits_ns - free_ns)
    waits_ns = max(0, waits_ns)
    left = waits_ns / max(sum(alone.values()), 1)
    of_origins = {origin: round(ns * left) for origin, ns in alone.items()}
    return Claims(of_origins, short_ns, max(0, split_ns - waits_ns))


def _beyond_bubbles_ns(facts: Facts) -> dict[WaitOrigin, int]:
    """Returns what a step gains beyond the bubbles of the calls of each origin, if these alone no longer wait."""
    rows, replayed, waits = facts.host.blocking, facts.replayed, facts.replayed_gain("sync_bubble")
    if replayed is None or waits is None:
        return {}
    if not replayed.waits:
        all_ns = max(0, _of_step(facts, waits.low_ns) - _bubbles_ns(facts))
        return {origin: round(all_ns * _share_of_blocked(facts, origin)) for origin in ORIGINS}
    return {
        origin: max(0, _of_step(facts, low_ns) - bubble_ns(_of_origin(rows, origin)))
        for origin, low_ns in _alone_ns(facts).items()
    }


def _share_of_blocked(facts: Facts, origin: WaitOrigin) -> float:
    """Returns the share of calls of this origin in the time for which calls make the CPU wait. Calls of one origin wait
    in the replayed step if it shows no gains of several; those of others wait in a few steps at most."""
    return _blocked_ns(_of_origin(facts.host.blocking, origin)) / max(facts.blocked_ns, 1)


def _alone_ns(facts: Facts) -> dict[WaitOrigin, int]:
    """Returns what the replayed step gains if the calls of each origin alone no longer wait, at the low end of its
    range. What only all together gain is in none of these times: where others still wait, the CPU does not get ahead.

    thread   [copy, waits]llll          [item, waits]llll      without either one, the CPU waits in the other one
    """
    replayed, waits = facts.replayed, facts.replayed_gain("sync_bubble")
    if replayed is None or waits is None:
        return {}
    if replayed.waits:
        alone = {gain.id: gain.low_ns or 0 for gain in replayed.waits}
        return {origin: max(alone[origin], 0) for origin in ORIGINS if origin in alone}
    all_ns = max(waits.low_ns or 0, 0)
    return {origin: round(all_ns * _share_of_blocked(facts, origin)) for origin in ORIGINS}


def without_waits_ns(facts: Facts, rows: Sequence[BlockingRow]) -> int:
    """Returns what the replayed step gains if these calls alone no longer wait: their share of what calls of the same
    origin gain, if they wait for most of the time of these. Less frequent ones may gain nothing by themselves."""
    alone = _alone_ns(facts)
    if facts.replayed is None or not facts.replayed.waits:
        share = _blocked_ns(rows) / max(facts.blocked_ns, 1)
        return round(sum(alone.values()) * share) if share >= _MOSTLY else 0
    shares = {origin: _share_of_origin(facts, rows, origin) for origin in ORIGINS}
    return round(sum(alone.get(origin, 0) * share for origin, share in shares.items() if share >= _MOSTLY))


#: From this share of the time for which calls of one origin make the CPU wait, what these gain is due to some of them.
_MOSTLY = 0.5


def _share_of_origin(facts: Facts, rows: Sequence[BlockingRow], origin: WaitOrigin) -> float:
    """Returns the share of these calls in the time for which all of the same origin make the CPU wait."""
    of_all_ns = _blocked_ns(_of_origin(facts.host.blocking, origin))
    return _blocked_ns(_of_origin(rows, origin)) / max(of_all_ns, 1)


def _of_origin(rows: Sequence[BlockingRow], origin: WaitOrigin) -> list[BlockingRow]:
    """Returns those of these calls that `sync_bubble` removes from the replayed step, and that have this origin."""
    return [row for row in rows if row.kind != "allocator" and origin_of(row) == origin]


def _of_step(facts: Facts, gain_ns: int | None) -> int:
    """Returns what the mean step gains where the replayed one gains so much: no more than that, as the mean step may be
    longer by pauses, and less if it is shorter."""
    steady_ns = facts.replayed.steady_step_ns if facts.replayed is not None else 0
    return round((gain_ns or 0) * min(1.0, facts.step_ns / max(steady_ns, 1)))


def _would_get_ahead(facts: Facts) -> bool:
    """Returns whether the CPU would be ahead without its waits. It would wait for its batches where these set the pace.
    Where calls that wait set the pace of the replayed step but not the job's, they have to, because the CPU works on
    what they read."""
    waits = facts.replayed is not None and facts.replayed.pace == Bound.SYNC.value
    return facts.host.bound is not Bound.INPUT and not (waits and facts.host.bound is Bound.HOST)


def _bubbles_ns(facts: Facts) -> int:
    """Returns the bubbles of all calls that `sync_bubble` removes from the replayed step."""
    return bubble_ns([row for row in facts.host.blocking if row.kind != "allocator"])


def _unclaimed_ns(facts: Facts) -> int:
    """Returns the idle time a step that is neither a wait for a batch nor a bubble, a pause or a late launch."""
    if facts.idle is None:
        return 0
    others_ns = sum(late_by_site(facts.host).values()) + sum(pause.idle_ns for pause in facts.host.pauses)
    others_ns += facts.idle.data_loading + facts.host.blocking_bubble_ns
    return max(0, facts.idle.total_ns - others_ns)


def _graphs(facts: Facts) -> str:
    return "between_graphs" if in_graphs(facts) else "launch_graphs"


def beyond_bubbles_ns(facts: Facts, rows: list[BlockingRow]) -> int:
    """Returns the part of these calls in what a step without waits gains beyond the bubbles: the CPU lacks the time for
    which they make it wait, so that later launches are late, too. It is 0 where it would be worth no card."""
    more_ns = 0.0
    for origin, claimed_ns in claims(facts).waits.items():
        more_ns += claimed_ns * _share_of_origin(facts, rows, origin)
    return facts.worth(round(more_ns))


def _blocked_ns(rows: Sequence[BlockingRow]) -> int:
    return sum(row.blocked_ns for row in rows)


def _together(facts: Facts) -> list[Phrase]:
    """Returns a sentence about what a step gains only if the calls of several origins no longer wait; none where that
    is not worth a card."""
    replayed, waits = facts.replayed, facts.replayed_gain("sync_bubble")
    if replayed is None or waits is None or not replayed.waits or not _would_get_ahead(facts):
        return []
    all_ns = _of_step(facts, waits.low_ns)
    by_themselves_ns = sum(_of_step(facts, low_ns) for low_ns in _alone_ns(facts).values())
    return [phrase(_TOGETHER, all=ns(all_ns))] if facts.worth(all_ns - by_themselves_ns) else []


_TOGETHER = "If no call waited, a step would gain {all}: as it is, the CPU waits in one call or in the next."


#: From this share of kernel time on, most of the work counts as launched in graphs.
MOSTLY = 0.5


def in_graphs(facts: Facts) -> bool:
    return (facts.job.graph_share or 0.0) >= MOSTLY


_LATE = "GPU idle time until work launched from here reaches the GPU, mean over the steps"
_LEFT_OUT = " Waits for the data loader, blocking calls and pauses are left out."
_INSTANT = " Where the CPU does not set the pace, at most what an instant one would gain."
_PLAIN = ", less its share of what the profiler adds to a step, which the recorder timed."
_UNOBSERVED = (
    ", less its share of what a step takes because something observes each op: record without it to measure the rest."
)
_BUBBLES = (
    "GPU idle time from the start of the call, or from when the GPU ran out of work, to the next work launched after "
    "the call"
)
_AND_MORE = (
    ", and before later launches until the CPU is ahead; mean over the steps, at most what a replay without these "
    "waits gains."
)
_NOT_COUNTED = phrase(
    "Launches reach the GPU late, and each wait exposes that delay. It is not counted, because no replay that can be "
    "trusted shows how long it is."
)
_BEHIND_BATCHES = phrase(
    "The loader sets the pace, and this recording does not show what a quicker CPU gains while batches come late."
)
_REPLAYED = phrase("A replay shows that the CPU would get ahead without these waits.")
_MEASURED = phrase("The GPU's idle time behind these calls is measured in every step.")


class Advice(msgspec.Struct, frozen=True):
    """Templates of a card about late launches."""

    title: str
    why: str
    how: str


def late_card(
    facts: Facts,
    sites: Collection[str],
    gain_ns: int,
    *,
    certain: bool = False,
    long: bool = False,
    guess: Phrase | None = None,
    **words: Unpack[Words],
) -> Insight | None:
    """Returns a card about launches from some sites, with the sites' longest gaps unless it has other evidence.

    certain: the change removes these launches, however much profiling slows them. long: the card is about a few long
    gaps, which profiling hardly lengthens. guess: why it is a guess that anything is to be done. Where batches come
    late, neither a single step nor a recording without a replay shows when the next one would come.
    """
    rows = sites_of(facts.host, sites)
    worst = max(rows, key=lambda row: row.idle_ns.late_ns, default=None)
    words["row"] = EvidenceRow("sites", worst.site) if worst else None
    words.setdefault("evidence", evidence_of_sites(rows))
    slowed_ns = facts.step_ns - facts.step_ns / facts.slowed
    plain = 1.0 if long else _left_without_profiler(facts, max(slowed_ns, _observed_ns(facts)))
    left = plain if long else plain * _left_without_late_batches(facts)
    gain_ns = _worth_now(facts, words["id"], round(gain_ns * left))
    unseen = facts.replayed is None or len(facts.host.judged_steps) == 1
    unseen = unseen and facts.host.bound is Bound.INPUT
    return host_card(
        facts,
        gain_ns,
        formula=f"{_LATE}.{_LEFT_OUT}{_INSTANT}"
        if plain == 1
        else f"{_LATE}{_UNOBSERVED if facts.slowed == 1 else _PLAIN}{_LEFT_OUT}",
        certainty=high(_MEASURED) if certain else low(guess) if guess else PROFILING_SLOWS,
        bounds=Bounds(
            sure_ns=0 if unseen else None if long else round(gain_ns * _sure(facts)),
            unsure=_BEHIND_BATCHES if unseen else ONLY_PROFILED,
            most_now_ns=while_batches_are_late_ns(facts, gain_ns, "host"),
        ),
        **words,
    )


def _sure(facts: Facts) -> float:
    """Returns the share of the gains that remains if the profiler doubled the host's time, and the host sets the pace
    only for that reason. It is what an instant host gains over a host with half the time, as a share of what it gains
    over the recorded host. It is 1 where the recorder timed what the profiler adds, where the host sets the pace in
    any case, and without a replay."""
    replayed = facts.replayed
    if replayed is None or replayed.holds_unprofiled or facts.slowed > 1:
        return 1.0
    instant_ns = replayed.sensitivity.host
    return max(0.0, (replayed.half_host_ns - instant_ns) / max(replayed.steady_step_ns - instant_ns, 1))


def _left_without_profiler(facts: Facts, added_ns: float) -> float:
    """Returns the share of the short waits that is left without the profiler. The profiler, like what else observes the
    ops, slows every launch and op, so the time that it adds to a step (added_ns) lies in the many short waits for
    launches."""
    all_ns = _short_ns(facts)
    return max(0.0, 1 - added_ns / all_ns) if all_ns > 0 else 1.0


def behind_batches_ns(facts: Facts) -> int:
    """Returns the short waits for launches that are late only because a batch was, ns a step: where the loader sets the
    pace, what a replay without its waits gains beyond the GPU's idle time in them. These waits belong to the loader."""
    replayed = facts.replayed
    causes = facts.data_loading.causes if facts.has("data_loading") else None
    if replayed is None or causes is None or facts.host.bound is not Bound.INPUT:
        return 0
    more_ns = replayed.steady_step_ns - replayed.sensitivity.loader - causes.shares.late_ns
    return max(0, min(replayed.behind_batches_ns, more_ns, _short_ns(facts)))


def waits_for_batches_ns(facts: Facts) -> int:
    """Returns what a step without any wait for batches gains, ns, by its cards; 0 where no wait is known."""
    causes = facts.data_loading.causes if facts.has("data_loading") else None
    return sum(msgspec.structs.astuple(causes.shares)) + behind_batches_ns(facts) if causes is not None else 0


def _left_without_late_batches(facts: Facts) -> float:
    """Returns the share of the short waits for launches that is left once no batch is late."""
    behind_ns = behind_batches_ns(facts)
    return 1 - behind_ns / _short_ns(facts) if behind_ns else 1.0


def _short_ns(facts: Facts) -> int:
    model = model_late(facts.host)
    return sum(late_by_site(facts.host).values()) - sum(model.long.values()) - sum(model.compiled.values())


def _observed_ns(facts: Facts) -> float:
    """Returns what of the short waits is the time of what observes the ops besides the profiler: all of that time where
    the CPU sets the pace. Otherwise part of it is hidden, and the waits have its share of the step, for the CPU works
    no longer than that."""
    host_bound = facts.host.bound is Bound.HOST
    return facts.observed_ns if host_bound else facts.share(facts.observed_ns) * _short_ns(facts)


#: Cards about late launches whose change is replayed.
_REPLAYED_CHANGES = ("between_graphs", "fused_optimizer", "launch_graphs")


def _worth_now(facts: Facts, id: str, gain_ns: int) -> int:
    """Returns the card's gain, limited to the share of the step that a replay of the change gains. Without a replay it
    is limited to what an instant CPU gains, unless the CPU or the loader sets the pace. Where the loader does, the gain
    is what the change is worth once batches come in time, which a replay of the change alone does not show."""
    bound, replayed = facts.host.bound, facts.replayed
    change = facts.replayed_gain(id) if id in _REPLAYED_CHANGES else None
    if replayed and change is not None and (bound is not Bound.INPUT or id == "between_graphs"):
        return min(gain_ns, round((change.gain_ns or 0) / max(replayed.steady_step_ns, 1) * facts.step_ns))
    return gain_ns if bound in (Bound.HOST, Bound.INPUT) else facts.at_most_ns(gain_ns, "host")


def calls_card(
    facts: Facts,
    rows: list[BlockingRow],
    more_ns: int = 0,
    doubt: Certainty | None = None,
    **words: Unpack[Words],
) -> Insight | None:
    """Returns a card about groups of blocking calls. Its gain is the bubbles that they leave, plus more_ns: further
    idle time of the GPU that these calls cause, as a replay shows. Where batches come late, a step without these
    waits would only wait longer for its batch: it is a later gain, unless a replay shows more. It is a guess where
    there is a doubt."""
    formula = phrase(_BUBBLES + (_AND_MORE if more_ns else ", mean over the steps."))
    late = facts.idle is not None and facts.idle.launch_latency >= LEADING_FRACTION * facts.idle.total_ns > 0
    gain_ns = bubble_ns(rows) + more_ns
    words["why"] = joined(words["why"], *_together(facts))
    return waits_card(
        facts,
        rows,
        gain_ns,
        formula=joined(formula, _NOT_COUNTED) if late and facts.replayed is None else formula,
        certainty=doubt or (medium(_REPLAYED) if more_ns else high(_MEASURED)),
        most_now_ns=while_batches_are_late_ns(facts, gain_ns, "blocking"),
        **words,
    )


def waits_card(
    facts: Facts, rows: list[BlockingRow], gain_ns: int, most_now_ns: int | None = None, **words: Unpack[Reasoned]
) -> Insight | None:
    """Returns a card with these calls as its evidence."""
    words["evidence"] = [Evidence(row.worst_step, row.worst_start_ns, row.worst_end_ns) for row in rows][:EVIDENCE]
    words["row"] = EvidenceRow("blocking", str(rows[0].worst_start_ns))
    bounds = Bounds(most_now_ns=most_now_ns)
    return host_card(facts, gain_ns, colour="blocking", part="runtime", bounds=bounds, **words)
