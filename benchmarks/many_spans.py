"""Writes a log directory of many spans with their summaries: `python -m benchmarks.many_spans LOGDIR`.

One trace is written and read; each span is a link to it, with a summary of its own whose steps are a little longer or
shorter, and of some ranks much longer. So a thousand spans take seconds to make, and the disk holds one trace.

    job/rank_0.1700000000000000000.pt.trace.json.gz      rank 0, span 1          with --runs: run_000/... of each run
    job/rank_0.1700000000000000000.pt.trace.json.gz.steptime
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from pathlib import Path

import msgspec

from benchmarks.generate import write_trace
from tb_steptime.analyses.trends import StepMark, TrendsResult
from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.summaries.layout import SUFFIX, stamp
from tb_steptime.ingest.summaries.writing import encode_summary

RANKS, SPANS = 100, 10
TRACE_BYTES, LAYERS = 1_500_000, 3
FIRST_NS, SPAN_NS = 1_700_000_000_000_000_000, 600_000_000_000
#: Ranks that are slower than the others, and by how much.
SLOW = {7: 1.6, 42: 1.35, 77: 1.25}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("logdir", type=Path)
    parser.add_argument("--ranks", type=int, default=RANKS)
    parser.add_argument("--spans", type=int, default=SPANS, help="of each rank")
    parser.add_argument("--runs", action="store_true", help="a run of its own for each rank")
    asked = parser.parse_args()
    write_spans(asked.logdir, asked.ranks, asked.spans, runs=asked.runs)


def write_spans(
    logs: Path, ranks: int = RANKS, spans: int = SPANS, *, runs: bool = False, trace_bytes: int = TRACE_BYTES
) -> None:
    """Writes this many spans for each of this many ranks, with their summaries; for this many runs where `runs` is
    given.
    """
    logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=logs, prefix=".") as folder:
        trace = Path(folder) / "one.pt.trace.json.gz"
        write_trace(trace, trace_bytes, layers=LAYERS)
        measured = measure_file(trace)
        for rank in range(ranks):
            home = logs / (f"run_{rank:03}" if runs else "job")
            home.mkdir(exist_ok=True)
            for span in range(spans):
                worker = "rank_0" if runs else f"rank_{rank}"
                place = home / f"{worker}.{FIRST_NS + span * SPAN_NS}.pt.trace.json.gz"
                os.link(trace, place)
                content = encode_summary(stamp(place), _varied(measured, rank, span))
                place.with_name(place.name + SUFFIX).write_bytes(content)


def _varied(measured: MeasuredSpan, rank: int, span: int) -> MeasuredSpan:
    """The same steps, each a little longer or shorter."""
    dice = random.Random(1000 * rank + span)
    trends = measured.result("trends", TrendsResult)
    slower = SLOW.get(rank, 1 + 0.04 * dice.random())
    factors = [slower * (1 + 0.05 * dice.random()) for _ in trends.steps]
    steps, at = [], 0
    for step, factor in zip(trends.steps, factors, strict=True):
        length = round(factor * (step.end_ns - step.start_ns))
        steps.append(StepMark(step.name, at, at + length))
        at += length
    mean = at // max(1, len(steps))
    series = [
        msgspec.structs.replace(each, value=mean, steps=[step.end_ns - step.start_ns for step in steps])
        if each.metric == "step_time"
        else msgspec.structs.replace(each, steps=_jittered(each.steps, dice))
        for each in trends.series
    ]
    varied = msgspec.structs.replace(trends, origin_ns=FIRST_NS + span * SPAN_NS, steps=steps, series=series)
    facts = msgspec.structs.replace(measured.facts, rank=rank, mean_step_ns=mean, origin_ns=varied.origin_ns)
    return msgspec.structs.replace(measured, facts=facts, results={**measured.results, "trends": varied})


def _jittered(values: list[float | None], dice: random.Random) -> list[float | None]:
    return [None if value is None else min(1.0, value * (0.9 + 0.2 * dice.random())) if value <= 1 else value
            for value in values]  # fmt: skip


if __name__ == "__main__":
    main()
