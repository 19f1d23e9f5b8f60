"""Steps to download, as the store creates them: few are kept, and none outlives the server."""

from __future__ import annotations

import gzip
import json
import os

import pytest

from tb_steptime.ingest.found import FoundSpan
from tb_steptime.serve.served import SpanFailed
from tb_steptime.serve.slices import MOST_MADE, StepSlice, slice_name
from tests.drawn.pftrace import backend_trace, packed
from tests.drawn.small_trace import small_trace, write_trace
from tests.drawn.stores import all_read, entries, until
from tests.drawn.trace_schema import faults

pytestmark = pytest.mark.usefixtures("at_once")


def cut(made, id, step):
    def sliced():
        answer = made.step_slice(id, (step, step), work=True)
        return answer if isinstance(answer, StepSlice) else None

    return until(sliced)


def test_few_are_kept_and_none_outlives_the_server(logs, opened):
    write_trace(logs / "host.1.pt.trace.json", steps=5)
    (entry,) = all_read(opened).values()
    cuts = [cut(opened, entry.id, step) for step in range(5, 10)]
    for one in cuts:
        assert faults(json.loads(gzip.decompress(one.file.read()))["traceEvents"]) == [], "removed or not"
        one.file.close()
    assert [os.path.exists(one.file.name) for one in cuts] == [False] + [True] * MOST_MADE
    opened.close()
    assert [os.path.exists(one.file.name) for one in cuts] == [False] * 5


def test_a_changed_trace_is_cut_again_and_one_that_is_gone_is_not(logs, opened):
    trace = write_trace(logs / "host.1.pt.trace.json")
    (entry,) = all_read(opened).values()
    with cut(opened, entry.id, 5).file as file:
        before = file.name
    write_trace(trace, steps=5)
    until(lambda: entries(opened)[entry.file].last_step == "9")
    with cut(opened, entry.id, 5).file as file:
        assert file.name != before
    trace.unlink()
    with pytest.raises(SpanFailed) as failure:
        until(lambda: opened.step_slice(entry.id, (5, 5), work=False) and None)
    assert failure.value.problem.hint == "Put the trace back next to its summary."


def test_a_pftrace_is_handed_over_as_it_is(logs, opened):
    content = packed(backend_trace(small_trace()))
    logs.mkdir(exist_ok=True)
    (logs / "rank0_trace.pftrace.gz").write_bytes(content)
    (entry,) = all_read(opened).values()
    whole = opened.step_slice(entry.id, (5, 5), work=False)
    assert isinstance(whole, StepSlice)
    with whole.file as file:
        assert (file.read(), whole.name) == (content, "rank0_trace.pftrace.gz")


def test_a_pftrace_too_large_for_a_browser_is_not(logs, opened, monkeypatch):
    monkeypatch.setattr("tb_steptime.serve.slices.MAX_WHOLE_BYTES", 10)
    logs.mkdir(exist_ok=True)
    (logs / "rank0_trace.pftrace.gz").write_bytes(packed(backend_trace(small_trace())))
    (entry,) = all_read(opened).values()
    with pytest.raises(SpanFailed, match="too large"):
        opened.step_slice(entry.id, (5, 5), work=False)


@pytest.mark.parametrize(
    ("run", "steps", "name"),
    [
        ("a/b c", (5, 5), "a_b_c_host_span2_step5.pt.trace.json.gz"),
        ('"; x="', (5, 7), "x_host_span2_steps5-7.pt.trace.json.gz"),
        ("..", (5, 5), "host_span2_step5.pt.trace.json.gz"),
    ],
)
def test_a_name_is_one_of_every_system(run, steps, name):
    assert slice_name(FoundSpan("id", run, "host", 2, "file", None, None), steps) == name
