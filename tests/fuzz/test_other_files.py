"""Summary files and the recorder's files of a hostile colleague, and what else may lie in a log directory."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.names import Place
from tb_steptime.ingest.summaries import SUFFIX
from tb_steptime.ingest.summaries.layout import stamp
from tb_steptime.ingest.summaries.reading import fresh_summary, summary_of
from tb_steptime.ingest.summaries.writing import encode_summary
from tb_steptime.serve.store import Store
from tests.drawn.small_trace import write_trace
from tests.fuzz.other_files import damaged_summary, opened, recorded

pytestmark = pytest.mark.usefixtures("at_once")

MANY = range(2_000, 2_000 + 4 * settings().max_examples)


@pytest.fixture
def made(tmp_path):
    """A trace in a log directory, and its summary."""
    trace = write_trace(tmp_path / "logs" / "a" / "host.1.pt.trace.json", rank=3)
    return trace, encode_summary(stamp(trace), measure_file(trace))


def wrong(cases: range, trace, summary) -> dict[int, str]:
    found = {}
    for case in cases:
        trace.with_name(trace.name + SUFFIX).write_bytes(damaged_summary(case, summary))
        if cause := opened(trace.parents[1]):
            found[case] = cause
    return found


def test_some_damaged_summaries_give_pages_or_a_refusal(made):
    assert wrong(range(1_000, 1_015), *made) == {}


@pytest.mark.live
def test_many_damaged_summaries_give_pages_or_a_refusal(made):
    assert wrong(MANY, *made) == {}


def test_some_damaged_files_of_the_recorder_are_read_or_left_out():
    assert {case: cause for case in range(40) if (cause := recorded(case))} == {}


@pytest.mark.live
def test_many_damaged_files_of_the_recorder_are_read_or_left_out():
    assert {case: cause for case in MANY if (cause := recorded(case))} == {}


def test_a_summary_of_another_trace_is_not_taken(made):
    trace, summary = made
    other = write_trace(trace.with_name("host.2.pt.trace.json"), steps=4)
    beside = other.with_name(other.name + SUFFIX)
    beside.write_bytes(summary)
    assert fresh_summary(other) is None
    assert summary_of(other, beside) is None


#: Names that a file system allows: no file becomes another, and nothing is asked of a shell or an address.
NAMES = (
    "\n.pt.trace.json", "\x1b[31m.pt.trace.json", "\u202egnp.pt.trace.json", "%2e%2e%2f.pt.trace.json",
    "<b>.pt.trace.json", "'; rm -rf ~;.pt.trace.json", "\udcff.pt.trace.json", "x" * 241 + ".pt.trace.json",
)  # fmt: skip


def test_names_of_files_are_names_alone(made):
    trace, _ = made
    for name in NAMES:
        os.link(trace, trace.with_name(name))
    (trace.parent / "out.pt.trace.json").symlink_to("/etc/passwd")
    (trace.parent / "loop").symlink_to(trace.parent)
    store = Store([Place("", trace.parents[1], "logs")])
    try:
        spans = [each for run in store.index(work=False).runs for worker in run.workers for each in worker.spans]
    finally:
        store.close()
    assert "passwd" not in repr(spans)
    assert len({span.id for span in spans}) == len(spans)
    assert "out.pt.trace.json" not in repr(spans)
    assert opened(trace.parents[1]) is None
