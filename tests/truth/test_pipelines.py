"""Real pipelines over gloo on CPUs with declared stage times, each with one planted cause of bubbles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import pytest

from tb_steptime.ranks.pipeline.result import Pipeline
from tb_steptime.ranks.result import JobRanks, JobReplay
from tb_steptime.text import Reason
from tests import PROJECT
from tests.drawn.forked_scripts import run_script
from tests.drawn.machine import call_busy, in_peace
from tests.drawn.pipelines import MS, DrawnPipeline, gpipe, in_turns
from tests.drawn.recorded_jobs import job_in, real_job

#: A rank that has slept finds the caches of a shared machine cold, and needs up to 20 ms for what else takes 1 ms. From
#: this factor on, what passes and messages take varies too much to be compared.
COLD = 1.05
SCRIPT = PROJECT / "examples" / "record_pipeline.py"


def recorded(folder: Path, *arguments: str) -> Pipeline:
    return recorded_job(folder, *arguments)[0]


def recorded_job(folder: Path, *arguments: str) -> tuple[Pipeline, JobReplay]:
    job = analysed_job(folder, *arguments)
    assert job.what_if is not None
    assert job.pipeline is not None
    return job.pipeline, job.what_if


def analysed_job(folder: Path, *arguments: str) -> JobRanks:
    """A stage takes longer than it sleeps, by 2 to 20 ms, so the declared times are long."""

    def record(folder: Path) -> Path:
        run_script(SCRIPT, "--out", str(folder), *arguments)
        return folder

    job = job_in(in_peace(record, folder))
    found = job.pipeline
    assert found is not None
    assert found.window_ns + found.other_ns == found.step_ns
    return job


def taken(found: Pipeline, forward: Sequence[int], backward: Sequence[int]) -> tuple[list[int], list[int]]:
    """How long a forward and a backward pass of each stage took, ns; not less than declared (ms)."""
    times: tuple[list[int], list[int]] = ([], [])
    for row, *declared in zip(found.rows, forward, backward, strict=True):
        for of_pass, ns, ms in zip(times, (row.forward_ns, row.backward_ns), declared, strict=True):
            of_pass.append(ns // found.micro_batches)
            assert of_pass[-1] >= ms * MS
            if of_pass[-1] > COLD * ms * MS:
                call_busy(f"a pass that sleeps for {ms} ms took {of_pass[-1] / MS:.1f} ms")
    return times


@pytest.mark.live
@pytest.mark.timed
@pytest.mark.parametrize("stages", [3, pytest.param(8, marks=pytest.mark.crowded)])
def test_a_slow_stage_of_a_recorded_1f1b_costs_what_it_was_declared_to(tmp_path: Path, stages: int):
    """Stage 1 takes one and a half times as long as the others. The declared
    time is sleep; a stage adds its own time."""
    parts = 4 if stages == 3 else 2 * stages
    forward, backward = ([each if stage != 1 else each * 3 // 2 for stage in range(stages)] for each in (80, 160))
    times = ["--forward", *map(str, forward), "--backward", *map(str, backward)]
    counts = ["--stages", str(stages), "--micro-batches", str(parts), "--steps", "3"]
    found, what_if = recorded_job(tmp_path, *counts, *times)
    took = taken(found, forward, backward)
    even = [[round(mean(each))] * stages for each in took]
    as_fast = [[round(mean(each[:1] + each[2:]))] * stages for each in took]
    whole, whole_even, whole_as_fast = (
        DrawnPipeline(in_turns(stages, parts), *each).window for each in (took, even, as_fast)
    )
    assert (found.schedule, found.stages, found.micro_batches, found.odd_ranks) == ("1f1b", stages, parts, [])
    assert [row.stages for row in found.rows] == [[stage] for stage in range(stages)]
    assert found.schedule_ns == pytest.approx((stages - 1) * (even[0][0] + even[1][0]), rel=0.05)
    assert found.imbalance_ns == pytest.approx(whole - whole_even, rel=0.05)
    assert found.ordering_ns == 0
    assert found.perfect_ns == pytest.approx(parts * (took[0][1] + took[1][1]), rel=0.05)
    (change,) = [each for each in what_if.changes if each.ranks == [1]]
    assert what_if.wrong_by < 0.02
    assert change.step_ns == pytest.approx(whole_as_fast + found.other_ns, rel=0.05)
    assert change.gain_ns == pytest.approx(whole - whole_as_fast, rel=0.1)


@pytest.mark.live
@pytest.mark.timed
@pytest.mark.parametrize(("schedule", "order"), [("GPipe", gpipe), ("1F1B", in_turns)])
@pytest.mark.parametrize("stages", [2, 4, pytest.param(8, marks=pytest.mark.crowded)])
def test_balanced_stages_wait_for_their_schedule(tmp_path: Path, schedule: str, order, stages: int):
    """PyTorch's 1F1B needs as many micro-batches as stages."""
    parts, times = max(6, stages), ["--forward", "80", "--backward", "160", "--steps", "3"]
    arguments = ["--schedule", schedule, "--stages", str(stages), "--micro-batches", str(parts), *times]
    found = recorded(tmp_path, *arguments)
    took = taken(found, [80] * stages, [160] * stages)
    even = [round(mean(each)) for each in took]
    drawn = DrawnPipeline(order(stages, parts), *([each] * stages for each in even))
    assert (found.schedule, found.stages, found.micro_batches) == (schedule.lower(), stages, parts)
    assert found.schedule_ns == pytest.approx(drawn.window - parts * sum(even), rel=0.05)
    uneven_ns = DrawnPipeline(order(stages, parts), *took).window - drawn.window
    assert found.imbalance_ns == pytest.approx(uneven_ns, abs=0.05 * found.schedule_ns)


@pytest.mark.live
@pytest.mark.timed
def test_delayed_messages_are_transfers(tmp_path: Path):
    """A GPipe of three stages waits for four messages, each of which is sent 300 ms late."""
    arguments = [
        "--schedule",
        "GPipe",
        "--stages",
        "3",
        "--micro-batches",
        "4",
        "--forward",
        "20",
        "--backward",
        "40",
        "--steps",
        "3",
    ]
    at_once, late = (analysed_job(tmp_path / each, *arguments, "--transfer", each) for each in ("0", "300"))
    assert at_once.pipeline is not None
    assert late.pipeline is not None
    added_ns = late.pipeline.transfer_ns - at_once.pipeline.transfer_ns
    if added_ns > COLD * 4 * 300 * MS:
        call_busy(f"messages that sleep for 1200 ms took {added_ns / MS:.1f} ms")
    assert added_ns == pytest.approx(4 * 300 * MS, rel=0.05)
    # The messages are sent by a thread that the profiler does not record.
    assert (late.what_if, late.what_if_reason) == (None, Reason("messages_one_sided"))


@pytest.mark.live
@pytest.mark.timed
def test_one_micro_batch_after_the_other_is_the_order_s_cost(tmp_path: Path):
    times = ["--forward", "80", "--backward", "160", "--steps", "3"]
    arguments = ["--schedule", "GPipe", "--stages", "3", "--micro-batches", "4", "--one-by-one", *times]
    found = recorded(tmp_path, *arguments)
    assert found.schedule is None
    whole_ns = mean(map(sum, zip(*taken(found, [80] * 3, [160] * 3), strict=True)))
    message_ns = max(0, found.window_ns - 4 * 3 * whole_ns) / (4 * 4)
    in_turn = DrawnPipeline(gpipe(3, 4), [round(whole_ns / 3)] * 3, [round(2 * whole_ns / 3)] * 3, round(message_ns))
    assert found.ordering_ns == pytest.approx(found.window_ns - in_turn.window, rel=0.05)


@pytest.mark.live
@pytest.mark.timed
@pytest.mark.parametrize(
    ("schedule", "id"),
    [("Interleaved1F1B", "interleaved"), ("ZBVZeroBubble", "zero_bubble"), ("LoopedBFS", "breadth_first")],
)
def test_several_stages_a_rank(tmp_path: Path, schedule: str, id: str):
    arguments = ["--schedule", schedule, "--stages", "4", "--ranks", "2", "--micro-batches", "4"]
    found = recorded(tmp_path, *arguments)
    assert (found.schedule, found.stages, found.micro_batches) == (id, 4, 4)


@pytest.mark.parametrize("folder", ["llama_tp2_rtx4090", "moe_compile_2rank_a100_before"])
def test_other_jobs_are_no_pipelines(folder: str):
    assert real_job(folder).pipeline is None


@pytest.mark.live
@pytest.mark.parametrize("folder", ["megatron_tp8_a100", "moe_compile_2rank_a100_after", "v100_megatron_tp2"])
def test_large_ones_neither(folder: str):
    assert real_job(folder).pipeline is None


def test_data_parallel_ranks_are_no_pipeline():
    assert job_in(PROJECT / "demo_logs" / "cpu_late_rank").pipeline is None
