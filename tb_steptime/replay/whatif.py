"""The length of a steady step after changes, each with an interval and with the assumptions on which it rests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.metrics.catalogue import main_device
from tb_steptime.metrics.data_loading.waits import exposed_waits
from tb_steptime.metrics.excluded_time.ranges import judged_ns, whole_steps
from tb_steptime.metrics.excluded_time.steady_step import steady_step_ns
from tb_steptime.metrics.host.profiler_cost import observed_step_ns
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.host_stalls import pause_intervals
from tb_steptime.metrics.phases.threads import step_threads
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.metrics.steady.excess import ExcessKind
from tb_steptime.replay.changes import Change, changes, waits_by_origin
from tb_steptime.replay.graph import Graph, build_graph
from tb_steptime.replay.host import Role, host_lanes
from tb_steptime.replay.other_ranks import held_by_ranks
from tb_steptime.replay.sensitivity import (
    LIMITS,
    WAITS,
    Sensitivity,
    exchanges,
    free,
    pace_of,
    scaled,
    sensitivity,
    without,
    without_batches,
    without_calls,
)
from tb_steptime.replay.steady import (
    COPIES,
    WIDER,
    SteadyStep,
    less_excess,
    overlap_ns,
    recorded_length,
    steady_step,
)
from tb_steptime.replay.sweep import INFERRED, EdgeKind, repeated_starts
from tb_steptime.replay.trust import unlinked, wait_error
from tb_steptime.trace.allocator import give_back_freed
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, distinct_in, is_in

#: Above this share of unexplained time no gain is reported.
NO_GAIN = 0.2
#: If the replay's error is larger, it is not the recorded step; a step that is mostly excess shows little about later
#: steps, as does one that lacks most of their waits for batches.
MOST_ERROR, MOSTLY = 0.1, 0.5
#: Points of the curve over reduced device work; they are denser where the reduction is small.
PARTS_LEFT = tuple(1 - (n / 8) ** 2 for n in range(1, 9))
#: With up to this many changes every subset is replayed (fifteen of them), with every other point of the curve.
MOST_IN_SETS = 4
#: A gain rests on an inferred kind of edge if removing that kind moves the gain by this share of the step.
RESTS_ON_FRACTION = 0.05


class Gain(msgspec.Struct, frozen=True):
    """The gain of one change per step, ns.

    gain_ns        length of the replayed step minus that of the changed step; None where too much is unexplained
    low_ns, high_ns  its range with and without each inferred kind of edge, and what observes the ops. It is widened by
                   the relative difference of the replayed and the recorded step, and by the unexplained share if that
                   is more than 5 %
    gain_after_ns  its gain after the changes that are listed before it
    rests_on       inferred kinds of edges, and the observer of the ops, without which the gain differs by more than 5 %
                   of the step
    """

    id: str
    gain_ns: int | None
    low_ns: int | None
    high_ns: int | None
    gain_after_ns: int | None
    rests_on: list[str]


class Combined(msgspec.Struct, frozen=True):
    """A step in ns after several changes; None where too much is unexplained."""

    ids: list[str]
    step_ns: int | None


class ChangedStep(msgspec.Struct, frozen=True):
    """The steady step after a set of changes. device_curve: as that of `WhatIf`, with fewer points."""

    ids: list[str]
    device_curve: list[int]


class WhatIf(msgspec.Struct, frozen=True):
    """The length of a recording's steady step after changes. changes: the largest gain first.

    median_step_ns    the steady step as in all other views: the median length of the steps without excess
    steady_step_ns    the replayed step of median length without its excess. It follows itself again and again, so it is
                      longer than the median where a few steps wait for the batches of all
    replayed_step_ns  the same step with its excess, replayed
    recorded_step_ns  the recorded step, from its start to that of the next one; the mean where a loader sets the pace
    device_ns         work of the busiest device in the steady step, without exchanges
    device_curve      length of the step without (n / last) ** 2 of that work, for n from 0 to the last
    pace              what sets the pace according to the sensitivity: the value of a `Bound`
    wait_error        relative difference of replayed and recorded blocking calls; None without such calls
    unexplained       share of the steady step that no edge explains
    unlinked          share of device work without a recorded launch, apart from work from before the recording
    trusted           whether the replay reproduces the recorded step, covers most of the mean step and its waits for
                      batches, and shows what sets the pace
    holds_unprofiled  whether the pace is the same if profiling has doubled the host's time
    half_host_ns      the steady step in that case; 0 where a device sets the pace in any case
    for_ranks_ns      waits of its collectives for other ranks. The sensitivity changes all ranks equally. The changes
                      affect this rank alone, so these waits remain
    alone_ns          the steady step if the host and the loader of this rank took no time, and other ranks arrived at
                      its collectives as recorded
    pauses_alone_ns   what the only recorded step gains if its calls and ops are not interrupted, and other ranks
                      arrive at its collectives as recorded; None if exchanges do not set the pace, and with several
                      steps, as the replayed one hardly has such pauses
    observed_ns       what the mean step takes at least because something besides the profiler observes its ops; gains
                      include it
    behind_batches_ns what the step without waits for batches gains beyond the device's idle time in these waits:
                      launches that are late only because a batch was
    waits             gains of `sync_bubble` if only the calls of one origin no longer wait, with the origin as the id;
                      empty if all have the same. The others still wait, so that all together may gain more
    sets              all sets of the changes with the largest gains, including changes that help only after others;
                      empty if the replay is not trusted
    """

    recorded_step_ns: int
    steady_step_ns: int
    replayed_step_ns: int
    pace: str
    sensitivity: Sensitivity
    wait_error: float | None
    unexplained: float
    unlinked: float
    trusted: bool
    holds_unprofiled: bool
    changes: list[Gain]
    combined: list[Combined]
    device_ns: int = 0
    device_curve: list[int] = []
    for_ranks_ns: int = 0
    median_step_ns: int = 0
    sets: list[ChangedStep] = []
    half_host_ns: int = 0
    alone_ns: int = 0
    pauses_alone_ns: int | None = None
    observed_ns: int = 0
    behind_batches_ns: int = 0
    waits: list[Gain] = []

    @property
    def wrong_by(self) -> float:
        """The relative difference between the replayed and the recorded step."""
        return abs(self.replayed_step_ns - self.recorded_step_ns) / max(self.recorded_step_ns, 1)

    def with_less_work_ns(self, device_curve: Sequence[int], less: float) -> float:
        """Returns the step on one of its curves if the device's work is reduced by this share, from 0 to 1."""
        last = len(device_curve) - 1
        place = min(int(less**0.5 * last), last - 1)
        above, below = (place / last) ** 2, ((place + 1) / last) ** 2
        before, after = device_curve[place : place + 2]
        return before + (after - before) * (less - above) / (below - above)


@shared
def replayed_step(trace: Trace) -> WhatIf | None:
    """Returns the result of `what_if` for all changes."""
    return what_if(trace)


def what_if(trace: Trace, ids: Sequence[str] = ()) -> WhatIf | None:
    """Returns the results of all changes that can be replayed, or of those given. Returns None if the recording has no
    work on a device, or no step with such work. Raises ValueError for an unknown id."""
    known_changes = changes(trace)
    if missing := [change for change in ids if change not in known_changes]:
        raise ValueError(f"No change has the ID {missing[0]}. The changes are {', '.join(known_changes)}.")
    steps = _steps(trace)
    if steps is None:
        return None
    give_back_freed()
    step = steps.steady
    length, replayed = step.length_ns, steps.as_recorded.length_ns
    recorded = recorded_length(trace, steps.as_recorded)
    unexplained = min(int(step.graph.unexplained_ns.sum()) / max(length, 1), 1.0)
    lengths = sensitivity(trace, step)
    pace = pace_of(trace, step, length, lengths)
    half, half_pace = (0, pace) if pace is Bound.GPU else _with_half_of_the_host(trace, step)
    error = abs(replayed - recorded) / recorded
    is_explained = max(unexplained, steps.unlinked) <= NO_GAIN and pace is not Bound.UNKNOWN
    trusted = is_explained and error <= MOST_ERROR and _is_of_the_recording(trace, recorded, length, lengths)
    compute = step.graph.on_device & ~exchanges(trace, step.graph)
    for_ranks = held_by_ranks(trace, step)
    chosen = {change: known_changes[change] for change in ids} if ids else known_changes
    alone = {id: change(for_ranks) for id, change in chosen.items()} if unexplained <= NO_GAIN else {}
    gains = [Gain(id, None, None, None, None, []) for id in chosen]
    combined, waits = list[Combined](), list[Gain]()
    if alone:
        bases = _bases(for_ranks, observed_step_ns(trace))
        wider = error + (unexplained if unexplained > WIDER else 0.0)
        waits = list(_gains_of_waits(trace, for_ranks, bases, length, wider))
        gains, combined = _gains(for_ranks, bases, length, wider, chosen, alone, keep_all=bool(ids))
    return WhatIf(
        recorded_step_ns=recorded,
        steady_step_ns=length,
        replayed_step_ns=replayed,
        pace=pace.value,
        sensitivity=lengths,
        wait_error=steps.wait_error,
        unexplained=unexplained,
        unlinked=steps.unlinked,
        device_ns=_work_of_busiest_ns(trace, step.graph, compute),
        device_curve=_device_curve(for_ranks, compute, PARTS_LEFT),
        trusted=trusted,
        holds_unprofiled=half_pace is pace,
        changes=gains,
        combined=combined,
        for_ranks_ns=int((step.graph.own_ns - for_ranks.graph.own_ns).sum()),
        median_step_ns=steady_step_ns(trace, main_device(trace)),
        sets=list(_sets(for_ranks, compute, chosen, alone, combined)) if trusted else [],
        half_host_ns=half,
        alone_ns=without_batches(free(for_ranks, ~for_ranks.graph.on_device)).length_ns,
        pauses_alone_ns=_pauses_alone_ns(trace, steps.as_recorded) if pace is Bound.COMMUNICATION else None,
        observed_ns=observed_step_ns(trace),
        behind_batches_ns=_behind_batches_ns(trace, step, length - lengths.loader),
        waits=waits,
    )


class _Steps(NamedTuple):
    """The step to replay, with its excess and without it, and what the graph of the whole recording says of both, as
    in `WhatIf`. The changes are made to one step: the graph itself takes a third of a trace's columns, and is freed."""

    as_recorded: SteadyStep
    steady: SteadyStep
    unlinked: float
    wait_error: float | None


def _steps(trace: Trace) -> _Steps | None:
    graph = build_graph(trace)
    as_recorded = steady_step(trace, graph)
    if as_recorded is None or not graph.on_device.any():
        return None
    # a collective or kernel that may be as long in every step stays; a host that is late for an unknown reason does not
    excess = find_excess(trace)
    on_device = is_in(excess.track, distinct_in(graph.track[graph.on_device]))
    undisturbed = less_excess(graph, excess.where((excess.kind != ExcessKind.UNKNOWN) | ~on_device), host_lanes(trace))
    again = None if undisturbed is graph else steady_step(trace, undisturbed, as_recorded.number)
    return _Steps(as_recorded, again or as_recorded, unlinked(graph), wait_error(trace, graph))


def _is_of_the_recording(trace: Trace, recorded_ns: int, step_ns: int, lengths: Sensitivity) -> bool:
    """Returns whether a replayed step makes most of the recorded and of the mean step, and waits for batches as these
    do."""
    main = main_device(trace)
    judged = float(judged_ns(trace, main)[whole_steps(trace, main)].mean())  # with long delays in a few of the steps
    return step_ns >= MOSTLY * max(recorded_ns, judged) and _shows_batches(trace, judged, step_ns, lengths)


def _work_of_busiest_ns(trace: Trace, graph: Graph, compute: Bool) -> int:
    # device numbers may be arbitrary, as the file writes them
    _, device = np.unique(trace.events.device[graph.event[compute]], return_inverse=True)
    return int(np.bincount(device.reshape(-1), graph.own_ns[compute], minlength=1).max())


def _gains_of_waits(
    trace: Trace, step: SteadyStep, bases: Mapping[str, SteadyStep], length: int, wider: float
) -> Iterator[Gain]:
    """Yields the gain of each origin of waits, if there are several. wider: as in `_gains`."""
    origins = waits_by_origin(trace, step)
    if len(origins) < 2:
        return
    for origin, calls in origins.items():
        gain = length - without_calls(step, calls).length_ns
        others = {name: base.length_ns - without_calls(base, calls).length_ns for name, base in bases.items()}
        others.pop(EdgeKind.RETURN.name.lower(), None)  # this change only affects such edges
        yield _gain(origin, gain, gain, others, length, wider)


def _behind_batches_ns(trace: Trace, step: SteadyStep, gain_ns: int) -> int:
    """Returns what the step without waits for batches gains, less the main device's idle time in these waits. The host
    leads when a wait begins, and has lost its lead when it ends.

    thread   llllll[batch         ]llllllllll
    device   kkkkkkkkkkkk          k k k k kk       the gaps on the right are behind the batch
    """
    graph = step.graph
    loads = np.flatnonzero(graph.role == Role.LOADER)
    if gain_ns <= 0 or not len(loads):
        return 0
    copies = COPIES if step.repeats else 1
    began = repeated_starts(graph.own_ns, graph.release_ns, graph.edges, step.links, copies)
    ended = began + graph.own_ns
    # the host arrives at the loader when it leaves the item before it on its lane, which may be of the step before
    arrived = began.copy()
    for edges, earlier in ((graph.edges, 0), (step.links, 1)):
        order = edges.where((edges.kind == EdgeKind.LANE) & is_in(edges.after, loads))
        arrived[earlier:, order.after] = ended[: copies - earlier, order.before] + order.lag_ns
    half = copies // 2
    works = graph.on_device & (trace.events.device[graph.event] == main_device(trace))
    busy = Intervals.union(began[:, works].reshape(-1), ended[:, works].reshape(-1))
    waits = Intervals.union(arrived[half:, loads].reshape(-1), ended[half:, loads].reshape(-1))
    return max(0, gain_ns - (waits - busy).total_ns // (copies - half))


def _shows_batches(trace: Trace, judged_ns: float, step_ns: int, lengths: Sensitivity) -> bool:
    """Returns whether a replayed step represents the recorded ones although these wait for batches. Workers deliver one
    after the other: where one of three steps waits for all, the usual step has no wait, and a single step shows no
    pace. The step does not represent them if their mean wait would decide, by the rule of `verdict`, if the step had
    it. judged_ns: the mean of these steps.

    steps    |--|--------|--|     the median step waits for nothing, the mean one for half of its time
    """
    waits_ns = find_steps(trace).overlap_ns(exposed_waits(trace))[whole_steps(trace, main_device(trace))].mean()
    decides = waits_ns > LIMITS * judged_ns and waits_ns >= WAITS * (step_ns - min(lengths.host, lengths.device))
    return bool(not decides or step_ns - lengths.loader >= MOSTLY * waits_ns)


def _pauses_alone_ns(trace: Trace, as_recorded: SteadyStep) -> int | None:
    if len(find_steps(trace).steps) > 1:
        return None
    for_ranks = held_by_ranks(trace, as_recorded)
    graph = for_ranks.graph
    device = main_device(trace)
    lanes = host_lanes(trace)
    if device is None:
        return None
    training = lanes[[*step_threads(trace)]]
    nodes = np.flatnonzero(~graph.on_device & is_in(graph.track, training))
    own_ns = graph.own_ns.copy()
    own_ns[nodes] -= np.minimum(overlap_ns(pause_intervals(trace, device), graph, nodes), own_ns[nodes])
    return max(0, for_ranks.length_ns - for_ranks.with_own(own_ns).length_ns)


def _with_half_of_the_host(trace: Trace, step: SteadyStep) -> tuple[int, Bound]:
    """Returns the step's length and what sets its pace, if the host takes half the time."""
    graph = step.graph
    quick = scaled(step, ~graph.on_device & (graph.role != Role.LOADER), 0.5)
    length = quick.length_ns
    return length, pace_of(trace, quick, length, sensitivity(trace, quick))


def _device_curve(step: SteadyStep, compute: Bool, parts: Sequence[float]) -> list[int]:
    return [step.length_ns, *(scaled(step, compute, part).length_ns for part in parts)]


def _sets(
    step: SteadyStep,
    compute: Bool,
    chosen: Mapping[str, Change],
    alone: Mapping[str, SteadyStep],
    combined: Sequence[Combined],
) -> Iterator[ChangedStep]:
    """Yields the step after each set of the changes that help most, including changes that help only once others are
    made. alone: the step with one of them."""
    helpful = combined[-1].ids if combined else []
    first = alone[helpful[0]] if helpful else step
    after = reduce(lambda now, id: chosen[id](now), helpful[1:], first)
    later = [id for id in chosen if id not in helpful and chosen[id](after).length_ns < after.length_ns]
    included = [*helpful, *later][:MOST_IN_SETS]
    steps: dict[tuple[str, ...], SteadyStep] = {(id,): alone[id] for id in included}
    while steps:
        for ids, changed in steps.items():
            yield ChangedStep(list(ids), _device_curve(changed, compute, PARTS_LEFT[1::2]))
        steps = {
            (*ids, id): chosen[id](changed)
            for ids, changed in steps.items()
            for id in included[included.index(ids[-1]) + 1 :]
        }


def _bases(step: SteadyStep, observed_ns: int) -> dict[str, SteadyStep]:
    """Returns the step without each thing on which a gain may rest, by its name. The time of what observes the ops is
    taken evenly from the host's own time."""
    bases = {kind.name.lower(): without(step, kind) for kind in INFERRED}
    if observed_ns:
        is_stretch = step.graph.role == Role.STRETCH
        left = 1 - observed_ns / max(int(step.graph.own_ns[is_stretch].sum()), observed_ns)
        bases["observer"] = scaled(step, is_stretch, left)
    return bases


def _gains(
    step: SteadyStep,
    bases: Mapping[str, SteadyStep],
    length: int,
    wider: float,
    chosen: Mapping[str, Change],
    alone: Mapping[str, SteadyStep],
    keep_all: bool,
) -> tuple[list[Gain], list[Combined]]:
    """Returns the gains by a greedy choice: first the change that helps most, then the one that helps most after that.
    wider: by which share of a gain its range is widened; alone: the step with each change alone."""
    base_ns = {name: base.length_ns for name, base in bases.items()}
    so_far = list[Gain]()
    combined = list[Combined]()
    now = step
    now_ns = length
    gains = {id: length - changed.length_ns for id, changed in alone.items()}
    left = [id for id in chosen if gains[id] > 0 or keep_all]
    while left:
        changed = [chosen[id](now) if so_far else alone[id] for id in left]
        after = [outcome.length_ns for outcome in changed]
        best = after.index(min(after))
        id = left.pop(best)
        others = {
            name: base_ns[name] - _once_less(alone[id] if base is step else chosen[id](base), alone[id], base).length_ns
            for name, base in bases.items()
            if (id, name) != ("sync_bubble", EdgeKind.RETURN.name.lower())  # this change only affects such edges
        }
        so_far.append(_gain(id, gains[id], now_ns - after[best], others, length, wider))
        now, now_ns = changed[best], after[best]
        combined.append(Combined([each.id for each in so_far], now_ns))
    return so_far, combined


def _once_less(changed: SteadyStep, alone: SteadyStep, base: SteadyStep) -> SteadyStep:
    """Returns the changed base in which no node lacks the same time twice: the host's time that a change removes
    includes that of what observes it. alone: the step with this change alone."""
    own_ns = np.minimum(alone.graph.own_ns, base.graph.own_ns)
    return changed.with_own(own_ns)


def _gain(id: str, gain: int, after: int, others: dict[str, int], length: int, wider: float) -> Gain:
    """Returns a gain with its range. others: the gain without each thing on which it may rest."""
    rests = [base for base, other in others.items() if abs(other - gain) > RESTS_ON_FRACTION * length]
    possible = [gain, *(others[base] for base in rests)]
    margin = round(wider * abs(gain))
    return Gain(id, gain, min(possible) - margin, max(possible) + margin, after, rests)
