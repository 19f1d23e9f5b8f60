"""The cores that a process may use, of drawn control groups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tb_steptime.record.cores import usable_cores

BOUND = 64
TWO, HALF, NONE = "200000 100000\n", "50000 100000\n", "max 100000\n"


def cores(folder: Path, own: str, files: dict[str, str]) -> int | None:
    (folder / "own").write_text(own)
    for name, content in files.items():
        (folder / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "groups" / name).write_text(content)
    return usable_cores(folder / "own", folder / "groups")


@pytest.mark.parametrize(
    ("own", "files", "limit"),
    [
        ("0::/\n", {"cpu.max": TWO}, 2),
        ("0::/\n", {"cpu.max": HALF}, 1),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": NONE}, None),
        ("0::/\n", {}, None),
        ("0::/pods/a/b\n", {"pods/cpu.max": HALF, "pods/a/cpu.max": TWO, "pods/a/b/cpu.max": NONE}, 1),
        # a container that sees its path on the machine, but only its own group
        ("0::/../../pods/a\n", {"cpu.max": TWO}, 2),
        # version 1, which has a tree for each controller
        (
            "4:memory:/a\n2:cpu,cpuacct:/a\n0::/\n",
            {"cpu,cpuacct/a/cpu.cfs_quota_us": "200000\n", "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"},
            2,
        ),
        (
            "2:cpu,cpuacct:/a\n",
            {"cpu,cpuacct/a/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"},
            None,
        ),
        ("2:cpuset:/a\n", {"cpuset/a/cpu.max": HALF}, None),
        ("nonsense\n", {"cpu.max": HALF}, None),
        ("0::/\n", {"cpu.max": "many 0\n"}, None),
        ("0::/\n", {"cpu.max": "100000 0\n"}, None),
    ],
)
def test_no_more_than_the_control_group_has_time_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, files: dict[str, str], limit: int | None
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(BOUND), raising=False)
    assert cores(tmp_path, own, files) == (limit or BOUND)


def test_a_process_that_is_bound_to_fewer_cores_uses_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(1), raising=False)
    assert cores(tmp_path, "0::/", {"cpu.max": TWO}) == 1


def test_without_an_affinity_all_cores_of_the_machine_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert cores(tmp_path, "", {}) == os.cpu_count()
