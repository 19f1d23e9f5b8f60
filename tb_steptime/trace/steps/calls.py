"""Calls that are made once in each step, for recordings without step marks: they show where a step begins or ends.

    training    |-- forward, backward --|Optimizer.step#|-- forward, backward --|Optimizer.step#|     ends
                |loader|--------------------------------|loader|--------------------------------      begins
    inference   |nn.Module: Net_0|...|nn.Module: Net_0|...|nn.Module: Net_0|                          begins
                |cudaGraphLaunch|......|cudaGraphLaunch|......|cudaGraphLaunch|                       begins
                ........|argmax|...............|argmax|...............|argmax|                        ends
    any loop    |normal_||mm|..........|normal_||mm|..........|normal_||mm|                           begins

Only the calls of one thread count, and of nested calls only the outermost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.frames import module_frames
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.loader_marks import LOADER_MARK, marked_waits
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.ops import GRAPH_CALL
from tb_steptime.trace.steps.loops import loop_rounds
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind

OPTIMIZER_STEP = expression(r"Optimizer\.step#")
_ZERO_GRAD = expression(r"Optimizer\.zero_grad#")
#: Ranges that are not written by the author of the loop: they do not mark steps.
_OF_LIBRARIES = expression(
    r"Optimizer\.|enumerate\(|nccl:|rccl:|gloo:|c10d|record_param_comms|ProfilerStep|\[?pg|##? ?all"
)
#: The range that vLLM writes around each step, with the numbers of requests and tokens.
_SERVING_STEP = expression(r"execute_(?:\d+_)?(?:new|context|model)")
#: Ops that choose the next token, or the class of each image, at the end of a forward pass; no layer uses them.
_CHOICE = expression(r"aten::(argmax|multinomial)$")
_COMPILED = expression(r"Torch-Compiled Region|(?:## Call )?CompiledFxGraph")
#: Ranges that authors of training loops and servers write around one pass: "forward", "train_step 7",
#: "gpu_model_runner: forward". If they mark the layers of a model instead, the layer's name comes first.
_PASS = expression(
    r"(?:gpu_model_runner: |(?:Distributed|FullySharded)DataParallel\.|model[_ .])?"
    r"(?:forward|iter(?:ation)?|execute_model|step|batch"
    r"|(?:train(?:ing)?|eval|inference|decode|forward)[_ ](?:step|pass|batch|iter(?:ation)?))"
    r"(?:[ _#:-]*\d+)?$",
    re.IGNORECASE,
)

#: A range or module call that covers less than this share of the time is a detail of a step: an attention block, a
#: copy.
MOST_OF_THE_TIME = 0.5
#: A graph of fewer kernels is a piece of a model between parts that cannot be captured, several of them per step.
WHOLE_GRAPH_KERNELS = 30


class StepCalls(NamedTuple):
    """Calls that are made once in each step.

    rows         rows of the event table, in time order
    at_end       each step ends with its call; otherwise it begins with it
    name         the name that most of the calls have
    mean_steps   the calls are made once per step by their purpose; otherwise they only repeat
    """

    rows: Int64
    at_end: bool
    name: str
    mean_steps: bool = False

    @property
    def are_batches(self) -> bool:
        """Whether each call is the wait for a batch."""
        return LOADER_MARK.match(self.name) is not None

    @property
    def of_optimizer(self) -> bool:
        return OPTIMIZER_STEP.match(self.name) is not None


def step_calls(trace: Trace) -> Iterator[StepCalls]:
    """Candidates for calls that mark steps, the most certain first. Only kinds with enough calls to repeat."""
    marks = (Kind.USER, Kind.CPU_OP)
    of_optimizer = rows_named(trace, marks, OPTIMIZER_STEP.match)
    of_passes = rows_named(trace, (Kind.USER,), _SERVING_STEP.match)
    yield from _calls(trace, of_optimizer, at_end=True, mean_steps=True)
    yield from _calls(trace, rows_named(trace, marks, _ZERO_GRAD.match), mean_steps=True)
    yield from _calls(trace, marked_waits(trace), mean_steps=True)
    yield from _longest(trace, module_frames(trace))
    yield from _calls(trace, of_passes, mean_steps=True)
    yield from _calls(trace, rows_named(trace, (Kind.USER,), _PASS.match), mean_steps=True)
    yield from _longest(trace, rows_named(trace, (Kind.USER,), lambda name: not _OF_LIBRARIES.match(name)))
    yield from _longest(trace, rows_named(trace, marks, _COMPILED.match), least=0.0)
    yield from _graphs(trace)
    yield from _calls(trace, rows_named(trace, (Kind.CPU_OP,), _CHOICE.match), at_end=True)


def batch_calls(trace: Trace) -> Int64:
    """Waits for batches, of the thread with the most of them."""
    return next((calls.rows for calls in _calls(trace, marked_waits(trace))), np.zeros(0, np.int64))


def _calls(trace: Trace, rows: Int64, *, at_end: bool = False, mean_steps: bool = False) -> Iterator[StepCalls]:
    """These calls, on the thread with the most of them."""
    if len(rows):
        mine = _outermost(trace, rows[trace.events.thread[rows] == np.bincount(trace.events.thread[rows]).argmax()])
        name = trace.strings[int(np.bincount(trace.events.name[mine]).argmax())]
        yield StepCalls(mine, at_end, name, mean_steps)


def loop_calls(trace: Trace) -> Iterator[StepCalls]:
    """The first op of each round of a loop, on the thread with the most ops; for traces without other repeated
    calls."""
    ops = trace.events.rows(Kind.CPU_OP)
    for calls in _calls(trace, ops):
        for begins in loop_rounds(trace, calls.rows):
            yield StepCalls(begins, False, trace.name_of(begins[0]))


def _longest(trace: Trace, rows: Int64, least: float = MOST_OF_THE_TIME) -> Iterator[StepCalls]:
    """Calls of the name that covers most of the time from its first call to the end of its last one, and at least this
    share of it. Compiled code may cover little: its backward pass runs on another thread, and a first call compiles."""
    events = trace.events
    for calls in _calls(trace, rows):
        total = np.bincount(events.name[calls.rows], weights=events.dur_ns[calls.rows])
        name = int(total.argmax())
        mine = calls.rows[events.name[calls.rows] == name]
        if total[name] and total[name] >= least * (events.ends(mine).max() - events.start_ns[mine[0]]):
            yield StepCalls(mine, False, trace.strings[name])


def _graphs(trace: Trace) -> Iterator[StepCalls]:
    """Launches of whole graphs; if there are several per step, of the one with the most kernels."""
    rows = rows_named(trace, CALL_KINDS, GRAPH_CALL.search)
    for calls in _calls(trace, rows):
        launched = find_launches(trace).call
        kernels = np.bincount(launched[launched >= 0], minlength=len(trace.events))[calls.rows]
        most = int(kernels.max())
        if most >= WHOLE_GRAPH_KERNELS:
            yield calls._replace(rows=calls.rows[kernels == most])


def _outermost(trace: Trace, rows: Int64) -> Int64:
    """Of calls of one thread, sorted by (start, longer first), those that are not inside another."""
    reach = np.maximum.accumulate(trace.events.ends(rows))
    outer: Bool = np.append(True, trace.events.start_ns[rows[1:]] >= reach[:-1])
    return rows[outer]
