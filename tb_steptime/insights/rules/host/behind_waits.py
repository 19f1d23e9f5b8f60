"""Late launches that calls cause which make the CPU wait for the GPU. Behind their bubbles, further launches are late
until the CPU is ahead again.

thread   [sync       ]  l  l  l  lllllllllll       [sync      ]
device   kkkkkkkkkkkkk   kk kk kk kkkkkkkkkkkkkkkkkkkkkkkkkkkkk
idle                  bbb  r  r  r                               b: bubble, r: behind it

These are the first launches after a wait, as far as a step without waits would be shorter in a replay.
"""

from __future__ import annotations

import msgspec

from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import sites_of
from tb_steptime.insights.rules.host.blocking_rows import bubble_ns, calls_of
from tb_steptime.insights.rules.host.model_launches import ModelLate, model_late
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.replay.whatif import Gain


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
    late = model_late(facts.host)
    split_ns = max(0, min(sum(late.split.values()), change.gain_ns - bubble_ns(rows)))
    if not facts.worth(bubble_ns(rows)):
        lead_ns = _lead_ns(facts, rows, late, change, bubble_ns(rows) + split_ns)
        return BehindWaits(split_ns, lead_ns=lead_ns, not_graphs_ns=lead_ns)
    beyond_ns = max(0, change.low_ns - facts.host.blocking_bubble_ns - split_ns)
    not_graphs_ns, script = _not_graphs_ns(facts, late), _of_script(facts)
    refill_ns = sum(min(row.refill_ns, late.short[row.site]) for row in sites_of(facts.host, late.short))
    short_ns = min(refill_ns, not_graphs_ns, beyond_ns)
    most = short_ns >= MOST * not_graphs_ns
    not_graphs_ns = round((not_graphs_ns if most else short_ns) * script)
    return BehindWaits(split_ns, round(short_ns * script), not_graphs_ns=not_graphs_ns)


def _not_graphs_ns(facts: Facts, late: ModelLate) -> int:
    """Returns the short gaps that graphs would not shorten if nothing waited, if these are most of them. It is 0 where
    graphs alone gain more than a step without waits, so that the replay takes them first."""
    graphs = facts.replayed_gain(_graphs(facts))
    if _graphs_first(facts):
        return 0
    left_ns = (graphs.gain_after_ns or 0) if graphs is not None else 0
    short_ns = sum(late.short.values())
    found_ns = max(0, short_ns - max(left_ns, 0))
    return found_ns if found_ns >= MOST * short_ns else 0


def _graphs(facts: Facts) -> str:
    return "between_graphs" if in_graphs(facts) else "launch_graphs"


def _graphs_first(facts: Facts) -> bool:
    """Whether graphs gain more in the replay than a step without waits."""
    made = [each.id for each in facts.replayed.changes] if facts.replayed else []
    return _graphs(facts) in made and made.index(_graphs(facts)) < made.index("sync_bubble")


def _lead_ns(facts: Facts, rows: list[BlockingRow], late: ModelLate, change: Gain, counted_ns: int) -> int:
    """Returns what waits during which the GPU works cost later, where the CPU sets the pace: it lacks the time that it
    waited. It is what the replay without waits gains at the low end of its range, and after graphs where these gain
    more; by the script's own calls, but no more than these wait, beyond what is counted already."""
    if facts.host.bound is not Bound.HOST:
        return 0
    gain_ns = change.low_ns or 0
    if _graphs_first(facts):
        gain_ns = min(gain_ns, change.gain_after_ns or 0)
    gain_ns = min(round(gain_ns * _of_script(facts)), sum(row.blocked_ns for row in rows))
    return min(max(0, gain_ns - counted_ns), sum(late.short.values()))


def _of_script(facts: Facts) -> float:
    """Returns the share of the script's own calls in the time for which calls make the CPU wait."""
    waits_ns = sum(row.blocked_ns for row in facts.host.blocking if row.kind != "allocator")
    return sum(row.blocked_ns for row in calls_of(facts, "plain")) / max(waits_ns, 1)


#: From this share of kernel time on, most of the work counts as launched in graphs.
MOSTLY = 0.5


def in_graphs(facts: Facts) -> bool:
    return (facts.job.graph_share or 0.0) >= MOSTLY
