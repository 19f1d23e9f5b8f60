"""Prints how much of the drawn excess is found and how much is invented, how much counts as one-time excess in a
recording that begins with a later step, and how much the steady steps of the two halves of a recording differ."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from tb_steptime.metrics.steady.excess import ExcessKind
from tests.truth.steady.jobs import healthy, with_excess
from tests.truth.steady.scores import cuts, invented_ms, placebos, recovered


def drawn() -> Iterator[str]:
    found = list(recovered(with_excess()))
    yield "| excess | drawn | found | largest error of a job |"
    yield "|---|---:|---:|---:|"
    for kind in ExcessKind:
        mine = [each for each in found if each.kind == kind]
        if mine:
            sums = (sum(each.drawn_ms for each in mine), sum(each.found_ms for each in mine))
            error = max(each.error for each in mine)
            yield f"| {kind.name.lower()} | {sums[0]:.1f} ms | {sums[1]:.1f} ms | {error:.2%} |"
    yield ""
    yield f"Excess of other kinds in these jobs: {sum(each.other_ms for each in found):.3f} ms."
    invented = invented_ms(healthy())
    some = sum(ms > 0 for ms in invented)
    yield f"Excess of {len(invented)} healthy jobs: {sum(invented):.3f} ms, in {some} of them."


def real() -> Iterator[str]:
    yield "| recording | once | largest placebo |"
    yield "|---|---:|---:|"
    found = list(placebos())
    for each in found:
        yield f"| {_short(each.path)} | {each.once_ms:.3f} ms | {each.placebo_ms:.3f} ms |"
    sums = sum(each.once_ms for each in found), sum(each.placebo_ms for each in found)
    yield f"| all | {sums[0]:.3f} ms | {sums[1]:.3f} ms |"
    yield ""
    yield "| recording | first half | second half | apart |"
    yield "|---|---:|---:|---:|"
    for cut in cuts():
        yield f"| {_short(cut.path)} | {cut.start_ms:.3f} ms | {cut.middle_ms:.3f} ms | {cut.error:.1%} |"


def _short(path: str) -> str:
    return "/".join(part.split(".json")[0][:40] for part in path.split("/")[1:])


def show(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    show(drawn())
    show(["", *real()])
