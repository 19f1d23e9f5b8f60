"""Two jobs with the same training on different numbers of ranks: how much of the added GPUs' time is lost, and to what.

     8 ranks   step 100 ms   kernels 92   exposed transfers  6   waits 1   rest 1
    64 ranks   step 141 ms   kernels 92   exposed transfers 33   waits 8   rest 8
    each rank does as much in both: 100 / 141 = 71 % efficient; 19 % of the larger step are lost to longer transfers

Where the whole job does the same work in both, each rank of the larger one has less to do: ideally the step is shorter
in proportion to the number of ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.ranks.matching import FEWEST_STEPS
from tb_steptime.ranks.result import DecidingPath, JobRanks
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.text import Reason

#: Maximum relative difference in computing time per step that still counts as the same work.
SAME_WORK = 0.15
#: Maximum excess over a rank's share that still counts as split work: kernels are less efficient when each rank has
#: less work.
SPLIT_WORK = 0.5

#: weak: each rank does the same work in both jobs; strong: the whole job does.
ScalingKind = Literal["weak", "strong"]
PartId = Literal["kernels", "transfers", "waits", "loading", "copies", "host"]

#: Metrics of the catalogue that each part sums.
_PARTS: dict[PartId, tuple[str, ...]] = {
    "kernels": ("kernel_time",),
    "transfers": ("communication_time",),
    "waits": (),
    "loading": ("data_loader_time",),
    "copies": ("memcpy_time", "memset_time"),
    "host": ("runtime_time", "cpu_exec_time", "other_time"),
}


class ScalingPart(msgspec.Struct, frozen=True):
    """A part of the mean step of the mean rank, in ns. Transfers and waits are those that no computation hides.

    lost_ns   how much longer the part is than in the ideal step
    kind      for transfers, the kind of collective with most of the time
    """

    id: PartId
    base_ns: int
    ns: int
    lost_ns: int
    kind: str | None = None


class Scaling(msgspec.Struct, frozen=True):
    """The change of the step from base_ranks to ranks.

    base_step_ns, step_ns   the mean step of each job, without the first one if there are three or more; the parts sum
                            to these
    ideal_ns          the step if nothing were lost; the lost_ns of the parts sum to step_ns - ideal_ns
    efficiency        ideal_ns / step_ns; None, with the reason, if it is not known whether ranks do the same work
    base_path, path   what decides the step of each job; None as in a `JobRanks`
    """

    base_ranks: int
    ranks: int
    base_step_ns: int
    step_ns: int
    kind: ScalingKind | None
    ideal_ns: int | None
    efficiency: float | None
    parts: list[ScalingPart]
    reason: Reason | None = None
    base_path: DecidingPath | None = None
    path: DecidingPath | None = None


@dataclass(frozen=True)
class ScaledJob:
    """A job and the spans that it was made of."""

    spans: Sequence[RankSpan]
    job: JobRanks

    @property
    def ranks(self) -> int:
        """The number of all ranks, including those that were not recorded."""
        return self.job.world_size or len(self.job.ranks)

    def parts(self) -> dict[PartId, int]:
        """Returns the parts, which sum to the mean step of the mean rank, except for rounding."""
        parts = {id: round(sum(self._mean(metric) for metric in metrics)) for id, metrics in _PARTS.items()}
        exchange = self.job.exchange
        exposed = exchange.exposed_transfer_ns + exchange.exposed_wait_ns if exchange else 0
        if exchange and exposed:
            parts["waits"] = parts["transfers"] * exchange.exposed_wait_ns // exposed
            parts["transfers"] -= parts["waits"]
        return parts

    def _mean(self, metric: str) -> float:
        """Returns the mean over the steps. Of three or more steps the first is left out, since ranks wait in it for
        each other's profiler to start."""
        columns = [span.figures[metric] for span in self.spans if metric in span.figures]
        steady = [column[1:] if len(column) >= FEWEST_STEPS else column for column in columns]
        means = [float(np.nanmean(column)) for column in steady if not np.isnan(column).all()]
        return float(np.mean(means)) if means else 0.0

    def largest_exchange(self) -> str | None:
        """Returns the label of the exchange whose transfers take most."""
        shares = {row.label: 0 for row in self.job.collectives}
        for row in self.job.collectives:
            shares[row.label] += row.exposed_ns * row.transfer_ns // max(1, row.running_ns)
        return max(shares, key=lambda label: shares[label], default=None)

    def inputs(self) -> list[str]:
        """Returns the shapes of the first matrix products of a step. The list is empty where they are not recorded."""
        return [each.shapes for each in self.spans[0].compare_result.setup.first_inputs]


def scaling(base: ScaledJob, job: ScaledJob) -> Scaling:
    """Compares a job with a base. Raises what reading results raises."""
    before, after = base.parts(), job.parts()
    step_ns, base_step_ns = sum(after.values()), sum(before.values())
    kind, factor = _kind(base, job), base.ranks / job.ranks
    ideal = None if kind is None else base_step_ns if kind == "weak" else round(base_step_ns * factor)
    return Scaling(
        base_ranks=base.ranks,
        ranks=job.ranks,
        base_step_ns=base_step_ns,
        step_ns=step_ns,
        kind=kind,
        ideal_ns=ideal,
        efficiency=None if ideal is None or not step_ns else ideal / step_ns,
        parts=_lost(before, after, 1.0 if kind != "strong" else factor, job.largest_exchange()),
        reason=Reason("scaling_work_not_known") if kind is None else None,
        base_path=base.job.path,
        path=job.job.path,
    )


def _kind(base: ScaledJob, job: ScaledJob) -> ScalingKind | None:
    """Decides the kind by the inputs of a step where both jobs recorded them, or else by the time that kernels take."""
    if base.inputs() and base.inputs() == job.inputs():
        return "weak"
    before, after = base.parts()["kernels"], job.parts()["kernels"]
    if not before or not after:
        return None
    if abs(after / before - 1) <= SAME_WORK:
        return "weak"
    share = after / before * job.ranks / base.ranks
    return "strong" if 1 - SAME_WORK <= share <= 1 + SPLIT_WORK else None


def _lost(
    before: dict[PartId, int], after: dict[PartId, int], factor: float, exchange: str | None
) -> list[ScalingPart]:
    """Returns the parts, those that lose most first. Ideal times are rounded so that they sum to that of the step."""
    ends = np.rint(np.cumsum([before[id] for id in before]) * factor).astype(np.int64)
    ideal = np.diff(ends, prepend=0).tolist()
    rows = [
        ScalingPart(id, before[id], after[id], after[id] - least, exchange if id == "transfers" else None)
        for id, least in zip(before, ideal, strict=True)
    ]
    return sorted(rows, key=lambda row: -row.lost_ns)
