"""Step windows: host marks extended by the device's tail, and what is left out."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.trace import steps
from tb_steptime.trace.model import Job, Trace
from tb_steptime.trace.steps import find_steps, only_steps
from tests.drawn.timeline import timeline


def windows(trace: Trace) -> list[tuple[str, int, int]]:
    return [(step.name, step.start_ns, step.end_ns) for step in find_steps(trace).steps]


def note_ids(trace: Trace) -> list[str]:
    return [note.id for note in find_steps(trace).notes]


def test_a_step_ends_with_the_last_work_it_launched_and_the_next_begins_there():
    trace = timeline("""
        step     | 5555566666....... |
        runtime  | .a....b.......... |
        kernel 7 | ..aaaaabbbbbbb... |""")
    assert windows(trace) == [("5", 0, 7_000), ("6", 7_000, 14_000)]
    assert [step.host_ns for step in find_steps(trace).steps] == [5_000, 5_000]
    assert note_ids(trace) == []


def test_the_step_of_an_instant_is_the_one_that_began_last():
    found = find_steps(
        timeline("""
        step | ..55.666. |""")
    )
    instants = [0, 2_000, 3_999, 4_500, 5_000, 9_000]
    assert found.begun_at(np.array(instants)).tolist() == [-1, 0, 0, 0, 1, 1]
    assert [found.at(instant).name for instant in instants] == ["5", "5", "5", "5", "6", "6"]
    assert list(found.intervals) == [(2_000, 4_000), (5_000, 8_000)]


def test_the_first_step_begins_after_work_that_was_launched_before_it():
    trace = timeline("""
        step     | ..555555.... |
        runtime  | a...b....... |
        kernel 7 | .aaa.bbbbb.. |""")
    assert windows(trace) == [("5", 4_000, 10_000)]


def test_a_launch_that_straddles_two_marks_belongs_to_neither():
    trace = timeline("""
        step     | 5555566666....... |
        runtime  | .a..bb.c......... |
        kernel 7 | ..a....bbbc...... |""")
    assert windows(trace) == [("5", 0, 5_000), ("6", 5_000, 11_000)]


def test_beyond_a_bound_the_first_steps_are_measured_unless_others_are_asked_for(monkeypatch: pytest.MonkeyPatch):
    trace = timeline("""
        step | 555.666.777. |
        op   | .a...b...c.. |""")
    monkeypatch.setattr(steps.windows, "MOST_STEPS", 2)
    assert [name for name, *_ in windows(trace)] == ["5", "6"]
    (note,) = find_steps(trace).notes
    assert (note.id, {key: value.value for key, value in note.values.items()}) == (
        "many_steps",
        {"count": 3, "most": 2, "first": "7", "last": "7"},
    )
    requested = only_steps(trace, 6, 7)
    assert ([name for name, *_ in windows(requested)], note_ids(requested)) == (["6", "7"], [])


def test_without_device_work_steps_are_their_marks():
    trace = timeline("""
        step | 555..666 |
        op   | .a....b. |""")
    assert windows(trace) == [("5", 0, 3_000), ("6", 5_000, 8_000)]


def test_a_last_step_that_launched_nothing_is_left_out():
    trace = timeline("""
        step     | 555566667777 |
        runtime  | .a...b...... |
        kernel 7 | ..a...b..... |""")
    assert [name for name, *_ in windows(trace)] == ["5", "6"]
    assert note_ids(trace) == ["incomplete_steps"]


def test_a_last_step_with_under_four_fifths_of_the_launches_is_left_out():
    whole = timeline("""
        step     | 5555555555556666666666.. |
        runtime  | .a.b.c.d.e..f.g.h.i..... |
        kernel 7 | ..a.b.c.d.e..f.g.h.i.... |""")
    cut = timeline("""
        step     | 5555555555556666666666.. |
        runtime  | .a.b.c.d.e..f.g.h....... |
        kernel 7 | ..a.b.c.d.e..f.g.h...... |""")
    assert [name for name, *_ in windows(whole)] == ["5", "6"]
    assert [name for name, *_ in windows(cut)] == ["5"]


def test_a_last_step_after_one_that_launches_more_is_whole():
    """Every second step updates the weights; the last one launches what the first one does, or less."""
    whole = timeline("""
        step     | 55555566666666666677777. |
        runtime  | .a.b...c.d.e.f....g.h... |
        kernel 7 | ..a.b...c.d.e.f....g.h.. |""")
    cut = timeline("""
        step     | 55555566666666666677777. |
        runtime  | .a.b...c.d.e.f....g..... |
        kernel 7 | ..a.b...c.d.e.f....g.... |""")
    assert ([name for name, *_ in windows(whole)], note_ids(whole)) == (["5", "6", "7"], [])
    assert ([name for name, *_ in windows(cut)], note_ids(cut)) == (["5", "6"], ["incomplete_steps", "outside_steps"])


def test_a_last_step_that_launched_nothing_anywhere_is_judged_by_its_ops():
    """The step before has ten ops, and the last one has eight or seven."""
    whole = timeline("""
        step     | 555555555555555555556666666666666666 |
        op       | a.b.c.d.e.f.g.h.i.j.a.b.c.d.e.f.g.h. |""")
    cut = timeline("""
        step     | 5555555555555555555566666666666666 |
        op       | a.b.c.d.e.f.g.h.i.j.a.b.c.d.e.f.g. |""")
    few = timeline("""
        step     | 55555555555555555566666666666666 |
        op       | a.b.c.d.e.f.g.h.i.a............. |""")
    assert [name for name, *_ in windows(whole)] == ["5", "6"]
    assert (windows(cut), note_ids(cut)) == ([("5", 0, 20_000)], ["incomplete_steps"])
    assert [name for name, *_ in windows(few)] == ["5", "6"], "nine ops tell too little"


def test_a_last_step_after_one_that_evaluates_is_whole():
    trace = timeline("""
        step     | 55555555555555555555566666666666666666666666666666666666666666677777777777777777777 |
        op       | a.b.c.d.e.f.g.h.i.j..a.b.c.d.e.f.g.h.i.j.a.b.c.d.e.f.g.h.i.j...a.b.c.d.e.f.g.h.i.j |""")
    assert [name for name, *_ in windows(trace)] == ["5", "6", "7"]
    assert note_ids(trace) == []


@pytest.mark.parametrize(("unfinished", "kept"), [(6, ["5"]), (7, ["5", "6"]), (None, ["5", "6"])])
def test_a_step_that_the_recorder_says_was_not_over_is_left_out(unfinished, kept):
    trace = timeline(
        """
        step     | 5555566666....... |
        runtime  | .a....b.......... |
        kernel 7 | ..aaaaabbbbbbb... |""",
        job=Job(unfinished_step=unfinished),
    )
    assert [name for name, *_ in windows(trace)] == kept
    assert note_ids(trace) == ["incomplete_steps", "outside_steps"][2 * len(kept) - 2 :]


def test_no_marks_make_one_step_over_the_ops_and_say_so():
    trace = timeline("""
        op       | .aaaa.bb.... |
        runtime  | ..k......... |
        kernel 7 | ....kkkkkkk. |""")
    assert windows(trace) == [("0", 1_000, 11_000)]
    assert note_ids(trace) == ["no_steps"]


def test_a_device_side_shadow_of_the_mark_is_no_step():
    trace = timeline(
        """
        step       | 555555 |
        gpu_user 7 | .ssss. |""",
        names={"s": "ProfilerStep#5"},
    )
    assert windows(trace) == [("5", 0, 6_000)]


def test_merged_files_of_two_ranks_have_the_steps_of_one():
    trace = timeline(
        """
        step @one      | 000011112222.. |
        step @two      | ..000011112222 |
        op one         | oo..oo..oo.... |
        op two         | ..oo..oo..oo.o |"""
    )
    assert [(step.name, step.start_ns, step.end_ns) for step in find_steps(trace).steps] == [
        ("0", 2_000, 6_000), ("1", 6_000, 10_000), ("2", 10_000, 14_000),
    ]  # fmt: skip


def test_a_number_that_no_profiler_counts_to_is_no_step():
    trace = timeline("user ProfilerStep#%s | .ssss. |" % ("9" * 5000))
    assert windows(trace) == [("0", 1_000, 5_000)]


def test_an_empty_trace_has_one_empty_step():
    assert windows(timeline("op | . |")) == [("0", 0, 0)]


@pytest.mark.parametrize(("crop", "begins_us"), [("fff.....", 1), ("......ff", 9)], ids=["long before", "just before"])
def test_a_recording_without_marks_begins_with_what_the_user_s_functions_do_before_the_first_op(
    crop: str, begins_us: int
):
    """main was called before the recording, so its recorded beginning shows nothing."""
    trace = timeline(
        f"""
        python   | mmmmmmmmmmmmmmmmmmmmmmmmmmmmmm |
        python   | .{crop}..................... |
        op       | .........oooooooooooooooooooo. |
        runtime  | ..........k................... |
        kernel 7 | ...........kkkkkkkkkkkkkkkkkk. |""",
        names={"m": "train.py(1): main", "f": "data.py(9): crop"},
    )
    (step,) = find_steps(trace).steps
    assert (step.start_ns, step.end_ns) == (1_000 * begins_us, 29_000)
