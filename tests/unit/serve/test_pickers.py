"""The time of a span's recording, as the pickers know it before the span is read."""

import pytest

from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measure import measure_file
from tb_steptime.serve.pickers import run_entries
from tb_steptime.serve.served import ServedSpan
from tests.drawn.small_trace import write_trace


@pytest.mark.parametrize(
    ("time", "recorded_ns"),
    [
        (1_623_143_089_861, 1_623_143_089_861_000_000),
        (1_790_812_801_043_995_728, 1_790_812_801_043_995_728),
        (500, 77),
        (-1, 77),
    ],
    ids=["ms in the name", "ns in the name", "number of an iteration", "no number"],
)
def test_a_span_that_is_not_read_is_as_old_as_its_name_or_its_file_says(time, recorded_ns):
    found = FoundSpan("id", "run", "worker0", 1, "w.pt.trace.json", None, None, time=time, mtime_ns=77)
    ((entry,),) = (worker.spans for run in run_entries([ServedSpan(found)], {}) for worker in run.workers)
    assert (entry.recorded_ns, entry.has_gpu) == (recorded_ns, None)


@pytest.mark.parametrize(("base_ns", "recorded_ns"), [(1_600_000_000_000_000_000, 1_600_000_000_000_000_000), (0, 77)])
def test_a_span_that_counts_from_no_known_moment_is_as_old_as_its_file(tmp_path, base_ns, recorded_ns):
    trace = write_trace(tmp_path / "w.json", baseTimeNanoseconds=base_ns)
    found = FoundSpan("id", "run", "worker0", 1, "w.json", trace, None, mtime_ns=77)
    span = ServedSpan(found, measured=measure_file(trace))
    ((entry,),) = (worker.spans for run in run_entries([span], {}) for worker in run.workers)
    assert entry.recorded_ns == recorded_ns
