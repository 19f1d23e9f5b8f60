"""Why a rank is late: by its parts of the step, and by its kernels compared with those of the other ranks."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from tb_steptime.analyses import overview
from tb_steptime.analyses.compare import ComparedStep, CompareResult
from tb_steptime.metrics.communication.exchanges import ExchangeClass
from tb_steptime.metrics.excluded_time.steady_step import ExcessName, ExcessRow
from tb_steptime.metrics.host.op_times import OpTime
from tb_steptime.metrics.kernels.launch_places import LaunchPlace
from tb_steptime.ranks.delays.causes import causes, excess_ns
from tb_steptime.ranks.result import Cause
from tb_steptime.ranks.spans import RankSpan
from tests.drawn.exchanging_ranks import rank
from tests.drawn.timeline import timeline

MS = 1_000_000
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def span(number: int, figures: dict[str, int], *launches: tuple[str, str, int, int]) -> RankSpan:
    """A rank's span of two steps. figures: ms of each step; launches: kernel, shapes, count in both, ms of one."""
    places = [
        LaunchPlace(name, name, "aten::mm", shapes, None, "forward", many, many * each * MS, order)
        for order, (name, shapes, many, each) in enumerate(launches)
    ]
    compared = CompareResult(steps=[ComparedStep(name, True, []) for name in "12"], kernels=places)
    drawn = rank(number, "a a")
    columns = {metric: np.full(2, ms * MS, np.float64) for metric, ms in figures.items()}
    return replace(drawn, figures={**drawn.figures, **columns}, results={**drawn.results, "compare": compared})


def why(late: RankSpan, *others: RankSpan, delay_ms: int = 10) -> list[Cause]:
    return causes([*others, late], len(others), delay_ms * MS, ["1", "2"])


def test_what_takes_it_longer_than_the_median_of_the_others():
    usual = [span(number, {"kernel_time": 50, "data_loading_exposed": ms}) for number, ms in enumerate((2, 3, 30))]
    assert why(span(3, {"kernel_time": 50, "data_loading_exposed": 13}), *usual) == [
        Cause("data_loading", 13 * MS, 3 * MS, 1.0, "data_loading_exposed")
    ]


def test_parts_of_one_cause_are_summed_and_the_largest_is_named():
    idle = ("idle_cpu_work_time", "idle_nothing_recorded_time", "launch_latency_time")
    usual = [span(number, {"kernel_time": 50, **dict.fromkeys(idle, 1)}) for number in (0, 1)]
    late = span(2, {"kernel_time": 50, **dict(zip(idle, (3, 7, 1), strict=True))})
    assert why(late, *usual) == [Cause("host", 11 * MS, 3 * MS, 0.8, "idle_nothing_recorded_time")]


@pytest.mark.parametrize(
    ("steps", "own_ms", "others_ms"),
    [
        (". . a . . a", 39, 30),  # the steps of accumulated gradients before each exchange
        ("a a a a . a", 13 * 1.5, 10 * 1.5),  # one of two has such a step before it
        ("a a a a a a", 13, 10),
    ],
)
def test_work_since_the_last_exchange_delays_the_next_one(steps: str, own_ms: float, others_ms: float):
    """Each step waits 3 ms longer for batches on the late rank. The third and the sixth one are matched."""
    spans = [
        replace(
            drawn := rank(number, steps),
            figures={
                **drawn.figures,
                "kernel_time": np.full(6, 50.0 * MS),
                "data_loading_exposed": np.full(6, float(ms * MS)),
            },
        )
        for number, ms in enumerate((10, 10, 13))
    ]
    (found,) = causes(spans, 2, 3 * MS, ["3", "6"])
    assert (found.id, found.own_ns, found.others_ns) == ("data_loading", own_ms * MS, others_ms * MS)


def test_without_a_device_the_host_s_own_parts_count():
    usual = [span(number, {"cpu_exec_time": 20, "other_time": 1}) for number in (0, 1)]
    late = span(2, {"cpu_exec_time": 20, "other_time": 21})
    assert why(late, *usual, delay_ms=20) == [Cause("python", 21 * MS, MS, 1.0, "other_time")]


@pytest.mark.parametrize(
    ("launches", "cause", "name", "factor"),
    [
        ([("gemm", "[512]", 20, 6), ("relu", "", 20, 1)], "slower_kernels", "gemm", 1.2),  # a lower clock rate
        ([("gemm", "[512]", 24, 5), ("relu", "", 20, 1)], "more_work", "gemm", 1 + 20 / 120),  # more launches
        ([("gemm", "[640]", 20, 6), ("relu", "", 20, 1)], "more_work", "gemm", 1 + 20 / 120),  # larger inputs
    ],
)
def test_slower_kernels_and_more_work_are_told_apart(
    launches: list[tuple[str, str, int, int]], cause: str, name: str, factor: float
):
    """Collectives are not work: they are shortest on the rank that is late."""
    usual = span(0, {"kernel_time": 60}, ("gemm", "[512]", 20, 5), ("relu", "", 20, 1), (NCCL, "", 10, 9))
    (found,) = why(span(2, {"kernel_time": 70}, *launches, (NCCL, "", 10, 1)), usual, usual)
    assert (found.id, found.name, found.factor) == (cause, name, pytest.approx(factor, abs=0.04))


@pytest.mark.parametrize(
    ("gemm_ms", "blocks", "cause"),
    [
        (6, (120, 120), "more_work"),  # both kernels run for inputs that are a fifth larger
        (6, (100, 120), "more_work"),  # the product's blocks loop over its tiles, as many for any input
        (6, (100, 100), "slower_kernels"),
        (6, (None, None), "slower_kernels"),
        (10, (103, 103), "slower_kernels"),  # 3 % more blocks do not take twice as long
    ],
)
def test_without_sizes_more_blocks_are_more_work(gemm_ms: int, blocks: tuple[int | None, int | None], cause: str):
    def launched(number: int, each_ms: tuple[int, int], blocks_of: tuple[int | None, int | None]) -> RankSpan:
        both = span(
            number, {"kernel_time": 10 * sum(each_ms)}, ("gemm", "", 20, each_ms[0]), ("relu", "", 20, each_ms[1])
        )
        compared = both.compare_result
        places = [
            msgspec.structs.replace(place, blocks=count)
            for place, count in zip(compared.kernels, blocks_of, strict=True)
        ]
        changed = msgspec.structs.replace(compared, kernels=places)
        return replace(both, results={**both.results, "compare": changed})

    usual = launched(0, (5, 5), (100, 100))
    (found,) = why(launched(2, (gemm_ms, gemm_ms), blocks), usual, usual)
    assert found.id == cause


@pytest.mark.parametrize(("undisturbed_ms", "cause"), [(12, "cpu_work"), (40, "more_work"), (None, "more_work")])
def test_other_processes_on_the_cores_of_a_rank_are_no_more_work(undisturbed_ms: int | None, cause: str):
    """They lengthen its long ops by any factor, but not its fastest calls."""
    usual = [with_ops(span(at, {"cpu_exec_time": 20, "undisturbed_host_time": 11}), 10, 1_000) for at in (0, 1)]
    measured = {} if undisturbed_ms is None else {"undisturbed_host_time": undisturbed_ms}
    late = with_ops(span(2, {"cpu_exec_time": 30, **measured}), 10, 3_000)
    assert [each.id for each in why(late, *usual)] == [cause]


def with_ops(names: RankSpan, views_us: int, product_us: int, views: int = 20) -> RankSpan:
    """Three view ops, which touch no elements and take views_us each, and a product, in both steps."""
    ops = [OpTime(name, views, views * views_us * 1_000) for name in ("aten::view", "aten::t", "aten::expand")]
    compared = names.results["compare"]
    assert isinstance(compared, CompareResult)
    waits = OpTime("c10d::allreduce_", 2, 90 * MS)
    found = msgspec.structs.replace(compared, ops=[*ops, OpTime("aten::mm", 20, 20 * product_us * 1_000), waits])
    return replace(names, results={**names.results, "compare": found})


@pytest.mark.parametrize(
    ("views_us", "product_us", "views", "cause"),
    [
        (10, 3_000, 20, "more_work"),  # more rows
        (15, 3_000, 20, "more_work"),  # a slower CPU, and more rows
        (10, 1_500, 20, "cpu_work"),  # another process on the core could have the same effect
        (25, 2_500, 20, "cpu_work"),  # all ops are slower by the same factor: a slower CPU
        (10, 3_000, 9, "cpu_work"),  # too few calls to tell
    ],
)
def test_more_rows_and_a_slower_cpu_are_told_apart(views_us: int, product_us: int, views: int, cause: str):
    """View ops take the same time for any number of rows."""
    usual = [with_ops(span(number, {"cpu_exec_time": 20, "other_time": 1}), 10, 1_000, views) for number in (0, 1)]
    late = with_ops(span(2, {"cpu_exec_time": 30, "other_time": 1}), views_us, product_us, views)
    found = why(late, *usual)
    assert [(each.id, each.own_ns, each.others_ns) for each in found] == [(cause, 30 * MS, 20 * MS)]
    assert excess_ns(found[0], [*usual, late], 2, np.array([0, 1])).tolist() == [10 * MS, 10 * MS]


@pytest.mark.parametrize(
    ("views_us", "product_us", "cause"),
    [
        (13, 1_400, "slower_cpu"),
        (12, 1_900, "host"),  # half of the ops are as fast: one op takes longer
        (15, 1_050, "host"),  # slower ops explain little of it
    ],
)
def test_beside_a_gpu_slower_ops_show_a_slower_cpu(views_us: int, product_us: int, cause: str):
    """Ops that only launch take as long for inputs of any size. Two steps; a delay of 8 ms in each."""
    busy = {"kernel_time": 50, "idle_nothing_recorded_time": 0, "launch_latency_time": 0}
    usual = [with_ops(span(number, busy | {"idle_cpu_work_time": 1}), 10, 1_000, views=200) for number in (0, 1)]
    late = with_ops(span(2, busy | {"idle_cpu_work_time": 9}), views_us, product_us, views=200)
    found = why(late, *usual)
    assert [(each.id, each.own_ns, each.others_ns) for each in found] == [(cause, 9 * MS, MS)]
    assert excess_ns(found[0], [*usual, late], 2, np.array([0, 1])).tolist() == [8 * MS, 8 * MS]


def test_ranks_without_a_loader_wait_for_no_batches():
    """One rank loads the batches of all, and broadcasts them. Where only others load, nothing is known of it."""
    usual = [span(number, {"kernel_time": 50}) for number in (0, 1)]
    loads = span(2, {"kernel_time": 50, "data_loading_exposed": 15})
    assert why(loads, *usual, delay_ms=15) == [Cause("data_loading", 15 * MS, 0, 1.0, "data_loading_exposed")]
    assert why(usual[0], loads, usual[1], delay_ms=15) == []


@pytest.mark.parametrize(
    ("sizes", "kind", "cause", "factor"),
    [
        ((1_000, 1_000, 1_600), "all_to_all", "more_received", 1.6),
        ((1_600, 1_600, 1_600), "all_to_all", "more_work", 1 + 20 / 120),
        ((1_000, 1_000, 1_600), "all_gather", "more_work", 1 + 20 / 120),
        ((1_000, None, 1_600), "all_to_all", "more_work", 1 + 20 / 120),
    ],
)
def test_a_rank_computes_more_for_what_the_others_send_it(
    sizes: tuple[int | None, ...], kind: str, cause: str, factor: float
):
    """An expert that more tokens choose, or a larger share of the embedding tables."""
    longer = [("gemm", "[512]", 20, 5), ("gemm", "[512]", 20, 5), ("gemm", "[640]", 20, 6)]
    spans = [
        replace(
            span(number, {"kernel_time": 70 if number == 2 else 60}, longer[number]),
            results={
                **span(number, {}, longer[number]).results,
                **rank(number, "xx xx", classes={"x": ExchangeClass(kind, 0, size, "Float", "forward.model")}).results,
            },
        )
        for number, size in enumerate(sizes)
    ]
    (found,) = causes(spans, 2, 10 * MS, ["1", "2"])
    assert (found.id, found.factor, found.own_ns - found.others_ns) == (cause, pytest.approx(factor, abs=0.04), 10 * MS)


def test_what_explains_little_of_the_delay_is_no_cause():
    usual = [span(number, {"kernel_time": 50, "memcpy_time": 1}) for number in (0, 1)]
    assert why(span(2, {"kernel_time": 50, "memcpy_time": 2}), *usual) == []


TWO_STEPS = """
step | 000000111111 |
op   | aa.bbb.c.... |
"""


def stopped(of: RankSpan, *calls: tuple[str, int]) -> RankSpan:
    """Adds interruptions in these calls, in ms over both steps."""
    names = [ExcessName(name=name, ns=ms * MS) for name, ms in calls]
    row = ExcessRow("interrupted", sum(ms for _, ms in calls) * MS, len(calls), "1", 0, 1, names)
    found = msgspec.structs.replace(overview.analyse(timeline(TWO_STEPS)), excess=[row])
    return replace(of, results={**of.results, "overview": found})


@pytest.mark.parametrize(("ms", "cause"), [(11, "cpu_interrupted"), (9, "host")])
def test_calls_that_are_interrupted_are_why_where_they_are_most_of_it(ms: int, cause: str):
    usual = [stopped(span(number, {"kernel_time": 50, "idle_cpu_work_time": 1}), ("mm", 1)) for number in (0, 1)]
    late = stopped(span(2, {"kernel_time": 50, "idle_cpu_work_time": 11}), ("mm", ms), ("empty", 1))
    assert [(each.id, each.own_ns) for each in why(late, *usual)] == [(cause, 11 * MS)]


@pytest.mark.parametrize(("name", "cause"), [("gemm", "gpu_interrupted"), ("relu", "slower_kernels")])
def test_one_interrupted_kernel_is_no_slow_gpu(name: str, cause: str):
    usual = [span(number, {"kernel_time": 50}, ("gemm", "[512]", 20, 5)) for number in (0, 1)]
    late = stopped(span(2, {"kernel_time": 60}, ("gemm", "[512]", 20, 6)), (name, 10))
    assert [(each.id, each.name) for each in why(late, *usual)] == [(cause, "gemm")]


@pytest.mark.parametrize(
    ("step_ms", "found"),
    [(100, [Cause("unrecorded", 55 * MS, 4 * MS, 1.02, "idle_dependency_time")]), (120, [])],
)
def test_work_that_waits_for_nothing_recorded_is_why_where_it_is_most_of_the_step(step_ms: int, found: list[Cause]):
    waits = {"kernel_time": 20, "unrecorded_work_time": 1, "idle_dependency_time": 3}
    usual = [span(number, waits) for number in (0, 1)]
    late = span(2, {"kernel_time": 20, "unrecorded_work_time": 15, "idle_dependency_time": 40})
    assert why(replace(late, step_ns=np.full(2, step_ms * MS)), *usual, delay_ms=50) == found


def test_work_of_a_rank_with_several_gpus_may_wait_for_another_of_them():
    waits = {"kernel_time": 20, "unrecorded_work_time": 1, "idle_dependency_time": 3}
    late = span(2, waits | {"idle_dependency_time": 60})
    found = timeline("step | 11 22 |\nruntime | ab ab |\nkernel 7 gpu0 | a. a. |\nkernel 7 gpu1 | .b .b |")
    late = replace(late, step_ns=np.full(2, 80 * MS), results=late.results | {"overview": overview.analyse(found)})
    assert why(late, span(0, waits), span(1, waits), delay_ms=50) == []
