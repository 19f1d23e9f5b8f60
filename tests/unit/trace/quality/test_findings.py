"""For each possible defect, a drawn recording that has it and a similar one that is correct."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

from tb_steptime.analyses.overview import analyse as analyse_overview
from tb_steptime.metrics.job.device import where_it_runs
from tb_steptime.text import Note
from tb_steptime.trace.model import Device, Job, Trace, find_launches
from tb_steptime.trace.nesting import parent_places
from tb_steptime.trace.quality import recording_findings, repaired
from tb_steptime.trace.quality.clocks import with_device_later
from tb_steptime.trace.quality.lost_launches import lost_at_end_ns
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Int64, Kind, StringTable
from tests.drawn.memory import CPU, with_memory
from tests.drawn.timeline import timeline

MS = 1_000_000


def found(trace: Trace) -> list[tuple[str, str, int | None]]:
    return [(each.id, each.done, each.count) for each in recording_findings(repaired(trace))]


def on_device(trace: Trace) -> list[tuple[int, int]]:
    """Start and length of each activity, in cells of 1 ms."""
    events = trace.events
    rows = events.rows(*DEVICE_KINDS)
    return [(int(events.start_ns[row]) // MS, int(events.dur_ns[row]) // MS) for row in rows]


class TestClockSetBack:
    """Steps of 4 ms with an op in each cell; the clock of the CPU is set back by 6 ms after the second one."""

    RIGHT = """
        step     | 0000111122223333 |
        op       | abcdefghijklmnop |
        runtime  | abcdefghijklmnop |
        kernel 7 | .abcdefghijklmnop |"""
    BY = 6 * MS

    def drawn(self, by_ns: int = BY, *, numbers: Callable[[Int64], Int64] | None = None, device: bool = True) -> Trace:
        """by_ns: how far the clock is set back; numbers: other numbers of the ops."""
        drawing = self.RIGHT if device else "\n".join(self.RIGHT.splitlines()[:3])
        trace = timeline(drawing, cell_ns=MS)
        events, on_host = trace.events, np.ones(len(trace.events), bool)
        on_host[events.rows(*DEVICE_KINDS)] = False
        start = events.start_ns - np.where(on_host & (events.start_ns >= 8 * MS), by_ns, 0)
        external, ops = events.external_id.copy(), events.rows(Kind.CPU_OP)
        external[ops] = numbers(external[ops]) if numbers else external[ops]
        order = np.argsort(start, kind="stable")
        columns = {name: getattr(events, name)[order] for name in ("dur_ns", "kind", "name", "thread", "device")}
        columns |= {name: getattr(events, name)[order] for name in ("stream", "correlation_id")}
        moved = replace(events, start_ns=start[order], external_id=external[order], **columns)
        return replace(trace, events=moved, memo={})

    @pytest.mark.parametrize("device", [True, False])
    def test_ops_that_begin_before_earlier_ones_show_it(self, *, device: bool) -> None:
        (finding,) = recording_findings(repaired(self.drawn(device=device)))
        assert (finding.id, finding.trust) == ("clock_set_back", "none")
        assert finding.values["step"].value == self.BY - MS

    @pytest.mark.parametrize("swapped", [1, 2])
    def test_few_ops_in_another_order_do_not_show_it(self, swapped: int) -> None:
        """One op, or two, have smaller numbers than one before them."""

        def numbers(ids: Int64) -> Int64:
            moved = ids.copy()
            moved[4 : 5 + swapped] = ids[4 : 5 + swapped][::-1]
            return moved

        assert recording_findings(repaired(self.drawn(0, numbers=numbers))) == ()

    def test_the_device_stays_where_it_is(self) -> None:
        trace = self.drawn()
        assert on_device(repaired(trace)) == on_device(trace)

    def test_a_clock_that_runs_on_is_right(self) -> None:
        assert found(self.drawn(0)) == []

    def test_without_numbers_nothing_shows_the_order_of_calls(self) -> None:
        assert found(self.drawn(numbers=lambda own: 0 * own - 1, device=False)) == []

    def test_numbers_that_occur_twice_are_those_of_two_processes(self) -> None:
        assert found(self.drawn(numbers=lambda own: own % 8 + 1, device=False)) == []

    def test_recordings_that_were_joined_in_another_order_do_not_overlap(self) -> None:
        assert found(self.drawn(16 * MS, device=False)) == []


class TestOverruns:
    """Kernels of 1 ms with one name; one of them is written as ending 9 ms later."""

    RIGHT = """
        runtime  | abcdefghij........... |
        kernel 7 | .a.b.c.d.e.f.g.h.i.j. |"""

    def drawn(self, lane: str = "kernel 7", late: int = 9, **more: object) -> Trace:
        names = dict.fromkeys("abcdefghij", "k")
        trace = timeline(self.RIGHT.replace("kernel 7", lane), names=names, cell_ns=MS, **more)  # type: ignore[arg-type]
        return self.later(trace, 2, late)

    def later(self, trace: Trace, place: int, cells: int) -> Trace:
        dur = trace.events.dur_ns.copy()
        dur[trace.events.rows(Kind.KERNEL)[place]] += cells * MS
        return replace(trace, events=replace(trace.events, dur_ns=dur), memo={})

    def test_a_row_over_its_successor_ends_where_that_starts(self) -> None:
        mended = repaired(self.drawn())
        assert on_device(mended) == [
            (1, 1),
            (3, 1),
            (5, 2),
            (7, 1),
            (9, 1),
            (11, 1),
            (13, 1),
            (15, 1),
            (17, 1),
            (19, 1),
        ]
        (finding,) = recording_findings(mended)
        assert (finding.id, finding.done, finding.count) == ("rows_overrun", "repaired", 1)
        assert finding.share == 8 / 19
        assert finding.values["excess"].value == 8 * MS

    def test_a_short_one_on_a_busy_stream_covers_its_idle_time(self) -> None:
        """The overrun adds 0.7 % to the stream's work and hides a quarter of its idle time."""
        drawing = f"runtime | abc |\nkernel 7 | .{'a' * 150}.b......{'c' * 150} |"
        trace = self.later(timeline(drawing, cell_ns=MS), 1, 8)
        assert on_device(trace) == [(1, 150), (152, 9), (159, 150)]
        assert on_device(repaired(trace)) == [(1, 150), (152, 7), (159, 150)]
        assert found(trace) == [("rows_overrun", "repaired", 1)]

    def test_the_trace_that_was_read_is_as_it_was(self) -> None:
        trace = self.drawn()
        repaired(trace)
        assert on_device(trace)[2] == (5, 10)

    def test_the_last_row_of_a_stream_has_nothing_to_run_over(self) -> None:
        trace = self.later(self.drawn(late=0), 9, 50)
        assert repaired(trace) is trace

    def test_a_row_of_another_stream_is_no_successor(self) -> None:
        trace = timeline("runtime | ab....... |\nkernel 7 | .aaaaaaa |\nkernel 8 | ...bb... |", cell_ns=MS)
        assert found(trace) == []

    def test_kernels_of_one_graph_launch_share_the_number_of_a_stream(self) -> None:
        trace = timeline(
            "runtime | g......... |\nkernel 7 | .ggggg.... |\nkernel 7 | ..gg.gg.g. |",
            calls={"g": "cudaGraphLaunch"},
            cell_ns=MS,
        )
        assert found(trace) == []

    def test_overlaps_of_programmatic_launches_are_microseconds(self) -> None:
        trace = self.drawn(late=0)
        dur = trace.events.dur_ns.copy()
        dur[trace.events.rows(Kind.KERNEL)[:-1]] = 2 * MS + 4_000
        assert found(replace(trace, events=replace(trace.events, dur_ns=dur), memo={})) == []

    def test_two_rows_of_one_start_are_two_lanes(self) -> None:
        trace = timeline("runtime | ab....... |\nkernel 7 | .aaaaaaa |\nkernel 7 | .bb..... |", cell_ns=MS)
        assert found(trace) == []

    def test_rows_of_a_usual_length_overlap_on_a_queue_that_streams_share(self) -> None:
        """ROCm writes this: collectives of one length, and short kernels beside them."""
        trace = timeline(
            """
            runtime  | xyzabc...................... |
            kernel 0 | .xxxxxx..yyyyyy..zzzzzz..... |
            kernel 0 | ..a........b........c....... |""",
            names=dict.fromkeys("xyz", "rccl") | dict.fromkeys("abc", "k"),
            cell_ns=MS,
        )
        assert found(trace) == []


class TestClocks:
    """Launches every 10 ms; the work of each reaches the device 1 ms later."""

    @staticmethod
    def drawn(*starts: int) -> Trace:
        calls = "".join(f"{name}........." for name in "abcdefgh")
        lanes = [" " * start + name for name, start in zip("abcdefgh", starts, strict=True)]
        return timeline(
            "\n".join([f"runtime | {calls} |", *(f"kernel 7 | {lane} |" for lane in lanes)]), cell_ns=MS // 10
        )

    def test_the_device_is_moved_by_the_least_that_makes_launches_come_first(self) -> None:
        trace = self.drawn(*(max(0, 10 * place - 5) for place in range(8)))
        mended = repaired(trace)
        launches, events = find_launches(mended), mended.events
        wait = events.start_ns[launches.activity] - events.start_ns[launches.call]
        assert wait.tolist() == [507_000, *[7_000] * 7]
        assert found(trace) == [("clocks_shifted", "repaired", 7)]
        assert (np.diff(events.start_ns) >= 0).all()
        assert events.kind[mended.kernels.event].tolist() == [Kind.KERNEL] * 8

    def test_a_clock_that_drifts_is_followed(self) -> None:
        trace = self.drawn(*(9 * place for place in range(8)))
        mended = repaired(trace)
        launches, events = find_launches(mended), mended.events
        wait = events.start_ns[launches.activity] - events.start_ns[launches.call]
        assert wait.max() <= 8_000
        assert wait.min() >= 0
        assert events.dur_ns[launches.activity] == pytest.approx([111_111] * 8, abs=1)
        assert found(trace) == [("clocks_drift", "repaired", 7)]

    @staticmethod
    def queued(call: str) -> Trace:
        """Kernels without a gap between them, each of which may have waited for the one before, and then a call."""
        return timeline("runtime | a.b.c.dsssssss |\nkernel 7 | abcd |", calls={"s": call}, cell_ns=MS // 10)

    @pytest.mark.parametrize("call", ["cudaDeviceSynchronize", "cudaStreamSynchronize", "hipEventSynchronize"])
    def test_a_call_that_waits_says_how_late_work_is_that_queues(self, call: str) -> None:
        trace = self.queued(call)
        mended = repaired(trace)
        events = mended.events
        (waits,) = (row for row in range(len(events)) if mended.strings[int(events.name[row])] == call)
        ends = events.ends(events.rows(Kind.KERNEL)).max()
        assert events.ends(np.array([waits]))[0] - ends == 7_000
        assert found(trace) == [("clocks_shifted", "repaired", 3)]

    def test_without_such_a_call_the_shift_is_a_bound(self) -> None:
        trace = self.queued("cudaStreamIsCapturing")
        mended = repaired(trace)
        assert found(trace) == [("clocks_bounded", "repaired", 3)]
        assert recording_findings(mended)[0].trust == "low"

    @staticmethod
    def waited(late_us: int, last_launch_us: int = 48) -> Trace:
        """Work that begins 10 us after its launch, and calls that return 7 us after it, if the clocks agree."""
        trace = timeline(f"""
            runtime  | a...b....c...................................................................... |
            runtime  | ............ssssssssssssssssssssssssssssssss.................................... |
            runtime  | {"." * last_launch_us}d |
            runtime  | .................................................yyyyyyyyyyyyyyyyyyyyyyyy....... |
            kernel 7 | ..........aaaabbbbbbbbbcccccccccccccc..................................... |
            kernel 7 | ..........................................................dddddddd............ |""",
            calls={"s": "cudaStreamSynchronize", "y": "cudaDeviceSynchronize"})  # fmt: skip
        by_ns = late_us * 1_000
        return with_device_later(trace, lambda instants: np.full(len(instants), by_ns, np.int64))

    def test_the_device_is_moved_earlier_where_calls_return_before_its_work_ends(self) -> None:
        right = self.waited(0)
        for late_us in (30, 200, 5_000):
            mended = repaired(self.waited(late_us))
            assert [(each.id, each.done, each.count) for each in mended.repaired] == [("clocks_late", "repaired", 2)]
            moved = mended.events.start_ns[mended.events.rows(Kind.KERNEL)]
            (error,) = {int(each) for each in moved - right.events.start_ns[right.events.rows(Kind.KERNEL)]}
            assert abs(error) <= 3_000

    def test_a_call_that_returns_early_shows_no_clock_if_a_launch_leaves_no_room(self) -> None:
        """It waited for another stream."""
        assert found(self.waited(0)) == []
        assert found(self.waited(30, last_launch_us=80)) == []

    def test_work_that_begins_long_after_its_launch_on_an_idle_device_is_no_clock(self) -> None:
        """The correlation ids of the launches are mixed up."""
        trace = timeline("runtime | abcdefgh............ |\n" + "\n".join(
            f"kernel 7 | {'.' * start}{name} |" for name, start in zip("ghabcdef", range(2, 20, 2), strict=False)
        ), cell_ns=MS)  # fmt: skip
        assert found(trace) == [("clocks_beyond_repair", "said", 2)]
        assert on_device(repaired(trace)) == on_device(trace)

    def test_work_that_follows_its_launch_is_right(self) -> None:
        assert found(self.drawn(*(10 * place + 1 for place in range(8)))) == []

    def test_one_launch_joined_with_a_call_of_the_same_number_is_no_clock(self) -> None:
        starts = [10 * place + 1 for place in range(8)]
        assert found(self.drawn(*starts[:6], 3, starts[7])) == []

    def test_work_from_before_the_recording_has_no_launch_to_be_before(self) -> None:
        assert found(timeline("runtime | ....a.. |\nkernel 7 | xx.y.a. |", cell_ns=MS)) == []


class TestLostLaunches:
    def drawn(self, kernels: str, calls: str = "abcdefghij") -> Trace:
        return timeline(f"runtime | {calls}.. |\nkernel 7 | {kernels}.. |")

    def test_the_end_is_missing(self) -> None:
        trace = self.drawn(".abcdef...")
        assert found(trace) == [("end_missing", "left_out", 4)]
        assert recording_findings(trace)[0].share == 0.4

    @pytest.mark.parametrize(("kernels", "trust"), [("..........", "none"), (".a........", "medium")])
    def test_with_copies_alone_nothing_shows_what_the_device_does(self, kernels: str, trust: str) -> None:
        trace = timeline(f"""
            runtime  | abcdefghijm.. |
            memcpy 9 | ...........m. |
            kernel 7 | {kernels}... |""")
        assert [(each.id, each.trust) for each in recording_findings(trace)] == [("end_missing", trust)]

    def test_the_recording_counts_up_to_the_last_launch_that_has_its_work(self) -> None:
        trace = timeline("op | pppppppppp |\nruntime | abcdefghij |\nkernel 7 | .abcdef... |")
        assert find_steps(trace).window == (0, 7_000)

    def test_what_is_missing_is_estimated_from_what_is_there(self) -> None:
        """Four launches have no work, and the kernels of the other six take 11 us."""
        trace = timeline("op | pppppppppp |\nruntime | abcdefghij |\nkernel 7 | .aabbcddeeff |")
        assert lost_at_end_ns(trace) == 4 * 11_000 // 6
        assert analyse_overview(trace).not_recorded_ns == 4 * 11_000 // 6
        assert lost_at_end_ns(self.drawn(".abcdefghij")) == 0
        marked = timeline("step | 0000011111 |\nruntime | abcdefghij |\nkernel 7 | .abcdef...... |")
        assert analyse_overview(marked).not_recorded_ns == 0

    def test_buffers_were_dropped_in_between(self) -> None:
        assert found(self.drawn(".abcdghij.")) == [("launches_lost", "said", 2)]

    def test_all_launches_have_their_work(self) -> None:
        assert found(self.drawn(".abcdefghij")) == []

    @pytest.mark.parametrize("call", ["cudaMemcpyAsync", "cudaMemsetAsync", "cudaStreamSynchronize", "cudaGraphLaunch"])
    def test_calls_that_need_not_have_any(self, call: str) -> None:
        trace = timeline("runtime | abcdefghij. |\nkernel 7 | .abcdef.hi. |", calls=dict.fromkeys("gj", call))
        assert found(trace) == []

    @pytest.mark.parametrize("then", ["...", "hij"], ids=["one capture", "ends in a second one"])
    def test_what_is_captured_runs_later(self, then: str) -> None:
        names = dict.fromkeys("st", "cudaStreamBeginCapture") | {"e": "cudaStreamEndCapture", "g": "cudaGraphLaunch"}
        launches = dict.fromkeys("bcdhij", "cudaLaunchKernel")
        trace = timeline(f"runtime | a.sbcde.g..t{then} |\nkernel 7 | .a.......gg |", calls=names | launches)
        assert found(trace) == []

    def test_the_call_of_the_driver_in_one_of_the_runtime_is_the_same_launch(self) -> None:
        trace = timeline(
            "runtime | aabb.. |\ndriver | x.y... |\nkernel 7 | ..a.b. |",
            calls=dict.fromkeys("ab", "cudaLaunchKernel") | dict.fromkeys("xy", "cuLaunchKernel"),
        )
        assert found(trace) == []


class TestReplays:
    """Launches of graphs. Each replay is drawn as its kernels, one cell each, with the gaps between them."""

    def drawn(self, *replays: str, grids: dict[str, int] | None = None) -> Trace:
        letters = "uvwxyz"[: len(replays)]
        length = 1 + max(map(len, replays))
        lanes = [
            f"kernel 7 | {'.' * (length * place + at + 1)}{letters[place]} |"
            for place, replay in enumerate(replays)
            for at, kernel in enumerate(replay)
            if kernel != "."
        ]
        runtime = "".join(f"{name}{'.' * (length - 1)}" for name in letters)
        trace = timeline(
            "\n".join([f"runtime | {runtime} |", *lanes]),
            calls=dict.fromkeys(letters, "cudaGraphLaunch"),
            kernels={name: {"grid": (grid, 1, 1)} for name, grid in (grids or {}).items()},
        )
        return self.named(trace, "".join(replays).replace(".", ""))

    @staticmethod
    def named(trace: Trace, letters: str) -> Trace:
        """Kernels named by letters, in time order."""
        strings = StringTable([*trace.strings.strings, *"abcdef"])
        name = trace.events.name.copy()
        name[trace.events.rows(Kind.KERNEL)] = [len(trace.strings) + "abcdef".index(each) for each in letters]
        return replace(trace, strings=strings, events=replace(trace.events, name=name), memo={})

    def test_nodes_that_others_have_were_dropped(self) -> None:
        trace = self.drawn("abcd", "abcd", "a..d", "abcd", "abcd")
        assert found(trace) == [("replays_incomplete", "said", 2)]
        assert recording_findings(trace)[0].share == 2 / 20
        assert recording_findings(trace)[0].ranges == ((10_000, 11_000),)

    @pytest.mark.parametrize("replay", ["..cd", "ab..", ".bc."])
    def test_its_begin_or_its_end_was_dropped(self, replay: str) -> None:
        assert found(self.drawn("abcd", "abcd", replay, "abcd")) == [("replays_incomplete", "said", 2)]

    def test_the_recording_ends_within_the_last_replay(self) -> None:
        assert found(self.drawn("abcd", "abcd", "abcd", "ab")) == [("replays_incomplete", "said", 2)]

    def test_all_replays_are_whole(self) -> None:
        assert found(self.drawn("abcd", "abcd", "abcd")) == []

    def test_streams_of_a_graph_run_in_any_order(self) -> None:
        assert found(self.drawn("abcd", "acbd", "abcd", "cabd")) == []

    def test_another_graph_that_runs_again_and_again(self) -> None:
        assert found(self.drawn("abcd", "a..d", "abcd", "a..d", "abcd", "abcd")) == []

    def test_another_graph_of_other_kernels(self) -> None:
        assert found(self.drawn("abcd", "abcd", "ef.a", "abcd")) == []

    def test_a_graph_for_another_batch_size(self) -> None:
        trace = self.drawn("abcd", "abcd", "a..d", "abcd", grids={"u": 64, "v": 64, "w": 32, "x": 64})
        assert found(trace) == []

    def test_conditional_nodes_that_did_not_run_leave_no_gap(self) -> None:
        assert found(self.drawn("abcd", "abcd", "ad", "abcd")) == []

    def test_a_loop_runs_as_often_as_it_runs(self) -> None:
        assert found(self.drawn("abbbd", "abbbd", "abbd", "abd", "abbbd", "abbbd")) == []

    def test_most_replays_differ(self) -> None:
        assert found(self.drawn("abcd", "abcd", "a..d", "ab.d", "a.cd", "..cd")) == []


class TestLaunchesOfGraphs:
    def drawn(self, with_work: str) -> Trace:
        """One character per launch of a graph: "x" if it has work, "." if it has none."""
        runtime, kernels = "".join(f"{each}..." for each in "abcdefghij"[: len(with_work)]), ""
        for name, drawn in zip("abcdefghij", with_work, strict=False):
            kernels += f".{name * 2 if drawn == 'x' else '..'}."
        return timeline(
            f"runtime | {runtime} |\nkernel 7 | {kernels} |", calls=dict.fromkeys("abcdefghij", "cudaGraphLaunch")
        )

    def test_the_end_is_missing(self) -> None:
        assert found(self.drawn("xxxxxxx...")) == [("end_missing", "left_out", 3)]

    def test_the_last_one_has_no_work_yet(self) -> None:
        assert found(self.drawn("xxxxxxxxx.")) == [("end_missing", "left_out", 1)]

    def test_several_in_a_row_lost_their_work(self) -> None:
        assert found(self.drawn("xxx....xxx")) == [("launches_lost", "said", 4)]

    def test_an_empty_graph_is_launched_in_each_step(self) -> None:
        assert found(self.drawn("xx.xx.xx.x")) == []
        assert found(self.drawn("xx.xx.xx..")) == []

    def test_graphs_whose_work_is_never_recorded(self) -> None:
        assert found(self.drawn("x.........")) == []


class TestMarks:
    def test_one_after_all_work(self) -> None:
        trace = timeline("step | ..........5 |\nruntime | abcd....... |\nkernel 7 | .aaabbbccdd |")
        assert found(trace) == [("marks_meaningless", "left_out", 1)]
        assert find_steps(trace).by == "recording"

    def test_work_at_the_same_time_counts_once(self) -> None:
        trace = timeline(
            "step | ..........5 |\nruntime | abcd....... |\nkernel 7 | .aaabbb.... |\nkernel 9 | ...ccc.ddd. |"
        )
        (finding,) = recording_findings(trace)
        assert {key: value.value for key, value in finding.values.items()} == {"count": 1, "time": 1_000, "work": 9_000}

    def test_the_host_s_part_was_not_recorded(self) -> None:
        step, kernels = "." * 99 + "5", "k" * 99
        assert found(timeline(f"step | {step} |\nkernel 7 | {kernels} |")) == [("marks_meaningless", "left_out", 1)]

    def test_the_host_s_part_was_not_recorded_and_marks_cover_the_work(self) -> None:
        assert found(timeline("step | 5555566666 |\nkernel 7 | kkkk.kkkk. |")) == []

    def test_a_long_evaluation_between_steps(self) -> None:
        evaluation, work = "." * 196, "e" * 196
        trace = timeline(
            f"step | 11{evaluation}22 |\nruntime | ae{evaluation}b. |\nkernel 7 | .a{work}b |",
            calls={"e": "cudaLaunchKernel"},
        )
        assert find_steps(trace).by == "marks"
        assert found(trace) == []

    def test_a_job_on_the_cpu(self) -> None:
        assert found(timeline("step | 5566 |\nop | aabb |")) == []


MALLOC_FREE = {"m": "cudaMalloc", "f": "cudaFree", "g": "cudaFree", "n": "cudaMalloc"}


class TestMemoryCalls:
    def test_an_allocation_that_failed_is_tried_again(self) -> None:
        trace = timeline("op | aaaaaaaa.. |\nruntime | .msfgn..k. |\nkernel 7 | ........kk |",
                         names={"a": "aten::empty_strided"},
                         calls=MALLOC_FREE | {"s": "cudaDeviceSynchronize"})  # fmt: skip
        assert found(trace) == [("memory_short", "said", 1)]

    def test_a_cache_that_the_script_empties(self) -> None:
        trace = timeline("op | aa....aa.. |\nruntime | .m.fg..nk. |\nkernel 7 | ........kk |",
                         names={"a": "aten::empty_strided"}, calls=MALLOC_FREE)  # fmt: skip
        assert found(trace) == []

    def test_a_library_that_sets_itself_up(self) -> None:
        trace = timeline("op | aaaaaaaa.. |\nruntime | .mcfn..... |\nruntime | ........k. |\nkernel 7 | ........kk |",
                         names={"a": "aten::addmm"}, calls=MALLOC_FREE | {"c": "cudaEventCreate"})  # fmt: skip
        assert found(trace) == []

    @staticmethod
    def steady(calls: str) -> Trace:
        """Thirty ops that allocate, each of which makes these calls."""
        names = {"a": "aten::empty"}
        op, runtime = "aaaa." * 30, "".join(f"{each:<4}." for each in calls.split(",")).replace(" ", ".")
        return timeline(f"op | {op} |\nruntime | {runtime}k. |\nkernel 7 | {'.' * len(runtime)}.k |",
                        names=names, calls={"m": "cudaMalloc", "f": "cudaFree"})  # fmt: skip

    def test_nothing_is_kept_for_the_next_allocation(self) -> None:
        trace = self.steady(",".join(["m.f"] * 30))
        assert found(trace) == [("caching_off", "said", 30)]

    def test_a_cache_that_fills(self) -> None:
        trace = self.steady(",".join(["m"] * 22 + [""] * 7 + ["fff"]))
        assert found(trace) == []


class TestUnread:
    """Four ops of 3 us and rows of a kind that is not read; from a quarter of all rows on they are many."""

    OPS = "op | aaabbbcccddd |"

    @pytest.mark.parametrize(
        ("unread", "id", "share"),
        [("s...........", "rows_unread", 1 / 5), ("s.t.........", "mostly_unread", 1 / 3)],
    )
    def test_rows_beside_ops_change_no_figure(self, unread: str, id: str, share: float) -> None:
        trace = timeline(f"{self.OPS}\nunread | {unread} |")
        (finding,) = recording_findings(trace)
        assert (finding.id, finding.share, finding.affects, finding.trust) == (id, share, (), "high")
        assert where_it_runs(trace).device == "cpu"

    def test_rows_in_a_process_of_their_own_may_be_a_device(self) -> None:
        trace = timeline(f"{self.OPS}\nunread 7 | s.t.t....... |\nunread | u........... |")
        (finding,) = recording_findings(trace)
        assert (finding.id, finding.count, finding.trust) == ("mostly_unread", 4, "none")
        assert finding.affects == ("gpu_time", "launches", "host_time")
        assert [str(finding.values[key].value) for key in ("all", "names")] == ["8", "t and s"]
        assert where_it_runs(trace).device == "unknown"

    @pytest.mark.parametrize("process", [7, None])
    def test_launched_work_may_be_in_them(self, process: int | None) -> None:
        unread = "unread 7" if process else "unread"
        trace = timeline(f"{self.OPS}\nruntime | .k.......... |\n{unread} | s.t.t....... |", calls={"k": "Launch"})
        missing = [each.id for each in recording_findings(trace) if each.id.startswith("work_")]
        assert missing == ([] if process else ["work_not_recorded"])

    @pytest.mark.parametrize("shown", ["aten::mkldnn_convolution", "a kernel"])
    def test_where_another_row_shows_the_device(self, shown: str) -> None:
        kernel = "\nkernel 7 | kkk......... |" if shown == "a kernel" else ""
        trace = timeline(f"{self.OPS}\nunread 9 | s.t.t....... |{kernel}", names={"a": shown})
        assert [(each.id, each.trust) for each in recording_findings(trace)] == [("mostly_unread", "high")]

    def test_arrows_of_the_autograd_profiler_show_what_is_missing(self) -> None:
        trace = timeline(f"{self.OPS}\nunread 7 | s.t.t....... |")
        exported = replace(trace, job=replace(trace.job, kernels_left_out=True))
        assert {each.id for each in recording_findings(exported)} == {"rows_unread", "device_unseen_by_arrows"}


_LAUNCH, _WAIT = "cudaLaunchKernel", "cudaStreamSynchronize"


class TestUnrecordedDevice:
    def test_launch_calls_without_any_work(self) -> None:
        trace = timeline("op | aaaa |\nruntime | .k.. |", calls={"k": "cudaLaunchKernel"})
        assert found(trace) == [("work_not_recorded", "said", 1)]

    @pytest.mark.parametrize(
        ("runtime", "id"),
        [
            ("k.w..............", "work_waited_for"),
            ("k.w.............k", "work_ran_unrecorded"),
            ("w.k..", "work_not_recorded"),
            ("k.q..", "work_not_recorded"),
        ],
    )
    @pytest.mark.parametrize("wait", ["cudaDeviceSynchronize", "hipStreamSynchronize", "cuEventSynchronize"])
    def test_work_that_a_call_waits_for_ran_while_it_was_recorded(self, runtime: str, id: str, wait: str) -> None:
        calls = {"k": "cudaLaunchKernel", "w": wait, "q": "cudaEventQuery"}
        launches = runtime.count("k")
        assert found(timeline(f"runtime | {runtime} |", calls=calls)) == [(id, "said", launches)]

    def test_how_long_calls_wait_is_the_least_that_the_work_takes(self) -> None:
        trace = timeline("""
            runtime 1 | v.k.wwww.. |
            runtime 2 | ......wwww |""", calls=dict(zip("kwv", (_LAUNCH, _WAIT, _WAIT), strict=True)))  # fmt: skip
        (finding,) = recording_findings(trace)
        waited = {name: finding.values[name].value for name in ("waited", "waited_share")}
        assert (finding.id, waited) == ("work_waited_for", {"waited": 6_000, "waited_share": 0.6})

    @pytest.mark.parametrize(
        ("runtime", "id", "number"),
        [
            ("sabc.e....", "only_captures", 3),
            ("sabc......", "only_captures", 3),  # the recording ends in the capture
            ("sab.e..c..", "work_not_recorded", 1),
            ("sab.e..g..", "work_not_recorded", 1),
            ("...sabc..e", "only_captures", 3),
        ],
    )
    def test_launches_that_are_captured_run_nothing(self, runtime: str, id: str, number: int) -> None:
        calls = {"s": "hipStreamBeginCapture", "e": "hipStreamEndCapture", "g": "hipGraphLaunch", "c": "hipMemcpyAsync"}
        trace = timeline(f"runtime | {runtime} |", calls=calls | dict.fromkeys("ab", "hipModuleLaunchKernel"))
        assert found(trace) == [(id, "said", number)]

    def test_calls_that_launch_nothing(self) -> None:
        assert found(timeline("op | aaaa |\nruntime | .k.. |", calls={"k": "cudaGetDeviceCount"})) == []

    @pytest.mark.parametrize(
        ("drawing", "expected"),
        [
            ("runtime | aa.bb.ccc |", [("no_work", "said", 3)]),
            ("runtime | aa.bb.kkk |", [("work_not_recorded", "said", 1)]),
            ("runtime | aa.bb.mmm |", []),  # an allocation is work, if little
            ("runtime | aa.bb.ccc |\nop | .o....... |", []),
            ("runtime | aa.bb.ccc |\npython | pppppp... |", []),
            ("runtime | aa.bb.ccc |\nuser u | uuuuuuuuu |", []),
            ("runtime | aa.bb.ccc |\nstep | 111111111 |", []),
            ("runtime | aa.bb.ccc |\noverhead | ..o...... |", [("no_work", "said", 3)]),
        ],
    )
    def test_a_recording_of_the_profilers_own_calls(self, drawing: str, expected: list[tuple[str, str, int]]) -> None:
        calls = {"a": "cudaGetDeviceProperties_v2", "b": "cudaStreamIsCapturing", "c": "cudaDeviceSynchronize"}
        calls |= {"k": "cudaLaunchKernel", "m": "cudaMalloc"}
        assert found(timeline(drawing, calls=calls)) == expected

    @pytest.mark.parametrize(
        ("frames", "ids"),
        [
            ("python | mmmmmmmmm |\npython | ssss.pppp |", ["no_work"]),
            ("python | mmmmmmmmm |\npython | ssss.pppp |\npython | .bb....b. |", ["no_work"]),
            ("python | mmmmmmmmm |\npython | ssss.pppp |\npython @other | wwwwwwwww |", ["no_work"]),
            ("python | mmmmmmmmm |\npython | sss.fpppp |", []),  # f runs between start and stop
            ("python | mmmmmmmmm |\npython | ssss.pppp |\npython @other | ..www.... |", []),
            ("python | mmmmmmm.. |\npython | ssss.pp.. |\npython | .......f. |", []),  # and here behind the stop
            ("python | mmmmmmmmm |", []),  # without the profiler's frames, m may do anything
        ],
    )
    def test_call_stacks_of_nothing_but_the_profiler(self, frames: str, ids: list[str]) -> None:
        names = {"s": "torch/profiler/profiler.py(812): __enter__", "p": "torch/autograd/profiler.py(374): __exit__"}
        names |= {"m": "train.py(27): main", "b": "<built-in function getattr>", "f": "train.py(9): sample"}
        trace = timeline(f"runtime | .......c. |\n{frames}", names=names, calls={"c": "cudaDeviceSynchronize"})
        assert [id for id, *_ in found(trace)] == ids

    def test_tensors_of_another_device(self) -> None:
        trace = with_memory(timeline("op | aaaa |"), "a +512 @1, b +512 @2")
        assert found(trace) == [("device_unseen_by_memory", "said", 2)]

    def test_tensors_of_the_cpu(self) -> None:
        assert found(with_memory(timeline("op | aaaa |"), "a +512 @1, b +512 @2", device=CPU)) == []

    @pytest.mark.parametrize(
        ("labels_gpus", "drawing", "op", "ids"),
        [
            (False, "op | aaaa |", "aten::mm", ["profiler_not_started"]),
            (True, "op | aaaa |", "aten::mm", []),  # the activities of the CPU were all that was asked for
            (None, "op | aaaa |", "aten::mm", []),
            (False, "op | aaaa |", "aten::mkldnn_convolution", []),  # no job of the GPU
            (False, "op | aaaa |\nkernel 7 | .kk. |", "aten::mm", []),
            (False, "op | aaaa |\nruntime | .k.. |", "aten::mm", ["work_not_recorded"]),
        ],
    )
    def test_a_profiler_that_could_not_start_on_the_gpus(
        self, labels_gpus: bool | None, drawing: str, op: str, ids: list[str]
    ) -> None:
        job, listed = Job(labels_gpus=labels_gpus), {0: Device(0, "NVIDIA H200")}
        names = {"names": {"a": op}, "calls": {"k": "cudaLaunchKernel"}}
        trace = timeline(drawing, job=job, devices=listed, **names)
        assert [id for id, *_ in found(trace)] == ids
        assert [id for id, *_ in found(timeline(drawing, job=job, devices={}, **names))] == [
            id for id in ids if id == "work_not_recorded"
        ]

    @pytest.mark.parametrize(("device", "ids"), [(CPU, []), ((1, 0), ["profiler_not_started"])])
    def test_memory_shows_whether_such_a_job_runs_on_the_gpus(self, device: tuple[int, int], ids: list[str]) -> None:
        job, listed = Job(labels_gpus=False), {0: Device(0, "NVIDIA H200")}
        trace = with_memory(timeline("op | aaaa |", job=job, devices=listed), "a +512 @1, b +512 @2", device=device)
        assert [id for id, *_ in found(trace)] == ids

    def test_ops_of_metal(self) -> None:
        trace = timeline("op | aabb |", names={"a": "aten::linear_backward", "b": "aten::_mps_convolution"})
        assert found(trace) == [("work_on_mps", "said", 2)]

    def test_that_op_of_a_library_of_the_cpu(self) -> None:
        trace = timeline("op | aabb |", names={"a": "aten::linear_backward", "b": "aten::mkldnn_convolution"})
        assert found(trace) == []

    def test_an_op_that_moves_more_than_memory_can(self) -> None:
        trace = timeline(
            "op | aaa |", names={"a": "aten::pow"}, inputs={"a": ("[[1000000,3200],[]]", '["float","Scalar"]')}
        )
        assert found(trace) == [("device_unseen_by_rate", "said", 1)]

    def test_an_op_that_takes_its_time(self) -> None:
        trace = timeline("op | aaa |", names={"a": "aten::pow"}, cell_ns=MS * 300,
                         inputs={"a": ("[[1000000,3200],[]]", '["float","Scalar"]')})  # fmt: skip
        assert found(trace) == []

    @pytest.mark.parametrize(
        "shape", ["[[1e300,1e300]]", "[[99999999999999999999]]", "[[-5,3]]", "[]", '["x"]', "{", "{}"]
    )
    def test_a_shape_that_no_tensor_has(self, shape: str) -> None:
        assert found(timeline("op | aaa |", names={"a": "aten::pow"}, inputs={"a": (shape, '["float"]')})) == []

    def test_a_view_moves_nothing(self) -> None:
        trace = timeline(
            "op | aaa |", names={"a": "aten::view"}, inputs={"a": ("[[1000000,3200],[]]", '["float","Scalar"]')}
        )
        assert found(trace) == []

    def test_the_host_waits_whenever_it_reads_a_number(self) -> None:
        trace = timeline("op | aa.bb.cc |", names=dict.fromkeys("abc", "aten::_local_scalar_dense"), cell_ns=MS)
        assert found(trace) == [("device_unseen_by_waits", "said", 3)]

    def test_a_thread_that_the_scheduler_stopped_once(self) -> None:
        assert found(timeline("op | aa...... |", names={"a": "aten::_local_scalar_dense"}, cell_ns=MS)) == []

    @pytest.mark.parametrize(
        ("others", "read", "idle", "unseen"),
        [
            ("o." * 100, 40, 0, True),
            ("o." * 99, 40, 0, False),  # few ops to compare it with
            ("o." * 99 + "ppppp.", 40, 0, False),  # another op takes an eighth of it
            ("o." * 100, 40, 2_000, False),  # nearly all of the time is something else
        ],
    )
    def test_one_read_that_takes_far_longer_than_all_other_ops(
        self, others: str, read: int, idle: int, unseen: bool
    ) -> None:
        trace = timeline(
            f"""
            step | {"0" * (len(others) + read + idle)} |
            op   | {others}{"a" * read}{"." * idle} |""",
            names={"a": "aten::_local_scalar_dense", "o": "aten::mul", "p": "aten::mm"},
            cell_ns=MS // 10,
        )
        assert ([id for id, *_ in found(trace)] == ["device_unseen_by_waits"]) is unseen

    @pytest.mark.parametrize(
        ("idle", "others", "unseen"),
        [(90, "o.o.o.", False), (90, "......", True), (10, "o.o.o.", True)],
        ids=["a busy machine", "only reads wait", "waits of much of the time"],
    )
    def test_a_busy_machine_interrupts_reads_as_often_as_other_ops(self, idle: int, others: str, unseen: bool) -> None:
        trace = timeline(
            f"""
            step | {"0" * (12 + idle)} |
            op   | a.b.c.{others}{"." * idle} |""",
            names=dict.fromkeys("abc", "aten::_local_scalar_dense") | {"o": "aten::add"},
            cell_ns=MS,
        )
        assert ([id for id, *_ in found(trace)] == ["device_unseen_by_waits"]) is unseen


class TestUnnamedDevice:
    @staticmethod
    def drawn(*names: str, device: str = "") -> Trace:
        kernels = dict(zip("abc", names, strict=False))
        return timeline("kernel 7 | aabbcc |", names=kernels, devices={0: Device(0, device)})

    def test_the_latest_generation_of_its_kernels(self) -> None:
        trace = self.drawn("volta_sgemm_128x64_nn", "ampere_fp16_s16816gemm_fp16_128x128", "add")
        assert found(trace) == [("device_unnamed", "said", None)]
        assert recording_findings(trace)[0].values["generation"].value == "Ampere"

    def test_a_kernel_that_only_contains_the_letters(self) -> None:
        assert found(self.drawn("my_volta_free_kernel", "gemm_nosm80_x", "add")) == []

    def test_a_device_with_a_name(self) -> None:
        assert found(self.drawn("volta_sgemm_128x64_nn", device="Tesla V100")) == []


class TestCrossings:
    """Ops with calls inside them, one after the other, on a training thread and on the one of the backward pass."""

    RIGHT = """
        op        | aaaaaaaabbbbbbbbbbbb.eeeeeeee |
        op        | ........ccccddddddd..fffff... |
        runtime   | ..gggggg.hhh...iiii..jjjjj... |
        op other  | kkkkkkkkkkkkkkkkmmmmmmmm..... |
        op other  | ..llllllllllllll.nnnnnnn..... |"""
    #: A cell that is no multiple of what is rounded to.
    CELL_NS = 12_371

    def exact(self) -> Trace:
        return timeline(self.RIGHT, cell_ns=self.CELL_NS)

    def nested(self, trace: Trace) -> list[int]:
        return parent_places(trace, np.arange(len(trace.events))).tolist()

    def cut_ns(self, before: Trace, after: Trace) -> list[int]:
        return (before.events.dur_ns - after.events.dur_ns).tolist()

    def moved(self, trace: Trace, start: Int64, dur: Int64) -> Trace:
        events = trace.events
        assert (np.lexsort((-dur, start)) == np.arange(len(start))).all()
        return replace(trace, events=replace(events, start_ns=start, dur_ns=dur.astype(events.dur_ns.dtype)), memo={})

    @pytest.mark.parametrize("since_ns", [0, 3_117, 1_764_457_406_366_893_987])
    @pytest.mark.parametrize("step_ns", [125, 250, 500, 1_000])
    def test_what_is_nested_stays_so_though_start_and_length_are_rounded(self, since_ns: int, step_ns: int) -> None:
        trace = self.exact()
        start = (trace.events.start_ns + since_ns + step_ns // 2) // step_ns * step_ns - since_ns
        dur = (trace.events.dur_ns.astype(np.int64) + step_ns // 2) // step_ns * step_ns
        rounded = self.moved(trace, start, dur)
        mended = repaired(rounded)
        assert self.nested(mended) == self.nested(trace)
        assert all(0 <= cut <= 1_000 for cut in self.cut_ns(rounded, mended))

    def test_the_earlier_op_ends_where_the_next_one_starts(self) -> None:
        trace = self.exact()
        names = [trace.strings[name] for name in trace.events.name.tolist()]
        start, dur = trace.events.start_ns.copy(), trace.events.dur_ns.astype(np.int64)
        for each in "bc":  # both, and the call before them ends with its op
            start[names.index(each)] -= 1
            dur[names.index(each)] += 1
        early = self.moved(trace, start, dur)
        assert self.nested(early) != self.nested(trace)
        mended = repaired(early)
        assert self.nested(mended) == self.nested(trace)
        shorter = [name for name, cut in zip(names, self.cut_ns(early, mended), strict=True) if cut]
        assert sorted(shorter) == ["a", "cudaLaunchKernel"]
        assert mended.repaired == ()

    def test_exact_times_and_overlaps_of_more_than_rounding_stay(self) -> None:
        trace = self.exact()
        assert self.cut_ns(trace, repaired(trace)) == [0] * len(trace.events)
        start, dur = trace.events.start_ns.copy(), trace.events.dur_ns.astype(np.int64)
        place = [trace.strings[name] for name in trace.events.name.tolist()].index("e")
        start[place] -= 1_001 + self.CELL_NS  # the cell between `b` and `e`
        early = self.moved(trace, start, dur)
        assert self.cut_ns(early, repaired(early)) == [0] * len(trace.events)


def test_gpu_work_of_a_file_that_is_cut_is_incomplete():
    """The profiler writes it last. Where none is left, nothing is said about idle time anyway."""
    with_gpu, without = "runtime | k.. |\nkernel 7 | .kk |", "op | aaa |"
    cut = (Note("truncated-file"),)
    assert found(timeline(with_gpu)) == found(timeline(without, notes=cut)) == []
    assert found(timeline(with_gpu, notes=cut)) == [("gpu_cut_short", "said", None)]
