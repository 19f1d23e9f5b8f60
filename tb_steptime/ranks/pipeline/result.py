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
#: do not; ordering: passes in another order than the schedule prescribes; transfer: messages under way.
BubbleCause = Literal["schedule", "imbalance", "ordering", "transfer"]
CAUSES: tuple[BubbleCause, ...] = get_args(BubbleCause)


class StageRow(msgspec.Struct, frozen=True):
    """A rank of the pipeline; stages: which it computes. ns a step, which sum to step_ns: forward_ns, backward_ns: its
    passes; other_ns: what it does besides, such as the optimizer; and what it is idle, by cause."""

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
    """A pass of a step; row: of the pipeline's rows; kind: place in PASS_KINDS; times from the begin of the picture."""

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
    """One step on the clock of the first row. shift_ns: of each row what is added to a time of the picture to have one
    from the origin of its span."""

    name: str
    length_ns: int
    shift_ns: list[int]
    passes: list[PassPiece]
    bubbles: list[BubblePiece]


class Pipeline(msgspec.Struct, frozen=True):
    """The slowest of the job's chains of stages; chains: how many there are. Mean of `steps` steps, ns.

    schedule: None where the order of passes is of none that is known, and reason says so. odd_ranks: those that compute
    in another order than the schedule. micro_batches: of a step. window_ns: from the first begin of a pass to the last
    end of one: work_ns + the four causes; step_ns = window_ns + other_ns. work_ns: what a stage computes, mean of all,
    with its own time between passes. perfect_ns: what a step would take without any bubble, est.: as long as its
    slowest stage works, and other_ns. rows: in the order of stages. shown: a step in the middle of the others; None of
    more passes than a picture has room for.
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
        """What each cause costs the step of the job."""
        return {cause: getattr(self, f"{cause}_ns") for cause in CAUSES}
