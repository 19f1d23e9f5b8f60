"""The titles of the Host view's pictures and tables: each says what is seen there, or asks where nothing stands out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from tb_steptime.metrics.host.answer import HostFigures
from tb_steptime.metrics.host.copies import CopyRow
from tb_steptime.metrics.idle.bottleneck import BOUND_WORDS, Bound
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.metrics.idle.host_stalls import Pause
from tb_steptime.metrics.idle.meanings import IDLE_MEANINGS
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.idle.several_gpus import SeveralDevices
from tb_steptime.text import Phrase, Quantity, Unit, agreeing, count, fraction, ns, phrase, text

#: Below this share of the step a cause is not worth a sentence.
WORTH_SAYING = 0.005
#: A queue that is empty for most of the time never holds work while the host is late.
MOSTLY = 0.5
#: Devices that share less than this much of their time work in turns.
IN_TURNS = 1.2


class Shown(Protocol):
    """What has titles: the tables and pictures of the Host view."""

    @property
    def phases(self) -> Sequence[_Phase]: ...
    @property
    def blocking(self) -> Sequence[BlockingRow]: ...
    @property
    def blocking_bubble_ns(self) -> int: ...
    @property
    def copies(self) -> Sequence[CopyRow]: ...
    @property
    def several_devices(self) -> SeveralDevices | None: ...
    @property
    def pauses(self) -> Sequence[Pause]: ...


class _Phase(Protocol):
    @property
    def label(self) -> str: ...
    @property
    def launches(self) -> float: ...
    @property
    def bound(self) -> Bound: ...


def titles(host: HostFigures, shown: Shown) -> dict[str, Phrase]:
    """By picture or table; what is empty has no title."""
    found = {"queue": _queue_title(host), "reasons": _reasons_title(host.idle), "sites": _sites_title(shown.phases)}
    found["blocking"] = _blocking_title(host, shown.blocking_bubble_ns)
    if shown.blocking and host.share(shown.blocking_bubble_ns) < WORTH_SAYING:
        found["blocking_remark"] = _blocking_remark(shown.blocking, shown.blocking_bubble_ns)
    if shown.copies:
        found["copies"] = _copies_title(shown.copies)
    if shown.several_devices:
        found["devices"] = _devices_title(shown.several_devices)
    if shown.pauses:
        found["pauses"] = _pauses_title(shown.pauses)
    return found


def _queue_title(host: HostFigures) -> Phrase:
    launches = host.launches
    if launches is None:
        return phrase("How far ahead is the host?")
    if host.held_up:
        return phrase("The queue is full: up to {most} activities wait for the GPU", most=count(launches.queue_max))
    empty = fraction(launches.empty_share)
    if launches.empty_share >= MOSTLY and host.bound == Bound.HOST:
        return phrase("The host never gets ahead: the queue is empty {empty} of the time", empty=empty)
    return phrase("The queue is empty {empty} of the time", empty=empty)


def _reasons_title(idle: IdleNs) -> Phrase:
    reasons = msgspec.structs.asdict(idle)
    largest = max(IDLE_MEANINGS, key=lambda meaning: reasons[meaning.id])
    if not idle.total_ns:
        return phrase("The GPU is never idle")
    share = fraction(reasons[largest.id] / idle.total_ns)
    return phrase("{reason} is {share} of the GPU's idle time", reason=text(largest.label), share=share)


def _blocking_title(host: HostFigures, bubble_ns: int) -> Phrase:
    if host.share(bubble_ns) < WORTH_SAYING:
        return phrase("No blocking call costs GPU time")
    return phrase("Blocking calls leave the GPU idle for {bubble} a step", bubble=ns(bubble_ns))


def _blocking_remark(rows: Sequence[BlockingRow], bubble_ns: int) -> Phrase:
    calls, blocked = sum(row.count for row in rows), sum(row.blocked_ns for row in rows)
    names = {row.call for row in rows}
    of_call = {} if len(names) > 1 else {"call": text(next(iter(names)))}
    words = (
        "{calls} (call|calls)" + (" of {call}" if of_call else "") + " a step (takes|take) {blocked} on the host and "
    )
    return phrase(
        agreeing(words + "(leaves|leave) {bubble} of the GPU idle.", calls),
        calls=Quantity(calls, Unit.NUMBER), blocked=ns(blocked), bubble=ns(bubble_ns), **of_call,
    )  # fmt: skip


def _sites_title(phases: Sequence[_Phase]) -> Phrase:
    launching = [phase for phase in phases if phase.launches]
    bounds = {phase.bound for phase in launching}
    if len(bounds) != 1 or Bound.UNKNOWN in bounds:
        return phrase("Where does the GPU wait for launches?")
    bound = text(BOUND_WORDS[bounds.pop()])
    if len(launching) == 1:
        return phrase("{phase} is {bound}", phase=text(launching[0].label), bound=bound)
    return phrase("Every phase is {bound}", bound=bound)


def _copies_title(copies: Sequence[CopyRow]) -> Phrase:
    total, hidden = sum(row.total_ns for row in copies), sum(row.hidden_ns for row in copies)
    pageable = sum(row.total_ns for row in copies if row.pageable)
    if pageable == total:
        return phrase("Copies of pageable memory take {total} a step", total=ns(total))
    if pageable > total - pageable:
        return phrase("Copies of pageable memory take {part} of {total} a step", part=ns(pageable), total=ns(total))
    return phrase("Copies take {total} a step, {hidden} behind kernels", total=ns(total), hidden=ns(hidden))


def _devices_title(several: SeveralDevices) -> Phrase:
    devices = count(len(several.devices))
    if several.concurrency < IN_TURNS:
        return phrase("{devices} GPUs work in turns", devices=devices)
    mean = Quantity(several.concurrency, Unit.NUMBER)
    return phrase("Of {devices} GPUs, {mean} work at a time", devices=devices, mean=mean)


def _pauses_title(pauses: Sequence[Pause]) -> Phrase:
    idle = sum(pause.idle_ns for pause in pauses)
    return phrase("Pauses of the host leave the GPU idle for {idle} a step", idle=ns(idle))
