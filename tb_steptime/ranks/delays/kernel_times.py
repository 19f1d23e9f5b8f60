"""Compares the kernels of two ranks: do the same launches take longer on one, or does it have more work?

gemm  of [512, 768]    rank 2: 100 launches of 1.3 ms     rank 0: 100 launches of 1.0 ms     slower: 1.3 times
gemm  of [768, 768]    rank 2:  20 launches of 1.6 ms     rank 0: none                       more work
"""

from __future__ import annotations

from dataclasses import dataclass

from tb_steptime.metrics.kernel_names.collectives import is_collective
from tb_steptime.metrics.kernels.launch_places import LaunchPlace
from tb_steptime.ranks.spans import RankSpan

_Place = tuple[str, str | None, str, str | None, str]


@dataclass(frozen=True)
class KernelExcess:
    """Per step, in ns. slower: the kernel that loses most time by being slower; slow_factor: how many times longer all
    kernels take that both ranks launch; more_work: the kernel that is launched more often, or for other inputs;
    work_factor: how many times longer all kernels would take at the other rank's speed."""

    slower_ns: int
    slower: str | None
    slow_factor: float | None
    more_work_ns: int
    more_work: str | None
    work_factor: float | None


def kernel_excess(own: RankSpan, other: RankSpan) -> KernelExcess | None:
    """Returns None where one of them has no kernels to compare. Raises what reading results raises."""
    mine, theirs = _places(own), _places(other)
    if not mine or not theirs:
        return None
    slower = {key: count * (ns - theirs[key][1]) for key, (count, ns) in mine.items() if key in theirs}
    more = {
        key: (count - theirs.get(key, (0.0, 0.0))[0]) * _rate(key, mine, theirs) for key, (count, ns) in mine.items()
    }
    gone = sum(count * ns for key, (count, ns) in theirs.items() if key not in mine)
    both, total = sum(mine[key][0] * theirs[key][1] for key in slower), sum(count * ns for count, ns in theirs.values())
    return KernelExcess(
        slower_ns=round(sum(slower.values())),
        slower=_most(slower),
        slow_factor=1 + sum(slower.values()) / both if both else None,
        more_work_ns=round(sum(more.values()) - gone),
        more_work=_most(more),
        work_factor=1 + (sum(more.values()) - gone) / total if total else None,
    )


def _rate(key: _Place, mine: dict[_Place, tuple[float, float]], theirs: dict[_Place, tuple[float, float]]) -> float:
    """Returns the time of a launch in ns on the other rank, or on this one if the other has none."""
    return theirs[key][1] if key in theirs else mine[key][1]


def _most(ns: dict[_Place, float]) -> str | None:
    key = max(ns, key=lambda key: ns[key], default=None)
    return None if key is None or ns[key] <= 0 else key[0]


def _places(span: RankSpan) -> dict[_Place, tuple[float, float]]:
    """Returns launches per step and the ns of one, by kernel, op, shapes, module and phase; without collectives, which
    wait."""
    result = span.compare_result
    steps = max(1, sum(step.whole for step in result.steps))
    computing = [place for place in result.kernels if not is_collective(place.name)]
    return {_key(place): (place.count / steps, place.total_ns / max(1, place.count)) for place in computing}


def _key(place: LaunchPlace) -> _Place:
    return place.short, place.op, place.shapes, place.module, place.phase
