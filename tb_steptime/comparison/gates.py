"""Gates of a CI job: `step_time>+5%` fails where the step time grew by more than 5 %, and the whole interval says so.

    METRIC  > or <  LIMIT

A LIMIT with a sign is a change: +5%, -2ms, +100us, +1000 (a plain number for counts). Without a sign it is a limit of
the candidate's own mean: 250ms, 80% (for a metric that is a share), 1000.

A change is compared with the noise between recordings: between several runs per side, or else between the spans of each
run. Where only its mean is beyond the limit, and noise may be why, the result is unclear: the gate does not fail, and
says so. `unprofiled_step_p1` is judged by the order of the runs instead, because other processes lengthen some of them
by any amount and shorten none:

    base        16.1 ms   16.4 ms   20.3 ms     the median run takes 16.4 ms; 5 % more are 17.2 ms
    candidate   17.6 ms   17.8 ms   18.4 ms     each run takes longer: fails, though the means differ by only 1.9 %

Of `undisturbed_host_time`, which hardly varies, the fastest run of the slower side is compared with the mean of the
faster half of the other side's runs, of three runs two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.comparison.figures import UPPER_END, is_of_same_work, is_range
from tb_steptime.comparison.intervals import Change, change_between
from tb_steptime.comparison.sides import Side
from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.metrics.steady.host import UNDISTURBED_HOST_TIME
from tb_steptime.text import Unit, did_you_mean
from tb_steptime.trace.loader_records import StepPace
from tb_steptime.trace.table import Float64

_GATE = re.compile(
    r"\s*(?P<metric>\w+)\s*(?P<beyond>[<>])\s*(?P<sign>[+-]?)(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>%|\w*)\s*"
)
_TIMES = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
#: These metrics are no figures of a trace. They are about the steps outside the trace, which the recorder timed.
UNPROFILED = Metric(
    "unprofiled_step", "Step without the profiler", Unit.NS, "Median of the steps that were not profiled, of each run."
)
UNPROFILED_P1 = Metric(
    "unprofiled_step_p1",
    "Fast step without the profiler",
    Unit.NS,
    "1st percentile of the steps that were not profiled, of each run, but no less than the second shortest. Other "
    "processes only lengthen steps, so it varies least from run to run.",
)
_OF_PACE: Mapping[str, Callable[[StepPace], int | None]] = {
    UNPROFILED.id: lambda pace: pace.plain_ns,
    UNPROFILED_P1.id: lambda pace: pace.plain_p1_ns,
}
#: Other processes only lengthen these metrics, in some runs and not in others.
LENGTHENED = (UNPROFILED_P1.id, UNDISTURBED_HOST_TIME.id)
#: Metrics that a gate may be about.
GATED: Mapping[str, Metric] = {metric.id: metric for metric in (*METRICS, UNPROFILED, UNPROFILED_P1)}
#: Between several runs per side, a limit is exceeded with a confidence of 95 %. Only one end of the interval counts, so
#: 5 % may lie beyond each.
_LEVEL = 0.90

Of = Literal["change", "relative", "value"]
Outcome = Literal["passed", "failed", "unclear", "unknown"]


class GateError(ValueError):
    """Raised for an invalid gate. It says what is wrong, and what is allowed instead."""


@dataclass(frozen=True)
class Gate:
    """A parsed gate. rule: its text. of: what is compared with the limit: the change in the metric's unit, the change
    as a share of the base, or the candidate's value."""

    rule: str
    metric: str
    above: bool
    limit: float
    of: Of


class GateResult(msgspec.Struct, frozen=True):
    """The result of a gate. value: what was compared with the limit, a fraction for "%", ns for times; None where it is
    not measurable on a side, and then passed is None, too. spread: of a change in percent, how much the spans of one
    run differ by at most, as a fraction of their mean; None where each run has one. Above the limit they say little of
    it. For fast steps and undisturbed time it is how much the two fastest runs of a side differ by. nearest: the end of
    the value's interval that was compared with the limit; None where the value itself was, or single runs.
    unclear: it passed only because of the noise, since the value itself is beyond the limit."""

    run: str
    rule: str
    value: float | None
    limit: float
    passed: bool | None
    spread: float | None = None
    nearest: float | None = None
    unclear: bool = False

    @property
    def outcome(self) -> Outcome:
        if self.passed is None:
            return "unknown"
        return "unclear" if self.unclear else "passed" if self.passed else "failed"

    @property
    def is_noisy(self) -> bool:
        """Whether the spans of one run, or the fastest runs of a side, differ by more than the limit."""
        return self.spread is not None and self.spread > abs(self.limit)


def parse_gate(rule: str) -> Gate:
    """Parses the text of a gate. Raises GateError."""
    match = _GATE.fullmatch(rule)
    if match is None:
        raise GateError(f'"{rule}" is no gate: write METRIC, > or <, and a limit, such as "step_time>+5%"')
    metric = GATED.get(match["metric"])
    if metric is None:
        nearest = did_you_mean(match["metric"], GATED)
        raise GateError(f'"{match["metric"]}" in "{rule}" is no metric.{nearest} The metrics are {", ".join(GATED)}.')
    limit = float(match["number"]) * (-1 if match["sign"] == "-" else 1)
    signed = bool(match["sign"])
    if match["unit"] == "%" and (signed or metric.unit is Unit.FRACTION):
        return Gate(rule, metric.id, match["beyond"] == ">", limit / 100, "relative" if signed else "value")
    if metric.unit is Unit.NS:
        scale = _TIMES.get(match["unit"])
    else:
        scale = None if match["unit"] else 1.0
    if scale is None:
        raise GateError(f'The unit "{match["unit"]}" in "{rule}" does not fit: {_units(metric)}')
    return Gate(rule, metric.id, match["beyond"] == ">", limit * scale, "change" if signed else "value")


def _units(metric: Metric) -> str:
    if metric.unit is Unit.NS:
        return f"{metric.id} is a time, in ns, us, ms or s; its change may be in %, too"
    if metric.unit is Unit.FRACTION:
        return f"{metric.id} is a share, from 0 to 1 or in %"
    return f"{metric.id} is a number without a unit; its change may be in %"


def judge_gate(gate: Gate, base: Side, candidate: Side, *, strict: bool = False) -> GateResult:
    """Returns the result of a gate. It fails where the whole interval is beyond the limit. If strict, or without an
    interval, it fails where the mean is."""
    result = _judged_once(gate, base, candidate, strict)
    if not result.passed or result.value is None:
        return result
    is_beyond = result.value > gate.limit if gate.above else result.value < gate.limit
    return msgspec.structs.replace(result, unclear=is_beyond)


def _judged_once(gate: Gate, base: Side, candidate: Side, strict: bool) -> GateResult:
    if gate.of != "value" and not is_of_same_work(gate.metric, base, candidate):
        return GateResult(candidate.name, gate.rule, None, gate.limit, None)
    if is_range(gate.metric, candidate) or (gate.of != "value" and is_range(gate.metric, base)):
        return _judged_range(gate, base, candidate, strict)
    if gate.metric in (*_OF_PACE, *LENGTHENED):
        return _judged_runs(gate, base, candidate, strict)
    before, after = base.per_unit(gate.metric), candidate.per_unit(gate.metric)
    result = _judged(gate, before, after, candidate.name, max(base.period, candidate.period), strict)
    if gate.of != "relative":
        return result
    spreads = [spread for side in (base, candidate) if (spread := side.spread(gate.metric)) is not None]
    return msgspec.structs.replace(result, spread=max(spreads, default=None))


def _judged_runs(gate: Gate, base: Side, candidate: Side, strict: bool) -> GateResult:
    """Judges a metric with one value for each run. Only several runs per side show how much runs differ by chance."""
    before, after = (_per_run(side, gate.metric) for side in (base, candidate))
    if not strict and min(len(before) if gate.of != "value" else len(after), len(after)) < 2:
        return GateResult(candidate.name, gate.rule, None, gate.limit, None)
    if gate.metric in LENGTHENED and not strict:
        judged = _judged_by_order if gate.metric == UNPROFILED_P1.id else _judged_by_fastest
        return judged(gate, before, after, candidate.name)
    return _judged(gate, before, after, candidate.name, 1, strict)


def _per_run(side: Side, metric: str) -> list[Float64]:
    """Returns an array with one value, (1,), for each run."""
    value_of = _OF_PACE.get(metric)
    values = [value_of(pace) for pace in side.paces()] if value_of else side.least_span_means(metric)
    return [np.array([value], np.float64) for value in values if value]


def _judged_by_order(gate: Gate, before: Sequence[Float64], after: Sequence[Float64], run: str) -> GateResult:
    """Judges one time per run. The gate fails where all runs of the slower side are beyond the limit against the median
    run of the faster side. Of an even number of runs, the median is the slower of the two in the middle. Where the two
    fastest runs of a side differ by more than the limit, the machine was too busy, and the gate passes."""
    candidates = np.sort(np.concatenate(after))
    if gate.of == "value":
        beyond = candidates[0] > gate.limit if gate.above else _median(candidates) < gate.limit
        return GateResult(run, gate.rule, _median(candidates), gate.limit, not beyond)
    bases = np.sort(np.concatenate(before))
    scale = _median(bases) if gate.of == "relative" else 1.0
    change = candidates[0] - _median(bases) if gate.above else _median(candidates) - bases[0]
    noise = _noise(bases, candidates) / scale
    beyond = change / scale > gate.limit if gate.above else change / scale < gate.limit
    return GateResult(
        run,
        gate.rule,
        (_median(candidates) - _median(bases)) / scale,
        gate.limit,
        not beyond or bool(noise > abs(gate.limit)),
        spread=float(noise) if gate.of == "relative" else None,
    )


def _judged_by_fastest(gate: Gate, before: Sequence[Float64], after: Sequence[Float64], run: str) -> GateResult:
    """Judges one time per run. The gate fails where the fastest run of the slower side is beyond the limit against the
    mean of the faster half of the other side. The value is the change between the faster halves, and the spread shows
    whether the machine was too busy."""
    candidates = np.sort(np.concatenate(after))
    value = _mean_of_faster_half(candidates)
    if gate.of == "value":
        beyond = candidates[0] > gate.limit if gate.above else value < gate.limit
        return GateResult(run, gate.rule, value, gate.limit, not beyond)
    bases = np.sort(np.concatenate(before))
    base = _mean_of_faster_half(bases)
    scale = base if gate.of == "relative" else 1.0
    change = (candidates[0] - base if gate.above else value - bases[0]) / scale
    beyond = change > gate.limit if gate.above else change < gate.limit
    spread = _noise(bases, candidates) / scale if gate.of == "relative" else None
    return GateResult(run, gate.rule, (value - base) / scale, gate.limit, not beyond, spread)


def _mean_of_faster_half(ordered: Float64) -> float:
    return float(ordered[: -(-len(ordered) // 2)].mean())


def _noise(bases: Float64, candidates: Float64) -> float:
    """Returns the larger of the differences between the two fastest runs of each side. The times of both sides are
    ascending."""
    return float(max(side[1] - side[0] for side in (bases, candidates)))


def _median(ordered: Float64) -> float:
    return float(ordered[len(ordered) // 2])


def _judged_range(gate: Gate, base: Side, candidate: Side, strict: bool) -> GateResult:
    """Judges a range by the result on which both of its ends agree. It is not measurable if they disagree."""
    ends = (gate.metric, UPPER_END[gate.metric])
    period = max(base.period, candidate.period)
    least, most = (
        _judged(gate, base.per_unit(before), candidate.per_unit(after), candidate.name, period, strict)
        for before, after in (ends[::-1], ends)
    )
    if least.passed == most.passed:
        return most if gate.above else least
    return GateResult(candidate.name, gate.rule, None, gate.limit, None)


def _judged(
    gate: Gate, before: Sequence[Float64], after: Sequence[Float64], run: str, period: int, strict: bool
) -> GateResult:
    """Judges by the interval of the change, or of the candidate's own mean. before, after: values, grouped by separate
    recording."""
    if not after or (gate.of != "value" and not before):
        return GateResult(run, gate.rule, None, gate.limit, None)
    if gate.of == "value":  # the interval is then the candidate's own
        mean = float(np.mean([values.mean() for values in after]))
        before = [np.full_like(values, mean) for values in after]
    change = change_between(before, after, period, _LEVEL, base_is_exact=gate.of == "value")
    if gate.of == "relative" and not change.base:
        return GateResult(run, gate.rule, None, gate.limit, None)
    value, end = _value_and_nearest(gate, change, strict)
    nearest = value if end is None else end
    passed = nearest <= gate.limit if gate.above else nearest >= gate.limit
    return GateResult(run, gate.rule, value, gate.limit, passed, nearest=end)


def _value_and_nearest(gate: Gate, measured: Change, strict: bool) -> tuple[float, float | None]:
    """Returns the value, and the end of its interval that passes most easily, or None where only the value counts."""
    value = measured.candidate if gate.of == "value" else measured.change
    edge = measured.low if gate.above else measured.high
    scale = abs(measured.base) if gate.of == "relative" else 1.0
    return value / scale, None if strict or edge is None else (value + edge - measured.change) / scale
