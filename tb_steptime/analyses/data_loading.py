"""Data loading: which waits for a batch cost GPU time and which hide behind it."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.base import Series
from tb_steptime.phrases import Phrase


class LoaderStep(msgspec.Struct, frozen=True):
    """wait_ns = exposed_ns + hidden_ns: the loader's intervals within the step, without and with device work beside."""

    name: str
    duration_ns: int
    wait_ns: int
    exposed_ns: int
    hidden_ns: int


class Activity(msgspec.Struct, frozen=True):
    """What the training thread did inside the loader, self time per batch; name None: Python without an op."""

    name: str | None
    ns_per_batch: int


class Lane(msgspec.Struct, frozen=True):
    """One lane of the picture of two steps. id: loader, cpu or gpu. start_ns, end_ns: disjoint intervals; hatched says
    for each whether it is the second sense of the lane's colour (a wait that is hidden)."""

    id: str
    label: str
    start_ns: list[int]
    end_ns: list[int]
    hatched: list[bool]


class LaneWindow(msgspec.Struct, frozen=True):
    """A stretch of the span in which the pattern shows, by steps. Times are relative to the span's origin."""

    start_ns: int
    end_ns: int
    steps: list[str]
    marks_ns: list[int]
    lanes: list[Lane]


class DataLoadingResult(msgspec.Struct, frozen=True):
    """unknown says why nothing can be told (no loader events); all figures are then None or empty.

    multiprocess is None where the iterator's name does not tell. batch_ns: the production time of one batch where it is
    measured (a single process); without_wait_ns: the mean step less its mean exposed wait.
    """

    unknown: Phrase | None
    iterators: list[str]
    multiprocess: bool | None
    steps: list[LoaderStep]
    mean: LoaderStep | None
    batch_ns: int | None
    without_wait_ns: int | None
    needed_workers: int | None
    tiles: list[Series]
    tile_remarks: dict[str, Phrase]
    steps_title: Phrase
    activities: list[Activity]
    activities_title: Phrase | None
    lanes: LaneWindow | None
    lanes_title: Phrase | None
