"""Prints the gain that a card promises for a recording, and the gain of a second recording of the job with that change.

`python -m tests.truth.pairs`. Other people recorded the jobs and made the changes. `test_pairs` checks what is printed.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from tb_steptime.analyses import ANALYSES
from tb_steptime.ingest.analysing import analyse
from tb_steptime.insights import judge
from tb_steptime.metrics.catalogue import main_device
from tb_steptime.metrics.excluded_time.ranges import judged_ns, whole_steps
from tb_steptime.trace.model import Trace
from tests.drawn.real_traces import read_real, real_path, world

MS = 1e6


class Pair(NamedTuple):
    """Recordings of one job before and after a change, and the card that advises the change. Several recordings
    of the same side differ only by chance."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    card: str


_RESNET = "traces/kineto_v100_resnet50/workers{}/worker0.{}.pt.trace.json.gz"
PAIRS = (
    Pair(
        (_RESNET.format(0, 1623143089861), _RESNET.format(0, 1623143566756)),
        (_RESNET.format(4, 1623212756351), _RESNET.format(4, 1623213129365)),
        "no_workers",
    ),
    Pair(
        (world("a100_vit_bf16_grad_mode"),),
        (world("a100_vit_bf16_no_grad"),),
        "compiled_waits",
    ),
    Pair(
        (world("rtx5080_train_eager"),),
        (world("rtx5080_train_graphed_callables"),),
        "launch_graphs",
    ),
    Pair(
        (world("a100_sam2_amg_0_start"),),
        (world("a100_sam2_amg_1_mask_to_rle"),),
        "sync_bubble",
    ),
)


class Outcome(NamedTuple):
    """Means over the recordings of each side, in ms: the step before the change as the cards judge it, the gain that
    the card promises at most, and the gain that the change brought."""

    step: float
    promised: float
    gained: float


def outcome(pair: Pair) -> Outcome:
    """Raises AssertionError if a recording before the change has no such card."""
    steps = {side: [_step(read_real(real_path(path))) for path in getattr(pair, side)] for side in ("before", "after")}
    promised = [_promised(read_real(real_path(path)), pair.card) for path in pair.before]
    before, after = (sum(each) / len(each) for each in steps.values())
    return Outcome(before, sum(promised) / len(promised), before - after)


def _step(trace: Trace) -> float:
    device = main_device(trace)
    return float(judged_ns(trace, device)[whole_steps(trace, device)].mean()) / MS


def _promised(trace: Trace, card: str) -> float:
    results, gaps = analyse(trace, ANALYSES)
    assert not gaps
    cards = {each.id: each for each in judge(results, gaps).insights}
    assert card in cards, f"{trace.path} has no card {card}, but {', '.join(cards)}"
    return cards[card].gain_ns / MS


def main() -> None:
    write = sys.stdout.write
    write(
        "| recording | card | step, ms | up to, ms | gained, ms | promised / gained |\n|---|---|---:|---:|---:|---:|\n"
    )
    for pair in PAIRS:
        name = pair.before[0].split("/", 1)[1].removesuffix(".json.gz").partition("/worker0")[0]
        found = outcome(pair)
        write(f"| {name} | `{pair.card}` | {found.step:.1f} | {found.promised:.1f} | {found.gained:.1f} | ")
        write(f"{found.promised / found.gained:.2f} |\n")


if __name__ == "__main__":
    main()
