"""Compare: the part of a recording's figures that is compared with others; `tb_steptime.comparison` compares several of
these."""

from __future__ import annotations

from functools import partial

import msgspec

from tb_steptime.analyses.base import Analysis
from tb_steptime.metrics.catalogue import main_device
from tb_steptime.metrics.excluded_time.ranges import compared_steps, step_at
from tb_steptime.metrics.host.blocking_calls import BlockingPlace, blocking_groups, blocking_places
from tb_steptime.metrics.host.copies import CopyPlace, copy_places
from tb_steptime.metrics.host.op_times import OpTime, op_times
from tb_steptime.metrics.kernels.launch_places import LaunchPlace, launch_places
from tb_steptime.metrics.phases.assignment import host_time_ns, phase_labels
from tb_steptime.metrics.phases.sites import PHASES
from tb_steptime.metrics.roofline.utilization import known_products
from tb_steptime.metrics.setup import Setup, setup_of
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


class ComparedStep(msgspec.Struct, frozen=True):
    """A step. whole: whether it is compared. phases_ns: in the order of CompareResult.phases; they sum to the step."""

    name: str
    whole: bool
    phases_ns: list[int]


class CompareResult(msgspec.Struct, frozen=True):
    """The figures of a span that are compared. Sums of kernels and ops are those of its whole steps. All are empty in a
    summary of a release that did not compare.

    phases             labels, in order
    kernels            of the main device, by place of origin
    more_kernels_ns    time of all other places
    ops                on the host
    blocking, copies   by place of origin
    known_products     share of the time of the main device's products whose operations are known; None without products
    """

    setup: Setup = Setup()
    steps: list[ComparedStep] = []
    phases: list[str] = []
    kernels: list[LaunchPlace] = []
    more_kernels_ns: int = 0
    ops: list[OpTime] = []
    blocking: list[BlockingPlace] = []
    copies: list[CopyPlace] = []
    known_products: float | None = None


def analyse(trace: Trace) -> CompareResult:
    device = main_device(trace)
    whole = compared_steps(trace, device)
    kernels, more_ns = ([], 0) if device is None else launch_places(trace, device, whole)
    columns = zip(find_steps(trace).steps, whole.tolist(), host_time_ns(trace).tolist(), strict=True)
    labels, steps = phase_labels(trace), int(whole.sum())
    at = partial(step_at, trace, is_counted=whole)
    return CompareResult(
        setup=setup_of(trace, whole),
        steps=[ComparedStep(step.name, compared, phases) for step, compared, phases in columns],
        phases=[labels[phase] for phase in PHASES],
        kernels=kernels,
        more_kernels_ns=more_ns,
        ops=op_times(trace, at, steps),
        blocking=blocking_places(trace, at(blocking_groups(trace).start), steps),
        copies=copy_places(trace, at, steps),
        known_products=None if device is None else known_products(trace, device),
    )


ANALYSIS = Analysis("compare", "Compare", CompareResult, analyse, CompareResult())
