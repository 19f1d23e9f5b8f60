"""Why one step in W waits: W workers that are slower than the steps deliver in bursts.

worker 0   000000000333333333
worker 1   111111111444444444      W = 3: one long wait, then two short ones, again and again
worker 2   222222222555555555
step       ........00 11 22...33   P: from a long wait's end to that of the next one of the same worker
                                   C: the step without its exposed wait; N = ceil(P / C) workers keep up
"""

from __future__ import annotations

import msgspec

from tb_steptime.phrases import Phrase


class BurstStep(msgspec.Struct, frozen=True):
    """A wait in the order of the batches: of which step, how long, and whether it is one of the long ones."""

    step: str
    wait_ns: int
    long: bool


class Burst(msgspec.Struct, frozen=True):
    """Whether waits come in bursts, and how many workers would end them. ns are means.

    workers, workers_from: how many there are, where known: "recorder", "stacks" (threads that feed them) or "period".
    period: the distance of alike waits, in batches; autocorrelation: of the waits at that lag. long_wait_ns,
    short_wait_ns: the worst of a period, and the mean of its others. production_ns: one worker's time for one batch;
    spread_ns: its standard deviation; consumer_ns: the step without exposed waits. needed_workers: None where workers
    is; needed_factor: as many times more workers keep up, known without their number. at_most_ns: where the loader
    keeps up, a worker takes at most so long for a batch, times the number of workers.
    gates: what is not fulfilled, each "... cannot be told from this trace, because ..." in full; empty: all are.
    sentence: what there is to say, whichever. waits: all batches of the loader that is waited for most.
    """

    workers: int | None
    workers_from: str | None
    period: int | None
    autocorrelation: float | None
    long_wait_ns: int | None
    short_wait_ns: int | None
    production_ns: int | None
    spread_ns: int | None
    consumer_ns: int
    needed_workers: int | None
    needed_factor: float | None
    at_most_ns: int | None
    gates: list[Phrase]
    sentence: Phrase | None
    waits: list[BurstStep]


class CurvePoint(msgspec.Struct, frozen=True):
    """Predicted for so many workers: step_ns = max(consumer, loader_ns); loader_ns = production / workers."""

    workers: int
    step_ns: int
    loader_ns: int


class WorkerCurve(msgspec.Struct, frozen=True):
    """Step time against number of workers.

    measured_workers: 0 for a loader in the training process; measured_step_ns: the mean step of this span. recommended:
    the number to set; floor_ns: the step that it leaves; gain_ns: measured less floor. cores: of the recording machine,
    where a recorder says it; limit: what may keep the curve from coming true (cores, disk), in a sentence.
    """

    points: list[CurvePoint]
    measured_workers: int
    measured_step_ns: int
    recommended: int
    floor_ns: int
    gain_ns: int
    cores: int | None
    limit: Phrase | None
    title: Phrase
