"""The flame graph served from the event file, compared with the tree measured from the trace."""

from __future__ import annotations

from pathlib import Path

from tb_steptime.metrics.flame import Labels, flame_tree
from tb_steptime.timeline.build import write_events
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.flame import flame_page, numbers_of, totals_of
from tests.drawn.timeline import timeline


def test_a_page_is_the_tree_of_the_trace(tmp_path: Path):
    trace = timeline(
        """
        step          | 0000000000 |
        python        | .ffff..... |
        op            | .aaaa.bb.. |
        runtime       | ..k...m... |
        kernel 7      | ...kk..m.. |""",
        names={"f": "train.py(9): step", "k": "gemm", "m": "gelu"},
    )
    write_events(trace, tmp_path)
    events = EventFile.open(tmp_path)
    for by in ("stack", "op"):
        labels = Labels()
        tree, page = flame_tree(trace, by, "ran", labels), flame_page(events, by, "ran")
        assert page is not None
        assert (page.by, page.where, page.allocated_bytes) == (by, "ran", None)
        label = numbers_of(page.label).tolist()
        assert numbers_of(page.parent).tolist() == tree.parent.tolist()
        assert [page.names[each] for each in label] == [labels.texts[label] for label in tree.label]
        assert [page.kinds[each] for each in label] == [labels.kinds[label] for label in tree.label]
        assert {measure: total.tolist() for measure, total in totals_of(page).items()} == {
            measure: total.tolist() for measure, total in tree.total.items()
        }
        assert numbers_of(page.merged).tolist() == tree.merged.tolist()
        assert numbers_of(page.calls).tolist() == tree.calls.tolist()
        assert len(set(label)) == len(page.names)
    assert flame_page(events, "op", "ran").parent.startswith("-1,0,")  # type: ignore[union-attr]
    assert flame_page(events, "stack", "made") is None
    assert flame_page(events, "module", "ran") is None
