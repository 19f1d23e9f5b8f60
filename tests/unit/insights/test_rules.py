"""Each rule: it fires, its boundary, and the same symptom with another cause. Traces are drawn."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.quality import notes
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.insights import TrendFacts, judge, judge_trends
from tb_steptime.insights.base import Confidence, Insight, Judgement, Severity
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Note, Trace
from tests.drawn.cards import analysed
from tests.drawn.timeline import A100, timeline


def judged(drawing: str | Trace, **kwargs: Any) -> Judgement:
    trace = timeline(drawing, **kwargs) if isinstance(drawing, str) else drawing
    return judge(analysed(trace))


def card(judgement: Judgement, id: str) -> Insight | None:
    return next((insight for insight in judgement.insights if insight.id == id), None)


def repeated(line: str, times: int = 4) -> str:
    return line * times


STEPS = "111111111122222222223333333333444444444455555555556666666666"

MS = 1_000_000

WAITING = f"""
    step          | {STEPS[:40]} |
    loader single | {repeated("llll......")} |
    runtime       | {repeated("....k.....")} |
    kernel 7      | {repeated(".....kkkkk")} |"""


def test_a_batch_made_by_the_training_process_is_worth_its_exposed_wait():
    insight = card(judged(WAITING, cell_ns=2 * MS), "no_workers")
    assert insight is not None
    assert (insight.gain_ns, insight.severity, insight.view) == (8 * MS, Severity.MAJOR, "data_loading")
    assert insight.how == "DataLoader(..., num_workers=2)"


@pytest.mark.parametrize(
    ("cell_ns", "confidence", "severity"),
    [
        (1_250_000, Confidence.HIGH, Severity.MAJOR),
        (1_249_000, Confidence.MEDIUM, Severity.MAJOR),
        (500_000, Confidence.MEDIUM, Severity.MAJOR),
        (499_000, Confidence.LOW, Severity.MINOR),
    ],
)
def test_batches_that_take_as_long_to_receive_are_a_hint(cell_ns: int, confidence: Confidence, severity: Severity):
    """Batches of a dataset in memory, of four cells each."""
    insight = card(judged(WAITING, cell_ns=cell_ns), "no_workers")
    assert insight is not None
    assert (insight.confidence, insight.severity) == (confidence, severity)


@pytest.mark.parametrize(
    ("loading", "computing", "how", "confidence"),
    [
        (16, 3, "DataLoader(..., num_workers=4)", Confidence.HIGH),
        (20, 3, "DataLoader(..., num_workers=min(5, os.cpu_count()))", Confidence.MEDIUM),
    ],
)
def test_workers_may_be_more_than_there_are_cores(loading: int, computing: int, how: str, confidence: Confidence):
    step = loading + 1 + computing
    waiting = f"""
        step          | {"".join(str(number) * step for number in range(4))} |
        loader single | {repeated("l" * loading + "." * (step - loading))} |
        runtime       | {repeated("." * loading + "k" + "." * computing)} |
        kernel 7      | {repeated("." * (loading + 1) + "k" * computing)} |"""
    insight = card(judged(waiting, cell_ns=100 * MS), "no_workers")
    assert insight is not None
    assert (insight.how, insight.confidence) == (how, confidence)


def test_the_timeline_opens_with_the_step_of_the_first_cards_longest_evidence():
    waits = ["l.........", "ll........", "llllll....", "lll......."]
    kernels = [each.replace(".", "k").replace("l", ".") for each in waits]
    drawing = f"step | {STEPS[:40]} |\n loader single | {''.join(waits)} |\n kernel 7 | {''.join(kernels)} |"
    judgement = judged(drawing)
    assert (judgement.insights[0].id, judgement.shown_step) == ("no_workers", "3")
    busy = judged(f"step | {STEPS[:40]} |\n kernel 7 | {'k' * 40} |")
    assert busy.shown_step is None


def test_a_wait_needs_a_hundredth_of_the_step_for_a_card():
    def wait(cells: int) -> Judgement:
        step = "1" * 1000
        return judged(f"""
            step          | {step} |
            loader single | {"l" * cells}{"." * (1000 - cells)} |
            runtime       | {"." * cells}kabcdefghij{"." * (989 - cells)} |
            kernel 7      | {"." * (cells + 1)}{"k" * (989 - cells)}abcdefghij |""")

    assert card(wait(9), "no_workers") is None
    assert card(wait(10), "no_workers") is not None


def test_a_wait_that_hides_behind_the_gpu_costs_nothing():
    judgement = judged("""
        step     | 11111111112222222222 |
        loader   | llll......mmmm...... |
        runtime  | ....k.........q..... |
        kernel 7 | .....kkkkkkkkkqqqqqq |""")
    insight = card(judgement, "input_bound")
    assert insight is not None
    assert insight.gain_ns == 2_000  # the first of the two waits; the second is hidden


def test_late_launches_are_worth_the_idle_time_before_them():
    judgement = judged(f"""
        step     | {STEPS[:40]} |
        op       | {repeated("aaaaaaaa..")} |
        runtime  | {repeated(".....k....")} |
        kernel 7 | {repeated("......kkkk")} |""")
    insight = card(judgement, "long_stretches")
    assert insight is not None
    assert (insight.gain_ns, insight.gain_fraction) == (6_000, 0.6)
    assert judgement.headlines["overview"].verdict.template.startswith("The CPU sets the pace: ")


@pytest.mark.parametrize(("name", "waits"), [("queue.py(154): get", True), ("data.py(9): crop", False)])
def test_a_cpu_that_waits_for_another_thread_does_not_set_the_pace(name: str, waits: bool):
    judgement = judged(
        f"""
        step     | {"1" * 20}{"2" * 20}{"3" * 20} |
        python   | {"ffffffffffffff......" * 3} |
        runtime  | {"..............klmn.." * 3} |
        kernel 7 | {"...............klmn." * 3} |""",
        names={"f": name},
        cell_ns=MS,
    )
    verdict = judgement.headlines["overview"].verdict.template
    assert verdict.startswith("Most of the time the CPU only waits, in " if waits else "The CPU sets the pace, most of")


def test_a_gpu_that_waits_for_data_is_not_launch_bound():
    latency = card(judged(WAITING, cell_ns=MS), "long_stretches")  # 1 ms after the wait
    assert latency is not None
    assert latency.gain_ns == MS
    assert judged(WAITING, cell_ns=MS).insights[0].id == "no_workers"
    assert judged(WAITING, cell_ns=MS).headlines["overview"].verdict.template.startswith("The loader sets the pace: ")


def test_a_queue_that_is_full_is_not_launch_bound():
    judgement = judged(f"""
        step     | {STEPS[:20]} |
        runtime  | kqrs................ |
        kernel 7 | .kkkkkqqqqrrrrrsssss |""")
    assert card(judgement, "long_stretches") is None  # an infinitely fast CPU would gain nothing


SGEMM = {"k": "ampere_sgemm_128x64_nn"}
SHAPE = {"k": {"grid": (108, 1, 1), "block": (256, 1, 1), "registers": 64, "shared_memory": 0}}
GPU_BOUND = f"""
    step     | {STEPS[:40]} |
    runtime  | {repeated("k.........")} |
    kernel 7 | .{repeated("kkkkkkkkkk")[:39]} |"""


def test_unused_tensor_cores_are_worth_the_ratio_of_the_peaks_where_the_gpu_sets_the_pace():
    blocked = f"""
        step     | {STEPS[:40]} |
        runtime  | {repeated("k.yyyyyyyy")} |
        kernel 7 | {repeated(".kkkkkkkkk")} |"""
    trace = timeline(blocked, names=SGEMM, calls={"y": "cudaStreamSynchronize"}, kernels=SHAPE, devices={0: A100})
    insight = card(judged(trace), "tensor_cores_unused")
    assert insight is not None
    bound = round(9_000 * (1 - 19.5 / 156.0))  # TF32, as the inputs are FP32
    assert insight.gain_ns == bound  # the call that waits for the kernels becomes shorter, too
    assert insight.later_ns is None


def test_unused_tensor_cores_are_worth_nothing_now_where_the_host_sets_the_pace():
    letters = "kqrs"
    trace = timeline(
        f"""
        step     | {STEPS[:40]} |
        runtime  | {"".join(f"{each}........." for each in letters)} |
        kernel 7 | .{"".join(each * 10 for each in letters)[:39]} |""",
        names=dict.fromkeys(letters, SGEMM["k"]),
        kernels=dict.fromkeys(letters, SHAPE["k"]),
        devices={0: A100},
    )
    insight = card(judged(trace), "tensor_cores_unused")
    assert insight is not None
    assert (insight.gain_ns, plain(insight.title)) == (0, "If the CPU can keep up: use the tensor cores")
    assert insight.later_ns is not None


def test_a_host_that_runs_ahead_is_no_floor():
    """One step takes 39 us on the device, and the host needs 10 us of that."""
    trace = timeline(GPU_BOUND, names=SGEMM, kernels=SHAPE, devices={0: A100})
    insight = card(judged(trace), "tensor_cores_unused")
    assert insight is not None
    assert insight.gain_ns == 39_000 - 10_000


@pytest.mark.parametrize(("idle_us", "counts"), [(0, True), (10, True), (11, False)])
def test_where_nothing_of_the_host_is_recorded_a_busy_gpu_is_what_a_step_waits_for(idle_us: int, counts: bool):
    """If it idles for a tenth, the host may set the pace, and would do so with faster kernels, too."""
    lane = "k" * (50 - idle_us) + "." * idle_us + "k" * 50
    trace = timeline(f"kernel 7 | {lane} |", names=SGEMM, kernels=SHAPE, devices={0: A100})
    insight = card(judged(trace), "tensor_cores_unused")
    assert insight is not None
    gain_ns = round((100 - idle_us) * 1_000 * (1 - 19.5 / 156.0))
    assert (insight.gain_ns, insight.later_ns) == ((gain_ns, None) if counts else (0, gain_ns))


def test_kernels_on_tensor_cores_leave_nothing_to_gain():
    names = {"k": "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn"}
    trace = timeline(GPU_BOUND, names=names, kernels=SHAPE, devices={0: A100})
    assert card(judged(trace), "tensor_cores_unused") is None


def test_elementwise_kernels_are_not_eligible():
    names = {"k": "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)"}
    trace = timeline(GPU_BOUND, names=names, kernels=SHAPE, devices={0: A100})
    assert card(judged(trace), "tensor_cores_unused") is None


def test_the_step_that_could_be_still_sums():
    judgement = judged(WAITING, cell_ns=MS)
    assert judgement.could_be is not None
    assert judgement.could_be.parts_ns.total_ns == judgement.could_be.duration_ns == 6 * MS


def test_a_step_in_which_the_gpu_works_has_no_problem():
    verdict = judged(GPU_BOUND, names=SGEMM).headlines["overview"].verdict
    assert verdict.template == "{Gpu} sets the pace: it works for {share} of a step of {step}."


def test_without_a_gpu_the_verdict_says_so():
    judgement = judged("step | 1111122222 |\n op | a....a.... |")
    assert (
        judgement.headlines["overview"].verdict.template
        == "No op is recorded for {other} of a step of {step}: Python code outside of ops, or waits."
    )
    assert [insight.id for insight in judgement.insights] == ["cpu_outside"]
    assert judgement.sidebar["tensor_cores"].share is None


def test_time_without_ops_has_no_known_cause_where_the_file_is_cut():
    verdict = judged("step | 1111122222 |\n op | a....a.... |", notes=(Note("truncated-file"),)).verdict
    assert (
        verdict.text.template
        == "A step takes {step}; what runs in it is not known, since the file ends before the trace does."
    )


@pytest.mark.parametrize("where", ["", "9"])
@pytest.mark.parametrize(
    ("drawing", "unread", "claims"),
    [
        ("step | 1111122222 |\nop | a....a.... |", "s.........", True),  # a fifth of all rows
        ("step | 1111122222 |\nop | a....a.... |", "s.s.......", False),
        ("step | 666....... |", "..........", True),
        ("step | 666....... |", "s.........", False),
    ],
)
def test_beside_many_rows_that_are_not_read_nothing_is_said_to_be_missing(
    drawing: str, unread: str, claims: bool, where: str
):
    trace = timeline(f"{drawing}\nunread {where} | {unread} |")
    judgement = judged(trace)
    headline = judgement.headlines["overview"]
    verdict = plain(headline.verdict).lower()
    says_missing = ["no op is" in verdict or "has no op." in verdict, bool(judgement.insights)]
    says_missing.append(headline.action is not None and "Record" in plain(headline.action))
    says_missing.append(bool({note.id for note in notes(trace)} & {"cpu_job", "cpu_only"}))
    assert (says_missing[0], says_missing[3], any(says_missing)) == (claims, claims, claims)


@pytest.mark.parametrize(
    ("drawing", "empty"),
    [
        ("step | 666 |", True),  # a schedule that began again after the last batch
        ("step | 666777 |", False),  # steps in which no op runs
        (f"step | {'6' * 1_000} |", False),  # Python code, or a wait for another process
        ("step | 666666 |\nop | a..... |", False),
        ("step | 666666 |\nuser simulate | .uuuu. |", False),
        ("step | 666666 |\npython | .pppp. |", False),
        ("step | 666666 |\nloader | llllll |", False),
    ],
)
def test_a_recording_of_one_mark_holds_no_work(drawing: str, empty: bool):
    headline = judged(drawing, names={"p": "sim.py(3): simulate"}).headlines["overview"]
    assert ("holds no work" in plain(headline.verdict)) is empty
    assert (headline.action is not None and "`repeat=1`" in plain(headline.action)) is empty


@pytest.mark.parametrize(
    ("steps", "device", "nothing", "record"),
    [
        ("6666666666", "memcpy 7", True, True),  # a mark that holds only `item()`
        ("6666677777", "memcpy 7", True, False),  # a job that computes on the CPU
        ("6666666666", "kernel 7", False, False),
    ],
)
def test_steps_without_a_kernel_compute_nothing_on_the_gpu(steps: str, device: str, nothing: bool, record: bool):
    drawing = f"""
        step     | {steps} |
        op       | oooo.oooo. |
        runtime  | .c...d.... |
        {device} | ..c....d.. |"""
    names = dict.fromkeys("cd", "Memcpy DtoH (Device -> Pinned)") if nothing else {}
    headline = judged(drawing, names=names).headlines["overview"]
    assert ("computes nothing" in plain(headline.verdict)) is nothing
    assert headline.action is not None
    assert ("Record several whole steps" in plain(headline.action)) is record


def test_a_recording_of_calls_alone_asks_for_no_other_activities():
    calls = {"a": "cudaGetDeviceCount", "b": "cudaDeviceSynchronize"}
    trace = timeline("runtime | a..bbbbbb |", calls=calls)
    headline = judged(trace).headlines["overview"]
    assert "holds no work" in plain(headline.verdict)
    assert headline.action is not None and "ProfilerActivity" not in plain(headline.action)
    assert "cpu_only" not in [note.id for note in notes(trace)]


def test_a_recording_of_calls_alone_leaves_nothing_out_of_what_it_cannot_conclude():
    drawing = """
        runtime  | a............a |
        overhead | .ooo.......... |"""
    calls = {"a": "cudaGetDeviceCount"}
    empty = judged(drawing, calls=calls)
    assert (empty.headlines["overview"].basis, empty.excess) == (None, {})
    assert [line.id for line in empty.quality] == ["no_work", "trust"]
    works = judged(drawing + "\nop | .....ooo...... |", calls=calls)
    assert works.headlines["overview"].basis is not None
    assert "profiler" in works.excess and "profiler_time" in [line.id for line in works.quality]


PREPARES = """
    step   | 0000000000111111111122222222222222 |
    python | .pppppppp..pppppppp..pppppppppppp. |
    python | ..nnn.nn....nnn.nn....nnnnnnnnnnn. |
    op     | ..oo.....o..........o...........o |"""


def test_without_a_gpu_the_verdict_names_the_function_outside_of_ops_and_its_busiest_call():
    names = {"p": "/home/me/data.py(41): preprocess", "n": "/home/me/data.py(7): normalize", "o": "aten::sub"}
    verdict = judged(PREPARES, names=names).headlines["overview"].verdict
    assert plain(verdict) == (
        "No op is recorded for 85 % of a step of 11 µs: 8 µs of step 1 in data.py:41 preprocess, "
        "5 µs of it in normalize."
    )


@pytest.mark.parametrize(("ops", "timed"), [("...oo.......", True), ("...oooo.....", False)])
def test_a_function_longer_than_the_time_outside_of_ops_is_named_without_its_own(ops: str, timed: bool):
    """10 us of a step are in the function, and 10 or 8 us outside of ops."""
    drawing = f"step | {'0' * 12}{'1' * 12} |\npython | {'.pppppppppp.' * 2} |\nop | {ops * 2} |"
    verdict = judged(drawing, names={"p": "train.py(4): closure", "o": "aten::sub"}).headlines["overview"].verdict
    assert set(verdict.values) == {"step", "other", "function"} | ({"time", "which"} if timed else set())


def trend(*lengths_us: int, busy: float = 0.5) -> TrendsResult:
    """A span whose steps have these lengths and whose GPU works for this share of each."""
    marks = "".join(str(i % 10) * length for i, length in enumerate(lengths_us))
    works = "".join(("k" * int(busy * length)).ljust(length, ".") for length in lengths_us)
    return next(a for a in ANALYSES if a.id == "trends").analyse(timeline(f"step | {marks} |\n kernel 7 | {works} |"))


def test_spans_of_a_run_follow_each_other_and_two_runs_need_not():
    slower, quicker = trend(10, 10), trend(6, 6)
    headline, titles = judge_trends([TrendFacts("a", 1, slower), TrendFacts("a", 2, quicker)])
    assert headline.verdict.template == "The mean step falls from {a} in {first} to {b} in {last}."
    assert headline.verdict.values["b"].value == 6_000
    assert titles["step_time"].template == "{label} falls from {a} to {b}"
    assert titles["gpu_utilization"].template == "{label} stays at {b}"
    rarely, hardly = trend(1_000, busy=0.03), trend(1_000, busy=0.0304)
    _, titles = judge_trends([TrendFacts("a", 1, rarely), TrendFacts("a", 2, hardly)])
    assert plain(titles["gpu_utilization"]) == "GPU utilization stays at 3 %", "nothing rises from 3 to 3 %"
    headline, titles = judge_trends([TrendFacts("a", 1, slower), TrendFacts("b", 1, quicker)])
    assert headline.verdict.template == "The mean step is {a} in {first} and {b} in {last}."
    assert {name: value.value for name, value in headline.verdict.values.items()} == {
        "a": 10_000, "b": 6_000, "first": "a", "last": "b",
    }  # fmt: skip
    assert plain(titles["step_time"]) == "Step time is 6 µs, 10 µs in the other run"
    assert titles["gpu_utilization"].template == "{label} is {b} in both"
    alike = judge_trends([TrendFacts("a", 1, slower), TrendFacts("b", 1, slower)])[0].verdict.template
    assert alike == "The mean step takes about as long: {a} in {first}, {b} in {last}."


def test_a_headline_that_leaves_something_out_of_its_steps_says_so():
    """Pictures draw the whole steps."""
    longer, shorter = [left_out(trend(*lengths), 4) for lengths in ((12, 12), (8, 8))]
    cases = {
        "one": [left_out(trend(10), 4)],
        "some": [left_out(trend(10, 12), 4)],
        "spans": [longer, shorter],
        "alike": [longer, longer],
    }
    verdicts = {
        name: plain(judge_trends([TrendFacts("a", number, each) for number, each in enumerate(spans, 1)])[0].verdict)
        for name, spans in cases.items()
    }
    assert verdicts == {
        "one": "One step was recorded; it takes 10 µs, of which 6 µs count.",
        "some": "A steady step takes between 6 µs and 8 µs, 7 µs on average.",
        "spans": "The mean steady step falls from 8 µs in span 1 to 4 µs in span 2.",
        "alike": "The mean steady step takes about as long: 8 µs in span 1, 8 µs in span 2.",
    }


def left_out(found: TrendsResult, us: int) -> TrendsResult:
    """The same steps, of each of which so much is one-time work."""
    return replace(found, steps=[replace(step, left_out_ns=1_000 * us) for step in found.steps])


def test_workers_of_one_span_are_no_spans():
    headline, titles = judge_trends([TrendFacts("a", 1, trend(10)), TrendFacts("a", 1, trend(14))])
    assert plain(headline.verdict) == "A step takes between 10 µs and 14 µs, 12 µs on average."
    assert (titles["step_time"].template, titles["step_time"].values["a"].value) == ("{label} is {a}", 12_000)
    later = [TrendFacts("a", 2, trend(length)) for length in (20, 28)]
    headline, titles = judge_trends([TrendFacts("a", 1, trend(10)), TrendFacts("a", 1, trend(14)), *later])
    assert plain(headline.verdict) == "The mean step rises from 12 µs in span 1 to 24 µs in span 2."
    assert plain(titles["step_time"]) == "Step time rises from 12 µs to 24 µs"


def test_slow_steps_are_worth_the_mean_less_the_median():
    headline, titles = judge_trends([TrendFacts("a", 1, trend(10, 10, 12, 60, 10, 10))])
    assert headline.action is not None
    assert headline.action.values["gain"].value == (112_000 / 6) - 10_000
    assert titles["slow"].values["slow"].value == 1  # 12 us is near the median, 60 us is not


def test_many_runs_are_a_field():
    spans = [TrendFacts(name, 1, trend(length)) for name, length in (("a", 10), ("b", 30), ("c", 20))]
    verdict = judge_trends(spans)[0].verdict
    assert (verdict.values["short"].value, verdict.values["long"].value) == ("a", "b")


def test_no_span_is_no_headline_of_numbers():
    assert judge_trends([])[0].verdict.values == {}


def test_the_only_run_is_spoken_of_in_all_its_spans():
    spans = [TrendFacts("a", 1, trend(10, 10, 10, 10, 60)), TrendFacts("a", 2, trend(20, 20, 20, 20, 90))]
    titles = judge_trends(spans)[1]
    assert titles["slow"].values["slow"].value == 2
    assert {name: value.value for name, value in titles["steps"].values.items()} == {"median": 20_000}
    assert judge_trends(spans, "span 1")[1]["slow"].values["slow"].value == 1
    assert titles["slow_rule"].values["limit"].value == 3.5


def test_a_field_of_runs_is_measured_where_any_run_is():
    spans = [TrendFacts(name, 1, trend(10)) for name in ("a", "b", "c")]
    titles = judge_trends(spans)[1]
    assert titles["gpu_utilization"].values["number"].value == 3
    assert titles["data_loading_exposed"].template == "{label} cannot be measured here"


def test_a_figure_that_one_run_or_span_lacks_is_measured_here():
    without = trend(10)
    blank = [replace(each, value=None) if each.metric == "gpu_utilization" else each for each in without.series]
    lacking = replace(without, series=blank)
    runs = judge_trends([TrendFacts("a", 1, lacking), TrendFacts("b", 1, trend(10))])[1]["gpu_utilization"]
    spans = judge_trends([TrendFacts("a", 1, lacking), TrendFacts("a", 2, trend(10))])[1]["gpu_utilization"]
    assert [runs.template, spans.template] == [
        "{label} of {number} runs",
        "{label} is measured in some of the spans",
    ]


def test_the_run_in_focus_is_the_one_that_titles_speak_of():
    spans = [TrendFacts("a", 1, trend(10, 10, 10, 10, 60)), TrendFacts("b", 1, trend(6, 6))]
    figures = [
        [plain(judge_trends(spans, focus)[1][title]) for title in ("steps", "step_time")] for focus in ("a", None)
    ]
    assert figures == [
        ["The median step of the run in focus is 10 µs", "Step time is 20 µs, 6 µs in the other run"],
        ["The median step of the run in focus is 6 µs", "Step time is 6 µs, 20 µs in the other run"],
    ]
