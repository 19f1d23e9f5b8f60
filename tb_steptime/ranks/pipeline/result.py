"""The analysis of a pipeline.

step of a stage = forward + backward + other + schedule + imbalance + ordering + transfer, in integers
step of the job = work + other + the same four
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from tb_steptime.text import Reason

#: Schedules of pipelines. breadth_first: all forward passes of a rank's first stage, then those of its next, then
#: backward.
ScheduleId = Literal["gpipe", "1f1b", "interleaved", "breadth_first", "zero_bubble"]
#: Causes of bubbles. schedule: what remains if all stages take equally long; imbalance: stages, or micro-batches, that
#: take longer than others; ordering: passes in another order than the schedule prescribes; transfer: messages on their
#: way.
BubbleCause = Literal["schedule", "imbalance", "ordering", "transfer"]
CAUSES: tuple[BubbleCause, ...] = get_args(BubbleCause)


class StageRow(msgspec.Struct, frozen=True):
    """A rank of the pipeline; times in ns per step.

    stages                     the stages that the rank computes
    forward_ns, backward_ns    its passes
    other_ns                   its other work, such as the optimizer
    schedule_ns, imbalance_ns, ordering_ns, transfer_ns   its idle time by cause

    All these times sum to step_ns.
    """

    rank: int
    stages: list[int]
    step_ns: int
    forward_ns: int
    backward_ns: int
    other_ns: int
    schedule_ns: int
    imbalance_ns: int
    ordering_ns: int
    transfer_ns: int


class PassPiece(msgspec.Struct, frozen=True):
    """A pass of a step in the picture. row: place in `Pipeline.rows`; kind: place in PASS_KINDS; times relative to the
    begin of the picture."""

    row: int
    kind: int
    stage: int
    micro_batch: int
    from_ns: int
    to_ns: int


class BubblePiece(msgspec.Struct, frozen=True):
    row: int
    cause: BubbleCause
    from_ns: int
    to_ns: int


class PipelineStep(msgspec.Struct, frozen=True):
    """One step on the clock of the first row. shift_ns: for each row, converts times of the picture to times relative
    to the origin of its span, by addition."""

    name: str
    length_ns: int
    shift_ns: list[int]
    passes: list[PassPiece]
    bubbles: list[BubblePiece]


class Pipeline(msgspec.Struct, frozen=True):
    """The slowest of the job's chains of stages. Times are means over `steps` steps in ns. window_ns = work_ns plus the
    four causes, and step_ns = window_ns + other_ns.

    chains          number of chains of stages in the job
    schedule        None, with a reason, where the order of passes is not that of a known schedule
    odd_ranks       ranks that compute in another order than the schedule
    micro_batches   number per step
    window_ns       from the first begin of a pass to the last end of one
    work_ns         computing time of a stage with its own time between passes, mean over the stages
    perfect_ns      estimated length of a step without any bubble: the work of its slowest stage, and other_ns
    rows            in the order of stages
    shown           the step whose window is closest to the median; None if it has too many passes for a picture
    """

    schedule: ScheduleId | None
    reason: Reason | None
    odd_ranks: list[int]
    chains: int
    micro_batches: int
    stages: int
    steps: int
    step_ns: int
    window_ns: int
    work_ns: int
    other_ns: int
    schedule_ns: int
    imbalance_ns: int
    ordering_ns: int
    transfer_ns: int
    perfect_ns: int
    rows: list[StageRow]
    shown: PipelineStep | None = None

    @property
    def bubble_ns(self) -> int:
        return sum(self.costs().values())

    def costs(self) -> dict[BubbleCause, int]:
        """Returns what each cause costs the step of the job."""
        return {cause: getattr(self, f"{cause}_ns") for cause in CAUSES}
