"""Graphs that are captured again although the same work was already captured and has since run as a graph.

step     |--------- 1 ---------|-- 2 --|--------- 3 ---------|-- 4 --|
runtime   [capture a b c] launch launch  [capture a b c] launch launch

A program that captures one graph per size, one after another or when a size first occurs, captures different work
each time, because its ops have different inputs. If shapes are not recorded, captures without a launch between them
are assumed to be of different sizes.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.ops import BEGINS_CAPTURE, ENDS_CAPTURE, graph_calls
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, Int64, Kind, distinct


class Recaptures(msgspec.Struct, frozen=True):
    """Captures of work that is captured more than once, and the steps that contain them.

    steps               number of steps that contain one of them
    step_ns, other_ns   mean length of these steps and of the others; other_ns is None if there are no others
    """

    steps: int
    step_ns: int
    other_ns: int | None


def recaptures(trace: Trace) -> Recaptures | None:
    """Returns the recaptures; None if no work is captured in several steps."""
    begins = rows_named(trace, CALL_KINDS, BEGINS_CAPTURE.match)
    if len(begins) < 2:
        return None
    launches = trace.events.start_ns[graph_calls(trace)]
    start, works = trace.events.start_ns[begins], _works(trace, begins)
    repeated = {work for place, work in enumerate(works) if _has_run(start, launches, works, place)}
    again_places = [place for place, work in enumerate(works) if work in repeated]
    if not again_places:
        return None
    steps = find_steps(trace)
    captured_in = steps.begun_at(trace.events.start_ns[begins[again_places]])
    captured = distinct(captured_in[captured_in >= 0])
    if len(captured) < 2:
        return None
    lengths = steps.duration_ns
    others = np.delete(lengths, captured)
    other_ns = int(others.mean()) if len(others) else None
    return Recaptures(len(captured), int(lengths[captured].mean()), other_ns)


def _has_run(start: Int64, launches: Int64, works: list[bytes], place: int) -> bool:
    """Returns whether a graph was launched since the same work was last captured. `start` is when each capture starts,
    in ns."""
    before = [earlier for earlier in range(place) if works[earlier] == works[place]]
    if not works[place] or not before:
        return False
    return bool(((launches > start[before[-1]]) & (launches < start[place])).any())


def _works(trace: Trace, begins: Int64) -> list[bytes]:
    """Returns for each capture the names and inputs of the ops on its thread until its end. It is empty if none is
    recorded."""
    events = trace.events
    ends = rows_named(trace, CALL_KINDS, ENDS_CAPTURE.match)
    ops, works = events.rows(Kind.CPU_OP), []
    for begin in begins.tolist():
        thread, start = events.thread[begin], events.start_ns[begin]
        over = ends[(events.thread[ends] == thread) & (events.start_ns[ends] > start)]
        high = events.start_ns[over[0]] if len(over) else events.ends(ops).max(initial=0)
        low, end = np.searchsorted(events.start_ns[ops], [start, high])
        in_capture = ops[low:end][events.thread[ops[low:end]] == thread]
        columns = [column[in_capture] for column in (events.name, events.shapes, events.dtypes) if column is not None]
        works.append(np.stack(columns).astype(np.int64).tobytes())
    return works
