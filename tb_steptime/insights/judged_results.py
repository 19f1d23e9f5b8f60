"""What is measured as a mean over all steps, limited to what fits in the steps that verdicts and cards average over.

steps    |  0: loads kernels  | 1 | 2 | 3 | 4 |
idle     |xxxxxxxxxxxxxxxxxxxx|x..|x..|x..|x..|   known per step, by reason
sites    |<--------- means over all steps -->|    together as long, for each reason, as the judged steps are idle for it

Places, blocking calls and their bubbles are measured as means over all steps. If a step is left out, it is not known
how much of them lies in it, only how long the GPU idles in the others for each reason. So a place keeps its share of
each reason, and a place never claims what the blocking calls before it may explain: that is as much as if all of their
bubbles lay in the judged steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.analyses.host import HostResult
from tb_steptime.metrics.communication.summary import CollectiveRow, Communication
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.steps.host_pace import SiteRow


def judged_host(host: HostResult, recorded: IdleNs, judged: IdleNs, places: Sequence[int]) -> HostResult:
    """Returns the result with sites and blocking calls limited to the judged steps; everything else is as recorded.

    recorded, judged: idle time of the main device, mean over all steps and over the judged ones, ns. places: of the
    judged steps.
    """
    more = len(host.steps) / len(places)
    blocked, was_blocked = (each.blocking_call + each.allocator for each in (judged, recorded))
    # a bubble begins in a call; calls that take longer in a step that is left out say nothing about bubbles
    times = max(1.0, blocked / was_blocked) if blocked and was_blocked else float(blocked == was_blocked)
    bubble_ns = min(round(host.blocking_bubble_ns * times), judged.late_ns)
    return msgspec.structs.replace(
        host,
        sites=[_site(row, recorded, judged, more if times else 0.0, _launched(host, places)) for row in host.sites],
        blocking=[_blocking(row, bubble_ns, host.blocking_bubble_ns) for row in host.blocking],
        blocking_bubble_ns=bubble_ns,
    )


def _launched(host: HostResult, places: Sequence[int]) -> float:
    """Returns how many times as much is launched in a judged step as in the mean step."""
    all_of = sum(step.launches for step in host.steps) / len(host.steps)
    return sum(host.steps[each].launches for each in places) / len(places) / all_of if all_of else 1.0


def _site(row: SiteRow, recorded: IdleNs, judged: IdleNs, more: float, launched: float) -> SiteRow:
    """more: how many times its mean the bubble is if all of it lies in the judged steps."""
    idle_ns = IdleNs(**{
        reason: ns * getattr(judged, reason) // whole_ns if (whole_ns := getattr(recorded, reason)) else ns
        for reason, ns in msgspec.structs.asdict(row.idle_ns).items()
    })  # fmt: skip
    bubble_ns = min(idle_ns.late_ns, round(row.bubble_ns * more))
    return msgspec.structs.replace(row, idle_ns=idle_ns, bubble_ns=bubble_ns, launches=row.launches * launched)


def _blocking(row: BlockingRow, left_ns: int, all_ns: int) -> BlockingRow:
    return msgspec.structs.replace(row, bubble_ns=row.bubble_ns * left_ns // all_ns) if all_ns else row


def judged_exchanges(found: Communication, exposed_ns: int) -> Communication:
    """Returns the exchanges with no more exposed time than the judged steps have. Which of the rows have it there is
    not known, so all lose the same share of theirs.

    exposed_ns: time a step in which collectives run and nothing computes, mean over the judged steps.
    """
    if found.exposed_ns <= exposed_ns:
        return found

    def left(ns: int) -> int:
        return ns * exposed_ns // found.exposed_ns

    def left_of_row(row: CollectiveRow) -> CollectiveRow:
        return msgspec.structs.replace(
            row,
            exposed_ns=left(row.exposed_ns),
            wait_ns=None if row.wait_ns is None else left(row.wait_ns),
            compute_stream_ns=left(row.compute_stream_ns),
            forward_ns=left(row.forward_ns),
            early_ns=left(row.early_ns),
            in_a_row=row.in_a_row and msgspec.structs.replace(row.in_a_row, exposed_ns=left(row.in_a_row.exposed_ns)),
        )

    return msgspec.structs.replace(
        found, exposed_ns=exposed_ns, wait_ns=left(found.wait_ns), rows=[left_of_row(row) for row in found.rows]
    )
