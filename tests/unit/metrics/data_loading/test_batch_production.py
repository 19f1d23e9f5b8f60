"""How long one batch takes, what it uses, and how many workers keep up: for one loader, per batch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tb_steptime.analyses.data_loading import analyse
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.terminal.contract import DataLoadingReport
from tb_steptime.terminal.report import _data_loading
from tb_steptime.text import Phrase, Reason
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tests.drawn.cards import judged
from tests.drawn.loader_calls import MULTI, NAMES, SINGLE, TWICE, chains
from tests.drawn.loader_waits import steps_that_wait
from tests.drawn.recorder_files import ORIGIN, File
from tests.drawn.timeline import timeline


def told(trace: Trace) -> DataLoadingReport:
    """The report without the figures that only a recorder gives."""
    return msgspec.structs.replace(_data_loading(analyse(trace)), recorded=None)


def drawn(drawing: str) -> Trace:
    return timeline(drawing, names=NAMES)


def in_one_process(**more: Any) -> DataLoadingReport:
    """A loader that takes 6 us for a batch; the rest of the step takes 4 us."""
    known: dict[str, Any] = {
        "iterator": SINGLE, "workers": 0, "wait_ns_mean": 6_000, "exposed_ns_mean": 6_000, "hidden_ns_mean": 0,
        "period": None, "production_ns": 6_000, "consumer_ns": 4_000, "needed_workers": 2,
        "predicted_step_ns": points(6_000, *[4_000] * 7), "why_unknown": None, "recorded": None,
    }  # fmt: skip
    return DataLoadingReport(**(known | more))


def points(*step_ns: int) -> dict[str, int]:
    return {str(workers): ns for workers, ns in enumerate(step_ns, 1)}


def recorded(folder: Path, trace: Trace, batches: Mapping[int, list[tuple[int, int]]]) -> Trace:
    """Loaders without workers; for each batch, when it was asked for and when it was made, in us."""
    for loader, times in batches.items():
        file = File(folder, "main", loader=loader, num_workers=0)
        for batch, (asked, made) in enumerate(times, 8):
            file.produced(batch, asked, made, made, cpu=1)
        file.write()
    return with_records(replace(trace, path=str(folder / "host_1.5.pt.trace.json"), origin_ns=ORIGIN))[0]


def test_a_batch_of_a_step():
    assert told(steps_that_wait([6] * 4, 4, loader="loader single")) == in_one_process()


ACCUMULATED = """
    step          | 1111111111111111111122222222222222222222 |
    loader single | llllll....mmmmmm....nnnnnn....oooooo.... |
    op            | ......bbbb......bbbb......bbbb......bbbb |"""


def test_a_step_of_several_batches_takes_each_figure_per_batch():
    """Only the waits and the predicted steps are per step."""
    both = {"wait_ns_mean": 12_000, "exposed_ns_mean": 12_000, "predicted_step_ns": points(12_000, *[8_000] * 7)}
    assert told(drawn(ACCUMULATED)) == in_one_process(**both)


def test_a_recorder_says_the_same_of_the_same(tmp_path):
    trace = recorded(tmp_path, drawn(ACCUMULATED), {0: [(0, 6), (10, 16), (20, 26), (30, 36)]})
    assert trace.loader_records is not None
    assert told(trace) == told(drawn(ACCUMULATED))


def test_a_tile_and_the_cards_say_per_batch_what_is():
    result = analyse(drawn(ACCUMULATED))
    assert [tile.value for tile in result.tiles if tile.metric == "batch_time"] == [6_000]
    assert (result.batch_ns, result.consumer_ns, result.batches_per_step) == (6_000, 4_000, 2.0)
    assert result.curve is not None
    titles = judged(drawn(ACCUMULATED)).titles["data_loading"]
    assert said(titles["curve_pace"]) == "batches of a step every 12 µs / workers"
    assert said(titles["needed_workers"]) == "6 µs / 4 µs"


def test_the_loader_that_is_waited_for_decides_who_makes_batches():
    """The training has no workers, and the evaluation has some."""
    trace = drawn("""
        step          | 11111111112222222222222222222233333333334444444444 |
        loader single | llllll....mmmmmm..............nnnnnn....oooooo.... |
        loader        | ....................x...y......................... |
        op            | ......bbbb......bbbb.aaa.aaaaa......bbbb......bbbb |""")
    consumer = (50_000 - 24_000) // 4
    assert told(trace) == in_one_process(
        wait_ns_mean=6_500,
        exposed_ns_mean=6_500,
        consumer_ns=consumer,
        predicted_step_ns=points(*[consumer] * 8),
    )


#: Two loaders that are zipped, both in the main process; the second takes 3 us.
ZIPPED = chains([(6, 3)] * 6, work=4)


def recorded_zipped(folder: Path) -> Trace:
    first = [(13 * step, 13 * step + 6) for step in range(6)]
    return recorded(folder, drawn(ZIPPED), {0: first, 1: [(made, made + 3) for _, made in first]})


def test_of_zipped_loaders_a_recorder_shows_which_is_waited_for_most(tmp_path):
    """The waits for the other loader remain."""
    assert told(recorded_zipped(tmp_path)) == in_one_process(
        wait_ns_mean=9_000, exposed_ns_mean=9_000, consumer_ns=7_000, predicted_step_ns=points(*[7_000] * 8)
    )
    assert told(drawn(ZIPPED)).why_unknown == AMBIGUOUS


def test_what_a_batch_is_made_of_is_of_the_loader_that_is_waited_for_most():
    """The ops of the other loader do not count."""
    step = "".join(digit * 13 for digit in "123456")
    trace = drawn(f"""
        step          | {step} |
        loader single | {"llllll......." * 6} |
        loader MyIter | {"......mmm...." * 6} |
        op            | {".aa....cc...." * 6} |
        op            | {".........bbbb" * 6} |""")
    activities = analyse(trace).activities
    assert activities is not None
    assert [(each.name, each.ns_per_batch) for each in activities.rows] == [(None, 4_000), ("a", 2_000)]


AMBIGUOUS = "The number of workers is ambiguous in this trace: record the workers."


def test_of_batches_in_a_row_it_is_open_how_many_workers_keep_up():
    trace = drawn(chains([(6, 6)] * 4, work=8))
    assert told(trace) == in_one_process(
        wait_ns_mean=12_000, exposed_ns_mean=12_000, consumer_ns=None, needed_workers=None, predicted_step_ns=None,
        why_unknown=AMBIGUOUS,
    )  # fmt: skip
    assert [tile.reason for tile in analyse(trace).tiles if tile.metric == "needed_workers"] == [
        Reason("loader_count_unknown")
    ]


def test_of_batches_in_a_row_no_burst_is_told():
    """Four workers, from which two batches are requested at once."""
    trace = drawn(chains([(9, 1), (1, 1)] * 6, "loader", work=2))
    assert told(trace) == DataLoadingReport(
        iterator=MULTI, workers=None, wait_ns_mean=6_000, exposed_ns_mean=6_000, hidden_ns_mean=0, period=4,
        why_unknown=AMBIGUOUS,
    )  # fmt: skip


def test_with_a_recorder_batches_in_a_row_are_no_riddle(tmp_path):
    trace = drawn(TWICE)
    for worker in ("main", "w0"):
        file = File(tmp_path, worker, num_workers=1)
        for batch, asked in enumerate((0, 3, 7, 10, 14, 17, 21, 24), 8):
            if worker == "main":
                file.received(batch, asked, asked + 2, asked + 2)
            else:
                file.produced(batch, asked - 1, asked + 1, asked + 2, cpu=1)
        file.write()
    trace = with_records(replace(trace, path=str(tmp_path / "host_1.5.pt.trace.json"), origin_ns=ORIGIN))[0]
    report = told(trace)
    assert (report.workers, report.production_ns, report.why_unknown) == (1, 3_000, None)
    assert (report.consumer_ns, report.needed_workers) == (1_500, 2)


NULLS = {
    "in a row": chains([(6, 6)] * 4),
    "in a row, of workers": chains([(6, 6)] * 4, "loader"),
    "only first batches": "step | 1111111122222222 |\nloader | .ll.....ll...... |\nop | s..bbbbs...bbbb. |",
    "only waits": "step | 11112222 |\nloader single | llllmmmm |",
    "no batch in the steps": "step | ....11112222 |\nloader | ll.......... |\nop | ..bbbbbbbbbb |",
    "no loader": "step | 11112222 |\nop | bbbbbbbb |",
    "a pipe": "step | 11112222 |\nuser enumerate(DataPipe)#Batcher | ll..mm.. |\nop | ..bb..bb |",
    "no burst": chains([(6,)] * 9, "loader"),
    "keeps up": chains([(1,)] * 9, "loader", work=40),
}


@pytest.mark.parametrize("drawing", NULLS.values(), ids=NULLS)
def test_what_is_not_known_says_why(drawing: str):
    report = told(drawn(drawing))
    fields = {**msgspec.structs.asdict(report), "period": 0, "recorded": 0}
    assert None in fields.values()
    assert report.why_unknown is not None
    assert report.why_unknown.startswith(("How ", "The number of workers is ambiguous", "The trace has no"))


# What the cards say about it.


def said(phrase: Phrase) -> str:
    return plain(phrase).replace("\xa0", " ")


def card(trace: Trace, rule: str) -> tuple[str, str | None]:
    (insight,) = [each for each in judged(trace).insights if each.id == rule]
    return said(insight.why), insight.how


def test_a_card_says_per_batch_what_is():
    """Two workers that need 14 us per batch, for steps that take two batches."""
    trace = drawn(f"""
        step   | {"".join(digit * 14 for digit in "123456")} |
        loader | {"lllllllll..m.." * 6} |
        op     | {".........bb.bb" * 6} |""")
    assert card(trace, "more_workers") == (
        "2 workers need 14 µs per batch, the loop uses one in 3 µs.",
        "DataLoader(..., num_workers=min(5, os.cpu_count()))",
    )
    titles = judged(trace).titles["data_loading"]
    assert said(titles["burst"]) == "Every second batch waits 9 µs"
    assert said(titles["burst_pace"]) == (
        "2 workers need 14 µs per batch, the loop uses one in 3 µs: every second batch waits 9 µs; 5 workers would end "
        "it."
    )


def test_without_a_number_of_workers_a_card_still_says_to_use_some():
    trace = drawn(chains([(6, 6)] * 4, work=8))
    assert card(trace, "no_workers") == (
        "The main process produces each batch itself, in 6 µs; worker processes do so while it computes.",
        "DataLoader(..., num_workers=N)",
    )


def test_a_card_counts_the_batches_of_its_loader_alone(tmp_path):
    why, how = card(recorded_zipped(tmp_path), "no_workers")
    assert why.startswith("Loader 1: The main process produces each batch itself, in 6 µs")
    assert how == "DataLoader(..., num_workers=2)"


def test_of_late_batches_in_a_row_neither_the_loaders_own_work_nor_jitter_is_told():
    """Two workers make the two batches of a step at the same time, and take longer than the step does."""
    waits = [(6, 1), (6, 1), (6, 1), (12, 1)] + [(6, 1)] * 5
    causes = analyse(drawn(chains(waits, "loader", work=40))).causes
    assert causes is not None
    assert causes.overhead is not None
    assert (causes.overhead.ns, causes.jitter) == (None, None)


def test_batches_in_a_row_that_lie_ready_are_the_loaders_own_work():
    drawing = "\n".join(
        f"{label} | {''.join(cells)} |"
        for label, cells in {
            "step": ["xy"[step % 2] * (2 + work) for step, work in enumerate(WORK)],
            "loader": ["lm" + "." * work for work in WORK],
            "op": [".." + "b" * work for work in WORK],
        }.items()
    )
    result = analyse(drawn(drawing))
    assert result.causes is not None
    assert result.causes.overhead is not None
    assert (result.causes.overhead.ns, result.causes.overhead.source) == (1_000, "short")
    assert result.why_unknown is not None
    assert result.why_unknown.code == "late_batches_are_few"


#: The work of steps, in us, which differs a lot from step to step.
WORK = [50, 90, 70, 60, 80, 55, 95, 65]
