"""Late launches of the model itself, by what would help: graphs against many short gaps, other means against long ones.

late, by place    |ssssssssss|LLLLLLLL|cccc|        s: short gaps, for `launch_graphs`
                                                    L: long gaps, c: of these, of compiled code, for `long_waits`
Of few launches all gaps count as long: a graph saves no launches where there are none.
"""

from __future__ import annotations

from typing import NamedTuple

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.host_gains import late_by_site, late_ns, sites_of
from tb_steptime.metrics.idle.host_stalls import LEAST_STEPS, RARE_FRACTION

HOOKS = ("backward.hooks",)
FORWARD = ("forward.model",)
BACKWARD = ("backward.loss", "backward.nodes", "backward.gradient_accumulation")

#: A graph of fewer launches saves less than a tenth of a millisecond: each takes 5 to 10 us.
FEW_LAUNCHES = 10


class ModelLate(NamedTuple):
    """ns a step by place of the model in which the GPU waits for its launches: in short gaps, in long ones, and in long
    ones of compiled code. Disjoint; places without any are left out. launches: a step, of all these places.

    Long gaps of few steps are in none of them, nor are those in which something takes long that does not elsewhere:
    what happens now and then makes slow steps, and is no cost of every step.
    """

    short: dict[str, int]
    long: dict[str, int]
    compiled: dict[str, int]
    launches: float


def model_late(host: HostResult) -> ModelLate:
    """Waits for the loader, blocking calls and pauses left out, and copies out of DDP's buckets."""
    by_site = late_by_site(host)
    by_site[HOOKS[0]] = by_site.get(HOOKS[0], 0) - bucket_late_ns(host)
    late = {site: by_site[site] for site in (*FORWARD, *BACKWARD, *HOOKS) if by_site.get(site, 0) > 0}
    launches = _launches(host, late)
    long, compiled, unusual = _long(host, late)
    short = {site: ns - long[site] - compiled[site] - unusual[site] for site, ns in late.items()}
    if _now_and_then(host, long):
        long, compiled = {}, {}
    if launches < FEW_LAUNCHES:
        long, short = {site: long.get(site, 0) + ns for site, ns in short.items()}, {}
    return ModelLate(_some(short), _some(long), _some(compiled), launches)


def _now_and_then(host: HostResult, sites: dict[str, int]) -> bool:
    """Whether the long gaps begin in few steps only, of a recording with enough to know that."""
    steps = max((row.steps for row in host.long_gaps if row.site in sites), default=0)
    return len(host.steps) >= LEAST_STEPS and steps <= max(1, RARE_FRACTION * len(host.steps))


def _long(host: HostResult, late: dict[str, int]) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Of each place what is late in long gaps, in those of compiled code, and in unusual ones: disjoint."""
    rows = {row.site: row for row in host.long_gaps}
    long, compiled, unusual = dict.fromkeys(late, 0), dict.fromkeys(late, 0), dict.fromkeys(late, 0)
    for site in late.keys() & rows.keys():
        row, rest = rows[site], min(rows[site].late_ns, late[site])
        unusual[site] = min(row.unusual_ns, rest)
        compiled[site] = min(row.compiled_ns, rest - unusual[site])
        long[site] = rest - unusual[site] - compiled[site]
    return long, compiled, unusual


def _some(by_site: dict[str, int]) -> dict[str, int]:
    return {site: ns for site, ns in by_site.items() if ns > 0}


def _launches(host: HostResult, sites: dict[str, int]) -> float:
    """Copies out of DDP's buckets left out."""
    copies = host.bucket_copies if HOOKS[0] in sites else 0.0
    return sum(row.launches for row in sites_of(host, sites)) - copies


def bucket_late_ns(host: HostResult) -> int:
    return min(host.bucket_late_ns, late_ns(host, HOOKS))
