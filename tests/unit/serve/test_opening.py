"""Which of the spans that its address names the tab opens first: the same one that the tab itself would choose."""

from __future__ import annotations

import pytest

from tb_steptime.ingest.states import SpanState
from tb_steptime.serve.store import Address, first_span, is_at_rest
from tb_steptime.serve.wire import Index, RunEntry, SpanEntry, WorkerEntry


def span(id: str, recorded: int, gpu: bool | None = True, state: SpanState = SpanState.READY) -> SpanEntry:
    """id: "r/w/2" is span 2 of worker w of run r."""
    number = int(id.rpartition("/")[2])
    return SpanEntry(id, number, f"{id}.json", 1, recorded, gpu, state, None, None, None, None, None)


def index(*spans: SpanEntry) -> Index:
    runs: dict[str, dict[str, list[SpanEntry]]] = {}
    for each in spans:
        run, worker, _ = each.id.split("/")
        runs.setdefault(run, {}).setdefault(worker, []).append(each)
    entries = [
        RunEntry(run, False, [WorkerEntry(worker, None, them) for worker, them in workers.items()])
        for run, workers in runs.items()
    ]
    return Index("", entries, 0, len(spans), [], 0, 0, [])


ALL = index(
    span("new/a/1", recorded=3), span("new/a/2", recorded=4), span("new/b/1", recorded=3), span("old/a/1", recorded=1)
)


@pytest.mark.parametrize(
    ("address", "id"),
    [
        (Address(), "new/a/1"),
        (Address(run="old"), "old/a/1"),
        (Address(run="new", worker="b"), "new/b/1"),
        (Address(run="new", worker="a", number="2"), "new/a/2"),
        (Address(run="new", worker="gone", number="2"), "new/a/2"),
        (Address(run="gone"), "new/a/1"),
    ],
)
def test_the_span_is_the_one_that_is_named_as_far_as_it_is(address: Address, id: str):
    found = first_span(ALL, address)
    assert found is not None
    assert found.id == id


def test_of_the_newest_runs_one_with_a_gpu_comes_first():
    newest = span("cpu/a/1", recorded=9, gpu=False)
    assert first_span(index(*[span("gpu/a/1", recorded=1)], newest), Address()) == span("gpu/a/1", recorded=1)
    assert first_span(index(span("other/a/1", recorded=1, gpu=False), newest), Address()) == newest


def test_a_run_that_failed_is_not_the_newest():
    failed = span("failed/a/1", recorded=9, state=SpanState.FAILED)
    assert first_span(index(failed, span("old/a/1", recorded=1)), Address()) == span("old/a/1", recorded=1)
    assert first_span(index(failed), Address()) is None


def test_a_span_that_is_not_read_has_no_page_but_another_of_its_run_may():
    unread = span("r/a/1", recorded=2, state=SpanState.UNREAD)
    assert first_span(index(unread, span("r/a/2", recorded=1)), Address()) == span("r/a/2", recorded=1)
    assert first_span(index(unread), Address()) is None


@pytest.mark.parametrize("state", list(SpanState))
def test_an_index_is_at_rest_where_nothing_waits_to_be_read(state: SpanState):
    done = state in (SpanState.READY, SpanState.FAILED)
    assert is_at_rest(index(span("r/a/1", recorded=2), span("r/a/2", recorded=1, state=state))) is done


def test_the_recording_as_one_step_has_an_id_of_its_own():
    assert Address(steps="recording").id_of(span("r/a/1", 1)) == "r/a/1~recording"
    assert Address().id_of(span("r/a/1", 1)) == "r/a/1"
