"""What stays whatever is changed: a job that trains nothing fetches what a step is there for."""

from __future__ import annotations

import numpy as np

from tb_steptime.replay.changes import hands_out
from tb_steptime.replay.graph import build_graph
from tb_steptime.replay.steady import steady_step
from tb_steptime.replay.whatif import what_if
from tb_steptime.trace.model import Trace
from tests.truth.simulate.causes import Loader, Section, Training
from tests.truth.simulate.demo import simulate
from tests.truth.simulate.jobs.inference import Decoding, decode_from_graph
from tests.truth.simulate.judging import as_read


def decoding(*sections: Section) -> Trace:
    declared = Training("decode", "a test.", Loader(0, receive_ns=0), sections, seed=7, active=6, spans=1)
    (span,) = simulate(declared)
    return as_read(declared, span)


def test_the_last_fetch_of_a_token_stays():
    trace = decoding(*decode_from_graph(Decoding(), nodes=True))
    step = steady_step(trace, build_graph(trace))
    assert step is not None
    (stays,) = np.flatnonzero(hands_out(trace, step))
    assert stays == np.flatnonzero(step.graph.waits)[-1]


def test_a_token_that_is_fetched_twice_is_fetched_once_too_often():
    step = decode_from_graph(Decoding(), nodes=True)
    (once,) = what_if(decoding(*step), ["sync_bubble"]).changes
    (twice,) = what_if(decoding(*step, *step), ["sync_bubble"]).changes
    assert once.gain_ns == 0 < twice.gain_ns
