"""Waits of the CPU for something from outside of its thread: a queue that another thread fills, or a server's requests.

thread   --op--[read]  |--- queue.get: lock.acquire ---|  --op--[read]      nothing to do until a request comes:
device     kkkkkkkkk                                        kkkkkkkkk       no change of the step makes it come sooner

Without call stacks nothing is recorded of such a wait. Requests come irregularly, while the work between them is alike:

thread   --op--[read]         --op--[read]  --op--[read]                   --op--[read]        a server, or a function
thread   --op--[read]       --op--[read]      --op--[read]       --op--[read]                  a function of the loop

Where the loop keeps a rate, or a camera does, work differs and the distance from one beginning to the next does not:

thread   --op--[read]            --op---------[read]     --op----[read]          --op--[read]
pace     |                       |                       |                       |

Where the work is always the same, its distance shows a rate only if that is one of cameras and timers, such as 33.3 ms.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from tb_steptime.insights.facts import Facts
from tb_steptime.metrics.idle.long_gaps import LongGap, WaitName
from tb_steptime.metrics.means import ENOUGH_STEPS, median
from tb_steptime.text import phrase
from tb_steptime.text.patterns import expression

#: Functions of Python's library that wait for another thread or process, such as one that fills a queue with batches.
WAITS_FOR_OTHERS = expression(
    r"(^|[/\\](python3\.\d+|[Ll]ib)[/\\])(queue|threading|concurrent[/\\]futures[/\\]_base)\.py\(\d+\): "
    r"(get|join|wait|result)$|<built-in method (acquire of _thread|get of _queue)"
)
#: That of DALI, whose pipeline runs in threads of its own: it "blocks until the results become available".
WAITS_FOR_DALI = expression(r"(^|[/\\])nvidia[/\\]dali[/\\]pipeline\.py\(\d+\): _?(share_)?outputs$")
#: Functions that wait for whatever comes next, as a server's loop of events does. What receives an answer, such as
#: `recv`, is part of the function that asks for it.
WAITS_FOR_ANY = expression(r"<built-in (?:method|function) (?:select|poll|accept)\b")
#: The function by which a loop that asks again and again lets others run, as that of vLLM's workers does for the next
#: step: its scheduler takes about as long each time, and requests come when they come.
SPINS = expression(r"(^|: |<built-in (?:method|function) )sched_yield\b")
#: The function with which a thread stops itself: until its next turn, where a loop keeps a rate, or to ask again.
SLEEPS = expression(r"<built-in function sleep>")
OF_REQUESTS = phrase(
    "A server waits so for requests, and a loop that keeps a rate for its next turn: the GPU has nothing to do until "
    "then."
)

#: From this share of a call's gain on, a step's waits for requests show that the GPU would have nothing to do sooner.
_MOST = 0.5
#: From this share of their median on, waits vary irregularly. By `_varies_ns` it is 0.7 where requests come
#: independently of each other, 0.03 for a function that does the same in each step, and 0.17 for one whose data grow.
_IRREGULAR = 0.25
#: A pace varies by at most this share of what the waits do, which differ by at least this share of a step. Fewer steps
#: may be equally long by chance: eight are in one of 70 jobs whose waits have nothing to do with their work.
_STEADY, _DIFFERENT, _ENOUGH_FOR_PACE = 0.25, 0.02, 8
#: Rates of cameras and of loops, per second. Steps have one of them if their period is longer by at most this share, or
#: by what a sleep overshoots, and if the periods differ by no more: one in 90 periods lies there by chance.
_RATES = (1, 2, 5, 10, 15, 20, 24, 25, 30, 50, 60, 100, 120)
_EVEN, _OVERSHOOT_NS = 0.002, 100_000


def may_be_requests(facts: Facts, name: str, gaps: Sequence[LongGap]) -> bool:
    """Returns whether this wait may be one for requests: for whatever comes next, or, in an inference, for another
    thread or for its next turn. gaps: the longest gaps with this name."""
    call = busiest(gaps)
    if is_mostly(WAITS_FOR_ANY, name, call):
        return True
    if facts.infers and is_mostly(SPINS, name, call):
        return _come_irregularly(facts) or _are_mostly_longer(facts)
    return facts.infers and any(is_mostly(waits, name, call) for waits in (WAITS_FOR_OTHERS, SLEEPS))


def awaits_requests(facts: Facts, gain_ns: int) -> bool:
    """Returns whether an inference may wait for requests where a card says that the GPU may work sooner, by gain_ns a
    step."""
    if not facts.infers:
        return False
    names = [each for row in facts.host.long_gaps for each in row.names]
    name = common_name(names)
    waited_ns = sum(each.late_ns for each in names if each.name == name)
    if waited_ns < _MOST * gain_ns * len(facts.host.judged_steps):
        return False
    gaps = [gap for row in facts.host.long_gaps for gap in row.longest if gap.name == name]
    return keeps_pace(facts) or (
        may_be_requests(facts, name, gaps) if name is not None else may_be_unrecorded(facts, gaps)
    )


def may_be_unrecorded(facts: Facts, gaps: Sequence[LongGap]) -> bool:
    """Returns whether an inference may wait for requests in gaps of which nothing is recorded, because their time
    differs between the steps, and by more than the rest of a step. gaps: the longest."""
    return is_unrecorded(facts, gaps) and _come_irregularly(facts)


def _come_irregularly(facts: Facts) -> bool:
    """Returns whether the waits of an inference differ between the steps, and by more than the rest of a step."""
    if not _may_wait_outside_ops(facts):
        return False
    waits_ns, others_ns = _waits_and_others_ns(facts)
    varies_ns = _varies_ns(waits_ns)
    return varies_ns >= _IRREGULAR * median(waits_ns) and varies_ns > _varies_ns(others_ns)


def _are_mostly_longer(facts: Facts) -> bool:
    """Returns whether most of the time for which an inference waits is beyond the usual wait of a step, in few or many
    of them."""
    waits_ns, _ = _waits_and_others_ns(facts)
    usual_ns = (1 + _IRREGULAR) * median(waits_ns) if waits_ns else 0.0
    return 2 * sum(min(wait_ns, usual_ns) for wait_ns in waits_ns) < sum(waits_ns)


def keeps_pace(facts: Facts) -> bool:
    """Returns whether the waits of an inference end at equal distances, although the work between them differs, or at
    those of a common rate: they last as long as what is left of a fixed time, whatever the CPU is in meanwhile. A wait
    is in the step of the work before it, where the mark of the step is behind the wait, or else in the one after it."""
    if not _may_wait_outside_ops(facts):
        return False
    waits_ns, others_ns = _waits_and_others_ns(facts)
    varies_ns = _varies_ns(waits_ns)
    lengths_ns = [wait_ns + other_ns for wait_ns, other_ns in zip(waits_ns, others_ns, strict=True)]
    if len(lengths_ns) < _ENOUGH_FOR_PACE:
        return False
    from_work_on_ns = [wait_ns + other_ns for wait_ns, other_ns in zip(waits_ns[1:], others_ns, strict=False)]
    periods_ns = lengths_ns, from_work_on_ns
    if varies_ns < _DIFFERENT * median(lengths_ns):
        return any(map(_has_rate, periods_ns))
    return any(_varies_ns(each) <= _STEADY * varies_ns for each in periods_ns)


def _has_rate(periods_ns: Sequence[int]) -> bool:
    """Returns whether these periods are equal, and those of a common rate.

    >>> [_has_rate([period_ns] * 8) for period_ns in (33_333_333, 33_410_000, 33_300_000, 33_600_000)]
    [True, True, False, False]
    """
    usual_ns = median(periods_ns)
    tolerance_ns = max(_EVEN * usual_ns, _OVERSHOOT_NS)
    late_ns = (usual_ns - 1e9 / rate for rate in _RATES)
    return _varies_ns(periods_ns) <= tolerance_ns and any(-1_000 <= each <= tolerance_ns for each in late_ns)


def _may_wait_outside_ops(facts: Facts) -> bool:
    """Returns whether there are enough steps of an inference to compare. What a loader marks is no request."""
    has_loader = facts.has("data_loading") and facts.data_loading.mean is not None
    return facts.infers and not has_loader and len(facts.judged_steps) >= ENOUGH_STEPS


def _waits_and_others_ns(facts: Facts) -> tuple[list[int], list[int]]:
    """Returns for each judged step how long the GPU waits while the CPU is in no op or call, and the rest of it, ns."""
    steps = [facts.host.steps[each] for each in facts.judged_steps]
    waits_ns = [step.idle_ns.nothing_recorded for step in steps]
    return waits_ns, [step.judged_ns - waited_ns for step, waited_ns in zip(steps, waits_ns, strict=True)]


def is_unrecorded(facts: Facts, gaps: Sequence[LongGap]) -> bool:
    """Returns whether the trace shows nothing that the CPU does in any of these gaps. Call stacks would show all of
    it."""
    return not facts.host.with_stack and bool(gaps) and all(gap.doing == "nothing" for gap in gaps)


def _varies_ns(times_ns: Sequence[int]) -> float:
    """Returns by how much the times of successive steps differ irregularly: the median difference from their median, or
    that from the step before if it is less. One pause does not raise the former, and a trend not the latter."""
    usual_ns = median(times_ns)
    from_usual = [abs(each - usual_ns) for each in times_ns]
    from_last = [abs(later - earlier) for earlier, later in itertools.pairwise(times_ns)]
    return min(median(from_usual), median(from_last))


def is_mostly(calls: re.Pattern[str], name: str, call: LongGap | None) -> bool:
    """Returns whether most of the time with this name is in such calls: then this function does not take it. call: the
    gap with the most time in one call."""
    mostly = call is not None and 2 * call.busiest_ns >= call.late_ns
    return any(calls.search(each) for each in (name, (call.busiest if mostly and call else None) or ""))


def common_name(waits: Sequence[WaitName]) -> str | None:
    """Returns the name that has the most late time, if it has at least half of the late time of all these waits."""
    of_name: dict[str, int] = {}
    for each in waits:
        if each.name is not None:
            of_name[each.name] = of_name.get(each.name, 0) + each.late_ns
    name = max(of_name, key=lambda each: of_name[each], default=None)
    return name if name and 2 * of_name[name] >= sum(each.late_ns for each in waits) else None


def busiest(gaps: Sequence[LongGap]) -> LongGap | None:
    """Returns the gap with the most time in one call. Calls that take longer than the late time of their gap are left
    out: part of that time has other causes."""
    named = [gap for gap in gaps if gap.busiest and gap.busiest_ns <= gap.late_ns]
    return max(named, key=lambda gap: gap.busiest_ns, default=None)
