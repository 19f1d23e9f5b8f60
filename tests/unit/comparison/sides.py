"""Sides of a comparison, made from drawn traces."""

from __future__ import annotations

from tb_steptime.analyses import ANALYSES
from tb_steptime.comparison.sides import COMPARED_VIEWS, ComparedSpan, ExpectedGain, Side
from tb_steptime.trace.model import Trace


def span_of(trace: Trace, **facts: object) -> ComparedSpan:
    """Everything of a trace that a comparison uses."""
    results = {each.id: each.analyse(trace) for each in ANALYSES if each.id in COMPARED_VIEWS}
    names = tuple(device.name for device in trace.devices.values())
    return ComparedSpan(results, **{"device_names": names, "simulated": trace.job.simulated is not None, **facts})


def side_of(name: str, *traces: Trace, expected: tuple[ExpectedGain, ...] = ()) -> Side:
    return Side(name, tuple(span_of(trace, expected=expected) for trace in traces))
