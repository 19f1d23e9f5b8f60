"""Each rule about loaders: it fires, its boundary, and the same symptom with another cause. Traces are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from tb_steptime.analyses.data_loading import analyse
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.insights import judge
from tb_steptime.insights.base import Confidence, Severity
from tb_steptime.insights.rules.data_loading import late_batches, loader_waits
from tb_steptime.metrics.data_loading import throughput
from tb_steptime.metrics.idle.blocking_rows import LARGE_BYTES
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind
from tests.drawn.cards import analysed, card, card_sentence, judged, sure
from tests.drawn.loader_calls import NAMES, SEEDS, epochs
from tests.drawn.loader_waits import simulated, steps_that_wait
from tests.drawn.recorder_files import ORIGIN, File, drawn, write_two_workers
from tests.drawn.timeline import A100, timeline

LOADER_CARDS = (
    "no_workers", "more_workers", "slow_worker", "input_bound", "epoch_starts", "loader_jitter", "loader_overhead",
)  # fmt: skip


def cards(trace: Trace) -> set[str]:
    return {insight.id for insight in judged(trace).insights} & set(LOADER_CARDS)


BURSTS = [9, 1, 1] * 4


def test_no_workers_is_worth_all_of_the_exposed_wait():
    trace = steps_that_wait([6] * 6, work=4, loader="loader single")
    insight = sure(trace, "no_workers")
    assert (insight.gain_ns, insight.part, insight.view) == (6_000, "data_loader", "data_loading")
    assert card_sentence(insight) == (
        "The main process produces each batch itself, in 6 µs; worker processes do so while it computes."
    )
    assert insight.how == "DataLoader(..., num_workers=2)"
    assert cards(trace) == {"no_workers"}


@pytest.mark.parametrize(
    ("calls", "copies", "confidence"),
    [
        ("cc.....", "..cc...", Confidence.MEDIUM),
        ("ck.k...", "..c....", Confidence.LOW),
        (".......", ".......", None),
    ],
    ids=["copies to the GPU", "kernels, too", "no launch"],
)
def test_a_worker_process_cannot_launch_what_the_loader_does(calls: str, copies: str, confidence: Confidence | None):
    trace = timeline(
        f"""
        step          | {"".join(str(step) * 12 for step in range(4))} |
        loader single | {"lllllll....." * 4} |
        op            | {(calls.replace("k", "o").replace("c", "t") + "..a..") * 4} |
        runtime       | {(calls + "..a..") * 4} |
        memcpy 7      | {(copies + ".....") * 4} |
        kernel 7      | {("." + calls.replace("c", ".") + "..aa") * 4} |""",
        names=NAMES | {"c": "Memcpy HtoD (Pageable -> Device)", "t": "aten::to"},
        cell_ns=1_000_000,
    )
    insight = sure(trace, "no_workers")
    assert plain(insight.title).startswith("Make batches on the CPU" if confidence else "Load batches in worker")
    assert ("without .to(device)" in (insight.how or "")) == (confidence is not None)
    assert confidence is None or insight.confidence is confidence


FETCH = "/env/lib/python3.12/site-packages/torch/utils/data/_utils/fetch.py(27): fetch"
FRAMES = {"f": FETCH, "n": "<built-in function next>", "g": "data.py(8): __getitem__"}


@pytest.mark.parametrize(
    ("called", "within", "shares"),
    [
        ("nn.nn", ".....", True),
        ("ggggg", ".nnn.", False),  # an indexed dataset whose code calls `next`
        (".....", ".....", False),
    ],
)
def test_workers_of_an_iterable_dataset_need_a_share_each(called: str, within: str, shares: bool):
    trace = timeline(
        f"""
        step          | {"".join(str(step) * 11 for step in range(6))} |
        loader single | {"lllllll...." * 6} |
        python        | {"fffffff...." * 6} |
        python        | {f".{called}....." * 6} |
        python        | {f".{within}....." * 6} |
        op            | {".......oooo" * 6} |""",
        names=FRAMES,
        cell_ns=1_000_000,
    )
    insight = sure(trace, "no_workers")
    assert ("get_worker_info()" in (insight.how or "")) == shares


@pytest.mark.parametrize(
    ("waits", "loader", "id", "told"),
    [
        ([6] * 6, "loader single", "no_workers", "get_worker_info()"),
        (BURSTS, "loader", "more_workers", "no more than the dataset has files"),
        ([4] * 6, "loader single", "input_bound", "batch_size=None)  # where the dataset's __iter__"),
    ],
)
def test_advice_about_workers_fits_an_iterable_dataset(monkeypatch, waits, loader, id, told):
    monkeypatch.setattr(throughput, "HANDOVER_NS", 700_000 if id == "input_bound" else throughput.HANDOVER_NS)
    cell_ns = 100_000 if id == "input_bound" else 1_000
    found = analysed(steps_that_wait(waits, work=40 if id == "input_bound" else 4, loader=loader, cell_ns=cell_ns))
    (indexed, iterable) = (
        next(each.how or "" for each in judge(results).insights if each.id == id)
        for results in (found, found | {"data_loading": replace(found["data_loading"], iterable=True)})
    )
    assert told not in indexed and told in iterable


PICKS = {"s": "aten::select", "u": "aten::unsqueeze", "k": "aten::stack", "c": "aten::cat"}
LAYERS = {"a": "aten::linear", "e": "aten::convolution", "n": "autograd::engine::evaluate_function: AddmmBackward0"}


@pytest.mark.parametrize(
    ("batch", "id"),
    [
        (".ss.ssukc", "input_bound"),
        (".s.....kc", "no_workers"),  # mostly Python, which computes samples
        (".ssttskc.", "no_workers"),  # ops compute samples
        ("..uuuukkc", "no_workers"),  # samples are stacked, and not picked
    ],
)
@pytest.mark.parametrize(("last", "sampler"), [("n", "Random"), ("e", "Sequential")], ids=["training", "inference"])
def test_rows_in_memory_are_picked_by_one_index_without_workers(batch: str, id: str, last: str, sampler: str):
    trace = timeline(
        f"""
        step          | {"".join(str(step) * 20 for step in range(6))} |
        loader single | {("l" * 10 + "." * 10) * 6} |
        op            | {(batch + ".aeaeaeaea" + last) * 6} |""",
        names=NAMES | PICKS | LAYERS | {"t": "aten::div"},
    )
    assert cards(trace) == {id}
    insight = sure(trace, id)
    assert insight.gain_ns == 10_000
    assert (f"BatchSampler({sampler}Sampler(dataset)" in (insight.how or "")) == (id == "input_bound")


@pytest.mark.parametrize(
    ("wait", "id", "gain_ns", "severity"),
    [(4, "input_bound", 400_000, Severity.MINOR), (30, "no_workers", 2_300_000, Severity.MAJOR)],
    ids=["0.4 ms", "3 ms"],
)
def test_workers_cost_what_it_takes_to_receive_a_batch(monkeypatch, wait, id, gain_ns, severity):
    """Drawn in tenths of a millisecond. A batch of a dataset in memory takes less time to make than to receive."""
    monkeypatch.setattr(throughput, "HANDOVER_NS", 700_000)
    trace = steps_that_wait([wait] * 6, work=40, loader="loader single", cell_ns=100_000)
    assert cards(trace) == {id}
    insight = card(trace, id)
    assert insight is not None
    assert (insight.gain_ns, insight.severity) == (gain_ns, severity)


def test_workers_that_take_longer_to_hand_over_a_batch_than_to_make_it_are_not_needed(tmp_path, monkeypatch):
    """Each batch takes 2 us to make, long before the loop asks for it, and the loop takes 6 us to receive it."""
    monkeypatch.setattr(loader_waits, "RECEIVING_NS", 10_000)
    main, worker = File(tmp_path, "main", num_workers=1), File(tmp_path, "w0", num_workers=1)
    for batch in range(12):
        asked = 8 * batch
        worker.produced(batch, asked - 9, asked - 8, asked - 7, cpu=2)
        main.unpickled(batch, asked, asked, asked + 5, asked + 6)
    main.write()
    worker.write()
    trace = replace(steps_that_wait([6] * 12, work=2), path=drawn(tmp_path).path, origin_ns=ORIGIN)
    insight = sure(with_records(trace)[0], "loader_overhead")
    received_ns, produced_ns = 11 * 6_000 // 12, 2_000  # the first batch of an epoch is counted elsewhere
    drawn_ns = 1_000  # any loader draws the indices of a later batch
    assert (insight.gain_ns, insight.how) == (received_ns - produced_ns - drawn_ns, "DataLoader(..., num_workers=0)")


@pytest.mark.parametrize(("iterable", "expected"), [(True, "slow_worker"), (False, "more_workers")])
def test_a_worker_that_is_slower_than_the_others_is_named(tmp_path, iterable, expected):
    """Each worker of an iterable dataset has its own data. Other workers take any batch: one is slower by chance."""
    settings = {"num_workers": 2, "iterable": iterable}
    main = File(tmp_path, "main", **settings)
    files = [File(tmp_path, f"w{worker}", **settings) for worker in (0, 1)]
    for batch in range(12):
        asked, takes = 8 * batch, (2, 12)[batch % 2]
        files[batch % 2].produced(batch, asked + 5 - takes, asked + 4, asked + 5)
        main.received(batch, asked, asked + 5, asked + 6)
    for file in (main, *files):
        file.write()
    trace = replace(steps_that_wait([6] * 12, work=2), path=drawn(tmp_path).path, origin_ns=ORIGIN)
    found = with_records(trace)[0]
    assert cards(found) & {"slow_worker", "more_workers", "input_bound"} == {expected}
    assert analysed(found)["data_loading"].iterable is iterable
    if iterable:
        insight = sure(found, "slow_worker")
        assert plain(insight.title) == "Make worker 1 as fast as the others"
        assert card_sentence(insight).endswith(
            "Worker 1 needs 12 µs per batch, the others 2 µs, and the loop takes their batches in turn."
        )


def test_where_nothing_of_the_gpu_is_recorded_its_work_may_hide_the_waits():
    results = analysed(steps_that_wait([6] * 6, loader="loader single", cell_ns=1_000_000))
    on_gpu = msgspec.structs.replace(results["overview"].job, device="gpu")
    unseen = judge(results | {"overview": msgspec.structs.replace(results["overview"], job=on_gpu)})
    for judgement, expected in (
        (judge(results), (Severity.MAJOR, plain(late_batches._ON_THE_SAME_CORES.why))),
        (unseen, (Severity.MINOR, "The GPU's work is not in this trace: it may hide these waits.")),
    ):
        (insight,) = (each for each in judgement.insights if each.id == "no_workers")
        assert (insight.severity, plain(insight.why_confidence)) == expected
        assert plain(insight.gain_formula) == "Mean over the steps of the time in which the loader is waited for."


@pytest.mark.parametrize("steps", ["00000000000000000000", "00000000001111111111"], ids=["one step", "an idle one"])
def test_the_only_batch_is_a_hint_where_it_is_the_first_one_of_its_iterator(steps: str):
    """It may have taken longer than later ones, which are not recorded."""
    drawing = f"""
        step          | {steps} |
        op            | s......ooooooooooooo |
        loader single | .llllll............. |"""
    insight = card(timeline(drawing, names={"s": "aten::random_"}, cell_ns=1_000_000), "no_workers")
    if steps[-1] == "1":
        assert insight is None
    else:
        assert insight is not None
        assert (insight.severity, insight.confidence) == (Severity.MINOR, Confidence.LOW)
        assert insight.gain_ns == pytest.approx(6_000_000, abs=700_000)


def test_no_workers_needs_a_hundredth_of_the_step():
    assert card(steps_that_wait([1] * 3, work=100, loader="loader single"), "no_workers") is None
    assert card(steps_that_wait([1] * 3, work=99, loader="loader single"), "no_workers") is not None


def test_a_batch_that_workers_make_calls_for_others():
    assert card(steps_that_wait([6] * 6), "no_workers") is None


def test_more_workers_are_worth_what_late_batches_cost():
    trace = steps_that_wait(BURSTS, work=2)
    insight = sure(trace, "more_workers")
    assert insight.gain_ns == round(sum(BURSTS) / 12 * 1_000) - 1_000  # 1 us of each wait is the loader's own work
    assert plain(insight.title) == "Use up to 6 workers, if there are cores"
    assert card_sentence(insight) == "3 workers need 17 µs per batch, the rest of the step 3 µs."
    assert insight.how == "DataLoader(..., num_workers=min(6, os.cpu_count()))"
    assert plain(insight.why_confidence).endswith(" If `num_workers` is not 3, one batch in 3 is slow instead.")
    assert insight.confidence is Confidence.MEDIUM
    assert cards(trace) == {"more_workers", "loader_overhead"}


def test_where_the_period_alone_tells_of_many_workers_they_are_to_be_recorded():
    """One slow batch in twelve has the same pattern as twelve workers."""
    few, many = (sure(steps_that_wait([9 * n, *[1] * (n - 1)] * 6, work=2), "more_workers") for n in (8, 12))
    assert (few.confidence, few.severity, few.how) == (
        Confidence.MEDIUM, Severity.MAJOR,
        f"DataLoader(..., num_workers=min({few.title.values['workers'].value}, os.cpu_count()))",
    )  # fmt: skip
    assert (many.confidence, many.severity) == (Confidence.LOW, Severity.MINOR)
    assert plain(many.title) == "Record the workers before you change their number"
    assert "If `num_workers` is not 12, one batch in 12 is slow instead." in plain(many.why)
    assert many.how is not None
    assert "LoaderRecorder" in many.how


@pytest.mark.parametrize(
    ("late", "title", "number"),
    [
        (4, "Use 3 workers", "3"),
        (80, "Use up to 31 workers, if there are cores", "min(31, os.cpu_count())"),
    ],
)
def test_more_workers_than_many_machines_have_cores_are_asked_for_on_that_condition(late, title, number):
    insight = sure(steps_that_wait([late, *[1] * (3 if late > 4 else 1)] * 6, work=2), "more_workers")
    assert (plain(insight.title), insight.how) == (title, f"DataLoader(..., num_workers={number})")


def produced_by_the_training(folder: Path, cpu: int, core_wait: int, cores: int) -> Trace:
    """Batches of 12 us that the training process makes itself, for steps of 14 us. cpu, core_wait: of each batch."""
    main = File(folder, "main", num_workers=0)
    main.header["usable_cores"] = cores
    for batch in range(6):
        main.produced(batch, 14 * batch, 14 * batch + 11, 14 * batch + 12, cpu=cpu, core_wait=core_wait)
    main.write()
    trace = steps_that_wait([12] * 6, work=2, loader="loader single")
    return with_records(replace(trace, path=drawn(folder).path, origin_ns=ORIGIN))[0]


@pytest.mark.parametrize(
    ("cpu", "core_wait", "workers", "level", "said"),
    [
        (3, 0, 6, Confidence.HIGH, False),
        (3, 9, 2, Confidence.MEDIUM, True),
        (3, -1, 2, Confidence.HIGH, False),
        (-1, -1, 2, Confidence.HIGH, False),
        (12, 0, 2, Confidence.HIGH, False),
    ],
    ids=["waits for files", "waits for a core", "the system does not tell", "not sampled", "computes"],
)
def test_no_more_workers_than_cores_where_a_batch_computes_or_may(
    tmp_path, monkeypatch, cpu, core_wait, workers, level, said
):
    monkeypatch.setattr(throughput, "HANDOVER_NS", 0)
    monkeypatch.setattr(late_batches, "_SHORT_BATCH_NS", 0)
    insight = sure(produced_by_the_training(tmp_path, cpu, core_wait, cores=2), "no_workers")
    assert (insight.how, insight.confidence) == (f"DataLoader(..., num_workers={workers})", level)
    assert ("75 % of that time" in plain(insight.why_confidence).replace("\xa0", " ")) is said


def test_workers_of_which_it_is_not_known_whether_they_compute_are_not_said_to(tmp_path: Path):
    main = File(tmp_path, "main", num_workers=2)
    main.header["usable_cores"] = 2
    for batch in range(4):
        main.received(batch, requested=7 * batch, there=7 * batch + 2, returned=7 * batch + 3)
    main.write()
    for worker in (0, 1):
        file = File(tmp_path, f"w{worker}", num_workers=2)
        for batch in range(worker, 4, 2):
            file.produced(batch, 7 * batch - 12, 7 * batch, 7 * batch + 2, cpu=-1)
        file.write()
    insight = sure(with_records(drawn(tmp_path))[0], "input_bound")
    assert card_sentence(insight).endswith("If they compute, 2 cores are too few.")
    assert insight.confidence is Confidence.MEDIUM


def test_more_workers_need_a_stall_of_a_twentieth():
    assert card(steps_that_wait([2, 1] * 6, work=29), "more_workers") is None
    assert card(steps_that_wait([3, 1] * 6, work=29), "more_workers") is not None


def test_where_recorded_workers_are_enough_no_more_are_asked_for(tmp_path: Path):
    write_two_workers(tmp_path)
    insight = sure(with_records(drawn(tmp_path))[0], "more_workers")
    assert (plain(insight.title), insight.steps) == ("Use 3 workers", [])
    for worker in (0, 1):
        file = File(tmp_path, f"w{worker}")
        for batch in range(worker, 5, 2):
            file.produced(batch, 7 * batch - 3, 7 * batch - 1, 7 * batch + 1)
        file.write()
    trace = with_records(drawn(tmp_path))[0]
    assert card(trace, "more_workers") is None
    assert "Workers keep up on average" in card_sentence(sure(trace, "input_bound"))


@pytest.mark.parametrize(("persistent", "level"), [(True, Confidence.HIGH), (False, Confidence.MEDIUM)])
def test_more_workers_are_less_sure_where_they_are_respawned(tmp_path: Path, persistent: bool, level: Confidence):
    write_two_workers(tmp_path, persistent_workers=persistent)
    assert sure(with_records(drawn(tmp_path))[0], "more_workers").confidence is level


def test_input_bound_asks_for_a_recording_where_the_number_of_workers_is_ambiguous():
    trace = steps_that_wait([8] * 9, work=2)
    insight = sure(trace, "input_bound")
    assert insight.gain_ns == 8_000
    assert insight.how is not None
    assert insight.how.startswith("LoaderRecorder(")
    assert card_sentence(insight) == (
        "Ambiguous in this trace: too few workers or cores, a slow sampler, or slow transfers. Record the workers."
    )
    assert cards(trace) == {"input_bound"}


def test_short_waits_are_no_late_batches():
    assert cards(steps_that_wait([8] * 3, work=92)) == set()
    assert cards(steps_that_wait([8] * 3, work=91)) == {"input_bound"}


def test_waits_with_a_period_are_not_only_input_bound():
    assert card(steps_that_wait(BURSTS, work=2), "input_bound") is None


def test_workers_that_wait_for_cores_are_told_the_line_to_begin_with(tmp_path: Path):
    main = File(tmp_path, "main", num_workers=6)
    for batch in range(4):
        main.received(batch, requested=7 * batch, there=7 * batch + 2, returned=7 * batch + 3)
    main.write()
    for worker in range(6):
        file = File(tmp_path, f"w{worker}", num_workers=6).produced(worker, 0, 26, 28, cpu=14, core_wait=14)
        file.met(1, "lib/data.py(41): decode" if worker % 3 else "lib/data.py(7): open", 10).write()
    insight = sure(with_records(drawn(tmp_path))[0], "input_bound")
    assert card_sentence(insight).endswith(
        "The workers compute, and for 50 % of their time they wait for a core (4 sampled batches)."
    )
    assert (plain(insight.title), insight.how) == (
        "Make the dataset cheaper",
        "# data.py:41 decode: 67% of a batch, est.",
    )


JITTER = [1, 1, 2, 1, 30, 1, 2, 1, 1, 2, 1, 1]


def test_jitter_is_worth_what_its_waits_last_beyond_the_usual_one():
    insight = sure(steps_that_wait(JITTER, work=10), "loader_jitter")
    assert (insight.gain_ns, insight.steps) == (29_000 // 12, ["4"])
    assert card_sentence(insight) == "1 batch comes late, with a wait of 30 µs instead of 1 µs."
    assert (plain(insight.title), insight.how) == ("Prefetch more batches", "DataLoader(..., prefetch_factor=8)")
    assert [evidence.step for evidence in insight.evidence] == ["4"]


@pytest.mark.parametrize(
    ("late", "confidence", "severity"),
    [((4,), Confidence.LOW, Severity.MINOR), ((4, 6), Confidence.MEDIUM, Severity.MAJOR)],
)
def test_how_often_a_batch_is_late_does_not_show_in_one_step(
    late: tuple[int, ...], confidence: Confidence, severity: Severity
):
    insight = sure(steps_that_wait([30 if step in late else 1 for step in range(12)], work=10), "loader_jitter")
    assert (insight.confidence, insight.severity) == (confidence, severity)


@pytest.mark.parametrize(
    ("late", "other", "turns"),
    [
        ((4, 9), 30, True),  # of five workers
        ((4, 9), 14, False),  # the second wait is less than half as long
        ((4, 6), 30, False),  # two workers would be late again in step 8
        ((0, 9), 30, False),  # scripts rarely set up nine workers
    ],
)
def test_two_late_batches_may_be_two_turns_of_workers(late: tuple[int, int], other: int, turns: bool):
    waits = {late[0]: 30, late[1]: other}
    insights = judged(steps_that_wait([waits.get(step, 1) for step in range(12)], work=10)).insights
    ids = [each.id for each in insights if each.view == "data_loading"]
    assert ("loader_jitter" in ids, ids == ["input_bound"]) == (not turns, turns)


@pytest.mark.parametrize(
    ("wait", "title"), [(64 * 11, "Prefetch more batches"), (64 * 11 + 1, "Make the slowest batches faster")]
)
def test_no_queue_hides_a_batch_that_takes_longer_than_all_its_steps(wait: int, title: str):
    """Steps take 11 us; eight workers with eight batches each are 64 steps ahead at most."""
    insight = sure(steps_that_wait([wait if each == 30 else 1 for each in JITTER], work=10), "loader_jitter")
    assert (plain(insight.title), insight.how is None) == (title, "slowest" in title)


@pytest.mark.parametrize(
    ("waits", "verdict"),
    [
        (
            JITTER,
            "The GPU is idle for 61 % of the step, most of it because of one batch, which takes 30.0 ms in step 4.",
        ),
        ([30, 1] * 6, None),
    ],
    ids=["one late batch", "several"],
)
def test_the_verdict_names_the_one_batch_that_is_late(waits: list[int], verdict: str | None):
    """A step takes 4 ms without its wait."""
    rows = {"step": "", "loader": "", "op": "", "runtime": "", "kernel 7": ""}
    for number, wait in enumerate(waits):
        none, on_host = "." * wait, "l" * wait
        cells = ("0123456789ab"[number] * (wait + 4), f"{on_host}....", f"{none}oo..", f"{none}.k..", f"{none}.kkk")
        rows = {row: rows[row] + more for row, more in zip(rows, cells, strict=True)}
    text = plain(judged(timeline("\n".join(f"{row} | {rows[row]} |" for row in rows), cell_ns=1_000_000)).verdict.text)
    assert text == verdict if verdict else "one batch" not in text


def test_jitter_needs_a_hundredth_of_the_step():
    assert card(steps_that_wait(JITTER, work=250), "loader_jitter") is None
    assert card(steps_that_wait(JITTER, work=200), "loader_jitter") is not None


def test_waits_that_are_long_again_and_again_are_no_jitter():
    assert card(steps_that_wait(BURSTS, work=2), "loader_jitter") is None


def in_epochs(work: int = 10, loader: str = "loader") -> Trace:
    return epochs([[1] * 6, [30, *[1] * 5]], work=work, loader=loader, seeds="s.")


def test_the_start_of_an_epoch_is_worth_its_waits():
    insight = sure(in_epochs(), "epoch_starts")
    assert (insight.gain_ns, insight.steps, insight.confidence) == (31_000 // 12 + 2_000 // 12, ["6"], Confidence.LOW)
    assert plain(insight.title) == "Keep the workers between epochs, or make epochs longer"
    assert card_sentence(insight) == (
        "A step waits 3 µs (19 %). An epoch's first batch takes 30 µs. Setting up its loader, which starts workers "
        "that are not kept, takes 166 ns a step."
    )
    assert insight.how is not None and "persistent_workers=True" in insight.how and "one loader" in insight.how
    assert [evidence.step for evidence in insight.evidence] == ["6"]
    assert cards(in_epochs()) == {"epoch_starts"}


def test_the_start_of_the_training_is_no_start_of_another_epoch():
    assert card(epochs([[30, *[1] * 5]], work=6), "epoch_starts") is None
    assert sure(epochs([[30, *[1] * 5]] * 3, work=6), "epoch_starts").severity is Severity.MAJOR


def test_the_start_of_an_epoch_needs_a_hundredth_of_the_step():
    assert card(in_epochs(work=275), "epoch_starts") is None
    assert card(in_epochs(work=265), "epoch_starts") is not None


def test_workers_that_start_while_the_gpu_is_idle_cost_no_more_once_they_are_kept():
    """Setting up the loader takes 6 ms, in which nothing but its seed is recorded, and its first batch 3 ms."""
    trace = timeline(
        """
        step     | 0001112222222222222333444 |
        loader   | l..l..l.e......lll.l..l.. |
        op       | .oo.oo.o.s......oo..oo.oo |
        runtime  | .k..a..q..........rb..c.. |
        kernel 7 | .kk.aa.q..........rbb.cc. |""",
        names={"s": "aten::random_"},
        cell_ns=1_000_000,
    )
    cards = {insight.id: insight for insight in judged(trace).insights}
    assert cards["epoch_starts"].gain_ns == (1 + 6 + 3) * 1_000_000 // 5
    assert "host_stops" not in cards


def an_iterator_for_each_batch(loader: str, ends: bool = False) -> Trace:
    """Steps that each take one batch of a new iterator. ends: whether each asks for a second one, which there is
    not."""
    waits = f"..llllll...{'m' if ends else '.'}"
    rows = {"step": "".join(name * len(waits) for name in "abcdefgh"), loader: 8 * waits, "op": 8 * "s.......ooo."}
    return timeline("\n".join(f"{label} | {cells} |" for label, cells in rows.items()), names=SEEDS)


def test_a_batch_of_a_new_iterator_in_the_training_process_takes_what_any_takes():
    insight = sure(an_iterator_for_each_batch("loader single"), "no_workers")
    assert insight.gain_ns == 6_000
    assert insight.how is not None
    assert loader_waits.ONE_ITERATOR in insight.how


def test_an_epoch_of_one_batch_needs_its_iterator():
    insight = sure(an_iterator_for_each_batch("loader single", ends=True), "no_workers")
    assert insight.gain_ns == 1_000  # for marks that bring no batch: no worker makes the batch itself sooner
    assert insight.how is not None
    assert loader_waits.ONE_ITERATOR not in insight.how


def test_one_iterator_instead_of_one_for_each_batch_keeps_the_workers():
    insight = sure(an_iterator_for_each_batch("loader"), "epoch_starts")
    assert insight.how == loader_waits.ONE_ITERATOR
    assert sure(in_epochs(), "epoch_starts").how != loader_waits.ONE_ITERATOR


def test_without_workers_an_epoch_starts_like_any_batch():
    assert cards(in_epochs(loader="loader single")) == {"no_workers"}


def test_first_batches_are_no_gain_of_more_workers():
    """All steps except the first of an epoch find their batch ready, so more workers would not shorten any wait."""
    trace = epochs([[1] * 6, [60, *[1] * 5], [60, *[1] * 5]], work=40)
    assert cards(trace) == {"epoch_starts"}


def recorded_epoch(folder: Path, persistent: bool) -> Trace:
    """The first batch after the end of an epoch is waited for 30 us, and its worker takes 14 us to produce it; the
    other batches are prefetched."""
    waits = [1, 30, 1, 1, 1, 1]
    main, made = File(folder, "main", persistent_workers=persistent), File(folder, "w0")
    main.received(9, requested=0, there=0, returned=1)
    at = 7
    for batch, wait in enumerate(waits[1:]):
        main.received(batch, requested=at, there=at + wait - 1, returned=at + wait)
        made.produced(batch, at + wait - 15, at + wait - 3, at + wait - 1)
        at += wait + 6
    main.write()
    made.write()
    trace = steps_that_wait(waits, work=6)
    return with_records(replace(trace, path=drawn(folder).path, origin_ns=ORIGIN))[0]


def test_workers_that_stay_make_the_first_batch_too(tmp_path: Path):
    insight = sure(recorded_epoch(tmp_path, persistent=False), "epoch_starts")
    assert plain(insight.title) == "Keep the workers between epochs"
    assert (insight.gain_ns, insight.severity) == (30_000 // 6 - 14_000 // 6, Severity.MINOR)  # once in these six steps
    assert card_sentence(insight).endswith(
        "Workers start again for each epoch. Its first batch takes 30 µs, 14 µs of it to be produced."
    )


def test_longer_epochs_wait_for_none_of_a_first_batch(tmp_path: Path):
    insight = sure(recorded_epoch(tmp_path, persistent=True), "epoch_starts")
    assert (plain(insight.title), insight.gain_ns, insight.how) == ("Make epochs longer", 30_000 // 6, None)


def test_the_time_in_which_a_new_iterator_is_set_up_is_saved_with_its_workers(tmp_path: Path):
    """On a GPU it is a matter of the host's cards."""
    results = analysed(recorded_epoch(tmp_path, persistent=False))
    loading, overview = results["data_loading"], results["overview"]
    starts = msgspec.structs.replace(loading.causes.starts, setup_ns=500)  # type: ignore[attr-defined]
    causes = msgspec.structs.replace(loading.causes, starts=starts)  # type: ignore[attr-defined]

    def gain_ns(has_device: bool) -> int:
        changed = {
            "data_loading": msgspec.structs.replace(loading, causes=causes),
            "overview": msgspec.structs.replace(overview, has_device=has_device),
        }
        return next(each.gain_ns for each in judge(results | changed).insights if each.id == "epoch_starts")

    assert (gain_ns(False), gain_ns(True)) == (3_167, 2_667)


def evaluating(waits: Sequence[int], work: int = 3, workers: bool = True, steps: int = 5, first: int = 3) -> Trace:
    """Each step waits 2 us for a training batch. The second also evaluates batches; the first of them takes `first` us.

    op     ..bbb..bbbs...a....a....a...bbb
    loader ll...oo....fff.vvvv.wwww.e.ll...
    """
    own = "loader" if workers else "loader single"
    rows = dict.fromkeys(dict.fromkeys(("step", "loader", own, "op")), "")

    def add(loader: str, cells: str, op: str) -> None:
        for label in rows:
            rows[label] += {"op": op, loader: cells, "step": "xy"[step % 2] * len(op)}.get(label, "." * len(op))

    for step in range(steps):
        add("loader", "lo"[step % 2] * 2 + "." * work, ".." + "b" * work)
        if step == 1:
            add(own, "." + "f" * first + ".", "s" + "." * first + "a")
            for number, wait in enumerate(waits):
                add(own, "vw"[number % 2] * wait + ".", "." * wait + "a")
            add(own, "e.", "..")
    return timeline("\n".join(f"{label} | {cells} |" for label, cells in rows.items()), names=NAMES)


def test_cards_say_which_loader_they_are_of():
    trace = evaluating([8, 8])
    assert cards(trace) == {"epoch_starts", "input_bound"}
    assert card_sentence(sure(trace, "input_bound")).startswith("Training loader: Ambiguous in this trace")


def test_other_loaders_are_a_share_of_the_wait():
    def others_ns(trace: Trace) -> int:
        causes = analyse(trace).causes
        assert causes is not None
        return causes.shares.others_ns

    assert others_ns(evaluating([8, 8])) == 16_000 // 5
    assert others_ns(evaluating([], first=9)) == 0
    assert others_ns(steps_that_wait([8] * 9, work=2)) == 0


def test_overhead_is_worth_what_every_wait_lasts_beyond_that_of_any_batch():
    insight = sure(steps_that_wait(BURSTS, work=2), "loader_overhead")
    assert insight.gain_ns == 1_000 - 453  # 8 % of a step
    assert card_sentence(insight).endswith(
        "The main process needs 1 µs for a batch that is ready: to unpickle it, to map its memory, and to draw the "
        "indices of a later one."
    )
    assert plain(insight.title) == "Return fewer, larger tensors"


@pytest.mark.parametrize(
    ("unpickled", "title", "why"),
    [
        (1, "Make the sampler faster",
         "The main process needs 6 µs for a batch that is ready, 5 µs of it to draw the indices of a later one."),
        (5, "Return fewer, larger tensors",
         "The main process needs 6 µs for a batch that is ready: to unpickle it, to map its memory."),
    ],
)  # fmt: skip
def test_a_recorder_knows_a_slow_sampler(tmp_path: Path, unpickled: int, title: str, why: str):
    main, worker = File(tmp_path, "main", num_workers=1), File(tmp_path, "w0", num_workers=1)
    for batch in range(12):
        asked = 8 * batch
        worker.produced(batch, asked - 14, asked - 7, asked - 6)
        main.unpickled(batch, asked, asked, asked + unpickled, asked + 6)
    main.write()
    worker.write()
    trace = replace(steps_that_wait([6] * 12, work=2), path=drawn(tmp_path).path, origin_ns=ORIGIN)
    insight = sure(with_records(trace)[0], "loader_overhead")
    assert plain(insight.title) == title
    assert card_sentence(insight).endswith(why)


def bursts_on_a_gpu(copied_from: str = "Pinned", work: int = 4) -> Trace:
    """Every third wait is long and the others last 2 us; a batch is copied, then a kernel runs."""
    rows = {"step": "", "loader": "", "runtime": "", "memcpy 9": "", "kernel 7": ""}
    for number, wait in enumerate([30, 2, 2] * 4):
        rows["step"] += "ab"[number % 2] * (wait + work)
        rows["loader"] += "l" * wait + "." * work
        rows["runtime"] += "." * wait + "ck" + "." * (work - 2)
        rows["memcpy 9"] += "." * wait + ".c" + "." * (work - 2)
        rows["kernel 7"] += "." * wait + ".." + "k" * (work - 2)
    drawing = "\n".join(f"{label} | {cells} |" for label, cells in rows.items())
    return timeline(drawing, names={"c": f"Memcpy HtoD ({copied_from} -> Device)"})


def test_overhead_is_no_cost_where_any_batch_takes_as_long():
    assert card(bursts_on_a_gpu(), "loader_overhead") is not None
    assert card(bursts_on_a_gpu(work=14), "loader_overhead") is None


def test_pinning_moves_overhead_to_a_thread_where_it_is_not_done_yet():
    assert sure(bursts_on_a_gpu("Pageable"), "loader_overhead").how == "DataLoader(..., pin_memory=True)"
    assert plain(sure(bursts_on_a_gpu("Pinned"), "loader_overhead").title) == "Return fewer, larger tensors"


def test_late_batches_are_no_overhead():
    assert card(steps_that_wait([8] * 9, work=2), "loader_overhead") is None


COPIED = """
    step     | 1111111122222222 |
    loader   | l.......m....... |
    runtime  | .ck......dq..... |
    memcpy 9 | ..cc......dd.... |
    kernel 7 | ...kkkk.....qqqq |"""
PAGEABLE = "Memcpy HtoD (Pageable -> Device)"


def test_a_pageable_batch_that_no_kernel_runs_beside_is_worth_its_copy():
    insight = sure(timeline(COPIED, names={"c": PAGEABLE, "d": PAGEABLE}), "pageable_batch_copies")
    assert (insight.gain_ns, insight.part) == (1_500, "memcpy")
    card_sentence(insight)


@pytest.mark.parametrize(
    ("direction", "found"),
    [
        ("DtoH (Device -> Pageable)", {"pageable_result_copies": 1_000}),
        ("HtoD (Pageable -> Device)", {"pageable_batch_copies": 1_500}),
        ("DtoH (Device -> Pinned)", {}),
        ("HtoD (Pinned -> Device)", {}),
        ("DtoD (Device -> Device)", {}),
    ],
)
def test_copies_beside_which_no_kernel_runs_are_told_by_direction_and_memory(direction: str, found: dict[str, int]):
    """They take one cell of the first step and two of the second one."""
    assert copied_alone(COPIED, direction) == found


@pytest.mark.parametrize(
    ("layers", "nbytes", "batch"), [(4, 1 << 20, False), (3, 1 << 20, True), (4, (1 << 20) - 1, True)]
)
def test_large_tensors_before_each_layer_are_no_batch_of_the_loader(layers: int, nbytes: int, batch: bool):
    """Four tensors are copied before the kernel of each layer. A batch may have many tensors, but then small ones."""
    cells = 2 + 10 * layers
    drawing = f"""
        step     | {"".join(number * cells for number in "1234")} |
        loader   | {f"l.{'..........' * layers}" * 4} |
        runtime  | {f"..{'c.c.c.c.k.' * layers}" * 4} |
        memcpy 7 | {f"..{'.c.c.c.c..' * layers}" * 4} |
        kernel 7 | {f"..{'.........k' * layers}" * 4} |"""
    insight = sure(with_bytes(timeline(drawing, names={"c": PAGEABLE}), nbytes), "pageable_batch_copies")
    assert ("batch" in plain(insight.title), "DataLoader" in (insight.how or "")) == (batch, batch)


@pytest.mark.parametrize(
    ("steps", "copies", "nbytes", "weights"),
    [("1", 17, LARGE_BYTES, True), ("123", 17, LARGE_BYTES, False), ("1", 16, LARGE_BYTES, False),
     ("1", 17, LARGE_BYTES - 1, False)],
    ids=["the only step", "each step", "a few", "small"],
)  # fmt: skip
def test_many_tensors_that_the_only_step_copies_may_be_weights(steps: str, copies: int, nbytes: int, weights: bool):
    """All but the first follow another one. Kernels take as long as the copies, or longer."""
    width = 6 * copies
    drawing = f"""
        step     | {"".join(number * (width + 102) for number in steps)} |
        runtime  | {f"{'ccccc.' * copies}k{'.' * 101}" * len(steps)} |
        memcpy 7 | {f"{'..cc..' * copies}.{'.' * 101}" * len(steps)} |
        kernel 7 | {f"{'......' * copies}.{'k' * 100}." * len(steps)} |"""
    trace = with_bytes(timeline(drawing, names={"c": PAGEABLE}), nbytes)
    found = {each.id: each for each in judged(trace).insights if each.id.startswith("pageable")}
    assert {"pageable_batch_copies", "pageable_copies"} == set(found)
    for each in found.values():
        assert ("weights are copied once" in (each.how or "")) is weights
        assert (each.severity is Severity.MINOR) is weights


@pytest.mark.parametrize(
    ("direction", "id", "title"),
    [
        ("DtoH (Device -> Pageable)", "pageable_result_copies", "Copy less from the GPU, or to pinned memory"),
        ("HtoD (Pageable -> Device)", "pageable_batch_copies", "Copy less to the GPU, or from pinned memory"),
    ],
)
@pytest.mark.parametrize(("cells", "hidden"), [(10, True), (11, False)])
def test_no_gain_is_promised_of_copies_that_the_rest_of_the_step_cannot_hide(
    direction: str, id: str, title: str, cells: int, hidden: bool
):
    """The rest of each step takes five cells."""
    drawing = f"""
        step     | {"".join(number * (cells + 5) for number in "123")} |
        runtime  | {f"{'c.'}{'.' * cells}k.." * 3} |
        memcpy 9 | {f"..{'c' * cells}..." * 3} |
        kernel 7 | {f"..{'.' * cells}.k." * 3} |"""
    trace = with_bytes(timeline(drawing, names={"c": f"Memcpy {direction}"}), LARGE_BYTES)
    found = judged(trace)
    insight = next(each for each in found.insights if each.id == id)
    assert insight.gain_ns == (cells * 1_000 if hidden else 0)
    assert (plain(insight.title) == title) is not hidden
    assert insight.about_ns == (0 if hidden else cells * 1_000)
    verdict = (
        f"For {cells} µs of a step of {cells + 5} µs, the GPU does nothing but copy data from and to the CPU's memory."
    )
    assert plain(found.verdict.text) == verdict


@pytest.mark.parametrize(
    ("op", "title"),
    [("aten::randn", "Create on the GPU what is copied there"), ("aten::stack", "Copy less to the GPU")],
)
def test_a_copy_that_need_not_be_made_is_saved_whatever_could_hide_it(op: str, title: str):
    drawing = f"""
        step     | {"".join(number * 22 for number in "123")} |
        op       | {f"rrtt{'.' * 18}" * 3} |
        runtime  | {f"..c.{'.' * 15}k.." * 3} |
        memcpy 9 | {f"...{'c' * 15}...." * 3} |
        kernel 7 | {f"...{'.' * 15}..k." * 3} |"""
    names = {"r": op, "t": "aten::to", "c": PAGEABLE}
    insight = card(with_bytes(timeline(drawing, names=names), LARGE_BYTES), "pageable_batch_copies")
    assert insight is not None
    assert plain(insight.title).startswith(title)
    assert insight.gain_ns == (15_000 if op == "aten::randn" else 0)


def test_copies_of_two_kinds_of_memory_have_a_card_each():
    """Both have one title, but other code: those of pageable memory have to be pinned first."""
    drawing = f"""
        step     | {"".join(number * 30 for number in "123")} |
        runtime  | {f"cd{'.' * 6}k{'.' * 21}" * 3} |
        memcpy 9 | {f".cccddd{'.' * 23}" * 3} |
        kernel 7 | {f"{'.' * 9}{'k' * 20}." * 3} |"""
    trace = timeline(drawing, names={"c": PAGEABLE, "d": "Memcpy HtoD (Pinned -> Device)"})
    found = {each.id: plain(each.title) for each in judged(with_bytes(trace, LARGE_BYTES)).insights}
    title = "Copy the next batch while kernels run"
    assert (found["pageable_batch_copies"], found["pinned_copies"]) == (title, title)


@pytest.mark.parametrize(("copies", "said"), [("3", False), ("23", True)])
def test_a_step_that_writes_a_checkpoint_does_not_say_what_the_others_do(copies: str, said: bool):
    """One or two of three steps copy for forty cells, after four in which a kernel runs."""
    copied = {number: 40 if number in copies else 0 for number in "123"}
    drawing = f"""
        step     | {"".join(number * (6 + cells) for number, cells in copied.items())} |
        runtime  | {"".join(f"k{'c' if cells else '.'}....{'.' * cells}" for cells in copied.values())} |
        kernel 7 | {"".join(f".kkkk.{'.' * cells}" for cells in copied.values())} |
        memcpy 9 | {"".join(f".....{'c' * cells}." for cells in copied.values())} |"""
    trace = with_bytes(timeline(drawing, names={"c": "Memcpy DtoH (Device -> Pageable)"}), LARGE_BYTES)
    assert ("does nothing but copy" in plain(judged(trace).verdict.text)) is said


@pytest.mark.parametrize(("nbytes", "gain_ns"), [(126_000, 11_000), (220_500, 9_000), (346_500, 5_000), (504_000, 0)])
def test_what_pinned_memory_gains_is_bounded_by_the_link_and_by_the_rest_of_the_step(nbytes: int, gain_ns: int):
    """Copies of 11 us beside a rest of 5 us; over PCIe 4.0 they would take 4, 7, 11 and 16 us."""
    drawing = f"""
        step     | {"".join(number * 16 for number in "123")} |
        runtime  | {f"c.{'.' * 11}k.." * 3} |
        memcpy 9 | {f"..{'c' * 11}..." * 3} |
        kernel 7 | {f"..{'.' * 11}.k." * 3} |"""
    trace = with_bytes(timeline(drawing, names={"c": PAGEABLE}, devices={0: A100}), nbytes)
    found = card(trace, "pageable_batch_copies")
    assert (0 if found is None else found.gain_ns) == gain_ns


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("way", ["HtoD (Pageable -> Device)", "DtoH (Device -> Pageable)"])
def test_what_only_one_step_copies_to_the_gpu_may_be_the_weights(way: str, steps: int):
    trace = timeline(
        f"""
        step     | {"".join(number * 58 for number in "123"[:steps])} |
        runtime  | {f"{'c....' * 11}k.." * steps} |
        memcpy 9 | {f"{'.cccc' * 11}..." * steps} |
        kernel 7 | {f"{'.....' * 11}.kk" * steps} |""",
        names={"c": f"Memcpy {way}"},
        devices={0: A100},
    )
    (insight,) = (each for each in judged(with_bytes(trace, LARGE_BYTES)).insights if each.part == "memcpy")
    assert "weights" not in plain(insight.why_confidence)
    assert ("weights" in (insight.how or "")) is (steps == 1 and way.startswith("HtoD"))
    assert (insight.confidence is Confidence.LOW) is (steps == 1)


@pytest.mark.parametrize(
    ("cells", "copies", "steps", "direction", "gain_ns", "confidence"),
    [
        (6, 1, "123", "HtoD (Pinned -> Device)", 6_000, Confidence.MEDIUM),
        (14, 1, "123", "HtoD (Pinned -> Device)", 11_000, Confidence.MEDIUM),
        (6, 1, "123", "DtoH (Device -> Pinned)", 6_000, Confidence.LOW),
        (1, 16, "123", "HtoD (Pinned -> Device)", 16_000, Confidence.LOW),
        (6, 1, "2", "HtoD (Pinned -> Device)", None, None),
        (6, 1, "123", "DtoD (Device -> Device)", None, None),
    ],
    ids=["a batch", "longer than the rest", "results", "of many tensors", "in one step", "within the GPU"],
)
def test_a_pinned_copy_beside_which_no_kernel_runs_needs_a_stream_of_its_own(
    cells: int, copies: int, steps: str, direction: str, gain_ns: int | None, confidence: Confidence | None
):
    """Copies of so many cells; the rest of each step takes ten, and one between two copies."""
    width = copies * (cells + 1)
    copied = {number: f"{'c' * cells}." * copies if number in steps else "." * width for number in "123"}
    called = {number: f"c{'.' * cells}" * copies if number in steps else "." * width for number in "123"}
    drawing = f"""
        step     | {"".join(number * (width + 10) for number in "123")} |
        runtime  | {"".join(f"{each}k........." for each in called.values())} |
        memcpy 7 | {"".join(f"{each}.........." for each in copied.values())} |
        kernel 7 | {f"{'.' * width}.kkkkkkkk." * 3} |"""
    insight = card(with_bytes(timeline(drawing, names={"c": f"Memcpy {direction}"}), LARGE_BYTES), "pinned_copies")
    assert (insight and insight.gain_ns, insight and insight.confidence) == (gain_ns, confidence)
    if insight is not None:
        assert ("batch" in plain(insight.title)) == (confidence is Confidence.MEDIUM)
        assert ("can hide no more" in plain(insight.why)) == (gain_ns == 11_000)


def copied_alone(drawing: str, direction: str, size: int = LARGE_BYTES) -> dict[str, int]:
    trace = with_bytes(timeline(drawing, names=dict.fromkeys("cd", f"Memcpy {direction}")), size)
    about = {"pageable_batch_copies", "pageable_result_copies"}
    return {each.id: each.gain_ns for each in judged(trace).insights if each.id in about}


def with_bytes(trace: Trace, size: int) -> Trace:
    """Each copy has so many bytes."""
    nbytes = np.where(trace.events.kind == Kind.MEMCPY, size, -1)
    return replace(trace, events=replace(trace.events, bytes=nbytes.astype(np.int64)), memo={})


@pytest.mark.parametrize(("size", "gain"), [(LARGE_BYTES, {"pageable_result_copies": 1_000}), (LARGE_BYTES - 1, {})])
def test_small_results_take_no_time_to_copy(size: int, gain: dict[str, int]):
    assert copied_alone(COPIED, "DtoH (Device -> Pageable)", size) == gain


@pytest.mark.parametrize(("second", "gain"), [("....", {}), ("d...", {"pageable_result_copies": 1_000})])
def test_results_that_few_steps_copy_are_no_cost_of_each(second: str, gain: dict[str, int]):
    """Two steps; the first one copies for four cells."""
    drawing = f"""
        step     | 1111111122222222 |
        runtime  | .ck......{second[:1]}q..... |
        memcpy 9 | ..cccc....{second[:1]}..... |
        kernel 7 | ......kk...qqqqq |"""
    assert copied_alone(drawing, "DtoH (Device -> Pageable)") == gain


COPIES = "does nothing but copy data from and to the CPU's memory."


@pytest.mark.parametrize(
    ("kernels", "verdict", "cards"),
    [
        ("........ ........", f"For 8 µs of a step of 8 µs, the GPU {COPIES}",
         {"Copy less to the GPU, or from pinned memory", "Copy less from the GPU, or to pinned memory"}),
        ("....kkkk ....qqqq", f"For 4 µs of a step of 8 µs, the GPU {COPIES}",
         {"Copy the next batch while kernels run"}),
        ("...kkkkk ...qqqqq", "The GPU sets the pace: it works for 100 % of a step of 8 µs.",
         {"Copy the next batch while kernels run"}),
    ],
)  # fmt: skip
def test_copies_that_run_alone_for_half_of_the_step_are_what_it_does(kernels: str, verdict: str, cards: set[str]):
    """Something is copied all the time; copies back to the host run beside the kernels, if there are any."""
    drawing = f"""
        step     | 1111111122222222 |
        runtime  | c...e...d...f... |
        memcpy 9 | cccceeeeddddffff |
        runtime  | {"....k.......q..." if "k" in kernels else "." * 16} |
        kernel 7 | {kernels.replace(" ", "")} |"""
    names = dict.fromkeys("cd", PAGEABLE) | dict.fromkeys("ef", "Memcpy DtoH (Device -> Pageable)")
    trace = timeline(drawing, names=names)
    nbytes = np.where(trace.events.kind == Kind.MEMCPY, LARGE_BYTES, -1)
    judgement = judged(replace(trace, events=replace(trace.events, bytes=nbytes.astype(np.int64)), memo={}))
    about = {"pageable_batch_copies", "pageable_result_copies"}
    found = {plain(each.title) for each in judgement.insights if each.id in about}
    assert (plain(judgement.verdict.text).replace("\xa0", " "), found) == (verdict, cards)


def test_a_pinned_batch_is_left_alone():
    assert card(timeline(COPIED), "pageable_batch_copies") is None


def test_a_pageable_batch_beside_kernels_costs_nothing():
    trace = timeline("""
        step     | 1111111122222222 |
        loader   | l.......m....... |
        runtime  | .kc.....q.d..... |
        memcpy 9 | ...cc......dd... |
        kernel 7 | ..kkkkkkqqqqqqqq |""", names={"c": PAGEABLE, "d": PAGEABLE})  # fmt: skip
    assert card(trace, "pageable_batch_copies") is None


@pytest.mark.parametrize(
    "draw",
    [
        lambda: steps_that_wait(BURSTS, work=2),
        lambda: steps_that_wait(JITTER, work=10),
        lambda: steps_that_wait([8] * 9, work=2),
        lambda: steps_that_wait([6] * 6, loader="loader single"),
        lambda: simulated(3, 0.1)[1],
        lambda: simulated(1, 0.1)[1],
        lambda: epochs([[9, 1, 1] * 3, [30, 1, 1] + [9, 1, 1] * 2], work=2),
        lambda: evaluating([8, 9, 8]),
    ],
    ids=["bursts", "jitter", "steady", "single", "simulated-3", "simulated-1", "epochs", "evaluation"],
)
def test_the_cards_share_one_exposed_wait(draw: Callable[[], Trace]):
    results = analysed(draw())
    gains = {insight.id: insight.gain_ns for insight in judge(results).insights if insight.id in LOADER_CARDS}
    loading = results["data_loading"]
    shares = loading.causes.shares  # type: ignore[attr-defined]
    gains |= {"loader_overhead": shares.overhead_ns, "others": shares.others_ns}
    if starts := loading.causes.starts:  # type: ignore[attr-defined]
        gains["setup"] = -starts.setup_ns  # no wait
    assert sum(gains.values()) <= loading.mean.exposed_ns  # type: ignore[attr-defined]
    assert sum(gains.values()) >= 0.97 * loading.mean.exposed_ns  # type: ignore[attr-defined] # parts worth no card


def test_the_headline_names_the_cause_that_costs_most():
    def verdict(trace: Trace) -> str:
        return plain(judged(trace).headlines["data_loading"].verdict).replace("\xa0", " ")

    assert verdict(in_epochs()) == "A step waits 3 µs because no batch is ready when an epoch begins."
    assert verdict(steps_that_wait([8] * 9, work=2)).endswith("because the workers' batches come late.")


def test_the_headline_says_what_to_type():
    headline = judged(steps_that_wait(BURSTS, work=2)).headlines["data_loading"]
    assert headline.code == (
        "loader = DataLoader(dataset, num_workers=min(6, os.cpu_count()),\n                    persistent_workers=True)"
    )
    assert judged(steps_that_wait([8] * 9, work=2)).headlines["data_loading"].code is None


@pytest.mark.parametrize(("op", "by_loader"), [("..iiiiii", False), ("........", True)])
def test_no_loader_pins_what_the_loop_makes_after_it(op: str, by_loader: bool):
    trace = timeline(
        f"""
        step     | {"".join(str(each) * 20 for each in range(4))} |
        loader   | {"ll.................." * 4} |
        op       | {op.ljust(20, ".") * 4} |
        runtime  | {"........hhhhk......." * 4} |
        memcpy 7 | {"..........hh........" * 4} |
        kernel 7 | {".............kkkkkkk" * 4} |""",
        names={"i": "aten::index_select", "h": "Memcpy HtoD (Pageable -> Device)"},
        nbytes={"h": 1 << 20},
        cell_ns=1_000_000,
    )
    how = sure(trace, "pageable_batch_copies").how or ""
    assert (how.startswith("DataLoader("), "aten::index_select" in how) == (by_loader, not by_loader)
