"""Search over a whole span gives the same as a plain scan of its events, for any text and any starting point."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.timeline.answers import Hits, SearchPage, TrackHits
from tb_steptime.timeline.build import write_events
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.search import BINS, PAGE_HITS, Search, search_page
from tests.drawn.timeline import timeline

US = 1000
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, Array<char*, 3> >(int)"
NAMES = {"a": "aten::add", "p": "train.py(54): step", "l": "torch/nn/functional.py(9): linear", "k": ADD}


def event_file(trace, folder):
    folder.mkdir(exist_ok=True)
    write_events(trace, folder)
    return EventFile.open(folder)


@pytest.fixture
def drawn(tmp_path):
    trace = timeline(
        """
        python       | pppppppppppppppppppp |
        python       | llllll.............. |
        op           | ..aaa.......aaaa.... |
        op other     | ..aa................ |
        runtime      | ...k.........k...... |
        kernel 7     | .....kkk.......k.... |""",
        names=NAMES,
    )
    return event_file(trace, tmp_path / "events")


def found(events, text, **asked):
    hits = search_page(events, Search(text, **{"from_ns": 0} | asked)).hits
    return [(name, start // US) for name, start in zip(hits.name, hits.start_ns, strict=True)]


def test_a_whole_answer(drawn):
    label = {(track.group, track.label): track.id for track in drawn.head.tracks}
    stream, main = label["GPU 0", "Stream 7"], label["Process 1", "Main thread main"]
    other = label["Process 1", "Thread other"]
    bins = [0] * BINS
    for begin in (2, 2, 5, 12, 15):
        bins[begin * BINS // 20] += 1
    assert search_page(drawn, Search("ADD", 5 * US)) == SearchPage(
        count=5,
        total_ns=13 * US,
        tracks=[TrackHits(stream, 2, 4 * US), TrackHits(main, 2, 7 * US), TrackHits(other, 1, 2 * US)],
        next=2,
        first=0,
        hits=Hits(
            track=[main, other, stream, main, stream],
            row=[2, 0, 0, 1, 0],
            start_ns=[2 * US, 2 * US, 5 * US, 12 * US, 15 * US],
            length_ns=[3 * US, 2 * US, 3 * US, 4 * US, US],
            event=[
                drawn.event[drawn.within(drawn.lines(track)[row], at * US, at * US + 1)][0]
                for track, row, at in ((main, 2, 2), (other, 0, 2), (stream, 0, 5), (main, 1, 12), (stream, 0, 15))
            ],
            name=["aten::add", "aten::add", ADD, "aten::add", ADD],
        ),
        bins_from_ns=0,
        bins_to_ns=20 * US,
        bins=bins,
    )


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("add<float>", [5, 15]),  # the name as shown on the box
        ("vectorized_elementwise", [5, 15]),  # the name as the trace has it
        ("Train.PY(54)", [0]),
        ("Train.PY:54 step", [0]),  # the line as the tab writes it
        ("cudalaunch", [3, 13]),
        ("the recording", [2]),  # without a marked step, the recording is one step
        ("no such name", []),
        ("  ", []),
        ("", []),
    ],
)
def test_what_is_found(drawn, text, begins):
    assert [start for _, start in found(drawn, text)] == begins


def test_of_one_track_with_the_counts_of_all(drawn):
    (stream,) = (track.id for track in drawn.head.tracks if track.kind == "stream")
    page = search_page(drawn, Search("add", 0, track=stream))
    assert (page.count, page.total_ns, sum(page.bins)) == (2, 4 * US, 2)
    assert [(each.count, each.total_ns) for each in page.tracks] == [(2, 4 * US), (2, 7 * US), (1, 2 * US)]


def test_a_hit_that_is_folded_away_has_no_row(drawn):
    rows = [search_page(drawn, Search("linear", 0, folded=folded)).hits.row for folded in (False, True)]
    assert rows == [[1], [-1]]


@pytest.mark.parametrize("first", [None, 0, 150, 399, 400, 10**9])
def test_a_page_holds_what_is_asked_for_and_what_stands_before_it(tmp_path, first):
    events = event_file(timeline("op | " + "ab" * 400 + " |"), tmp_path / "many")
    page = search_page(events, Search("b", 301 * US, first=first))
    number = 150 if first is None else min(first, 400)
    assert (page.count, page.next) == (400, number)
    assert page.hits.start_ns == [(2 * each + 1) * US for each in range(page.first, page.first + PAGE_HITS)]
    assert page.first <= min(number, 399) < page.first + PAGE_HITS


letters = st.text(alphabet=".abAB", min_size=24, max_size=24)


@given(
    st.lists(letters, min_size=1, max_size=3),
    letters,
    st.text(alphabet="abAB", min_size=1, max_size=2),
    st.integers(-1, 25),
)
def test_it_equals_a_plain_scan(tmp_path_factory, ops, kernels, text, at):
    names = {"a": "aten::AbA", "b": "bb", "A": "xAx", "B": "ab::B"}
    drawing = "\n".join([*(f"op | {each} |" for each in ops), f"kernel 7 | {kernels} |"])
    events = event_file(timeline(drawing, names=names), tmp_path_factory.mktemp("events"))
    scanned = sorted(
        (int(events.start[place]), place, int(events.length[place]))
        for place in range(events.event_count)
        if text.lower() in events.string(int(events.name[place])).lower()
        or text.lower() in events.shown_name(int(events.name[place])).lower()
    )
    page = search_page(events, Search(text, at * US))
    assert (page.count, page.total_ns) == (len(scanned), sum(length for *_, length in scanned))
    assert page.hits.event == [int(events.event[place]) for _, place, _ in scanned]
    assert page.next == sum(start < at * US for start, *_ in scanned)
    assert (sum(each.count for each in page.tracks), sum(page.bins)) == (page.count, page.count)
    assert sum(each.total_ns for each in page.tracks) == page.total_ns
