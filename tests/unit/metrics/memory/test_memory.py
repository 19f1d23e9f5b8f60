"""Allocations of drawn traces: paired with frees, placed, counted by op, and told apart by kind."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from msgspec.structs import replace

from tb_steptime.metrics.base import Series
from tb_steptime.metrics.catalogue import measure
from tb_steptime.metrics.memory.allocations import allocations
from tb_steptime.metrics.memory.by_op import ChurnRow, OpMemory, churn, memory_by_op
from tb_steptime.metrics.memory.categories import CATEGORIES, categories
from tb_steptime.metrics.memory.contents import by_category, largest
from tb_steptime.metrics.memory.curves import Place, curve, memory_bins, memory_devices, memory_name
from tb_steptime.metrics.memory.growth import growth, leak_makers
from tb_steptime.metrics.memory.peak import allocated_peak, reserved_peak, step_peaks
from tb_steptime.text import Reason, count
from tb_steptime.trace.model import Trace
from tests.drawn.memory import CPU, with_memory
from tests.drawn.timeline import timeline

GPU0 = Place(1, 0)
NODE = "autograd::engine::evaluate_function: AddmmBackward0"
NAMES = {"f": "aten::linear", "m": "aten::addmm", "n": NODE, "z": "aten::zeros", "t": "aten::to"}
TRAINING = """
    step                           | 000000000011111111112222222222 |
    op                             | .ff.nn.....ff.nn.....ff.nn.... |
    op                             | .........................m.... |
    user Optimizer.step#Adam.step  | .......zz........zz........zz. |
    op                             | .......z.........z.........z.. |"""


def training(drawing: str, **more: int) -> Trace:
    trace = timeline(TRAINING, names=NAMES, sequences={"f": (5, 0), "n": (5, 1)})
    return with_memory(trace, drawing, **more)  # type: ignore[arg-type]


def kinds(trace: Trace) -> list[str]:
    return [CATEGORIES[each] for each in categories(trace)]


def test_nothing_is_known_of_memory_that_was_not_recorded():
    trace = timeline(TRAINING, names=NAMES)
    assert memory_devices(trace) == ()
    assert len(allocations(trace)) == len(categories(trace)) == 0


def test_gpus_come_before_the_cpu():
    trace = with_memory(training("a +8 @1"), "b +4 @2", device=CPU)
    assert [memory_name(trace, place) for place in memory_devices(trace)] == ["GPU 0", "CPU"]


def test_allocations_are_paired_with_their_frees_by_address():
    """For c only the free is recorded; b is never freed; the free of d is lost, and d's address is reused."""
    trace = training("a +8 @1, b +4 @2, c -16 @3, a -8 @4, d +2 @5, a +8 @6, d +2 @7")
    found = allocations(trace)
    assert found.born.tolist() == [0, 1, 4, 5, 6]
    assert found.died.tolist() == [3, -1, 6, -1, -1]


def test_the_peak_has_its_instant_step_and_phase():
    trace = training("a +8 @1, b +4 @14.5, b -4 @15, a -8 @29.5", before=100, reserved=256)
    peak = allocated_peak(trace, GPU0)
    assert (peak.at_ns, peak.step, peak.phase, peak.allocated_bytes, peak.reserved_bytes) == (
        14_500, "1", "backward", 112, 256,
    )  # fmt: skip
    assert reserved_peak(trace, GPU0).reserved_bytes == 256
    assert step_peaks(trace, GPU0) == [108, 112, 108]


def test_the_peak_as_a_figure_of_the_recording_and_of_each_step():
    """The peak is the GPU's, even where the CPU has more; a step before any event has what the first one began with."""
    trace = with_memory(training("a +8 @11, b +4 @14.5, b -4 @15", before=100, reserved=256), "c +900 @2", device=CPU)
    assert measure(trace, "peak_allocated", None) == Series("peak_allocated", None, 112, [100, 112, 108])
    assert measure(trace, "peak_reserved", None) == Series("peak_reserved", None, 256, [None, 256, 256])


@pytest.mark.parametrize(
    ("trace", "reasons"),
    [
        (timeline(TRAINING, names=NAMES), ("memory_not_recorded", "memory_not_recorded")),
        (training("a +8 @1", totals=False), ("memory_without_totals", "memory_not_reserved")),
        (with_memory(timeline(TRAINING, names=NAMES), "a +8 @1", device=CPU), (None, "memory_not_reserved")),
        (with_memory(timeline("step | 00 |\nkernel 7 | .k |"), "a +8 @1", device=CPU), ("memory_not_recorded",) * 2),
    ],
)
def test_a_peak_that_is_not_known_has_a_reason(trace: Trace, reasons: tuple[str | None, ...]):
    found = [measure(trace, metric, None).reason for metric in ("peak_allocated", "peak_reserved")]
    assert tuple(reason and reason.code for reason in found) == reasons


def test_without_totals_memory_counts_from_the_first_event():
    trace = training("a +8 @1, b +4 @2, a -8 @3", totals=False)
    table = curve(trace, GPU0)
    assert (table.allocated.tolist(), table.whole, table.reserved, table.before) == ([8, 12, 4], False, None, 0)
    assert len(allocations(trace)) == 0


def test_shared_memory_that_is_mapped_adds_to_what_the_cpu_allocates():
    """Torch writes these events without a total of their own; read as 0, it would look as if all were freed. d was
    mapped before."""
    trace = training("a +4 @1, m +9 @2, b +4 @3, d -5 @4, b -4 @5, a -4 @6")
    sizes = np.array([4, 0, 8, 0, 4, 0], np.int64)
    on_cpu = replace(
        trace.memory,
        device_type=np.zeros(6, np.int32), device=np.full(6, -1, np.int32),
        allocated=sizes, reserved=np.array([0, 9, 0, 0, 0, 0], np.int64),
    )  # fmt: skip
    table = curve(replace(trace, memory=on_cpu, memo={}), Place(0, -1))
    assert (table.before, table.allocated.tolist(), table.reserved) == (5, [9, 18, 22, 17, 13, 9], None)


def test_what_each_allocation_is():
    """One allocation of each kind: by the phase that makes it, and by what it outlives."""
    trace = training(
        "temp +1 @1.1, temp -1 @1.9,"  # within the forward pass
        "act +2 @1.2, act -2 @4.2,"  # freed by the backward pass
        "late +4 @1.3, late -4 @11.1,"  # the loss, until the next step overwrites it
        "detail +8 @4.1, detail -8 @5.5,"  # within the backward pass
        "grad +16 @4.3, grad -16 @9.5,"  # until gradients are set to None
        "once +32 @7.1,"  # the optimizer's state
        "step +64 @7.2, step -64 @8.5,"  # within the optimizer
        "batch +128 @10.1, batch -128 @20.1,"  # before the first op that has a node
        "kept +256 @11.2,"  # not freed even two steps later
        "again +512 @17.1"  # the optimizer again, never freed: not state, which is made only once
    )
    assert kinds(trace) == [
        "temporary", "activations", "activations", "temporary", "gradients", "optimizer_state", "temporary", "inputs",
        "unknown", "unknown",
    ]  # fmt: skip


def test_what_is_alive_sums_to_the_total():
    trace = training("a +16 @1, x -32 @2, b +4 @4.5, c +2 @5, a -16 @5.5", before=100)
    peak = allocated_peak(trace, GPU0)
    parts = by_category(trace, peak.row, peak.allocated_bytes)
    assert {part.category: part.bytes for part in parts} == {"activations": 16, "before_recording": 100}
    after = by_category(trace, 3, 90)
    assert {part.category: (part.bytes, part.count) for part in after} == {
        "activations": (16, 1), "gradients": (6, 2), "before_recording": (68, 0),
    }  # fmt: skip
    assert by_category(trace, 3, 10) is None  # some frees must be missing


def test_rows_say_where_an_allocation_is_made_and_how_long_it_lives():
    trace = training("a +8 @25.5, b +4 @26.5, a -8 @28")
    rows = largest(trace, 1)
    assert [(row.bytes, row.op, row.outer_op, row.phase, row.step, row.lives_steps) for row in rows] == [
        (8, "aten::addmm", "AddmmBackward0", "backward", "2", 0),
        (4, None, None, "other", "2", None),
    ]
    assert (rows[0].born_ns, rows[0].died_ns, rows[1].died_ns) == (25_500, 28_000, None)


def test_an_op_inside_another_of_its_name_counts_once():
    trace = timeline("step | 00000000 |\nop | aaaaaa.. |\nop | .bbbb... |\nop | ..aa.... |")
    found = memory_by_op(with_memory(trace, "x +8 @0.5, y +4 @2.5, x -8 @4.5, z +2 @7"), GPU0)
    assert found == [OpMemory("a", 1, 2, 12, 2, 12, 4), OpMemory("b", 1, 0, 0, 1, 4, -4)]


def test_churn_is_what_a_step_makes_and_frees():
    trace = training("a +8 @1.5, a -8 @4.5, b +4 @11, b -4 @12, c +2 @21.5, d +16 @9, d -16 @14.5")
    assert churn(trace, GPU0) == [ChurnRow("aten::linear", 2 / 3, 12 / 3, 8)]


def test_growth_needs_three_steps():
    trace = with_memory(timeline("step | 0011 |"), "a +8 @1")
    assert growth(trace, GPU0).reason == Reason("memory_needs_steps", {"least": count(3)})


STEPS = "\n".join(("step | 000011112222333344445555 |", "op | .a...a...a...a...a...a.. |"))


def test_growth_is_of_what_stays_after_the_first_step():
    """40 bytes are allocated once, 8 in every step, and 4 that live until the next step."""
    drawn = ["s +40 @1.1", *(f"l{step} +8 @{4 * step + 1.2}" for step in range(6))]
    drawn += [f"v{step} +4 @{4 * step + 1.3}" for step in range(6)]
    drawn += [f"v{step} -4 @{4 * step + 5.5}" for step in range(5)]
    trace = with_memory(timeline(STEPS), ", ".join(drawn))
    found = growth(trace, GPU0)
    assert (found.bytes_per_step, found.every_step) == (8.0, True)
    assert found.at_step_ends == [52, 60, 68, 76, 84, 92]
    (maker,) = leak_makers(trace, GPU0)
    assert (maker.bytes_per_step, maker.steps, maker.example.op) == (16.0, 5, "a")


def test_what_one_step_lacks_is_no_leak():
    drawn = [f"l{step} +8 @{4 * step + 1.2}" for step in (0, 1, 3, 4, 5)]
    assert leak_makers(with_memory(timeline(STEPS), ", ".join(drawn)), GPU0) == []


@pytest.mark.parametrize("bins", [1, 2, 7, 30, 1000])
def test_bins_hold_the_least_and_the_most_of_every_nanosecond(bins: int):
    trace = training("a +8 @1, b +4 @2, a -8 @2.001, c +1 @17, b -4 @17, d +9 @29.999", before=3, reserved=64)
    table = curve(trace, GPU0)
    found = memory_bins(table, 0, 30_000, bins)
    instants = np.arange(30_000)
    edges = [i * 30_000 // bins for i in range(bins + 1)]
    for place, (low, high) in enumerate(itertools.pairwise(edges)):
        values = table.at(instants[low:high])
        passing = table.allocated[(table.ts > low) & (table.ts < high)]
        assert found.least[place] == min(*values, *passing)
        assert found.most[place] == max(*values, *passing)
    assert set(found.reserved_most) == {64}
