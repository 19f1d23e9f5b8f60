"""Segments of host threads and excess on the tracks of real recordings."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.metrics.excluded_time.steady_step import excess_names
from tb_steptime.metrics.steady.device import excess_on_devices, find_excess
from tb_steptime.metrics.steady.excess import Excess, ExcessKind
from tb_steptime.metrics.steady.host import _segments_within
from tb_steptime.metrics.steady.host_segments import host_events, host_segments
from tests.drawn.real_traces import on_every_real_trace, read_real, real_path
from tests.drawn.timeline import NCCL_NAME, timeline


@on_every_real_trace
def test_segments_cover_each_thread_once(path: str) -> None:
    trace = read_real(real_path(path))
    segments = host_segments(trace)
    assert (segments.end_ns > segments.start_ns).all()
    same = segments.thread[1:] == segments.thread[:-1]
    assert np.array_equal(segments.start_ns[1:][same], segments.end_ns[:-1][same])


@on_every_real_trace
def test_excess_of_one_track_is_disjoint(path: str) -> None:
    trace = read_real(real_path(path))
    excess = find_excess(trace)
    assert (excess.dur_ns > 0).all()
    same = excess.track[1:] == excess.track[:-1]
    assert (excess.start_ns[1:][same] >= excess.end_ns[:-1][same]).all()


CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 3>(float*)"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("gemm", ExcessKind.INTERRUPTED), (NCCL_NAME, ExcessKind.UNKNOWN), (CAT, ExcessKind.UNKNOWN)],
)
def test_a_long_kernel_of_unknown_size_may_do_more(name: str, kind: ExcessKind):
    """Ten equal launches, of which the last takes 100 times as long. No shapes and no sizes are recorded."""
    device = ".k" * 9 + "." + "k" * 100
    trace = timeline(
        f"""
        step     | {"0" * len(device)} |
        runtime  | {"k." * 10}{"." * 99} |
        kernel 7 | {device} |""",
        names={"k": name},
        cell_ns=20_000,
    )
    assert find_excess(trace).kind.tolist() == [kind]


@pytest.mark.parametrize(
    ("others", "kind"),
    [(".mmmmmmm." * 4, ExcessKind.ONCE), (".mmmmmmm." * 3 + ".mmfmmmm.", ExcessKind.INTERRUPTED)],
)
def test_a_library_sets_itself_up_in_the_first_product(others: str, kind: ExcessKind):
    """Both calls are in the first product, and the second one is long. Another product that has such a call, too, makes
    it an interruption."""
    calls = others.replace("m", ".")
    trace = timeline(
        f"""
        step    | {"0" * (19 + len(others))} |
        op      | .{"m" * 17}.{others.replace("f", "m")} |
        runtime | ..f.{"f" * 12}...{calls} |""",
        names={"m": "aten::mm"},
        calls={"f": "cudaFree"},
        cell_ns=100_000,
    )
    found = find_excess(trace)
    assert found.kind[found.start_ns >= 400_000].tolist() == [kind]


@pytest.mark.parametrize(("long", "kind"), [(0, ExcessKind.ONCE), (3, ExcessKind.INTERRUPTED)])
def test_a_collective_of_a_single_step_may_wait_for_other_ranks_in_every_step(long: int, kind: ExcessKind):
    """One of eight equal all-reduces takes ten times as long as the others. In another step the same one is short."""
    lengths = [10 if place == long else 1 for place in range(8)]
    device = "".join("." + "k" * each + "." for each in lengths)
    found = []
    for steps in ("0" * 33, "0" * 21 + "1" * 12):
        trace = timeline(
            f"""
            step     | {steps} |
            runtime  | {"".join("k." + "." * each for each in lengths)} |
            kernel 7 | {device} |""",
            names={"k": NCCL_NAME},
            exchanges={"k": ("allreduce", "Float", 1024, "0", 2)},
            cell_ns=100_000,
        )
        found.append(excess_on_devices(trace).kind.tolist())
    assert found == [[ExcessKind.UNKNOWN], [kind]]


def test_segments_within_each_event_begin_in_it_on_its_thread():
    trace = timeline("""
        step      | 0000000000001111111111 |
        op        | .aaaaaa.bbb..aa..b.... |
        op two    | ..cc..ddddddd.c....... |
        runtime   | ..k..k..........k..... |""")
    host, segments = host_events(trace), host_segments(trace)
    first, past = _segments_within(trace, segments, host.row)
    begin, end, thread = trace.events.start_ns[host.row], trace.events.ends(host.row), trace.events.thread[host.row]
    within = (segments.start_ns >= begin[:, None]) & (segments.start_ns < end[:, None])
    within &= segments.thread == thread[:, None]
    assert len(np.unique(thread)) == 2
    assert [list(range(*each)) for each in zip(first, past, strict=True)] == [
        np.flatnonzero(row).tolist() for row in within
    ]


@pytest.mark.parametrize("kind", ExcessKind)
def test_excess_has_the_name_of_its_kind(kind: ExcessKind) -> None:
    trace, (narrow, wide) = (
        timeline("step | 000 |\nop | aaa |"),
        (np.zeros(1, np.int32), np.array([0, 1_000], np.int64)),
    )
    excess = Excess(narrow, wide[:1], wide[1:], np.full(1, kind, np.uint8), narrow - 1)
    assert excess_names(trace, excess) == [(kind.name.lower(), None)]
