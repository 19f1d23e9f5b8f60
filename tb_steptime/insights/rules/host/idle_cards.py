"""The two kinds of cards about an idle GPU: about late launches from one place, and about blocking calls.

late launches    |---- idle ----| until work from the place is launched and reaches the device
blocking calls   |--- bubble ---| from the drain, or the call's start, to the next work that is launched after it
"""

from __future__ import annotations

from collections.abc import Collection

from tb_steptime.insights.base import Confidence, Evidence, EvidenceRow, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import (
    EVIDENCE,
    PROFILING_SLOWS,
    evidence_of_sites,
    host_card,
    late_by_site,
    sites_of,
)
from tb_steptime.insights.rules.host.blocking_rows import bubble_ns
from tb_steptime.insights.rules.host.model_launches import model_late
from tb_steptime.metrics.idle.bottleneck import LEADING_FRACTION, Bound
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.text import Phrase, joined, phrase

_LATE = phrase(
    "GPU idle time until work launched from here reaches the GPU, mean over the steps. Waits for the data loader, "
    "blocking calls and pauses are left out. Where the CPU does not set the pace, at most what an instant one "
    "would gain."
)
_LATE_PLAIN = phrase(
    "GPU idle time until work launched from here reaches the GPU, mean over the steps, less its share of what the "
    "profiler adds to a step, which the recorder timed. Waits for the data loader, blocking calls and pauses are left "
    "out."
)
_LATE_UNOBSERVED = phrase(
    "GPU idle time until work launched from here reaches the GPU, mean over the steps, less its share of what a step "
    "takes because something observes each op: record without it to measure the rest. Waits for the data loader, "
    "blocking calls and pauses are left out."
)
_BUBBLES = phrase(
    "GPU idle time from the start of the call, or from when the GPU ran out of work, to the next work launched after "
    "the call, mean over the steps."
)
_BUBBLES_AND_MORE = phrase(
    "GPU idle time from the start of the call, or from when the GPU ran out of work, to the next work launched after "
    "the call, and before later launches until the CPU is ahead; mean over the steps, at most what a replay without "
    "these waits gains."
)
_NOT_COUNTED = phrase(
    "Launches reach the GPU late, and each wait exposes that delay. No replay that can be trusted shows how much of "
    "it, so it is not counted."
)
_REPLAYED = phrase("A replay shows that the CPU would get ahead without these waits.")
_MEASURED = phrase("The GPU's idle time behind these calls is measured in every step.")


def late_card(
    facts: Facts,
    id: str,
    title: Phrase,
    why: Phrase,
    sites: Collection[str],
    gain_ns: int,
    how: str | None = None,
    certain: bool = False,
    long: bool = False,
    guess: Phrase | None = None,
    evidence: list[Evidence] | None = None,
) -> Insight | None:
    """Returns a card about launches from some sites.

    certain: the change removes these launches, however much profiling slows them. long: the card is about a few long
    gaps, which profiling hardly lengthens. guess: why it is a guess that anything is to be done. evidence: None for
    the sites' longest gaps.
    """
    rows = sites_of(facts.host, sites)
    worst = max(rows, key=lambda row: row.idle_ns.late_ns, default=None)
    slowed_ns = facts.step_ns - facts.step_ns / facts.slowed
    plain = 1.0 if long else _left_without_profiler(facts, max(slowed_ns, _observed_ns(facts)))
    gain_ns = round(_worth_now(facts, id, gain_ns) * plain)
    return host_card(
        facts,
        id=id,
        title=title,
        why=why,
        how=how,
        gain_ns=gain_ns,
        sure_ns=None if long else round(gain_ns * _sure(facts)),
        formula=_LATE if plain == 1 else _LATE_UNOBSERVED if facts.slowed == 1 else _LATE_PLAIN,
        best=Confidence.HIGH if certain else Confidence.LOW if guess else Confidence.MEDIUM,
        why_confidence=_MEASURED if certain else guess or PROFILING_SLOWS,
        evidence=evidence_of_sites(rows) if evidence is None else evidence,
        row=EvidenceRow("sites", worst.site) if worst else None,
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


def _short_ns(facts: Facts) -> int:
    model = model_late(facts.host)
    return sum(late_by_site(facts.host).values()) - sum(model.long.values()) - sum(model.compiled.values())


def _observed_ns(facts: Facts) -> float:
    """Returns what of the short waits is the time of what observes the ops besides the profiler: all of that time where
    the CPU sets the pace. Otherwise part of it is hidden, and the waits have its share of the step, for the CPU works
    no longer than that."""
    host_bound = facts.host.bound is Bound.HOST
    return facts.observed_ns if host_bound else facts.share(facts.observed_ns) * _short_ns(facts)


def _worth_now(facts: Facts, id: str, gain_ns: int) -> int:
    """Returns the card's gain, limited to what a replay of the change gains. Without a replay it is limited to what an
    instant CPU gains, unless the CPU or the loader sets the pace. Where the loader does, the card says what is worth
    doing once batches come in time."""
    change = facts.replayed_gain(id) if id == "between_graphs" else None
    if change is not None:
        return min(gain_ns, change.gain_ns or 0)
    return gain_ns if facts.host.bound in (Bound.HOST, Bound.INPUT) else facts.at_most_ns(gain_ns, "host")


def calls_card(
    facts: Facts, id: str, title: Phrase, why: Phrase, rows: list[BlockingRow], how: str | None = None, more_ns: int = 0
) -> Insight | None:
    """Returns a card about groups of blocking calls. Its gain is the bubbles that they leave, plus more_ns: further
    idle time of the GPU that these calls cause, as a replay shows."""
    formula = _BUBBLES_AND_MORE if more_ns else _BUBBLES
    late = facts.idle is not None and facts.idle.launch_latency >= LEADING_FRACTION * facts.idle.total_ns > 0
    return host_card(
        facts,
        id=id,
        title=title,
        why=why,
        how=how,
        gain_ns=bubble_ns(rows) + more_ns,
        formula=joined(formula, _NOT_COUNTED) if late and facts.replayed is None else formula,
        best=Confidence.MEDIUM if more_ns else Confidence.HIGH,
        why_confidence=_REPLAYED if more_ns else _MEASURED,
        colour="blocking",
        part="runtime",
        evidence=[Evidence(row.worst_step, row.worst_start_ns, row.worst_end_ns) for row in rows][:EVIDENCE],
        row=EvidenceRow("blocking", str(rows[0].worst_start_ns)) if rows else None,
    )
