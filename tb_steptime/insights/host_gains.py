"""What cards about the host may claim: disjoint parts of the idle time of the span's main device.

idle    |ddddd|gg|bbbbbbb|llllllllllllllll|qq|
         data  in  behind  late launches,   no card
               pauses      by site: model,
                  blocking  optimizer ...
                  calls

An instant belongs to the first that fits, so that the gains of all these cards may be added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.base import Certainty, Confidence, Evidence, Insight, low, medium
from tb_steptime.insights.cards import Words, card
from tb_steptime.insights.facts import WORTH_FRACTION, Facts, Part
from tb_steptime.insights.severity import severity_of_gain
from tb_steptime.metrics.excluded_time.ranges import FEW_STEPS
from tb_steptime.metrics.idle.bottleneck import LEADING_FRACTION, Bound
from tb_steptime.metrics.means import median
from tb_steptime.metrics.steps.host_pace import SiteRow
from tb_steptime.text import Phrase, as_phrase, joined, phrase

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Time ranges that a card links to: the longest one first, the others confirm it.
EVIDENCE = 5

#: Minimum number of kernels, copies and memsets: a single step with fewer does not show what a job is like.
FEW_ACTIVITIES = 10

#: From this share of activities without a recorded launch on, too little supports the partition of idle time.
UNLINKED_FRACTION = 0.05
LAUNCHES_MISSING = low("Many launches are missing in this trace.")

PROFILING_SLOWS = medium("The profiler slows the CPU: without it, this wait is shorter.")
ONLY_PROFILED = phrase(
    "If the CPU were twice as fast without the profiler, the GPU would hardly wait. What the profiler costs is only "
    "estimated: record with profile_steps, which also times steps without it."
)

_WAITS_FOR_RANKS = phrase(
    "For now, it is at most what the change gains if other ranks arrive at the collectives of this rank as recorded: "
    "this one only waits longer for them."
)
_WAITS_FOR_BATCHES = phrase(
    "For now, it is at most what the change gains in a replay in which batches come as late as recorded."
)
_MADE_UP_FOR = phrase(
    "Now it is at most the time by which the steps fell behind the loader: its workers go on while the CPU pauses."
)
ONCE = low("It happens at one place of this recording: how often it happens in a long run is not known.")


#: What a gain is of: every step; excess, such as pauses, which the replayed steady step does not have; that of a single
#: step; or the GPUs of the process together.
GainOf = Literal["steps", "excess", "one_step", "devices"]


class Bounds(NamedTuple):
    """What bounds a gain besides other ranks. sure_ns: what remains of it if the profiler slowed the host much, or for
    the reason `unsure`, which decides how grave the card is; None for all of it. most_now_ns: what it gains at most
    while batches come late, as a replay shows; None where they do not."""

    sure_ns: int | None = None
    unsure: Phrase = ONLY_PROFILED
    most_now_ns: int | None = None


_UNBOUNDED = Bounds()


def host_card(
    facts: Facts,
    gain_ns: int,
    formula: Phrase | str,
    certainty: Certainty,
    *,
    view: str = "host",
    part: str | None = "cpu_exec",
    colour: str | None = None,
    of: GainOf = "steps",
    bounds: Bounds = _UNBOUNDED,
    **words: Unpack[Words],
) -> Insight | None:
    """Returns the card if its gain, which nobody else claims, is worth one and the recording shows how the job runs.

    What is in a single step says more about the length of the recording than about the job, so that the card is a hint.
    Where one GPU waits for the results of another, no card but one about all of them gains more than the time in which
    none works. A rank that waits for others gains only later what these waits take up.
    """
    best = ONCE if of == "one_step" else certainty
    if facts.hands_over and of != "devices":
        gain_ns = min(gain_ns, facts.all_idle_ns)
    if gain_ns <= 0 or facts.share(gain_ns) < WORTH_FRACTION or not shows_the_job(facts):
        return None
    of_pauses = of in ("excess", "one_step")
    alone_ns = facts.alone_ns(gain_ns, pauses=of_pauses)
    if bounds.most_now_ns is not None:
        now_ns, why_less = min(alone_ns, bounds.most_now_ns), _WAITS_FOR_BATCHES
    elif of_pauses and (behind_ns := _behind_loader_ns(facts)) is not None:
        now_ns, why_less = min(alone_ns, behind_ns), _MADE_UP_FOR
    else:
        now_ns, why_less = alone_ns, _WAITS_FOR_RANKS
    now_ns = facts.worth(now_ns)
    sure_ns = now_ns if bounds.sure_ns is None else min(now_ns, bounds.sure_ns)
    here = _as_recorded(facts, best)
    if severity_of_gain(facts.share(sure_ns)) is not severity_of_gain(facts.share(now_ns)):
        here = low(bounds.unsure)
    formula = as_phrase(formula) if now_ns == gain_ns else joined(as_phrase(formula), why_less)
    return card(
        facts, formula=formula, certainty=best, gain_ns=gain_ns, now_ns=now_ns, sure_ns=sure_ns, here=here, view=view,
        part=part, colour=colour, **words,
    )  # fmt: skip


#: Where the number of workers is not known, any number is possible that has at least this many turns in the recording.
_TURNS = 3


def _behind_loader_ns(facts: Facts) -> int | None:
    """Returns by how much pauses lengthen the mean step at most while batches come late; None where no workers of a
    loader set the pace. These go on during a pause, and the batches that are ready then shorten the next waits."""
    loading = facts.data_loading
    if facts.host.bound is not Bound.INPUT or not loading.multiprocess:
        return None
    host = facts.host_as_recorded
    lengths = [host.steps[step].end_ns - host.steps[step].start_ns for step in host.judged_steps]
    known = loading.curve.measured_workers if loading.curve else 0
    workers = [known] if known else range(1, max(1, len(lengths) // _TURNS) + 1)
    return min(round(_left_behind_ns(lengths, worker) / len(lengths)) for worker in workers) if lengths else None


def _left_behind_ns(lengths: Sequence[int], workers: int) -> float:
    """Returns by how much the last of these steps ends later than with a loader that delivers at their usual pace.
    Steps wait in turns for workers, so only means over as many steps as there are workers show a pace.

    >>> _left_behind_ns([20, 20, 44, 6, 10, 20, 20], 1), _left_behind_ns([20, 20, 44, 16, 20, 20], 1)
    (0.0, 20.0)
    >>> _left_behind_ns([30, 6, 30, 6, 54, 6, 6, 6, 30, 6], 2)
    0.0
    """
    turn = min(workers, len(lengths))
    means = [sum(lengths[first : first + turn]) / turn for first in range(len(lengths) - turn + 1)]
    usual, behind = median(means), 0.0
    for each in means:
        behind = max(0.0, behind + each - usual)
    return behind


def while_batches_are_late_ns(facts: Facts, gain_ns: int, part: Part) -> int | None:
    """Returns what the step gains at most if this part took no time while batches come as late as recorded; None where
    the loader does not set the pace. What is quicker then only waits longer for its batch."""
    if facts.replayed is None and waits_for_workers(facts):
        return 0
    return facts.at_most_ns(gain_ns, part) if facts.host.bound is Bound.INPUT else None


def host_and_batches_ns(facts: Facts) -> int:
    """Returns the host floor with the waits for batches, hidden ones included: no batch comes sooner because a device
    is quicker, and no step is shorter than what its thread needs. 0 if nothing of the host is recorded."""
    mean = facts.data_loading.mean if facts.has("data_loading") else None
    return round(facts.figure("host_floor") or 0) + (mean.wait_ns if mean else 0)


def waits_for_workers(facts: Facts) -> bool:
    """Returns whether workers of a loader are too slow for the steps, which sets the pace: they go on meanwhile, so
    that no step is shorter before they are quicker. If only some batches are late, the other steps can be shorter."""
    if facts.host.bound is not Bound.INPUT or facts.idle is None or not facts.has("data_loading"):
        return False
    causes = facts.data_loading.causes
    late_ns = causes.shares.late_ns if causes and facts.data_loading.multiprocess else 0
    return late_ns > LEADING_FRACTION * facts.idle.data_loading


def shows_the_job(facts: Facts) -> bool:
    """Returns whether idle time may be taken for the job's own: not where most of it is work that is not recorded,
    since other work may be missing too; nor in a cold start, of whose few steps most comes only once; nor where hardly
    anything runs."""
    steps, idle = facts.overview.steps, facts.idle
    unrecorded = idle is not None and idle.unrecorded_work > LEADING_FRACTION * idle.total_ns
    cold = len(steps) < FEW_STEPS and facts.once_ns > LEADING_FRACTION * facts.all_steps_ns
    launches = facts.host.launches
    little = launches is not None and len(steps) == 1 and launches.activities < FEW_ACTIVITIES
    return not (unrecorded or cold or little)


def _as_recorded(facts: Facts, best: Certainty) -> Certainty:
    """Returns the card's own confidence, or a lower one where launches are missing or call stacks slowed the host."""
    if unlinked_share(facts.host) >= UNLINKED_FRACTION:
        return LAUNCHES_MISSING
    slowed = slowed_by(facts.host)
    return medium(slowed) if slowed is not None and best.level is Confidence.HIGH else best


def slowed_by(host: HostResult) -> Phrase | None:
    """Says which option of the recording slowed the CPU more than recording does anyway; None if none did."""
    if host.with_stack and host.with_memory:
        return phrase("Recorded with call stacks and memory profiling, which slow the CPU.")
    if host.with_memory:
        return phrase("Recorded with memory profiling, which slows the CPU.")
    return phrase("Recorded with call stacks, which slow the CPU.") if host.with_stack else None


def unlinked_share(host: HostResult) -> float:
    """Returns the share of the activities within the steps whose launch is not in the trace."""
    if host.launches is None or not host.steps:
        return 0.0
    activities = host.launches.activities * len(host.steps)
    return host.launches.unlinked / activities if activities else 0.0


def late_by_site(host: HostResult) -> dict[str, int]:
    """Returns for each site how long a step waits for its launches, ns, less what blocking calls and pauses cause."""
    return {row.site: max(0, row.idle_ns.late_ns - row.bubble_ns - row.paused_ns) for row in host.sites}


def late_ns(host: HostResult, sites: Collection[str]) -> int:
    return sum(ns for site, ns in late_by_site(host).items() if site in sites)


def sites_of(host: HostResult, sites: Collection[str]) -> list[SiteRow]:
    return [row for row in host.sites if row.site in sites]


def evidence_of_sites(rows: Iterable[SiteRow]) -> list[Evidence]:
    """Returns the longest gap of each site, the site with most late time first; then the other gaps, the longest first.
    A gap that is the longest of all may be of a site that costs little, such as the start of the step."""
    by_cost = sorted(rows, key=lambda row: -row.idle_ns.late_ns)
    gaps = [sorted(row.examples, key=lambda each: each.start_ns - each.end_ns) for row in by_cost]
    first = [each for site in gaps for each in site[:1]]
    others = [each for site in gaps for each in site[1:]]
    others.sort(key=lambda each: each.start_ns - each.end_ns)
    return [*first, *others][:EVIDENCE]
