"""A process that was recorded twice, in one file: what comes once in each recording is as long as it is alone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tb_steptime.metrics.excluded_time.steady_step import excess_rows
from tb_steptime.metrics.steady.device import excess_on_devices
from tb_steptime.metrics.steady.excess import ExcessKind
from tb_steptime.metrics.steady.first_use import compilations
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import NCCL_NAME, timeline

MS = 1_000_000


def joined(trace: Trace, *windows: tuple[int, int]) -> Trace:
    return replace(trace, windows=Intervals.of(*((start * MS, end * MS) for start, end in windows)))


#: Two recordings of four steps, in each of which one product takes 1 ms, in the first one 10 ms.
STEPS = "00000000000112233"
PRODUCTS = "mmmmmmmmmm.m.m.m."
LATER_STEPS = STEPS.translate(str.maketrans("0123", "4567"))
WITHOUT_EDGES = tuple(kind for kind in ExcessKind if kind is not ExcessKind.EDGE)


@pytest.mark.parametrize(
    ("windows", "excess"),
    [(((0, 17), (22, 39)), {"once": 18}), (((0, 39),), {"once": 9, "interrupted": 9})],
    ids=["two recordings", "one"],
)
def test_first_calls_of_each_recording_come_once(windows: tuple[tuple[int, int], ...], excess: dict[str, int]):
    trace = timeline(
        f"""
        step | {STEPS}.....{LATER_STEPS} |
        op   | {PRODUCTS}.....{PRODUCTS} |""",
        names={"m": "aten::mm"},
        cell_ns=MS,
    )
    rows = excess_rows(joined(trace, *windows), None)
    assert {row.kind: row.total_ns // MS for row in rows} == excess


@pytest.mark.parametrize(
    ("windows", "compiles"), [(((0, 17), (22, 39)), 2), (((0, 39),), 0)], ids=["two recordings", "one"]
)
def test_what_compiles_at_the_beginning_of_each_recording_is_warm_up(
    windows: tuple[tuple[int, int], ...], compiles: int
):
    """In a single recording it would compile again in the fifth of eight steps."""
    trace = timeline(
        f"""
        step                               | {STEPS}.....{LATER_STEPS} |
        user _compile.inner (dynamo_timed) | ccccc.................ccccc............ |""",
        cell_ns=MS,
    )
    assert len(compilations(joined(trace, *windows))) == compiles


@pytest.mark.parametrize(
    ("windows", "kind"),
    [(((0, 3), (4, 6)), ExcessKind.UNKNOWN), (((0, 6),), ExcessKind.INTERRUPTED)],
    ids=["two recordings", "one"],
)
def test_the_only_step_of_a_recording_does_not_show_why_an_exchange_is_long(
    windows: tuple[tuple[int, int], ...], kind: ExcessKind
):
    """The fourth of six equal all-reduces takes ten times as long as the others: the last one of the first step."""
    lengths = [10 if place == 3 else 1 for place in range(6)]
    trace = timeline(
        f"""
        step     | {"0" * 21}.....................{"1" * 18} |
        runtime  | {"".join("k." + "." * each for each in lengths[:4])}{"." * 21}{"k..k.." * 3} |
        kernel 7 | {"".join("." + "k" * each + "." for each in lengths[:4])}{"." * 21}{".k..k." * 3} |""",
        names={"k": NCCL_NAME},
        exchanges={"k": ("allreduce", "Float", 1024, "0", 2)},
        cell_ns=100_000,
    )
    assert excess_on_devices(joined(trace, *windows)).of(*WITHOUT_EDGES).kind.tolist() == [kind]
