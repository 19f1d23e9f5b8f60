"""The length of a step if one of the parts for which it waits took no time, and so what sets its pace."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import collective_names
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.token_waits import in_token_waits
from tb_steptime.replay.graph import Graph
from tb_steptime.replay.host import Role
from tb_steptime.replay.steady import SteadyStep
from tb_steptime.replay.sweep import HOLDS, EdgeKind, Edges
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int64, is_in

#: A part limits a step if it accounts for at least this share; below that several parts limit each other.
LIMITS = 0.1
#: Waits can be removed entirely, while no work becomes instant: a wait is the cause if removing it gains this share of
#: the best gain.
WAITS = 2 / 3
#: Minimum share for host and device together, if neither alone matters: a chain of dependencies between them.
CHAIN = 0.5
#: If neither an instant host nor an instant device shortens a step much, the host sets the pace where an instant host
#: shortens it more and the device is idle for more than `LIMITS`; else a stream that is busy for at least this share.
BUSY = 2 / 3


class Sensitivity(msgspec.Struct, frozen=True):
    """The length of a step in ns if one part took no time.

    host            the host's own time
    device          the work of devices, without exchanges between ranks
    loader          waits for batches
    communication   exchanges between ranks
    blocking        waits of calls for devices
    host_and_device   the first two together
    """

    host: int
    device: int
    loader: int
    communication: int
    blocking: int
    host_and_device: int


def exchanges(trace: Trace, graph: Graph) -> Bool:
    """Returns which nodes are exchanges between ranks."""
    result = np.zeros(len(graph), bool)
    result[graph.on_device] = collective_names(trace)[trace.events.name[graph.event[graph.on_device]]]
    return result


def sensitivity(trace: Trace, step: SteadyStep) -> Sensitivity:
    """Replays the step once for each part."""
    graph = step.graph
    device, communication = graph.on_device, exchanges(trace, graph)
    loader = graph.role == Role.LOADER
    host, compute = ~device & ~loader, device & ~communication
    return Sensitivity(
        free(step, host).length_ns,
        free(step, compute).length_ns,
        without_batches(free(step, loader)).length_ns,
        free(step, communication).length_ns,
        without_needless_waits(trace, step).length_ns,
        free(step, host | compute).length_ns,
    )


def free(step: SteadyStep, nodes: Bool) -> SteadyStep:
    """Returns the step in which these nodes take no time, and have no unexplained delay before them."""
    return scaled(step, nodes, 0.0)


def scaled(step: SteadyStep, nodes: Bool, factor: float) -> SteadyStep:
    """Returns the step in which these nodes take this share of their time, and keep the same share of unexplained
    delays before them."""
    if not nodes.any():
        return step
    own = step.graph.own_ns.copy()
    own[nodes] = np.rint(own[nodes] * factor).astype(np.int64)
    edges = step.graph.edges
    # work that begins during its call starts a part of the call's own time after the call's begin
    inside = np.flatnonzero(
        (edges.kind == EdgeKind.LAUNCH) & (nodes & (step.graph.role == Role.STRETCH)).take(edges.before)
    )
    lag = edges.lag_ns.copy()
    lag[inside] = np.rint(lag[inside] * factor).astype(np.int64)
    slack = step.graph.unexplained_ns + step.graph.contended_ns
    edges = sooner(edges.with_lags(lag), np.where(nodes, slack, 0), 1 - factor)
    return step.with_own(own).with_edges(edges, step.links)


def sooner(edges: Edges, delay_ns: Int64, share: float) -> Edges:
    """Returns the edges with this share of each node's delay subtracted from their lags."""
    if not delay_ns.any():
        return edges
    saved_ns = np.rint(delay_ns.take(edges.after) * share).astype(np.int64)
    return edges.with_lags(edges.lag_ns - np.minimum(saved_ns, np.maximum(edges.lag_ns, 0)))


def without(step: SteadyStep, *kinds: EdgeKind) -> SteadyStep:
    """Returns the step without edges of these kinds."""
    return _only(step, lambda edges: ~is_in(edges.kind, kinds))


def _only(step: SteadyStep, selects: Callable[[Edges], Bool]) -> SteadyStep:
    edges, links = step.graph.edges, step.links
    return step.with_edges(edges.where(selects(edges)), links.where(selects(links)))


def without_needless_waits(trace: Trace, step: SteadyStep) -> SteadyStep:
    """Returns the step in which no call waits for a device, unless what follows depends on the result of that work.
    Waits without a recorded call stay, because the recording does not show whether the job needs them."""
    needed = in_token_waits(trace, step.graph.event)
    calls = step.graph.waits & ~needed if needed.any() else step.graph.role != Role.STRETCH
    return without_calls(step, calls)


def without_calls(step: SteadyStep, calls: Bool) -> SteadyStep:
    """Returns the step in which these calls, a mask of its nodes, do not wait for a device."""
    return _only(step, lambda edges: ~is_in(edges.kind, HOLDS) | ~calls[edges.after])


def without_batches(step: SteadyStep) -> SteadyStep:
    """Returns the step that does not wait for workers of a loader."""
    return without(step, EdgeKind.BATCH)


def pace_of(trace: Trace, step: SteadyStep, step_ns: int, lengths: Sensitivity) -> Bound:
    """Returns what sets the pace, by the verdict on its parts and by what remains of one part once another is gone.

    A host that takes no time is so far ahead that its waits for batches are hidden, too. So the loader comes first if
    its waits cost more than the host does without them.

    Blocking calls must set the pace also without waits of streams for each other, which are only inferred: else the
    device waits for the host in any case.

    stream 7   kkkkkkkk      kkkk            is the second kernel late because of the one of stream 9, or because the
    stream 9           cccccc                host launched it late, after it had waited for both?
    """
    bound = verdict(step_ns, lengths, step)
    if bound is Bound.HOST and _loader_first(step, step_ns, lengths):
        return Bound.INPUT
    if bound is not Bound.SYNC:
        return bound
    plain = without(step, EdgeKind.CROSSING)
    if plain is step or verdict(plain.length_ns, sensitivity(trace, plain), plain) is bound:
        return bound
    return verdict(step_ns, msgspec.structs.replace(lengths, blocking=step_ns), step)


def _loader_first(step: SteadyStep, step_ns: int, lengths: Sensitivity) -> bool:
    """Returns whether waits for batches limit the step, and cost more than the host's own time does once they are
    gone."""
    gain = step_ns - lengths.loader
    if gain <= LIMITS * step_ns:
        return False
    return gain > lengths.loader - without_batches(free(step, ~step.graph.on_device)).length_ns


def verdict(step_ns: int, lengths: Sensitivity, step: SteadyStep) -> Bound:
    """Returns what sets the pace: one part, or a dependency by which host and device wait for each other. It is unknown
    if no part that can be replayed does.

    Without blocking calls the host also makes or awaits the next batch while devices work. So the loader is the cause
    where its waits cost most of what these calls do.
    """
    waits = {
        Bound.SYNC: step_ns - lengths.blocking,
        Bound.INPUT: step_ns - lengths.loader,
        Bound.COMMUNICATION: step_ns - lengths.communication,
    }
    works = {Bound.HOST: step_ns - lengths.host, Bound.GPU: step_ns - lengths.device}
    wait, best = max(waits, key=waits.__getitem__), max(works, key=works.__getitem__)
    if waits[wait] > LIMITS * step_ns and waits[wait] >= WAITS * works[best]:
        loads = wait is Bound.SYNC and waits[Bound.INPUT] >= WAITS * waits[wait]
        return Bound.INPUT if loads else wait
    if works[best] > LIMITS * step_ns:
        return best
    if step_ns - lengths.host_and_device <= CHAIN * step_ns:
        return Bound.UNKNOWN
    graph = step.graph
    busiest_ns = np.bincount(graph.track[graph.on_device], graph.own_ns[graph.on_device], minlength=1).max()
    if works[Bound.HOST] > works[Bound.GPU] and busiest_ns < (1 - LIMITS) * step_ns:
        return Bound.HOST  # both take about as long in parallel, and the host a little longer
    return Bound.GPU if busiest_ns > BUSY * step_ns else Bound.DEPENDENCY
