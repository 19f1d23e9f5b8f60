"""The events that belong to a card's time range."""

from tb_steptime.terminal.explanation import EvidenceEvent, evidence_events
from tests.drawn.timeline import timeline


def test_what_ended_before_what_the_launching_thread_did_and_what_began_after():
    trace = timeline("""
        step            | 00000000000000000000 |
        op              | ..aaaaaaaaaaaa...... |
        op              | ....bbbbbb.......... |
        op other        | ...............ddd.. |
        runtime         | .k.........q........ |
        kernel 7 gpu0   | ..kkk........qqq.... |
        kernel 9 gpu1   | ......zz............ |""")
    found = evidence_events(trace, 0, 5_000, 13_000)
    main = f"thread {trace.threads[0].tid}"
    named = {row.name: row for row in found}
    assert [(row.place, row.name, row.track) for row in found if row.place != "in"] == [
        ("before", "k", "GPU 0, stream 7"),
        ("after", "q", "GPU 0, stream 7"),
    ]
    assert [row.name for row in found if row.place == "in"] == ["ProfilerStep#0", "a", "b", "cudaLaunchKernel"]
    assert named["a"] == EvidenceEvent("in", "a", main, 2_000, 12_000, 8_000)
    assert named["b"] == EvidenceEvent("in", "b", main, 4_000, 6_000, 5_000)


def test_without_a_device_every_thread_counts():
    trace = timeline("""
        step            | 0000000000 |
        op              | .aaaa..... |
        op other        | ...dddd... |""")
    assert [row.name for row in evidence_events(trace, None, 2_000, 5_000)] == ["ProfilerStep#0", "a", "d"]


def test_of_many_events_the_longest_in_it_and_the_innermost_around_it():
    trace = timeline("""
        step | 000000000000000000000000 |
        user outer | aaaaaaaaaaaaaaaaaaaaaaa. |
        user inner | .bbbbbbbbbbbbbbbbbbbbb.. |
        op   | ..cccccccccccccccccccc.. |
        op   | ...d.eee.f.gg.hh.ii.jj.. |""")
    found = evidence_events(trace, None, 3_000, 22_000)
    assert [row.name for row in found] == ["outer", "inner", "c", "e", "g", "h", "i", "j"]
