"""How many cores a process may use: those that it is bound to, and no more than its control group has time for.

bound to     taskset, Slurm, `docker run --cpuset-cpus 0-3`          4
has time for `docker run --cpus 2`, a CPU limit of Kubernetes        2 of the machine's 64 cores
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_OWN_GROUPS = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


def usable_cores(own_groups: Path = _OWN_GROUPS, groups: Path = _GROUPS) -> int | None:
    """Returns the number of cores, where a part of a core counts as one; None if the system does not tell. own_groups:
    the file that lists the control groups of the process; groups: the folder in which they are mounted."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min([*([bound] if bound else []), *_limits(own_groups, groups)], default=None)


def _limits(own_groups: Path, groups: Path) -> Iterator[int]:
    """Yields the limit of each control group that has one: a group may use no more than the groups around it."""
    for line in _text(own_groups).splitlines():
        _, _, named = line.partition(":")
        controllers, colon, path = named.partition(":")
        if not colon or (controllers and "cpu" not in controllers.split(",")):
            continue
        mounted = groups / controllers  # of version 1; version 2 has one tree for all controllers, and no name here
        inner = Path(path.lstrip("/"))
        for group in (inner, *inner.parents):  # in a container, the path may be that of the machine
            if limit := _limit(mounted / group):
                yield limit


def _limit(group: Path) -> int | None:
    """Returns the cores that the time of a control group is enough for, rounded up; None without a limit."""
    quota, _, period = _text(group / "cpu.max").strip().partition(" ")  # "max 100000" without a limit
    if not quota:
        quota, period = (_text(group / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
    if not (quota.isdecimal() and period.isdecimal() and int(period)):  # "-1" without a limit
        return None
    return max(1, -(-int(quota) // int(period)))


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""
