"""Divides one exposed wait among the possible remedies, so that the gains may be added.

exposed wait   |oo|JJJJ|eeee|lllllllllllllll|fffff|
                 |   |    |       |             an epoch begins: keep the workers, or make epochs longer
                 |   |    |       late batches: no workers, more of them, or a cheaper dataset
                 |   |    ready batches are received: a thread, or fewer tensors
                 |   a few long waits without a period, beyond the usual one: jitter
                 batches of other loaders than the one that the figures are of
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.bursts import Burst, find_burst, may_be_turns
from tb_steptime.metrics.data_loading.loaders import (
    EpochStarts,
    find_batches,
    find_epoch_starts,
    main_loader,
    most_waited,
    opens_epoch,
    short_wait_ns,
    unavoidable_ns,
)
from tb_steptime.metrics.data_loading.recorded import Recorded, late_waits
from tb_steptime.metrics.data_loading.throughput import (
    MeanStep,
    WorkerCurve,
    find_throughput,
    recorded_of_main,
    worker_curve,
)
from tb_steptime.metrics.data_loading.waits import (
    LoaderStep,
    exposed_waits,
    judged_exposed_ns,
    loader_steps,
    loader_waits,
    mean_of,
)
from tb_steptime.metrics.means import slow
from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import median

#: If more than this share of the batches have a long wait, it is the rule and not jitter.
RARE_FRACTION = 0.25
#: A long wait is at least this many times the usual one, however similar the others are.
LONG_TIMES = 2


class Jitter(msgspec.Struct, frozen=True):
    """Rare long waits without a period. typical_ns: the median wait. long_ns: the mean of the long ones. exposed_ns:
    their exposed time beyond the typical wait, per step. steps: names of the steps with long waits."""

    typical_ns: int
    long_ns: int
    long_count: int
    exposed_ns: int
    steps: list[str]


class Overhead(msgspec.Struct, frozen=True):
    """The loop's waits for batches that worker processes have already produced. In such a wait the message is sent,
    unpickled and mapped, and the indices of a later batch are drawn.

    ns           per batch; None if late batches hide it, and `why` says so
    exposed_ns   all of it in the mean step, including pauses of the host
    gain_ns      the part of it that counts up to ns for each batch, beyond `unavoidable_ns`
    source       the recorder, "ready" (waits for prefetched batches in a burst) or "short" (the usual wait is as short
                 as for a batch that is ready)
    sampler_ns   the part of ns in which the sampler draws indices; None if no recorder has it
    """

    ns: int | None
    exposed_ns: int | None
    gain_ns: int
    source: Literal["recorder", "ready", "short"] | None
    why: Reason | None
    sampler_ns: int | None = None


class WaitShares(msgspec.Struct, frozen=True):
    """Parts of the mean step in ns, which sum to its judged exposed wait. first_ns: where epochs end and begin.
    others_ns: for other loaders than the one with the most waiting."""

    first_ns: int
    late_ns: int
    jitter_ns: int
    overhead_ns: int
    others_ns: int


class WaitCauses(msgspec.Struct, frozen=True):
    """The causes of the mean exposed wait. starts: None if no epoch begins in the steps."""

    shares: WaitShares
    starts: EpochStarts | None
    jitter: Jitter | None
    overhead: Overhead | None


class StepWaits(msgspec.Struct, frozen=True):
    """What some steps wait for, with means over these. curve: None if `why_unknown` says why."""

    steps: list[LoaderStep]
    mean: LoaderStep
    causes: WaitCauses
    curve: WorkerCurve | None


def step_waits(trace: Trace, chosen: Steps | None = None) -> StepWaits | None:
    """Returns what the steps wait for; None without loader events. chosen: None for all steps. What batches cost, which
    waits are long, and how many workers keep up is found in the whole recording."""
    waits, steps = loader_waits(trace), chosen or find_steps(trace)
    if waits is None:
        return None
    rows, throughput = loader_steps(trace, waits, steps), find_throughput(trace)
    mean, curve = mean_of(rows), None
    causes = _causes(trace, mean, steps)
    if throughput is not None:
        late_ns = causes.shares.late_ns + causes.shares.jitter_ns  # fewer workers would increase both
        epochs = causes.shares.first_ns + (causes.starts.setup_ns if causes.starts else 0)
        curve = worker_curve(
            throughput, MeanStep(mean.duration_ns, late_ns, epochs), len(find_batches(trace).loaders) > 1
        )
    return StepWaits(rows, mean, causes, curve)


def _causes(trace: Trace, mean: LoaderStep, steps: Steps) -> WaitCauses:
    burst = find_burst(trace)
    throughput = find_throughput(trace)
    starts = find_epoch_starts(trace, steps)
    enough = throughput is None or throughput.needed <= throughput.workers
    jitter = find_jitter(trace, burst, enough, steps)
    overhead = find_overhead(trace, burst, recorded_of_main(trace), steps)
    exposed_ns = judged_exposed_ns(trace, mean.exposed_ns, steps)
    return WaitCauses(
        shares=shared_out(exposed_ns, starts, jitter, overhead, others_ns(trace, steps)),
        starts=starts,
        jitter=jitter,
        overhead=overhead,
    )


def find_jitter(trace: Trace, burst: Burst | None, enough_workers: bool, chosen: Steps | None = None) -> Jitter | None:
    """Returns the jitter of the loader with the longest total wait in some steps; None if no wait stands out there. It
    is None also if something else explains long waits: they recur regularly or may do so, or too few workers have
    nothing prefetched to bridge them. chosen: None for all steps; what is usual is found in all of them."""
    batches, main = find_batches(trace), main_loader(trace)
    regular = burst is not None and burst.period is not None
    if main is None or main.multiprocess is False or main.in_a_row > 1 or not enough_workers or regular:
        return None
    of_loader = batches.of(main.loader)
    wait, steps = batches.wait_ns[of_loader], find_steps(trace).steps
    typical = round(median(wait)) if len(of_loader) else 0
    long = np.flatnonzero(slow(wait) & (wait >= LONG_TIMES * typical) & (batches.exposed_ns[of_loader] > 0))
    if len(long) > RARE_FRACTION * len(of_loader) or may_be_turns(wait, long):
        return None
    long = long[(chosen or find_steps(trace)).holding_on_host(trace.events.start_ns[batches.row[of_loader[long]]]) >= 0]
    if not len(long):
        return None
    beyond = np.minimum(np.maximum(wait[long] - typical, 0), batches.exposed_ns[of_loader[long]])
    return Jitter(
        typical_ns=typical,
        long_ns=round(float(wait[long].mean())),
        long_count=len(long),
        exposed_ns=int(beyond.sum()) // len(chosen.steps if chosen else steps),
        steps=list(dict.fromkeys(steps[step].name for step in batches.step[of_loader[long]].tolist())),
    )


def find_overhead(
    trace: Trace, burst: Burst | None, recorded: Recorded | None, chosen: Steps | None = None
) -> Overhead | None:
    """Returns the overhead of the loader with the longest total wait; None if the main process makes its batches.
    chosen: the steps over which the waits are averaged; None for all."""
    batches = find_batches(trace)
    main = main_loader(trace)
    late_intervals = late_waits(trace)
    steps = chosen or find_steps(trace)
    if main is None or main.multiprocess is False:
        return None
    of_loader = batches.of(main.loader)
    of_loader = of_loader[steps.holding_on_host(trace.events.start_ns[batches.row[of_loader]]) >= 0]
    by_source: dict[Literal["recorder", "ready", "short"], int | None] = {
        "recorder": recorded.overhead_ns if recorded else None,
        # If the recorder cannot tell, the shape of the waits is even less reliable.
        "ready": burst.short_wait_ns if burst and not recorded else None,
        "short": short_wait_ns(trace, batches, main.loader) if not recorded else None,
    }
    source = next((source for source, each_ns in by_source.items() if each_ns is not None), None)
    if source is None or (each_ns := by_source[source]) is None:
        return Overhead(None, None, 0, None, Reason("overhead_hidden_by_late_batches"))
    exposed = np.minimum(batches.exposed_ns[of_loader], each_ns)
    if source == "recorder" and late_intervals is not None:
        start = trace.events.start_ns[batches.row[of_loader]]
        end = trace.events.ends(batches.row[of_loader])
        exposed = batches.exposed_ns[of_loader] - (exposed_waits(trace) & late_intervals).overlap_ns(start, end)
    gain = np.maximum(np.minimum(exposed, each_ns) - unavoidable_ns(trace), 0)
    sampler = recorded.sampler_ns if recorded and source == "recorder" else None
    number = len(steps.steps)
    return Overhead(each_ns, int(exposed.sum()) // number, int(gain.sum()) // number, source, None, sampler)


def shared_out(
    exposed_ns: int, starts: EpochStarts | None, jitter: Jitter | None, overhead: Overhead | None, others_ns: int
) -> WaitShares:
    """Divides the exposed wait of the mean step. others_ns: its part for other loaders. The remainder is attributed to
    late batches."""
    first = min(exposed_ns, starts.exposed_ns) if starts else 0
    others = min(exposed_ns - first, others_ns)
    main = exposed_ns - first - others
    own = min(main, overhead.exposed_ns or 0) if overhead else 0
    rare = min(main - own, jitter.exposed_ns) if jitter else 0
    return WaitShares(first, main - own - rare, rare, own, others)


def others_ns(trace: Trace, steps: Steps) -> int:
    """Returns the exposed wait for other loaders than the one with the most waiting, in the mean of these steps,
    without first batches of epochs."""
    batches = find_batches(trace)
    theirs = (batches.loader != most_waited(batches)) & ~opens_epoch(trace)
    theirs &= steps.holding_on_host(trace.events.start_ns[batches.row]) >= 0
    return int(batches.exposed_ns[theirs].sum()) // len(steps.steps)
