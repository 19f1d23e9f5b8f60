"""Comparisons of drawn recordings, checked whole; for real recordings, the parts of a comparison sum to the step."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_steptime.comparison.comparison import compare
from tb_steptime.comparison.fairness import unfair
from tb_steptime.comparison.row_changes import table_of, tables
from tb_steptime.comparison.sides import ExpectedGain, Side
from tb_steptime.insights.wording.compare import comparison_headline
from tb_steptime.text.printer import plain
from tests.drawn.real_traces import REAL, cases, read_real
from tests.drawn.timeline import A100, V100, timeline
from tests.unit.comparison.sides import side_of, span_of

#: Each step waits 4 us for its batch.
WAITS = """
    step     | 000000000011111111112222222222 |
    loader   | llll......mmmm......nnnn...... |
    op       | ....aaa.......bbb.......ccc... |
    runtime  | .....k.........q.........r.... |
    kernel 7 | ......kkkk......qqqq......rrrr |"""
#: The same without a wait.
READY = """
    step     | 000000111111222222 |
    op       | aaa...bbb...ccc... |
    runtime  | .k.....q.....r.... |
    kernel 7 | ..kkkk..qqqq..rrrr |"""


def kernels_of(base, candidate):
    return table_of("kernels", tables(base, candidate)).rows


def changes(comparison, by):
    rows = next(each.rows for each in comparison.waterfalls if each.by == by)
    return {row.id: (row.base_ns, row.candidate_ns) for row in rows}


def test_what_changed_is_the_wait_for_batches():
    found = compare(side_of("slow", timeline(WAITS)), side_of("fast", timeline(READY)))
    assert (found.step.base_ns, found.step.candidate_ns, found.step.change_ns) == (10_000, 6_000, -4_000)
    assert found.step.distinguishable
    assert changes(found, "part") == {
        "kernel": (4_000, 4_000),
        "data_loader": (4_000, 0),
        "runtime": (1_000, 1_000),
        "cpu_exec": (1_000, 1_000),
    }
    assert plain(comparison_headline(found)) == (
        "fast is 1.67x faster than slow: -4 µs a step (95 % interval -4 µs to -4 µs). "
        "Data loading accounts for -4 µs of it."
    )


def test_a_part_that_changes_by_more_than_the_step_is_told_with_the_rest():
    longer = """
        step     | 000000011111112222222 |
        op       | aaa....bbb....ccc.... |
        runtime  | .k......q......r..... |
        kernel 7 | ..kkkkk..qqqqq..rrrrr |"""
    found = compare(side_of("slow", timeline(WAITS)), side_of("fast", timeline(longer)))
    assert plain(comparison_headline(found)).endswith("Data loading changed by -4 µs, all else by +1 µs.")


def test_what_is_alike_is_not_told_to_be_faster():
    base, other = timeline(WAITS), timeline(WAITS.replace("2222222222 |", "22222222222 |").replace("| .", "| ."))
    found = compare(side_of("a", base), side_of("b", other))
    assert not found.step.distinguishable
    assert plain(comparison_headline(found)).startswith(
        "b is not distinguishable from a with 3 steps: the difference of"
    )


def test_one_step_has_no_interval():
    one = side_of("one", timeline("step | 000000 |\n op | aaaaaa |"))
    found = compare(one, side_of("two", timeline("step | 0000 |\n op | aaaa |")))
    assert (found.step.low, found.step.distinguishable) == (None, None)
    assert plain(comparison_headline(found)).endswith("One side has too few steps to say how much of this is noise.")


def test_spans_of_a_run_are_pooled():
    twice = side_of("slow", timeline(WAITS), timeline(READY))
    assert twice.step_ns.tolist() == [10_000] * 3 + [6_000] * 3
    assert compare(twice, twice).step.change_ns == 0


def test_kernels_are_matched_over_their_names():
    drawing = """
        step     | 0000000000 |
        op       | aaaabbbb.. |
        runtime  | .k...q.... |
        kernel 7 | ..kkk.qqq. |"""
    shapes = {"a": ("[[8,64],[64,64]]", '["float","float"]'), "b": ("[[8,32],[32,32]]", '["float","float"]')}
    names = {"a": "aten::mm", "b": "aten::mm", "k": "volta_sgemm_128x64_nn", "q": "ampere_sgemm_32x32_nn"}
    fast = names | {"k": "sm80_xmma_gemm_f16f16_f16f32", "q": "triton_mm_0"}
    sides = [side_of(run, timeline(drawing, names=each, inputs=shapes)) for run, each in (("a", names), ("b", fast))]
    rows = kernels_of(*sides)
    assert {(row.base_name, row.candidate_name, row.op, row.matched_by) for row in rows} == {
        ("volta_sgemm_128x64_nn", "sm80_xmma_gemm_f16f16_f16f32", "aten::mm", "op"),
        ("ampere_sgemm_32x32_nn", "triton_mm_0", "aten::mm", "op"),
    }


def test_a_kernel_of_one_side_only_says_so():
    here = side_of("a", timeline(READY, names=dict.fromkeys("kqr", "gemm") | dict.fromkeys("abc", "aten::mm")))
    nothing = side_of("b", timeline("step | 000000 |\n op | aaa... |\n runtime | .m.... |\n memcpy 7 | ..mm.. |"))
    assert kernels_of(here, nothing) == [], "without a kernel on one side, none is held against it"
    other = side_of("c", timeline(READY, names=dict.fromkeys("kqr", "relu") | dict.fromkeys("abc", "aten::relu")))
    gone, new = kernels_of(here, other)
    assert (gone.candidate_name, gone.matched_by, gone.status, gone.base_calls) == (None, "base_only", "gone", 1)
    assert (new.base_name, new.matched_by, new.status, new.candidate_calls) == (None, "candidate_only", "new", 1)


def test_what_makes_it_unfair():
    base = side_of("a", timeline(WAITS, devices={0: V100}))
    other = side_of("b", timeline(READY, devices={0: A100}))
    assert [note.id for note in unfair(base, other)] == ["other_gpus", "few_steps"]
    assert [note.id for note in unfair(base, base)] == ["few_steps"]
    on_cpu = side_of("c", timeline("step | 000111222333444 |\n op | aaabbbcccdddeee |"))
    assert [note.id for note in unfair(base, on_cpu)] == ["one_without_gpu", "few_steps"]


@settings(max_examples=settings().max_examples // 2)  # each draws and analyses two traces of up to 120 kernels a step
@given(
    st.integers(1, 6),
    st.integers(1, 20),
    st.integers(1, 40),
    st.integers(10, 40),
    st.integers(0, 40),
)
def test_a_step_with_several_times_the_calls_of_the_same_kernels_does_more_work(
    few, times, before_us, after_us, new_us
):
    """A product kernel runs `times` as often, and one side has a kernel of its own."""

    def side(name, calls, us, own_us):
        step = ("k" * us + ".") * calls + "n" * own_us + "."
        steps = "".join(str(place) * len(step) for place in range(5))
        return side_of(
            name, timeline(f"step | {steps} |\n kernel 7 | {step * 5} |", names={"k": "gemm", "n": f"own_{name}"})
        )

    more, fewer = side("a", few * times, before_us, new_us), side("b", few, after_us, 0)
    tells = times >= 3 and before_us >= 10 and max(before_us, after_us) <= 2.5 * min(before_us, after_us)
    for pair, which in (((more, fewer), "base"), ((fewer, more), "candidate")):
        found = [
            (note.values["times"].value, note.values["side"].value)
            for note in unfair(*pair)
            if note.id == "other_amount"
        ]
        assert found == ([(times, which)] if tells else [])
        assert not (tells and compare(*pair).same_work)


@pytest.mark.parametrize(
    ("few", "many", "world_size", "tells"),
    [(2, 6, None, True), (2, 5, None, False), (0, 6, None, False), (2, 6, 4, False)],
)
def test_without_shapes_the_number_of_gradients_tells_models_apart(few, many, world_size, tells):
    """The ops of small models have the same names. FSDP joins parameters, so it does not tell there."""

    def side(name, gradients):
        step = "mbs" + "g." * gradients + "." * (20 - 2 * gradients)
        steps = "".join(str(place) * len(step) for place in range(5))
        names = {"m": "aten::mm", "b": "aten::sum", "s": "aten::add_", "g": "torch::autograd::AccumulateGrad"}
        trace = timeline(f"step | {steps} |\n op | {step * 5} |", names=names)
        return Side(name, (span_of(trace, world_size=world_size),))

    fewer, more = side("a", few), side("b", many)
    found = [note.id for note in unfair(fewer, more)]
    assert ("other_gradients" in found) == tells
    assert not (tells and compare(fewer, more).same_work)


def test_other_work_is_neither_faster_nor_slower():
    base, other = side_of("a", timeline(WAITS, devices={0: V100})), side_of("b", timeline(READY, devices={0: A100}))
    found = compare(base, other)
    assert (found.same_work, found.changes, found.predictions) == (False, [], [])
    assert plain(comparison_headline(found)) == "b takes 6 µs a step, a 10 µs, for different work."


def test_spans_that_promise_different_gains_promise_their_mean():
    """What comes of it is measured over all spans, too. A span without the card says nothing of its gain."""
    gains = [(ExpectedGain("no_workers", ns, "data_loader"),) for ns in (4_000, 2_000)]
    trace = timeline(WAITS.replace("loader  ", "loader single"))
    base = Side("a", tuple(span_of(trace, expected=expected) for expected in (*gains, ())))
    assert base.expected == [ExpectedGain("no_workers", 3_000, "data_loader")]


def test_a_promise_stands_beside_what_came_of_it():
    """The marks show that the candidate's loader has workers; nobody declared what was changed."""
    base = side_of(
        "a",
        timeline(WAITS.replace("loader  ", "loader single")),
        expected=(ExpectedGain("no_workers", 4_000, "data_loader"),),
    )
    drawing = READY.replace("    op ", "    loader | l.....m.....n..... |\n    op ", 1)
    (found,) = compare(base, side_of("b", timeline(drawing))).predictions
    assert (found.insight, found.change, found.of) == ("no_workers", "workers", None)
    assert (found.predicted_ns, found.measured_ns, found.low, found.high) == (4_000, 4_000, 4_000, 4_000)


def test_without_its_change_a_promise_is_not_judged():
    base = side_of("a", timeline(WAITS), expected=(ExpectedGain("more_workers", 4_000, "data_loader"),))
    assert compare(base, side_of("b", timeline(READY))).predictions == []


@pytest.mark.parametrize("name", cases({name.rpartition("/")[0]: name for name in REAL}.values()))  # one per folder
def test_every_way_sums_to_the_step_on_real_traces(name):
    trace = read_real(name)
    side = side_of("a", trace)
    found = compare(side, side)
    for waterfall in found.waterfalls:
        assert sum(row.base_ns for row in waterfall.rows) == found.step.base_ns, waterfall.by
        assert sum(row.candidate_ns for row in waterfall.rows) == found.step.candidate_ns
    assert found.step.change_ns == 0
    rows = [row for table in found.tables for row in table.rows]
    assert {(row.change_ns, row.matched_by, row.status) for row in rows} <= {(0, "name", "alike")}
    assert rows or not side.first.compare.ops
