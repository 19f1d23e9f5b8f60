"""The file that times every step: what is read back after it wrapped, was cut or damaged; and which steps are slow."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.ingest.recorder_files.steps import decode_steps, step_pace
from tb_steptime.record.file import steps as layout
from tb_steptime.record.file.steps import RECORDED, RING, ROW, UNKNOWN, StepFile, TimedStep
from tb_steptime.record.steps import BLOCK, FIRST_STEPS, LEAST_STEPS, Slowness
from tb_steptime.trace.loader_records import StepPace
from tests.drawn.journals import HEADER, refuse

MS = 1_000_000


def timed(step: int, flags: int = 0, duration_ns: int | None = None) -> TimedStep:
    duration = 10 * step + 1 if duration_ns is None else duration_ns
    return TimedStep(flags, step, 1000 * step, duration, step, 0, 5)


def written(path, count, every=500, close=True):
    """Writes `count` steps; step n lasts 10 n + 1 ns, of which n are a wait for a batch."""
    file = StepFile(path, HEADER, lambda: 7, refuse)
    for step in range(count):
        file.waiting.append(timed(step))
        if step % every == every - 1:
            file.flush()
    if close:
        file.close()
    return file


@pytest.mark.parametrize("count", [1, 499, RING - 1, RING, RING + 1, RING + 700, 3 * RING + 50])
def test_every_step_is_in_one_row(tmp_path, count):
    written(tmp_path / "x.steps", count)
    rows = decode_steps((tmp_path / "x.steps").read_bytes()).rows
    assert rows["step"].tolist() == [0, *np.cumsum(rows["steps"])[:-1].tolist()]
    assert rows["steps"].sum() == count
    assert rows["duration_ns"].sum() == sum(10 * step + 1 for step in range(count))
    assert rows["wait_ns"].sum() == sum(range(count))
    last = rows["step"] + rows["steps"] - 1
    assert rows["longest_ns"].tolist() == (10 * last + 1).tolist()
    assert np.diff(rows["end_ns"]).min(initial=1) > 0
    assert (rows["steps"][-min(count, RING - 32) :] == 1).all()


def test_a_long_job_has_a_small_file(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "RING", 64)
    monkeypatch.setattr(layout, "GROUPS", 16)
    monkeypatch.setattr(layout, "LARGEST_GROUP", 32)
    written(tmp_path / "x.steps", 20_000, every=50)
    content = (tmp_path / "x.steps").read_bytes()
    rows = decode_steps(content).rows
    assert (rows["steps"].sum(), int(rows["steps"].max())) == (20_000, 32)
    assert len(content) < ROW.size * (64 + 3 * 16 + 20_000 / 32 + 20)


def test_what_was_written_before_a_crash_is_read(tmp_path):
    path = tmp_path / "x.steps"
    written(path, 1_200, close=False)
    whole = path.read_bytes()
    assert decode_steps(whole).rows["steps"].sum() == 1_000
    assert decode_steps(whole[:-30]).rows["step"].tolist() == list(range(999))
    assert decode_steps(whole[:-30]).lost_rows == 1
    damaged = bytearray(whole)
    damaged[-ROW.size * 10 + 20] ^= 1
    found = decode_steps(bytes(damaged))
    assert (990 in found.rows["step"], len(found.rows), found.lost_rows) == (False, 999, 1)


def test_slow_steps_are_not_grouped_with_others(tmp_path):
    path = tmp_path / "x.steps"
    file = StepFile(path, HEADER, lambda: UNKNOWN, refuse)
    for step in range(3 * RING):
        file.waiting.append(timed(step, layout.SLOW if step in (3, RING + 2) else 0))
        if step % 500 == 0:
            file.flush()
    file.close()
    found = decode_steps(path.read_bytes())
    assert found.slow["step"].tolist() == [3, RING + 2]
    assert found.slow["steps"].tolist() == [1, 1]
    assert (found.rows["steps"].sum(), found.plain["steps"].sum()) == (3 * RING, 3 * RING)


def test_a_fork_writes_nothing_of_its_parents_steps(tmp_path):
    file = written(tmp_path / "x.steps", 10, close=False)
    before = (tmp_path / "x.steps").read_bytes()
    file.abandon()
    file.close()
    assert (tmp_path / "x.steps").read_bytes() == before


def test_what_profiling_costs(tmp_path):
    """Steps take 10 ms, and 13 ms while they are recorded; the first ones are slower."""
    path = tmp_path / "x.steps"
    file = StepFile(path, HEADER, lambda: 7, refuse)
    for step in range(60):
        flags = RECORDED if 20 <= step < 30 else layout.WARMING_UP if 17 <= step < 20 else 0
        length = 500 if step < 5 else 13 if flags == RECORDED else 11 if flags else 10
        file.waiting.append(timed(step, flags, length * MS))
    file.close()
    pace = step_pace(decode_steps(path.read_bytes()))
    assert pace == StepPace(13 * MS, 10, 10 * MS, 60 - 5 - 3 - 10, plain_p1_ns=10 * MS)
    assert pace.times == pytest.approx(1.3)


@pytest.mark.parametrize(("before", "after", "fast_ms"), [(0, 40, 2), (0, 80, 2), (200, 200, 4)])
def test_two_steps_or_a_hundredth_are_as_fast_as_the_percentile_for_gates(tmp_path, before, after, fast_ms):
    """Steps without the profiler take 1, 2, 3, ... ms, in another order."""
    path = tmp_path / "x.steps"
    file = StepFile(path, HEADER, lambda: 7, refuse)
    steps = before + after
    plain = [1 + 7 * place % steps for place in range(steps)]
    lengths = [500] * 5 + plain[:before] + [1000] * 8 + plain[before:]
    for step, length in enumerate(lengths):
        file.waiting.append(timed(step, RECORDED if length == 1000 else 0, length * MS))
    file.close()
    pace = step_pace(decode_steps(path.read_bytes()))
    assert (pace.plain, pace.plain_ns) == (steps, steps // 2 * MS)
    assert pace.plain_p1_ns == fast_ms * MS


def test_profiling_costs_nothing_that_shows_where_steps_differ_by_more(tmp_path):
    """Every second step waits for its batch, profiled or not. By chance five of eight profiled steps wait, and 22 of
    the 45 others that count."""
    path = tmp_path / "x.steps"
    file = StepFile(path, HEADER, lambda: 7, refuse)
    for step in range(58):
        recorded = 20 <= step < 28
        waits = step % 2 == 0 or step == 21
        file.waiting.append(timed(step, RECORDED if recorded else 0, (30 if waits else 10) * MS))
    file.close()
    pace = step_pace(decode_steps(path.read_bytes()))
    assert (pace.recorded, pace.plain, pace.differ) == (8, 45, False)


def fed(*lengths_ms: float) -> tuple[Slowness, list[int], list[tuple[float, float]]]:
    """Adds these steps and checks after each block; returns the slow steps and the changes."""
    own, slow, changes = Slowness(), [], []
    for step, length in enumerate(lengths_ms):
        if own.add(round(length * MS)):
            slow.append(step)
        if step % BLOCK == 0 and (change := own.follow()):
            changes.append(change)
    return own, slow, changes


def test_a_step_of_three_times_the_median_is_slow():
    usual = [100.0, 104.0] * 20
    assert fed(*usual, 299, 307, *usual)[1] == [41]


def test_steps_of_a_millisecond_are_not_slow_for_what_a_system_does():
    usual = [1.0] * 40
    assert fed(*usual, 40, 52, *usual)[1] == [41]


def test_the_first_steps_are_slow_by_nature():
    assert fed(*[5_000] * FIRST_STEPS, *[100] * 80)[1:] == ([], [])
    assert LEAST_STEPS > FIRST_STEPS


def test_steps_that_become_slower_are_said_once():
    draws = np.random.default_rng(0)
    before, after = (draws.normal(mean, 4, 40 * BLOCK) for mean in (100, 135))
    own, _, changes = fed(*before, *after)
    assert len(changes) == 1
    assert changes[0] == pytest.approx((100 * MS, 135 * MS), rel=0.05)
    assert own.usual_ns == pytest.approx(135 * MS, rel=0.05)


@pytest.mark.parametrize("mean_after", [100, 110, 60])
def test_noise_small_changes_and_faster_steps_are_no_reason(mean_after):
    draws = np.random.default_rng(1)
    before, after = (draws.normal(mean, 8, 40 * BLOCK) for mean in (100, mean_after))
    assert fed(*before, *after)[2] == []
