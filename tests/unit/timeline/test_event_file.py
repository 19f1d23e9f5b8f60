"""The event file: which boxes a window shows, the details of one event, and that no event is lost on the way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_steptime.metrics.memory.curves import bin_edges
from tb_steptime.text import Phrase, count, fraction, nbytes, ns, text
from tb_steptime.text import Quantity as Q
from tb_steptime.text import Unit as U
from tb_steptime.timeline.answers import (
    Boxes,
    BusyBins,
    Depth,
    EventDetail,
    EventFact,
    EventLink,
    KernelsNamed,
    TimelinePage,
    Track,
)
from tb_steptime.timeline.bars import Bars, join_alike, merge
from tb_steptime.timeline.bins import busy_bins
from tb_steptime.timeline.build import LEFT_OUT, LEVELS, MAX_ROWS, stack_rows, write_events
from tb_steptime.timeline.detail import event_detail
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.page import MAX_BOXES, timeline_page
from tb_steptime.timeline.tracks import COLOURS, PINNED_STREAMS, event_colours, tracks_of
from tb_steptime.trace.intervals import Intervals
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.timeline import A100, LOADER, timeline

US = 1000

STEP = """
    step           | 55555555555555555555 |
    loader         | lll................. |
    python         | ...pppppppp......... |
    op             | ...aaaaaa........... |
    op             | ....bbb............. |
    op backward    | ..........nnnnn..... |
    op backward    | ...........ccc...... |
    runtime        | .....k.............. |
    runtime backward | ...........m........ |
    kernel 7       | ........kkkkk....... |
    memcpy 9       | .............mm..... |"""

NAMES = {
    "p": "train.py(54): step",
    "a": "aten::linear",
    "b": "aten::addmm",
    "n": "autograd::engine::evaluate_function: AddmmBackward0",
    "c": "aten::mm",
    "k": "volta_sgemm_64x64_nt",
}
STEP_TRACE = {
    "names": NAMES,
    "kernels": {"k": {"grid": (216, 1, 1), "block": (256, 1, 1), "registers": 32, "shared_memory": 1024}},
    "nbytes": {"m": 4096},
    "inputs": {"b": ("[[8,4],[4,2]]", '["float","float"]')},
    "sequences": {"b": (7, 0), "n": (7, 1)},
    "devices": {0: A100},
}


def event_file(trace, folder):
    folder.mkdir(exist_ok=True)
    write_events(trace, folder)
    return EventFile.open(folder)


@pytest.fixture
def step(tmp_path):
    return event_file(timeline(STEP, **STEP_TRACE), tmp_path / "step")


def boxes(page):
    """Each box as (track, row, name, start us, length us, colour, count)."""
    drawn = page.boxes
    columns = (drawn.track, drawn.row, drawn.name, drawn.start_ns, drawn.length_ns, drawn.colour, drawn.count)
    return [
        (page.tracks[track].label, row, page.names[name], start / US, length / US, page.colours[colour], number)
        for track, row, name, start, length, colour, number in zip(*columns, strict=True)
    ]


def numbers(events):
    """Event numbers by name; for a name that several events share, the last one."""
    return {events.string(int(name)): int(event) for name, event in zip(events.name, events.event, strict=True)}


def detail(events, name):
    return event_detail(events, numbers(events)[name])


def test_a_step_in_tracks(step):
    page = timeline_page(step, 0, 20 * US, 1)
    tracks = [
        Track(0, "steps", "Steps", "Steps", 1, True, 1),
        Track(1, "phases", "Steps", "Phases", 1, True, 1),
        Track(2, "loader", "Steps", "Data loading", 1, True, 1),
        Track(3, "stream", "GPU 0", "Stream 7", 1, True, 1),
        Track(4, "stream", "GPU 0", "Stream 9", 1, True, 1),
        Track(5, "thread", "Process 1", "Training thread main", 4, False, 4),
        Track(6, "calls", "Process 1", "Calls of training thread main", 1, False, 1),
        Track(7, "thread", "Process 1", "Autograd thread backward", 2, False, 2),
        Track(8, "calls", "Process 1", "Calls of autograd thread backward", 1, False, 1),
    ]
    assert (page.start_ns, page.end_ns, page.detail_ns, page.tracks) == (0, 20 * US, 2, tracks)
    assert boxes(page) == [
        ("Steps", 0, "Step 5", 0, 20, "other", 1),
        ("Phases", 0, "Data loading", 0, 3, "data", 1),
        ("Phases", 0, "Forward", 3, 7, "cpu", 1),
        ("Phases", 0, "Backward", 10, 5, "cpu", 1),
        ("Phases", 0, "Other", 15, 5, "other", 1),
        ("Data loading", 0, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 3, "data", 1),
        ("Stream 7", 0, "gemm f32 64x64", 8, 5, "kernel", 1),
        ("Stream 9", 0, "Memcpy HtoD", 13, 2, "copy", 1),
        ("Training thread main", 0, "ProfilerStep#5", 0, 20, "cpu", 1),
        ("Training thread main", 1, "train.py(54): step", 3, 8, "other", 1),
        ("Training thread main", 2, "aten::linear", 3, 6, "cpu", 1),
        ("Training thread main", 3, "aten::addmm", 4, 3, "cpu", 1),
        ("Calls of training thread main", 0, "cudaLaunchKernel", 5, 1, "runtime", 1),
        ("Autograd thread backward", 0, NAMES["n"], 10, 5, "cpu", 1),
        ("Autograd thread backward", 1, "aten::mm", 11, 3, "cpu", 1),
        ("Calls of autograd thread backward", 0, "cudaMemcpyAsync", 11, 1, "runtime", 1),
    ]


def test_a_whole_page(tmp_path):
    trace = timeline("""
        op          | ab.... |
        runtime     | .k.... |
        kernel 7    | ...kk. |""")
    page = timeline_page(event_file(trace, tmp_path / "e"), US, 4 * US, 3 * US)
    assert page == TimelinePage(
        start_ns=US,
        end_ns=4 * US,
        detail_ns=2048,
        tracks=[
            Track(0, "steps", "Steps", "Steps", 1, True, 1),
            Track(1, "phases", "Steps", "Phases", 1, True, 1),
            Track(2, "stream", "GPU 0", "Stream 7", 1, True, 1),
            Track(3, "thread", "Process 1", "Main thread main", 1, False, 1),
            Track(4, "calls", "Process 1", "Calls of main thread main", 1, False, 1),
        ],
        names=["b", "cudaLaunchKernel", "k", "The recording", "Model"],
        full_names=[""] * 5,
        colours=list(COLOURS),
        boxes=Boxes(
            track=[0, 1, 2, 3, 4],
            row=[0, 0, 0, 0, 0],
            start_ns=[-US, -US, 2 * US, 0, 0],
            length_ns=[5 * US, 5 * US, 2 * US, US, US],
            name=[3, 4, 2, 0, 1],
            colour=[COLOURS.index(each) for each in ("other", "cpu", "kernel", "cpu", "runtime")],
            count=[1, 1, 1, 1, 1],
            event=[4, 5, 3, 1, 2],
        ),
        queue=Depth(bin_ns=2048, mean_permille=[977, 0], peak=[1, 0]),
    )


@pytest.mark.parametrize(
    ("window", "shown"),
    [
        ((0, 4), ["a"]),
        ((4, 8), ["a", "b"]),  # a is still running; b begins inside
        ((6, 7), []),
        ((5, 9), ["b"]),
        ((8, 12), ["b"]),
        ((9, 12), []),
        ((20, 30), []),
    ],
)
def test_a_window_shows_what_touches_it(tmp_path, window, shown):
    trace = timeline("op other | .aaaa..bb. |\n kernel 7 | k........k |")
    start, end = (edge * US for edge in window)
    page = timeline_page(event_file(trace, tmp_path / "e"), start, end, 1)
    assert [name for track, _, name, *_ in boxes(page) if "other" in track] == shown


MANY = """
    kernel 7 | abcdefgh............iiiiijk.l |
    op       | ............................. |"""


@pytest.mark.parametrize(
    ("detail_us", "shown"),
    [
        (1, [("a", 0, 1, 1), ("b", 1, 1, 1), ("c", 2, 1, 1), ("d", 3, 1, 1), ("e", 4, 1, 1), ("f", 5, 1, 1),
             ("g", 6, 1, 1), ("h", 7, 1, 1), ("i", 20, 5, 1), ("j", 25, 1, 1), ("k", 26, 1, 1), ("l", 28, 1, 1)]),
        (2.048, [("a", 0, 8, 8), ("i", 20, 5, 1), ("j", 25, 4, 3)]),
        (4.096, [("a", 0, 8, 8), ("i", 20, 5, 1), ("j", 25, 4, 3)]),
        (8.192, [("a", 0, 8, 8), ("i", 20, 9, 4)]),
        (16.384, [("a", 0, 29, 12)]),
    ],
)  # fmt: skip
def test_what_is_too_narrow_stands_together(tmp_path, detail_us, shown):
    page = timeline_page(event_file(timeline(MANY), tmp_path / "e"), 0, 29 * US, round(detail_us * US))
    kernels = [(name, *times, number) for track, _, name, *times, _, number in boxes(page) if track == "Stream 7"]
    named = {(start, length, number): name for name, start, length, number in kernels}
    assert list(named) == [tuple(each[1:]) for each in shown]
    if detail_us == 16.384:
        assert named[0, 29, 12] == "i"  # the longest event gives the box its name
    else:
        assert list(named.values()) == [each[0] for each in shown]


def test_neighbours_of_another_colour_stay_apart(tmp_path):
    trace = timeline("kernel 7 | ab....c |\n memcpy 7 | ..mn... |")
    page = timeline_page(event_file(trace, tmp_path / "e"), 0, 7 * US, 2 * US)
    assert [box[3:] for box in boxes(page) if box[0] == "Stream 7"] == [
        (0, 2, "kernel", 2),
        (2, 2, "copy", 2),
        (6, 1, "kernel", 1),
    ]


def test_overlapping_events_of_a_stream_get_further_rows(tmp_path):
    trace = timeline("""
        kernel 7 | aaaa....dd |
        kernel 7 | ..bbbb.... |
        kernel 7 | ....ccc... |
        kernel 7 | .........e |""")
    page = timeline_page(event_file(trace, tmp_path / "e"), 0, 10 * US, 1)
    assert [(name, row) for track, row, name, *_ in boxes(page) if track == "Stream 7"] == [
        ("a", 0), ("c", 0), ("d", 0), ("b", 1), ("e", 1),
    ]  # fmt: skip


def test_more_boxes_than_a_picture_holds_make_the_detail_coarser(tmp_path):
    events = event_file(timeline("kernel 7 | a.b.c.d.e.f.g.h. |"), tmp_path / "e")
    page = timeline_page(events, 0, 16 * US, 1, most_boxes=6)
    assert page.detail_ns == 1024
    assert len(page.boxes.count) <= 6
    assert sum(page.boxes.count) == events.event_count


def test_no_window_has_more_boxes_than_the_server_may_send_and_their_counts_are_of_all_events(tmp_path):
    a_stream = MAX_BOXES * 2 // 5  # on three streams too many for one page, each wide enough to be shown alone
    drawing = "\n".join(f"kernel {stream} | {'aaa.' * a_stream} |" for stream in (7, 8, 9))
    events = event_file(timeline(drawing), tmp_path / "e")
    for detail_ns in (1, *LEVELS):
        page = timeline_page(events, events.head.first_ns, events.head.last_ns + 1, detail_ns)
        assert len(page.boxes.count) <= MAX_BOXES
        assert sum(page.boxes.count) == events.event_count > 3 * a_stream
    part = timeline_page(events, 0, 40 * US, 1)
    assert part.boxes.count == [1] * len(part.boxes.count)  # a narrow window shows each event alone
    assert len(part.boxes.count) == 2 + 3 * 10  # plus the recording and its phase


@pytest.mark.parametrize(("most", "counts"), [(5, [1, 1, 3, 3, 3]), (4, [1, 1, 3, 3])])
def test_where_one_box_a_line_is_too_many_the_last_lines_have_none(tmp_path, most, counts):
    drawing = "\n".join(f"kernel {stream} | a.bbbbbbbb.c |" for stream in (7, 8, 9))
    page = timeline_page(event_file(timeline(drawing), tmp_path / "e"), 0, 12 * US, 1, most_boxes=most)
    assert page.boxes.count == counts


def test_the_queue(tmp_path):
    trace = timeline("""
        runtime  | ab......c... |
        kernel 7 | ...aa.b..... |
        kernel 9 | ..........c. |""")
    depth = timeline_page(event_file(trace, tmp_path / "e"), 0, 12 * US, 1024).queue
    assert depth.bin_ns == 1024
    assert depth.peak[:4] == [2, 2, 2, 1]
    assert sum(depth.mean_permille) * depth.bin_ns == pytest.approx(1000 * (3 + 5 + 2) * US, rel=1e-3)
    assert timeline_page(event_file(timeline("op | aaa |"), tmp_path / "f"), 0, 3 * US, 1).queue is None


def link(events, role, name):
    place = int(events.place[numbers(events)[name]])
    line = events.line_of(place)
    track, row = events.head.line_track[line], events.head.line_row[line]
    start = int(events.start[place])
    shown = events.shown_name(int(events.name[place]))
    return EventLink(role, int(events.event[place]), shown, track, row, start, events.end_of(place))


def test_a_kernel(step):
    assert detail(step, "volta_sgemm_64x64_nt") == EventDetail(
        event=numbers(step)["volta_sgemm_64x64_nt"],
        name="volta_sgemm_64x64_nt",
        short_name="gemm f32 64x64",
        kind="GPU kernel",
        on="GPU 0, Stream 7",
        track=3,
        row=0,
        start_ns=8 * US,
        end_ns=13 * US,
        facts=[
            EventFact("Source line", text("train.py(54): step"), "train.py(54): step"),
            EventFact("Duration", ns(5 * US)),
            EventFact("Since its launch call", ns(3 * US)),
            EventFact("Phase", text("Forward: model")),
            EventFact("Correlation", text("1")),
            EventFact("Grid", text("216 x 1 x 1")),
            EventFact("Block", text("256 x 1 x 1")),
            EventFact("Registers per thread", count(32)),
            EventFact("Shared memory per block", nbytes(1024)),
            EventFact("Blocks per SM", Q(2.0, U.NUMBER)),
            EventFact("Waves", count(1)),
            EventFact("Est. occupancy", fraction(0.25)),
            EventFact("On tensor cores", text("No: FP32 matrix product on CUDA cores")),
            EventFact("Step", text("5")),
        ],
        links=[
            link(step, "Launched by", "cudaLaunchKernel"),
            link(step, "In op", "aten::addmm"),
            link(step, "In outermost op", "aten::linear"),
        ],
        gap_start_ns=0,
        why_gap=Phrase(
            "The GPU was idle for [{gap}] before this: for {part0} the main process waited for a batch; "
            "for {part1} the launch call had begun, but the GPU had not started (launch latency); "
            "for {part2} the launching thread was in {cause2}.",
            {
                "gap": ns(8 * US),
                "part0": ns(3 * US),
                "part1": ns(3 * US),
                "part2": ns(2 * US),
                "cause2": text("aten::linear"),
            },
        ),
    )


def test_a_launch_call(step):
    facts = detail(step, "cudaLaunchKernel")
    assert facts.facts == [
        EventFact("Source line", text("train.py(54): step"), "train.py(54): step"),
        EventFact("Duration", ns(US)),
        EventFact("Until its work starts", ns(3 * US)),
        EventFact("Step", text("5")),
        EventFact("Phase", text("Forward")),
    ]
    assert facts.links == [
        link(step, "Launches", "volta_sgemm_64x64_nt"),
        link(step, "In op", "aten::addmm"),
        link(step, "In outermost op", "aten::linear"),
    ]
    assert (facts.gap_start_ns, facts.why_gap) == (None, None)


def test_an_op(step):
    facts = detail(step, "aten::addmm")
    assert facts.facts == [
        EventFact("Source line", text("train.py(54): step"), "train.py(54): step"),
        EventFact("Duration", ns(3 * US)),
        EventFact("Self time", ns(3 * US)),
        EventFact("In runtime calls", ns(US)),
        EventFact("Launches", count(1)),
        EventFact("Device time of what it launches", ns(5 * US)),
        EventFact("Step", text("5")),
        EventFact("Phase", text("Forward")),
        EventFact("Input shapes", text("[[8,4],[4,2]]")),
        EventFact("Input types", text('["float","float"]')),
    ]
    assert facts.links == [link(step, "In op", "aten::linear")]
    outer = detail(step, "aten::linear")
    assert outer.facts[1:3] == [EventFact("Duration", ns(6 * US)), EventFact("Self time", ns(3 * US))]
    assert outer.links == [link(step, "In", "train.py(54): step")]


def test_work_of_the_backward_pass_names_its_forward_op(step):
    facts = detail(step, "Memcpy HtoD (Pinned -> Device)")
    assert facts.links == [
        link(step, "Launched by", "cudaMemcpyAsync"),
        link(step, "In op", "aten::mm"),
        link(step, "In outermost op", NAMES["n"]),
        link(step, "Forward op", "aten::addmm"),
    ]
    assert EventFact("Size", nbytes(4096)) in facts.facts
    assert EventFact("Bandwidth", Q(2.048e9, U.BYTES_PER_SECOND)) in facts.facts
    assert EventFact("Forward source line", text("train.py(54): step"), "train.py(54): step") in facts.facts
    assert facts.why_gap is None  # the other stream worked until the event began


def test_a_step_and_a_phase(step):
    assert detail(step, "Step 5").facts == [EventFact("Duration", ns(20 * US))]
    assert (detail(step, "Backward").start_ns, detail(step, "Backward").end_ns) == (10 * US, 15 * US)


def test_a_graph_launches_many(tmp_path):
    events = event_file(
        timeline(
            "runtime | g......... |\n kernel 7 | ..gg.gg.gg |\n kernel 9 | ....g..g.. |", calls={"g": "cudaGraphLaunch"}
        ),
        tmp_path / "e",
    )
    facts = detail(events, "cudaGraphLaunch")
    assert EventFact("Launches", count(5)) in facts.facts
    assert [each.start_ns // US for each in facts.links] == [2, 4, 5, 7, 8]


def test_call_stacks_of_older_traces(tmp_path):
    trace = timeline(
        "op | aaaa |\n op | .bb. |", names={"a": "aten::linear"}, stacks={"a": "net.py(7): forward;train.py(9): step"}
    )
    events = event_file(trace, tmp_path / "e")
    assert EventFact("Source line", text("net.py(7): forward"), "net.py(7): forward") in detail(events, "b").facts


GAPS = {
    "a gap of the hardware": ("op | aaaa........ |\n runtime | pk.......... |\n kernel 7 | ..pp.kk..... |",
                              "the work was in the queue already (hardware gap between two kernels)"),
    "other work": ("op | aaaa................. |\n runtime | pk................... |\n"
                   " kernel 7 | ..pp...............kk |",
                   "the work was in the queue and waited for other work (an event, a stream or another GPU)"),
    "no launch": ("op | aaaaaaaaa |\n kernel 7 | ..pp.kk.. |", "the trace has no launch call for it"),
    "nothing": ("op | aaaa.....bbb.. |\n runtime | p.........k... |\n kernel 7 | .ppp........kk |",
                "for {part0} the trace has no event on the launching thread (Python code, for example); "
                "for {part1} the launch call had begun, but the GPU had not started (launch latency); "
                "for {part2} the launching thread was in {cause2}"),
    "a call": ("op | aaaaaaaaaa... |\n runtime | p.sssss..k... |\n kernel 7 | .ppp.....kk.. |",
               "for {part0} the launching thread was blocked in {cause0}; "
               "for {part1} the launching thread was in {cause1}"),
}  # fmt: skip


@pytest.mark.parametrize("case", GAPS)
def test_why_the_device_was_idle(tmp_path, case):
    drawing, clauses = GAPS[case]
    events = event_file(timeline(drawing, calls={"s": "cudaStreamSynchronize"}), tmp_path / "e")
    found = detail(events, "k")
    assert found.why_gap.template == f"The GPU was idle for [{{gap}}] before this: {clauses}."
    assert found.gap_start_ns + found.why_gap.values["gap"].value == found.start_ns
    parts = [value.value for key, value in found.why_gap.values.items() if key.startswith("part")]
    assert sum(parts) in (0, found.why_gap.values["gap"].value)
    if case == "a call":
        assert [found.why_gap.values[f"cause{i}"].value for i in (0, 1)] == ["cudaStreamSynchronize", "a"]


STACK = """
    python | rrrrrrrrrrrr |
    python | .tttttttttt. |
    python | ..wwww.LLLL. |
    python | ........ff.. |
    op     | ...aa...b... |
    kernel 7 | ....k....... |"""
STACK_NAMES = {
    "r": "runpy.py(198): _run",
    "t": "/home/me/job/train.py(9): step",
    "w": "torch/nn/modules/module.py(1): _call",
    "L": "nn.Module: Linear_3",
    "f": "/env/lib/python3.11/site-packages/timm/layers.py(3): forward",
    "a": "aten::a",
    "b": "aten::b",
}


def test_a_folded_stack_keeps_the_users_lines_and_modules(tmp_path):
    events = event_file(timeline(STACK, names=STACK_NAMES), tmp_path / "e")
    (track,) = (each for each in events.head.tracks if each.kind == "thread")
    assert (track.rows, track.all_rows) == (3, 5)
    shown = {}
    for folded in (False, True):
        page = timeline_page(events, 0, 12 * US, 1, folded=folded)
        assert page.tracks[track.id].rows == (3 if folded else 5)
        shown[folded] = [(row, name) for label, row, name, *_ in boxes(page) if label == track.label]
    assert shown[True] == [
        (0, "train.py(9): step"), (1, "aten::a"), (1, "Linear_3"), (2, "aten::b"),
    ]  # fmt: skip
    assert shown[False] == [
        (0, "runpy.py(198): _run"), (1, "train.py(9): step"),
        (2, "torch/nn/modules/module.py(1): _call"), (2, "Linear_3"),
        (3, "aten::a"), (3, "timm/layers.py(3): forward"), (4, "aten::b"),
    ]  # fmt: skip


def test_an_event_of_a_folded_stack_says_its_row_there(tmp_path):
    events = event_file(timeline(STACK, names=STACK_NAMES), tmp_path / "e")
    number = numbers(events)
    rows = {
        name: [event_detail(events, number[name], folded=folded).row for folded in (False, True)]
        for name in (STACK_NAMES["w"], STACK_NAMES["t"], "aten::b", "k")
    }
    assert rows == {STACK_NAMES["w"]: [2, -1], STACK_NAMES["t"]: [1, 0], "aten::b": [4, 2], "k": [0, 0]}
    (inside,) = event_detail(events, number["aten::a"], folded=True).links
    assert (inside.name, inside.row) == (STACK_NAMES["w"], -1)
    facts = event_detail(events, number["aten::a"], folded=True)
    assert EventFact("Source line", text("train.py(9): step"), STACK_NAMES["t"]) in facts.facts


def test_every_kind_of_event_says_what_it_is(step):
    kinds = {name: (detail(step, name).kind, detail(step, name).on) for name in numbers(step)}
    assert kinds == {
        "Step 5": ("Step", "Steps"),
        "Data loading": ("Phase of the host", "Phases"),
        "Forward": ("Phase of the host", "Phases"),
        "Backward": ("Phase of the host", "Phases"),
        "Other": ("Phase of the host", "Phases"),
        LOADER.format("_MultiProcessingDataLoaderIter"): ("Wait for the data loader", "Data loading"),
        "volta_sgemm_64x64_nt": ("GPU kernel", "GPU 0, Stream 7"),
        "Memcpy HtoD (Pinned -> Device)": ("Memory copy", "GPU 0, Stream 9"),
        "ProfilerStep#5": ("Named range", "Training thread main"),
        "train.py(54): step": ("Python frame", "Training thread main"),
        "aten::linear": ("CPU op", "Training thread main"),
        "aten::addmm": ("CPU op", "Training thread main"),
        "cudaLaunchKernel": ("Runtime call", "Calls of training thread main"),
        NAMES["n"]: ("CPU op", "Autograd thread backward"),
        "aten::mm": ("CPU op", "Autograd thread backward"),
        "cudaMemcpyAsync": ("Runtime call", "Calls of autograd thread backward"),
    }


def test_lines_of_an_installed_package_are_the_users_where_there_are_no_others(tmp_path):
    names = {**STACK_NAMES, "t": "/env/site-packages/torchtune/train.py(9): step"}
    events = event_file(timeline(STACK, names=names), tmp_path / "e")
    shown = [name for label, _, name, *_ in boxes(timeline_page(events, 0, 12 * US, 1, folded=True)) if "main" in label]
    assert shown == ["torchtune/train.py(9): step", "aten::a", "Linear_3", "timm/layers.py(3): forward", "aten::b"]


def test_what_the_profiler_says_of_itself_and_processes_without_a_number_are_named():
    trace = timeline("op | aaa |\n overhead @0 | .b. |\n kernel 7 | ..k |")
    trace = replace(trace, threads=[replace(each, pid="-1") if each.tid == "0" else each for each in trace.threads])
    tracks = [(each.group, each.label) for each in tracks_of(trace, event_colours(trace))]
    assert tracks[-2:] == [("Process 1", "Main thread main"), ("Profiler", "Its overhead")]


@pytest.mark.parametrize(
    ("op", "label"),
    [
        ("aten::linear", "Main thread main"),  # ten layers: an inference
        ("aten::add", "Main thread main"),  # nothing shows what the job does
        ("autograd::engine::evaluate_function: AddmmBackward0", "Training thread main"),
    ],
)
def test_the_thread_of_the_steps_is_named_by_what_the_job_does(op: str, label: str):
    trace = timeline(f"step | {'0' * 30} |\nop | {'a..' * 10} |", names={"a": op})
    tracks = [(each.kind, each.label) for each in tracks_of(trace, event_colours(trace))]
    assert ("thread", label) in tracks


def test_the_busiest_streams_of_all_gpus_are_pinned():
    drawing = "\n".join(f"kernel {stream} gpu{gpu} | k |" for gpu in range(6) for stream in (7, 9))
    trace = timeline(drawing)
    pinned = [(each.group, each.label) for each in tracks_of(trace, event_colours(trace)) if each.pinned]
    assert pinned == [
        ("Steps", "Steps"),
        ("Steps", "Phases"),
        *((f"GPU {gpu}", "Stream 7") for gpu in range(PINNED_STREAMS)),
    ]


def test_of_many_threads_and_streams_the_least_busy_share_a_track(monkeypatch):
    """Events on shared tracks are not left out."""
    for bound, most in (("MOST_THREADS", 2), ("MOST_STREAMS", 2), ("PINNED_STREAMS", 1)):
        monkeypatch.setattr(f"tb_steptime.timeline.tracks.{bound}", most)
    trace = timeline("""
        step            | 0000000000 |
        op              | a.a.a..... |
        op 1            | bbb.b.b... |
        op 2            | .c........ |
        op 3            | ..d....... |
        kernel 7        | k.k.k..... |
        kernel 8        | .m........ |
        kernel 9        | ..n....... |
        kernel 10       | q.q....... |""")
    tracks = list(tracks_of(trace, event_colours(trace)))
    assert [(each.group, each.label, len(each.rows)) for each in tracks[2:]] == [
        ("GPU 0", "Stream 7", 3),
        ("GPU 0", "Stream 10", 2),
        ("GPU 0", "2 more streams", 2),
        ("Process 1", "Main thread main", 4),
        ("Process 1", "Thread 1", 3),
        ("Others", "2 more threads", 2),
    ]


def test_what_does_not_repeat_has_a_track(tmp_path):
    """The first call of an op takes 30 us, later calls take 5 us."""
    trace = timeline("""
        step     | 0000000000000000000000000000000000000000111111111122222222223333333333 |
        op       | ..aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..........aaaaa.....aaaaa.....aaaaa... |
        runtime  | ..............................k..............k.........k.........k.... |
        kernel 7 | ...............................kk.............kk........kk........kk.. |""")
    events = event_file(trace, tmp_path / "once")
    page = timeline_page(events, 0, 70 * US, 1)
    name = "Once: a"
    assert [box for box in boxes(page) if box[0] == "Does not repeat"] == [
        ("Does not repeat", 0, name, 5, 25, "excess", 1)
    ]
    found = detail(events, name)
    assert (found.kind, found.on, found.gap_start_ns) == (
        "Time that does not repeat in every step",
        "Does not repeat",
        None,
    )
    assert [fact.label for fact in found.facts] == ["Duration"]


def test_numbers_that_are_no_event(step):
    assert [event_detail(step, number) for number in (-1, 10_000)] == [None, None]


events_of_a_line = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 40)), min_size=1, max_size=40)


def sorted_columns(drawn):
    start, length = np.array(sorted(drawn, key=lambda each: (each[0], -each[1])), np.int64).T
    return start, length


@given(events_of_a_line)
def test_events_of_one_row_never_overlap_and_all_have_one(drawn):
    start, length = sorted_columns(drawn)
    row = stack_rows(start, length, np.arange(len(start), dtype=np.int32))
    assert row.max() < LEFT_OUT
    expected, free = [], []
    for first, size in zip(start.tolist(), length.tolist(), strict=True):  # the simple algorithm
        line = next((line for line, until in enumerate(free) if until <= first), len(free))
        free[line:line + 1] = [first + size]  # fmt: skip
        expected.append(line)
    assert row.tolist() == expected


def test_rows_beyond_the_limit_are_left_out():
    count = MAX_ROWS + 5
    row = stack_rows(np.arange(count), np.full(count, 1000), np.arange(count, dtype=np.int32))
    assert row.tolist() == [*range(MAX_ROWS), *[LEFT_OUT] * 5]


@given(events_of_a_line, st.integers(0, 6), st.lists(st.integers(0, 2), min_size=40, max_size=40))
def test_bars_cover_their_events_and_only_gaps_narrower_than_the_detail(drawn, power, colours):
    start, length = sorted_columns(drawn)
    first_row = stack_rows(start, length, np.arange(len(start), dtype=np.int32)) == 0
    start, length = start[first_row], length[first_row]
    colour, level = np.array(colours, np.uint8)[: len(start)], 1 << power
    events = Bars.from_events(0, start, length, colour, 0)
    bars = join_alike(merge(events, level), level)
    assert bars.count.sum() == len(start)
    assert (bars.start[1:] >= bars.end[:-1]).all()
    bars_cover = Intervals.union(bars.start, bars.end)
    assert len(Intervals.union(start, start + length) - bars_cover) == 0
    closed = bars_cover - Intervals.union(start, start + np.maximum(length, 1))  # one without a length ends a gap too
    assert (closed.end - closed.start < level).all()
    wide = {(a, b) for a, b in zip(start.tolist(), length.tolist(), strict=True) if b >= level}
    alone = {(a, b - a) for a, b in zip(bars.start.tolist(), bars.end.tolist(), strict=True)}
    assert wide <= alone
    finer = merge(merge(events, max(1, level // 4)), level)
    assert [column.tolist() for column in vars(finer).values()] == [
        column.tolist() for column in vars(merge(events, level)).values()
    ]


cells = st.text(alphabet=".abc", min_size=30, max_size=30)


@given(st.lists(cells, min_size=1, max_size=3), cells, st.sampled_from([1, *LEVELS]))
def test_the_boxes_of_a_track_cover_its_events_at_any_detail(tmp_path_factory, ops, kernels, level):
    drawing = "\n".join([*(f"op | {each} |" for each in ops), f"kernel 7 | {kernels} |", "step | 5" + " " * 29 + " |"])
    trace = timeline(drawing, cell_ns=700_000)
    check_conservation(trace, event_file(trace, tmp_path_factory.mktemp("events")), [level])


def check_conservation(trace, events, details):
    """At any detail, the boxes of a line count all of its events, and cover them and gaps below the detail."""
    bounds = events.column("level0.bounds")
    for wanted, folded in itertools.product(details, (False, True)):
        shown = timeline_page(events, events.head.first_ns, events.head.last_ns + 1, wanted, folded=folded)
        drawn = shown.boxes
        columns = (drawn.track, drawn.row, drawn.start_ns, drawn.length_ns, drawn.count)
        track, row, start, length, number = (np.array(column, np.int64) for column in columns)
        start = start + shown.start_ns
        lines_of = events.folded_lines if folded else events.lines
        for line in itertools.chain.from_iterable(lines_of(each.id) for each in shown.tracks):
            place = events.head.line_track[line], events.head.line_row[line]
            mine = slice(bounds[line], bounds[line + 1])
            here = (track == place[0]) & (row == place[1])
            assert number[here].sum() == mine.stop - mine.start
            whole = Intervals.union(events.start[mine], events.start[mine] + events.length[mine])
            boxed = Intervals.union(start[here], start[here] + length[here])
            assert len(whole - boxed) == 0
            instants = np.maximum(events.length[mine], 1)  # an event without a length ends a gap too
            closed = boxed - Intervals.union(events.start[mine], events.start[mine] + instants)
            assert (closed.end - closed.start < shown.detail_ns).all()


@on_real_traces
def test_nothing_of_a_real_trace_gets_lost(trace_path, tmp_path, name):
    trace = read_real(trace_path(name))
    events = event_file(trace, tmp_path / "e")
    shown = np.flatnonzero(events.place >= 0)
    assert (np.sort(events.event[: events.event_count]) == shown).all()
    recorded = shown[shown < len(trace.events)]
    assert (events.start[events.place[recorded]] == trace.events.start_ns[recorded]).all()
    assert (events.length[events.place[recorded]] == trace.events.dur_ns[recorded]).all()
    check_conservation(trace, events, [1, *LEVELS])
    for number in shown[:: max(1, len(shown) // 100)].tolist():
        facts = event_detail(events, number)
        assert facts.event == number
        if facts.why_gap:
            assert facts.gap_start_ns + facts.why_gap.values["gap"].value <= facts.start_ns


def test_bins_say_how_long_the_gpus_were_busy(tmp_path):
    trace = timeline("""
        op              | a............... |
        kernel 7        | .kk..k.......... |
        memcpy 9        | ..mmm........... |
        kernel 7 gpu1   | ............qqqq |""")
    events = event_file(trace, tmp_path / "e")
    quarters = busy_bins(events, 0, 16 * US, 4)
    most = [KernelsNamed("q", 1, 4 * US), KernelsNamed("k", 2, 3 * US)]
    assert quarters == BusyBins(0, 16 * US, "gpu", 2, [3 * US, 2 * US, 0, 4 * US], [1, 1, 0, 1], most)
    assert busy_bins(events, 2 * US, 5 * US, 1) == BusyBins(2 * US, 5 * US, "gpu", 2, [3 * US], [0], [])
    uneven = busy_bins(events, 0, 16 * US, 7)
    assert (sum(uneven.busy_ns), sum(uneven.kernels)) == (9 * US, 3)


def test_bins_of_a_recording_without_a_gpu_are_of_the_host(tmp_path):
    trace = timeline("""
        step      | 5555.... |
        op        | .aa..... |
        op worker | ..bb.... |""")
    assert busy_bins(event_file(trace, tmp_path / "e"), 0, 8 * US, 2) == BusyBins(
        0, 8 * US, "host", 1, [3 * US, 0], [0, 0], []
    )


@given(st.integers(-(1 << 59), 1 << 59), st.integers(1, 1 << 60), st.integers(1, 10_000))
def test_bins_cover_any_window(start_ns, length_ns, bins):
    edges = bin_edges(start_ns, start_ns + length_ns, bins)
    assert (edges[0], edges[-1], len(edges)) == (start_ns, start_ns + length_ns, bins + 1)
    assert (np.diff(edges) >= length_ns // bins).all()
