"""What the profiler costs, as the recorder measured it: the time from batch to batch in a recording and outside."""

from __future__ import annotations

from tb_steptime.analyses.quality import notes
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.text import count, ns
from tb_steptime.trace.loader_records import Pace
from tests.drawn.recorder_files import File, drawn


def written(folder, outside: int) -> None:
    """Batches come every 7 us in the recording, and every 4 us after it."""
    main = File(folder, "main").began(-40)
    returned = [7 * batch + 3 for batch in range(5)]
    returned += [returned[-1] + 4 * batch for batch in range(1, outside + 1)]
    for batch, at in enumerate(returned):
        main.received(batch, requested=at - 3, there=at - 1, returned=at)
    main.write()


def test_the_pace_of_both(tmp_path):
    written(tmp_path, 150)
    trace, _ = with_records(drawn(tmp_path))
    assert trace.loader_records is not None
    assert trace.loader_records.pace == Pace(7_000, 3, 4_000, 151)
    (note,) = (each for each in notes(trace) if each.id.startswith("profiling"))
    assert note.id == "profiling_measured"
    assert note.values == {"inside": ns(7_000), "outside": ns(4_000), "count": count(3), "others": count(151)}


def test_too_few_batches_outside_say_nothing(tmp_path):
    written(tmp_path, 50)
    trace, _ = with_records(drawn(tmp_path))
    assert trace.loader_records is not None
    assert trace.loader_records.pace is None
    assert [each.id for each in notes(trace) if each.id == "profiling_measured"] == []
