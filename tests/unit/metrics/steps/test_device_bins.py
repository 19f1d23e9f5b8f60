"""The data beside the queue of a step: the phases as stretches, and what the device does in the same bins."""

import itertools

import msgspec
import pytest

from tb_steptime.metrics.launches.queue import QueueLevel, queue_levels
from tb_steptime.metrics.phases.assignment import PhaseSpan, host_phases, phase_spans
from tb_steptime.metrics.steps.host_pace import DeviceLevel, device_levels
from tb_steptime.trace.steps import find_steps
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import timeline

US = 1_000


def levels(*bins_ns: int) -> list[QueueLevel]:
    return [QueueLevel(bin_ns, [], []) for bin_ns in bins_ns]


def test_the_device_is_told_in_the_bins_of_the_queue():
    trace = timeline("""
        step      | 00000000000000000000 |
        runtime   | kj.c.m.............. |
        kernel 7  | ..kkkk..jj.......... |
        nccl 9    | .....ccc............ |
        memcpy 7  | .......mm........... |""")
    assert device_levels(trace, 0, levels(10 * US, 5 * US)) == [
        #                      kernel        nccl      memcpy    run-ahead: k 2, c 2, m 2, j 7
        DeviceLevel(10 * US, [600, 0], [200, 0], [0, 0], [3_250, None]),
        DeviceLevel(5 * US, [600, 600, 0, 0], [0, 400, 0, 0], [0, 0, 0, 0], [2_000, 3_666, None, None]),
    ]


def test_a_copy_counts_where_no_kernel_runs_and_another_device_not_at_all():
    trace = timeline("""
        step           | 0000000000 |
        kernel 7       | kk........ |
        memcpy 8       | .mmm...... |
        kernel 7 gpu1  | .....jjjjj |""")
    (level,) = device_levels(trace, 0, levels(10 * US))
    assert (level.kernel_permille, level.copy_permille) == ([200], [200])


def test_no_queue_no_device():
    assert device_levels(timeline("step | 0000 |"), 0, []) == []


def test_phases_are_stretches_of_their_step_in_time_order():
    trace = timeline("""
        step                        | 00000000001111111111 |
        user Optimizer.step#SGD.step  | ........oo........oo |""")
    assert phase_spans(trace) == [
        [PhaseSpan("forward", "forward", 0, 8 * US), PhaseSpan("optimizer", "optimizer", 8 * US, 10 * US)],
        [PhaseSpan("forward", "forward", 10 * US, 18 * US), PhaseSpan("optimizer", "optimizer", 18 * US, 20 * US)],
    ]


REAL = ["hta_a100_ddp_nccl", "tracelens_h100_bert", "hta_cpu_gloo", "hta_v100_ns"]


@pytest.mark.parametrize("name", REAL)
def test_what_is_drawn_of_real_phases_lies_in_its_step_and_in_its_phase(name, trace_path):
    trace = read_real(trace_path(name))
    steps = find_steps(trace)
    for step, spans in enumerate(phase_spans(trace)):
        low, high = int(steps.start_ns[step]), int(steps.end_ns[step])
        outer = [span for span in spans if not span.inner]
        assert [span.start_ns for span in outer] == sorted(span.start_ns for span in outer)
        assert all(low <= span.start_ns < span.end_ns <= high for span in spans)
        assert all(a.end_ns <= b.start_ns for a, b in itertools.pairwise(outer))
        for span in outer:
            whole = host_phases(trace)[span.phase].overlap_ns(
                steps.start_ns[step : step + 1], steps.end_ns[step : step + 1]
            )
            assert span.end_ns - span.start_ns <= whole[0]


def test_the_broadcast_opens_the_forward_pass(trace_path):
    trace = read_real(trace_path("hta_a100_ddp_nccl"))
    spans = {span.label: span for span in phase_spans(trace)[1]}
    lengths_ms = {label: round((span.end_ns - span.start_ns) / 1e6, 1) for label, span in spans.items()}
    assert lengths_ms == {"forward": 103.1, "buffer broadcast": 38.5, "backward": 101.1, "optimizer": 14.8}
    assert spans["buffer broadcast"].start_ns == spans["forward"].start_ns


def test_levels_of_a_real_device_agree_with_one_another(trace_path):
    trace = read_real(trace_path("hta_a100_ddp_nccl"))
    queue = queue_levels(trace, 0)
    found = device_levels(trace, 0, queue)
    assert [(level.bin_ns, len(level.kernel_permille)) for level in found] == [
        (each.bin_ns, len(each.peak)) for each in queue
    ]
    for level in found:
        for parts in zip(level.kernel_permille, level.communication_permille, level.copy_permille, strict=True):
            assert sum(parts) <= 1000
    assert len(msgspec.json.encode(found)) < 200_000
