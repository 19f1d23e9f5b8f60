"""A quantity has one value on a page: in the bar of the mean step, its legend, the tiles, the sidebar and titles."""

from __future__ import annotations

import re

import pytest

from tb_steptime.insights import judge
from tb_steptime.insights.base import Judgement
from tb_steptime.insights.facts import Facts
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Kind
from tests.drawn.cards import analysed
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.timeline import timeline

#: Sums of whole ns over steps are divided once or twice; two ways to compute a share differ by no more than this.
EXACT = 1e-6


def judged(trace: Trace) -> tuple[Facts, Judgement]:
    results = analysed(trace)
    return Facts(results), judge(results)


def shares(facts: Facts, judgement: Judgement) -> dict[str, list[float | None]]:
    """For each quantity, its share of the mean step from every place of the tab that shows it."""
    overview, host, sidebar = facts.overview, facts.host, judgement.sidebar
    whole, loading = overview.mean_duration_ns, facts.data_loading_as_recorded.mean
    tiles = {tile.metric: tile.value for tile in [*overview.tiles, *host.tiles]}
    exposed_ns = tiles["data_loading_exposed"]
    found = {
        "some GPU works": [sidebar["gpu"].share, overview.works_ns / whole, (overview.mean_gpu_busy_ns or 0) / whole],
        "data loading": [
            sidebar["data_loading"].share,
            None if loading is None else loading.exposed_ns / whole,
            None if exposed_ns is None else exposed_ns / whole,
        ],
        "kernel time that could use tensor cores": [
            sidebar["tensor_cores"].share,
            *(ns / whole for ns in [facts.figure_as_recorded("matmul_like_time")] if ns is not None),
        ],
        "waits for the host": [sidebar["host"].share, tiles["host_bound_share"]],
    }
    if not overview.has_device:
        del found["some GPU works"]
    if facts.job.device == "cpu":
        parts = overview.mean_parts_ns
        found["waits for the host"] = [sidebar["host"].share, (parts.cpu_exec + parts.runtime) / whole]
    if len(host.devices) == 1:
        busy_ns = sum(segment.ns for segment in host.segments if segment.works)
        found["some GPU works"].append(busy_ns / host.mean_step_ns)
        found["kernels run"] = [tiles["gpu_utilization"], *_kernels_run(facts, judgement)]
    return found


def _kernels_run(facts: Facts, judgement: Judgement) -> list[float | None]:
    work = judgement.headlines["gpu"].verdict.values.get("works")
    assert facts.gpu is not None
    tile = next(tile.value for tile in facts.gpu.devices[0].tiles if tile.metric == "gpu_utilization")
    return [tile, *([float(work.value)] if work and work.value is not None else [])]


def work_of_ops(facts: Facts) -> int:
    """Device time of work that ops launched themselves and of work that no op launched."""
    assert facts.operators is not None
    table = next((each for each in facts.operators.tables if (each.by, each.where) == ("name", "ran")), None)
    own = 0 if table is None else sum(row.device_self_ns or 0 for row in table.rows) + (table.rest.device_self_ns or 0)
    return own + facts.operators.outside.device_ns


def work_of_steps(trace: Trace) -> int:
    """Device time of the kernels, copies and memsets that begin in the steps, from the trace itself."""
    low, high = find_steps(trace).window
    rows = trace.events.rows(Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)
    start = trace.events.start_ns[rows]
    return int(trace.events.dur_ns[rows[(start >= low) & (start < high)]].sum())


@on_real_traces
def test_on_real_traces_a_quantity_has_one_share(name: str):
    trace = read_real(name)
    facts, judgement = judged(trace)
    assert work_of_ops(facts) == work_of_steps(trace)
    for quantity, values in shares(facts, judgement).items():
        first, *others = values
        assert others == [first if first is None else pytest.approx(first, abs=EXACT)] * len(others), quantity


@on_real_traces
def test_on_real_traces_a_share_of_less_than_the_mean_step_says_so(name: str):
    """Shares of the bar and times in a verdict are of the mean step shown; where they are not, the page says so."""
    facts, judgement = judged(read_real(name))
    left_out = facts.left_out_ns >= 0.005 * sum(step.duration_ns for step in facts.overview.steps)
    differs = left_out or facts.starts_longer
    basis = judgement.headlines["overview"].basis
    told = "{judged}" in (basis.template if basis else "") or "one-time work" in judgement.verdict.text.template
    assert told is differs


def before_the_recording() -> Trace:
    """Steps of 14, 10, 10 and 10 ms. The first copy begins 4 ms after its launch, as behind work from before the
    recording."""
    return timeline(f"""
        step     | {"0000" + "".join(str(n) * 10 for n in range(4))} |
        runtime  | {"c........k...." + "k........." * 3} |
        memcpy 7 | {"....c........." + "." * 30} |
        kernel 7 | {".....kkkkkkkkk" + ".kkkkkkkkk" * 3} |""",
        names={"c": "Memcpy HtoD (Pageable -> Device)"}, cell_ns=1_000_000,
    )  # fmt: skip


def test_the_whole_of_shares_is_named_where_a_part_of_the_step_is_left_out():
    facts, judgement = judged(before_the_recording())
    assert facts.judged_steps == [1, 2, 3]
    assert facts.step_ns == 10_000_000
    basis = judgement.headlines["overview"].basis
    assert basis is not None
    sentence = re.sub(r"\s", " ", plain(basis))
    assert sentence == (
        "The verdict and the cards cover 10.0 ms a step: 1 of 4 steps, which includes the edges of the recording, "
        "is left out."
    )


def test_of_several_gpus_the_verdict_says_which_it_speaks_of():
    facts, judgement = judged(
        timeline("""
        step          | 0000000000 |
        runtime       | ab........ |
        kernel 7 gpu0 | .aaaaaa... |
        kernel 9 gpu1 | ......bb.. |""")
    )
    basis = judgement.headlines["overview"].basis
    assert basis is not None
    assert plain(basis) == "GPU 0 is the busiest of 2; for 70 % of the step at least one of them works."
    assert judgement.sidebar["gpu"].share == facts.overview.works_ns / facts.overview.mean_duration_ns == 0.7


def test_kernel_time_over_the_length_of_the_step_says_why():
    _, judgement = judged(
        timeline("""
        step     | 0000000000 |
        runtime  | ab........ |
        kernel 7 | .aaaaaaaa. |
        kernel 9 | ..bbbbbbbb |""")
    )
    assert re.sub(r"\s", " ", plain(judgement.titles["gpu"]["kernel_time.0"])) == (
        "16 µs of kernel time a step; at least one kernel runs for 9 µs"
    )
