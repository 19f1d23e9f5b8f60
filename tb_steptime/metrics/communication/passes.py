"""The passes over micro-batches that a rank of a pipeline computes between the messages that it sends and receives.

host     [recv][F][send][recv][F][send][recv][  B  ][send]      the work between two messages is a pass; another one
device         |ff|           |ff|           |bbbb|             begins where a backward pass begins or ends

PyTorch's schedules label their passes, and these labels show the stage and the micro-batch too:

PP:0F1         stage 0, forward of micro-batch 1; B is the whole backward pass, I that of inputs, W that of weights
Forward 1      forward of micro-batch 1 on a rank with one stage
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.communication.collectives import KINDS, find_collectives, launching_calls
from tb_steptime.metrics.communication.exchanges import START_UNIT_NS, whole_steps
from tb_steptime.metrics.communication.packed import PackedColumn, packed
from tb_steptime.metrics.gpu.utilization import collective_names, has_device_activity
from tb_steptime.metrics.phases.assignment import site_of
from tb_steptime.metrics.phases.sites import SITES
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import BEFORE_ALL, NEVER
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in, is_in, percentile

#: Kinds of passes. They compute outputs, all gradients, the gradients of inputs only, or those of weights only.
PASS_KINDS = ("forward", "backward", "input_gradients", "weight_gradients")
_OF_LETTER = dict(zip("FBIW", range(len(PASS_KINDS)), strict=True))
_LABEL = expression(r"PP:(?P<stage>\d{1,4})(?P<kind>[FBIW])(?P<batch>\d{1,5})")
_PLAIN_LABEL = expression(r"(?P<kind>[FB])(?:orward|ackward) (?P<batch>\d{1,5})")
#: Maximum number of passes that are kept, in whole steps. One rank has about as many for 64 micro-batches in 60 steps.
MOST = 8_000
#: A run that is shorter than this share of the usual pass of its kind is work between passes, such as filling buffers.
#: The usual length is this percentile.
_LEAST_SHARE, _USUAL_PERCENT = 0.1, 75


class Passes(msgspec.Struct, frozen=True):
    """The passes, ordered by step and start; each column has one entry per pass.

    step          place among the steps of the span
    kind          place in PASS_KINDS
    stage         from the label; -1 without one
    micro_batch   from the label; -1 without one
    start         us, relative to the span's origin
    length        ns, from the start of the first activity to the end of the last one
    left_out      number of passes of later steps, which are not kept
    """

    step: PackedColumn = PackedColumn()
    kind: PackedColumn = PackedColumn()
    stage: PackedColumn = PackedColumn()
    micro_batch: PackedColumn = PackedColumn()
    start: PackedColumn = PackedColumn()
    length: PackedColumn = PackedColumn()
    left_out: int = 0


class _Work(msgspec.Struct, frozen=True, eq=False):
    """Computing work in the order of launches. instant: when the host launches it, ns. start, end: when it runs, ns.
    kind: place in PASS_KINDS, -1 for work outside any pass."""

    instant: Int64
    start: Int64
    end: Int64
    kind: Int64


class _Labels(msgspec.Struct, frozen=True, eq=False):
    """The host's ranges that name a pass, by start."""

    start: Int64
    end: Int64
    kind: Int64
    stage: Int64
    micro_batch: Int64


def passes(trace: Trace, most: int = MOST) -> Passes:
    """Returns the passes in the steps; none if the rank sends and receives nothing and no label names a pass."""
    labels, messages = _labels(trace), _message_instants(trace)
    if not len(labels.start) and not len(messages):
        return Passes()
    work = _work(trace)
    work_step = find_steps(trace).holding_on_host(work.instant)
    pass_of = _labelled(work, labels) if len(labels.start) else _between(work, work_step, messages)
    in_pass = np.flatnonzero(pass_of >= 0)
    first, start, end = _extents(work, in_pass, pass_of[in_pass])
    if len(labels.start):
        kind, stage, micro_batch = (each[pass_of[first]] for each in (labels.kind, labels.stage, labels.micro_batch))
    else:
        kind, (stage, micro_batch) = work.kind[first], np.full((2, len(first)), -1, np.int64)
    step = work_step[first]
    order = np.flatnonzero(step >= 0)
    order = order[np.lexsort((start[order], step[order]))]
    whole = order[: whole_steps(step[order], most)]
    return Passes(
        step=packed(step[whole]),
        kind=packed(kind[whole]),
        stage=packed(stage[whole]),
        micro_batch=packed(micro_batch[whole]),
        start=packed(start[whole] // START_UNIT_NS),
        length=packed(end[whole] - start[whole]),
        left_out=len(order) - len(whole),
    )


def _extents(work: _Work, rows: Int64, pass_of: Int64) -> tuple[Int64, Int64, Int64]:
    """Returns for each number in `pass_of` the first of its rows, when the first of them starts, and when the last one
    ends."""
    alike = Groups.of(pass_of)
    start, end = np.full(len(alike), NEVER), np.full(len(alike), BEFORE_ALL)
    np.minimum.at(start, alike.place, work.start[rows])
    np.maximum.at(end, alike.place, work.end[rows])
    return rows[alike.first], start, end


def _labels(trace: Trace) -> _Labels:
    rows = trace.events.rows(Kind.USER)
    label = {}
    for name in distinct_in(trace.events.name[rows]).tolist():
        match = _LABEL.fullmatch(trace.strings[name])
        plain = match or _PLAIN_LABEL.fullmatch(trace.strings[name])
        if plain:
            label[name] = _OF_LETTER[plain["kind"]], int(match["stage"]) if match else -1, int(plain["batch"])
    rows = rows[is_in(trace.events.name[rows], list(label))]
    columns = np.array([label[name] for name in trace.events.name[rows].tolist()], np.int64).reshape(-1, 3).T
    return _Labels(trace.events.start_ns[rows], trace.events.ends(rows), *columns)


def _message_instants(trace: Trace) -> Int64:
    """Returns when the host requests each send or receive, ascending."""
    collectives = find_collectives(trace)
    messages = collectives.kind == KINDS.index("send_receive")
    call = launching_calls(trace)[messages]
    own = trace.events.start_ns[np.maximum(call, 0)]
    return np.sort(np.where(call >= 0, own, collectives.start[messages]))


def _work(trace: Trace) -> _Work:
    """Returns the computing kernels that have a launch; without a GPU the ops."""
    events, exchanging = trace.events, collective_names(trace)
    on_device = has_device_activity(trace)
    rows = events.rows(Kind.KERNEL if on_device else Kind.CPU_OP)
    rows = rows[~exchanging[events.name[rows]]] if len(rows) else rows
    call = rows
    if on_device:
        call = find_launches(trace).calls_of(rows)
        rows, call = rows[call >= 0], call[call >= 0]
    order = np.argsort(events.start_ns[call], kind="stable")
    rows, call = rows[order], call[order]
    return _Work(events.start_ns[call], events.start_ns[rows], events.ends(rows), _KIND[site_of(trace, call)])


_PHASES = {"forward": _OF_LETTER["F"], "backward": _OF_LETTER["B"]}
#: For each place in SITES, the kind of its pass.
_KIND = np.array([_PHASES.get(site.phase, -1) for site in SITES], np.int64)


def _labelled(work: _Work, labels: _Labels) -> Int64:
    """Returns for each entry of the work the place of the label that contains its launch; -1 for none."""
    place = np.searchsorted(labels.start, work.instant, side="right") - 1
    return np.where((place >= 0) & (work.instant < labels.end[np.maximum(place, 0)]), place, -1)


def _between(work: _Work, step: Int64, messages: Int64) -> Int64:
    """Returns for each entry of unlabelled work the number of its run; -1 outside any pass and in a short run. A run is
    of one kind, in one step and between two messages. It continues after a short run of the other kind."""
    of_passes = np.flatnonzero((work.kind >= 0) & (step >= 0))
    slot = np.searchsorted(messages, work.instant[of_passes], side="right") + step[of_passes] * (len(messages) + 1)
    kind = work.kind[of_passes]
    run = _runs(slot, kind)
    first, start, end = _extents(work, of_passes, run)
    long = _is_long(work.kind[first], end - start)[run]
    pass_of = np.full(len(work.kind), -1, np.int64)
    pass_of[of_passes[long]] = _runs(slot[long], kind[long])
    return pass_of


def _runs(slot: Int64, kind: Int64) -> Int64:
    """Returns the number of the run of equal neighbours that each entry belongs to, from 0 on."""
    return np.cumsum(np.append(False, (np.diff(slot) != 0) | (np.diff(kind) != 0)))[: len(slot)].astype(np.int64)


def _is_long(kind: Int64, length: Int64) -> Bool:
    long = np.zeros(len(kind), bool)
    for number in distinct_in(kind).tolist():
        of_kind = kind == number
        long[of_kind] = length[of_kind] >= _LEAST_SHARE * percentile(length[of_kind], _USUAL_PERCENT)
    return long
