"""Calls that are made once in each step, for recordings without step marks: they show where a step begins or ends.

    any loop    |--------------------------|profiler.step|--------------------------|profiler.step|     ends
    training    |-- forward, backward --|Optimizer.step#|-- forward, backward --|Optimizer.step#|     ends
                |loader|--------------------------------|loader|--------------------------------      begins
    inference   |nn.Module: Net_0|...|nn.Module: Net_0|...|nn.Module: Net_0|                          begins
                |cudaGraphLaunch|......|cudaGraphLaunch|......|cudaGraphLaunch|                       begins
                ........|argmax|...............|argmax|...............|argmax|                        ends
    any loop    |normal_||mm|..........|normal_||mm|..........|normal_||mm|                           begins

Only the calls of one thread count, and of nested calls only the outermost.

In loops without marking calls, names of the outermost ops of a thread repeat, such as 100 times `normal_` and three
`mm`.

    ops     f m m m f m m m f m m m f m m m       a loop of four ops
    steps   |------|-------|-------|-------

The layers of a model repeat, too, and are not steps. So each round, also of compiled code that covers little of the
time, must do something that no layer does: compute gradients and something else, as a backward pass repeats the layers
on a thread of its own, or fill the inputs of its products with random numbers. Where nothing but the loop was recorded,
a round is a step, too, if it synchronizes the device (code that times layers does so after an embedding and before a
head), if it copies inputs from the host and results back, or if it cannot take what the round before it gives:

    conv2d [8,3,64,64]  ...  linear [8,512] -> [8,10]   conv2d [8,3,64,64]  ...  linear     a model that is called again
    linear [8,512]      ...  linear [8,512] -> [8,512]  linear [8,512]      ...  linear     its layers
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.text.patterns import expression
from tb_steptime.trace.frames import module_frames
from tb_steptime.trace.host_ranges import LOADER_MARK, marked_waits
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import BACKEND, SYNC_DEVICE_CALL, graph_calls
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, distinct

OPTIMIZER_STEP = expression(r"Optimizer\.step#")
ZERO_GRAD = expression(r"Optimizer\.zero_grad#")
#: The call of `prof.step()`, which call stacks show where a profiler without a schedule writes no mark.
_PROFILER_STEP = expression(r"(?:.*/)?torch/profiler/profiler\.py\(\d+\): step$")
#: Ranges that are not written by the author of the loop: they do not mark steps.
_OF_LIBRARIES = expression(rf"Optimizer\.|enumerate\(|{BACKEND}:|c10d|record_param_comms|ProfilerStep|\[?pg|##? ?all")
#: The range that vLLM writes around each step, with the numbers of requests and tokens, and that of SGLang, with the
#: mode and the batch size: "step[DECODE bs=16]". Prefill and decoding have different names, but both are steps.
_SERVING_STEP = expression(r"execute_(?:\d+_)?(?:new|context|model)|step\[[A-Z_]+ ")
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

#: Names of ranges around parts of a model, such as "block 3", "self_attention" or "DecoderLayer".
_OF_PARTS = expression(r".*(?:(?<!p)layer|block(?!ing)|attention|attn|mlp|ffn|expert)", re.IGNORECASE)

#: A range or module call that covers less than this share of the time is a detail of a step: an attention block, a
#: copy.
MOST_OF_THE_TIME = 0.5
#: A graph of fewer kernels is a piece of a model between parts that cannot be captured, several of them per step.
WHOLE_GRAPH_KERNELS = 30


class StepCalls(msgspec.Struct, frozen=True, eq=False):
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


@shared
def optimizer_marks(trace: Trace) -> Int64:
    """Returns the rows of the ranges of optimizer steps, in time order."""
    return rows_named(trace, (Kind.USER,), OPTIMIZER_STEP.match)


def step_calls(trace: Trace) -> Iterator[StepCalls]:
    """Yields candidates for calls that mark steps, the most certain first."""
    marks = (Kind.USER, Kind.CPU_OP)
    of_optimizer = rows_named(trace, marks, OPTIMIZER_STEP.match)
    of_passes = rows_named(trace, (Kind.USER,), _SERVING_STEP.match)
    called = rows_named(trace, (Kind.PYTHON,), _PROFILER_STEP.match)
    yield from _calls(trace, called, at_end=True, mean_steps=True)
    yield from _calls(trace, of_optimizer, at_end=True, mean_steps=True)
    yield from _calls(trace, rows_named(trace, marks, ZERO_GRAD.match), mean_steps=True)
    yield from _calls(trace, marked_waits(trace), mean_steps=True)
    yield from _longest(trace, module_frames(trace))
    yield from _calls(trace, of_passes, mean_steps=True)
    yield from _calls(trace, rows_named(trace, (Kind.USER,), _PASS.match), mean_steps=True)
    yield from _ranges(trace, rows_named(trace, (Kind.USER,), lambda name: not _OF_LIBRARIES.match(name)))
    yield from _compiled(trace, rows_named(trace, marks, _COMPILED.match))
    yield from _graphs(trace)
    yield from _calls(trace, rows_named(trace, (Kind.CPU_OP,), _CHOICE.match), at_end=True)


def batch_calls(trace: Trace) -> Int64:
    """Returns the waits for batches, of the thread with the most of them."""
    return next((calls.rows for calls in _calls(trace, marked_waits(trace))), np.zeros(0, np.int64))


def _calls(trace: Trace, rows: Int64, *, at_end: bool = False, mean_steps: bool = False) -> Iterator[StepCalls]:
    """Yields these calls on the thread with the most of them, if there are any."""
    if len(rows):
        outer = _outermost(trace, rows[trace.events.thread[rows] == np.bincount(trace.events.thread[rows]).argmax()])
        name = trace.strings[int(np.bincount(trace.events.name[outer]).argmax())]
        yield StepCalls(outer, at_end, name, mean_steps)


def loop_calls(trace: Trace) -> Iterator[StepCalls]:
    """Yields the first op of each round of a loop, on the thread with the most ops. It is meant for traces without
    other repeated calls."""
    ops = trace.events.rows(Kind.CPU_OP)
    for calls in _calls(trace, ops):
        for begins in loop_rounds(trace, calls.rows):
            yield StepCalls(begins, False, trace.name_of(begins[0]))


def _ranges(trace: Trace, rows: Int64) -> Iterator[StepCalls]:
    """Ranges of the user. Those that are named after parts of a model have to do in each round what no layer does: they
    may be the layers of one pass, or a benchmark of a layer."""
    for calls in _longest(trace, rows):
        if _OF_PARTS.match(calls.name) is None or _does_more_than_layers(
            trace, calls.rows, _until_next(trace, calls.rows), waits=True
        ):
            yield calls


def _until_next(trace: Trace, rows: Int64) -> Int64:
    """Returns when the next one of these calls begins, or the recording ends."""
    return np.append(trace.events.start_ns[rows[1:]], trace.events.end_ns.max() + 1)


def _compiled(trace: Trace, rows: Int64) -> Iterator[StepCalls]:
    """Yields the calls of compiled code. It may cover little of a step: its backward pass runs on another thread, a
    first call compiles, and a part of the model may be left as it is. But parts of layers are compiled, too, such as a
    bias and its activation, so what covers little has to do in each round what no layer does."""
    for calls in _longest(trace, rows, least=0.0):
        covers_most = next(_longest(trace, rows), None) is not None
        if covers_most or _does_more_than_layers(trace, calls.rows, _until_next(trace, calls.rows), waits=True):
            yield calls


def _longest(trace: Trace, rows: Int64, least: float = MOST_OF_THE_TIME) -> Iterator[StepCalls]:
    """Yields the calls of the name that covers most of the time from its first call to the end of its last one, and at
    least this share of it."""
    events = trace.events
    for calls in _calls(trace, rows):
        total = np.bincount(events.name[calls.rows], weights=events.dur_ns[calls.rows])
        name = int(total.argmax())
        with_name = calls.rows[events.name[calls.rows] == name]
        if total[name] and total[name] >= least * (events.ends(with_name).max() - events.start_ns[with_name[0]]):
            yield StepCalls(with_name, False, trace.strings[name])


def _graphs(trace: Trace) -> Iterator[StepCalls]:
    """Yields the launches of whole graphs. If there are several per step, they are those of the graph with the most
    kernels."""
    for calls in _calls(trace, graph_calls(trace)):
        launched = find_launches(trace).call
        kernels = np.bincount(launched[launched >= 0], minlength=len(trace.events))[calls.rows]
        most = int(kernels.max())
        if most >= WHOLE_GRAPH_KERNELS:
            yield replace(calls, rows=calls.rows[kernels == most])


def _outermost(trace: Trace, rows: Int64) -> Int64:
    """Returns those calls that are not inside another. They are of one thread, sorted by (start, longer first)."""
    reach = np.maximum.accumulate(trace.events.ends(rows))
    outer: Bool = np.append(True, trace.events.start_ns[rows[1:]] >= reach[:-1])
    return rows[outer]


#: Minimum share of the thread's ops inside the loop: a model's layers are a smaller share, since other ops surround
#: them.
MOST_OPS = 0.9
#: Minimum number of rounds.
FEWEST_ROUNDS = 3
#: The rarest op of a loop occurs at most this many times per round.
MOST_A_ROUND = 8
#: Number of names that are tried, the rarest first.
_TRIED = 8

BACKWARD = expression(r"autograd::engine::evaluate_function")
_RANDOM = expression(r"aten::(normal_?|uniform_|random_|randn?|randint)$")
_PRODUCT = expression(r"aten::(mm|addmm|bmm|baddbmm|convolution|_?scaled_\w*mm|_scaled_dot_product\w*)$")
_TO_DEVICE, _TO_HOST = expression(r"Memcpy HtoD|CopyHostToDevice"), expression(r"Memcpy DtoH|CopyDeviceToHost")
_LINEAR = expression(r"aten::linear$")


def loop_rounds(trace: Trace, ops: Int64) -> Iterator[Int64]:
    """Yields the rows, among the outermost ops of one thread, with which the rounds of a loop begin. Yields nothing if
    there is no loop."""
    names = trace.events.name[ops]
    for period in _periods(names):
        first, last = _longest_run(names, period)
        if last - first < max(MOST_OPS * len(ops), FEWEST_ROUNDS * period):
            continue
        begins = ops[first:last:period]
        after = ops[last:][:1]  # what follows the last op of all is of the last round
        over = trace.events.start_ns[after] if len(after) else trace.events.end_ns.max(keepdims=True) + 1
        ends = np.append(trace.events.start_ns[begins[1:]], over)
        rounds = (last - first) // period
        closing = ops[first + period - 1 : last : period]
        if _are_steps(trace, begins[:rounds], closing[:rounds], ends[:rounds], alone=last - first == len(ops)):
            yield begins
            return


def _periods(names: Int32) -> list[int]:
    """Returns the distances in ops at which the rarest names recur, ascending. A loop needs more than one name."""
    different, inverse, number = np.unique(names, return_inverse=True, return_counts=True)
    if len(different) < 2:
        return []
    often = np.flatnonzero(number >= FEWEST_ROUNDS)
    rarest = often[np.argsort(number[often], kind="stable")][:_TRIED]
    places = [np.flatnonzero(inverse == each) for each in rarest]
    gaps = {int(gap) for at in places for step in range(1, MOST_A_ROUND + 1) for gap in (at[step:] - at[:-step])[-1:]}
    return sorted(gap for gap in gaps if 2 <= gap <= len(names) // FEWEST_ROUNDS)


def _longest_run(names: Int32, period: int) -> tuple[int, int]:
    """Returns the first place of the longest run, and the place after its last, in which the names repeat with this
    period without a break."""
    same = np.concatenate(([False], names[period:] == names[:-period], [False]))
    edges = np.flatnonzero(same[1:] != same[:-1])
    if not len(edges):
        return 0, 0
    begin, end = edges[::2], edges[1::2]
    longest = int((end - begin).argmax())
    return int(begin[longest]), int(end[longest]) + period


def _are_steps(trace: Trace, first: Int64, last: Int64, end: Int64, *, alone: bool) -> bool:
    """Returns whether each round does what the layers of a model do not. first, last: its first and last ops; end: when
    it ends; alone: nothing else was recorded. Rounds in ranges of different names are different work, such as one
    product for each size that a benchmark tries."""
    if not _is_counted(trace, first):
        return False
    if _does_more_than_layers(trace, first, end, waits=alone):
        return True
    return alone and (_call_the_model(trace, first, last) or _copy_both_ways(trace, first, end))


#: The name of a range around a round, with the number that counts the rounds if there is one.
_COUNTED = expression(r"(.*?)(\d{1,18})\D*$", re.DOTALL)


def _is_counted(trace: Trace, first: Int64) -> bool:
    """Returns whether the user's ranges around these ops have one name, or names that count: "it 7", "it 7", "it 8"."""
    ranges = rows_named(trace, (Kind.USER,), lambda name: not _OF_LIBRARIES.match(name))
    around = innermost(trace, ranges, first)
    if (around < 0).any() or len(distinct(trace.events.name[around])) == 1:
        return True
    found = [_COUNTED.match(trace.name_of(each)) for each in around.tolist()]
    stems = {each[1] for each in found if each}
    numbers = [int(each[2]) for each in found if each]
    counts = len(stems) == 1 and len(numbers) == len(found)
    return counts and all(0 <= after - before <= 1 for before, after in pairwise(numbers))


def _does_more_than_layers(trace: Trace, first: Int64, end: Int64, *, waits: bool) -> bool:
    """Returns whether each round, from its first event to this time, computes gradients and something else, fills the
    inputs of its products with random numbers or, where waits count, synchronizes the device."""

    def of_ops(pattern: re.Pattern[str]) -> Int64:
        return rows_named(trace, (Kind.CPU_OP,), pattern.match)

    others = _ops_of_other_passes(trace, int(trace.events.thread[first[0]]))
    # no forward pass follows the last backward pass
    if _in_each(trace, of_ops(BACKWARD), first, end) and _in_each(trace, others, first[:-1], end[:-1]):
        return True
    if all(_in_each(trace, of_ops(each), first, end) for each in (_RANDOM, _PRODUCT)):
        return True
    return waits and _in_each(trace, rows_named(trace, (Kind.RUNTIME,), SYNC_DEVICE_CALL.match), first, end)


def _copy_both_ways(trace: Trace, first: Int64, end: Int64) -> bool:
    """Returns whether each round copies from the host to a device, as for the inputs of a model, and back, as for its
    results."""
    ways = (rows_named(trace, (Kind.MEMCPY,), way.match) for way in (_TO_DEVICE, _TO_HOST))
    calls = (find_launches(trace).calls_of(copies) for copies in ways)
    return all(_in_each(trace, each[each >= 0], first, end) for each in calls)


def _in_each(trace: Trace, rows: Int64, first: Int64, end: Int64) -> bool:
    """Returns whether any of these rows begins in each round, from its first event to this time."""
    starts = np.sort(trace.events.start_ns[rows])
    inside: Bool = np.searchsorted(starts, end) > np.searchsorted(starts, trace.events.start_ns[first])
    return bool(inside.all())


def _ops_of_other_passes(trace: Trace, thread: int) -> Int64:
    """Returns the ops that are no part of the backward pass on this thread: those of other threads, and outer ops
    without gradients of their own."""
    ops = trace.events.rows(Kind.CPU_OP)
    here = trace.events.thread[ops] == thread
    outer = _outermost(trace, ops[here])
    return np.concatenate((ops[~here], outer[~are_named(trace, outer, BACKWARD.match)]))


def _call_the_model(trace: Trace, first: Int64, last: Int64) -> bool:
    """Returns whether rounds begin with inputs of one shape, and end with a product of a shape that no op in them
    takes: layers of one call take what the layer before them gives. first, last: the rows of their first and last
    ops."""
    shapes = trace.events.shapes
    if shapes is None or not _LINEAR.match(trace.name_of(last[0])) or len(distinct(shapes[first])) > 1:
        return False
    inputs_of_first, inputs_of_last = (
        _sizes(trace.inputs[int(row)]) if row >= 0 else [] for row in (shapes[first[0]], shapes[last[0]])
    )
    if not (
        inputs_of_first and inputs_of_first[0] and len(inputs_of_last) > 1 and inputs_of_last[0] and inputs_of_last[1]
    ):
        return False
    result = [*inputs_of_last[0][:-1], inputs_of_last[1][0]]
    inside = distinct(shapes[int(first[1]) : int(last[1]) + 1]) if len(first) > 1 else np.empty(0, np.int32)
    passed_on = any(result in _sizes(trace.inputs[int(row)]) for row in inside[inside >= 0].tolist())
    return math.prod(inputs_of_first[0]) != math.prod(result) and not passed_on


def _sizes(shapes: str) -> list[list[int]]:
    """Returns the sizes of the inputs of an op, or none if one of them is a list of tensors."""
    try:
        return msgspec.json.decode(shapes, type=list[list[int]])
    except msgspec.MsgspecError:
        return []
