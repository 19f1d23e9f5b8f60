"""Waits of the CPU for something from outside of its thread: a queue that another thread fills, or a server's requests.

thread   --op--[read]  |--- queue.get: lock.acquire ---|  --op--[read]      nothing to do until a request comes:
device     kkkkkkkkk                                        kkkkkkkkk       no change of the step makes it come sooner
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tb_steptime.insights.facts import Facts
from tb_steptime.metrics.idle.long_gaps import LongGap, WaitName
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
OF_REQUESTS = phrase("A server waits so for requests, and has nothing for the GPU to do until one comes.")

#: From this share of a call's gain on, a step's waits for requests show that the GPU would have nothing to do sooner.
_MOST = 0.5


def may_be_requests(facts: Facts, name: str, gaps: Sequence[LongGap]) -> bool:
    """Whether this wait may be one for requests: for whatever comes next, or, in an inference, for another thread.
    gaps: the longest gaps with this name."""
    call = busiest(gaps)
    return is_mostly(WAITS_FOR_ANY, name, call) or (facts.infers and is_mostly(WAITS_FOR_OTHERS, name, call))


def awaits_requests(facts: Facts, gain_ns: int) -> bool:
    """Whether an inference waits for requests where a card says that the GPU may work sooner, by gain_ns a step."""
    if not facts.infers:
        return False
    names = [each for row in facts.host.long_gaps for each in row.names]
    name = common_name(names)
    gaps = [gap for row in facts.host.long_gaps for gap in row.longest if gap.name == name]
    waited_ns = sum(each.late_ns for each in names if each.name == name)
    enough = waited_ns >= _MOST * gain_ns * len(facts.host.judged_steps)
    return name is not None and enough and may_be_requests(facts, name, gaps)


def is_mostly(calls: re.Pattern[str], name: str, call: LongGap | None) -> bool:
    """Whether most of the time with this name is in such calls: then this function does not take it. call: the gap with
    the most time in one call."""
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
