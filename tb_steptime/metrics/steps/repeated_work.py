"""Work that a step repeats: what a checkpoint computes twice, graphs that are captured again, and earlier tokens that
generation without a cache computes again.

`torch.utils.checkpoint` computes layers again in the backward pass. Keeping their results would take memory.

engine   |-------- AddmmBackward0 --------|     needs what its block dropped, so the block is computed again in it,
           [linear][gelu][linear]               with gradients: such ops have sequence numbers, and no others do here
memory      +a      +b    +c                    what is alive when these end would have been kept by the first pass
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import ATTENTION, OPS, Shape, shapes_of, work_of
from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.job import job_kind
from tb_steptime.metrics.means import MAD_SCALE
from tb_steptime.metrics.memory.allocations import CPU, allocations, ends_ns, rows_at, steps_at
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import NODE
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import BEGINS_CAPTURE, ENDS_CAPTURE, graph_calls
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, Float64, Int64, Kind, distinct, distinct_in, is_in, median

# Graphs that are captured again although the same work was already captured and has since run as a graph.
#
# step     |--------- 1 ---------|-- 2 --|--------- 3 ---------|-- 4 --|
# runtime   [capture a b c] launch launch  [capture a b c] launch launch
#
# A program that captures one graph per size, one after another or when a size first occurs, captures different work
# each time, because its ops have different inputs. If shapes are not recorded, captures without a launch between them
# are assumed to be of different sizes.


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
    before = [each for each in range(place) if works[each] == works[place]]
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


#: Nodes in which a checkpoint computes again. With `use_reentrant=True` this is its own node, else the first one that
#: needs what it dropped, of a class built into torch. Functions that users write may compute again for other reasons,
#: such as reversible layers.
_NODE = expression(rf"{NODE}(CheckpointFunctionBackward|\w+Backward\d+)$")
#: Layers as a forward pass calls them. If a backward pass is differentiated again (`create_graph=True`), its ops have
#: numbers, too, but none of them is a layer.
_LAYER = expression(
    r"aten::(linear|conv[123]d|conv_transpose[123]d|layer_norm|rms_norm|group_norm|batch_norm|embedding|"
    r"scaled_dot_product_attention|lstm|gru)$"
)


class RecomputedOps(msgspec.Struct, frozen=True, eq=False):
    """Ops that are computed again inside nodes of the backward pass.

    rows  the outermost ones, rows of the event table, ascending
    node  a number from 0 on for the node around each
    """

    rows: Int64
    node: Int64

    def intervals(self, trace: Trace) -> tuple[Int64, Int64, Int64]:
        """Returns the time from the first to the last of the ops inside each node: the thread, the start and the end,
        in ns."""
        events, count = trace.events, int(self.node.max(initial=-1)) + 1
        thread, begins, ends = (np.zeros(count, np.int64) for _ in range(3))
        thread[self.node] = events.thread[self.rows]
        begins[self.node[::-1]] = events.start_ns[self.rows[::-1]]  # rows ascend, so the first one is set last
        np.maximum.at(ends, self.node, events.ends(self.rows))
        return thread, begins, ends


class Recomputed(msgspec.Struct, frozen=True):
    """Recomputation in the mean step.

    calls        number of checkpoints
    ns           device time of what is computed again; without a device, the time of its ops
    kept_bytes   memory on the main device that keeping the results instead would take at most; None if memory is not
                 recorded
    """

    calls: int
    ns: int
    kept_bytes: int | None


@shared
def checkpointed(trace: Trace) -> RecomputedOps:
    """Returns the ops with sequence numbers that run inside a node in which a layer is called."""
    events, table = trace.events, trace.sequences
    numbered = table.event[table.forward_thread == 0].astype(np.int64)
    node = innermost(trace, _nodes, numbered)
    rows, node = numbered[node >= 0], node[node >= 0]
    layer = are_named(trace, rows, _LAYER.match)
    of_layers = is_in(node, distinct_in(node[layer]))
    rows, node = rows[of_layers], node[of_layers]
    if not len(rows):
        return RecomputedOps(rows, node)
    reach = np.append(-1, np.maximum.accumulate(events.ends(rows)))[:-1]
    top = events.start_ns[rows] >= reach
    _, place = np.unique(node[top], return_inverse=True)
    return RecomputedOps(rows[top], place.reshape(-1).astype(np.int64))


def _nodes(trace: Trace) -> Int64:
    return rows_named(trace, (Kind.CPU_OP,), _NODE.match)


@shared
def again_activities(trace: Trace) -> Int64:
    """Returns the device activities that the ops of `checkpointed` launch, as rows of the event table."""
    ops, launches = checkpointed(trace), find_launches(trace)
    call = launches.call.astype(np.int64)
    recomputed = innermost(trace, _recomputed_rows, call) >= 0
    return launches.activity[recomputed & (call >= 0)].astype(np.int64) if len(ops.rows) else np.empty(0, np.int64)


def _recomputed_rows(trace: Trace) -> Int64:
    return checkpointed(trace).rows


def recomputed(trace: Trace, device: int | None) -> Recomputed | None:
    """Returns what is computed again within the steps; None if nothing is."""
    events = trace.events
    ops = checkpointed(trace)
    steps = len(find_steps(trace).steps)
    within = steps_at(trace, events.start_ns[ops.rows]) >= 0
    if not within.any():
        return None
    rows = ops.rows[within]
    node = ops.node[within]
    work = again_activities(trace)
    repeated = work if len(work) else rows
    return Recomputed(
        calls=round(len(distinct_in(node)) / steps),
        ns=int(events.dur_ns[repeated].sum()) // steps,
        kept_bytes=_kept_bytes(trace, device, rows, node, steps),
    )


def _kept_bytes(trace: Trace, device: int | None, rows: Int64, node: Int64, steps: int) -> int | None:
    """Returns the memory that these ops allocate and that is alive after the last one inside their node has ended."""
    table, rows_of_blocks = trace.memory, allocations(trace).born
    if device is None or not len(rows_of_blocks):
        return None
    on_device = (table.device[rows_of_blocks] == device) & (table.device_type[rows_of_blocks] != CPU)
    maker = rows_at(trace, _recomputed_rows, rows_of_blocks)
    place = np.searchsorted(rows, maker)
    by_these_ops = on_device & (maker >= 0) & (rows[np.minimum(place, len(rows) - 1)] == maker)
    _, _, ends = checkpointed(trace).intervals(trace)
    alive = by_these_ops & (ends_ns(trace) > np.where(by_these_ops, ends[node[np.minimum(place, len(rows) - 1)]], 0))
    return int(table.bytes[rows_of_blocks[alive]].sum()) // steps


# Generation without a cache computes all earlier tokens again for each new one.
#
# tokens      [8, 62]  -> [8, 63]  -> [8, 64]       embedded whole in each repetition
# op          embedding ... cat       embedding ... cat       the new token is appended
#
# With a cache of keys and values the number of tokens grows as well, but only the new one is embedded. In training, and
# for texts that are sorted by length, nothing is appended to the tokens that were embedded.

_EMBEDDING, _CAT = "aten::embedding", "aten::cat"
#: Minimum number of repetitions in which the tokens grow by the same number. Fewer may be coincidence, and show no
#: slope.
FEWEST = 5
#: Maximum error, as a share of a repetition, of the time that repetitions take without earlier tokens, if that follows
#: from how much longer they take with each token. The error is twice the standard error.
EXACT = 0.1


class WithoutCache(msgspec.Struct, frozen=True):
    """Repeated computation of earlier tokens.

    repetitions   number of recorded repetitions
    first, last   smallest and largest number of tokens of one text that a repetition computes
    added         number of new tokens among these
    ns            time of a step in which earlier tokens are computed; None if it cannot be determined
    by_slope      whether ns is derived from how much longer repetitions with more tokens take, not from the work of
                  products
    is_causal     whether no token depends on later ones in any attention op; None if an op does not show it
    """

    repetitions: int
    first: int
    last: int
    added: int
    ns: int | None
    by_slope: bool
    is_causal: bool | None


class _Joined(msgspec.Struct, frozen=True):
    """New tokens that are appended to others: when this happens, and the shapes of both."""

    at_ns: int
    tokens: Shape
    new: Shape

    @property
    def whole(self) -> Shape:
        return (*self.tokens[:-1], self.tokens[-1] + self.new[-1])


def without_cache(trace: Trace) -> WithoutCache | None:
    """Returns the repetitions with all earlier tokens; None if there are none, or shapes are not recorded."""
    if trace.events.shapes is None or job_kind(trace).purpose != "inference":
        return None
    long_chains = [chain for chain in _chains(trace) if len(chain) > FEWEST]
    if not long_chains or len({chain[0].new[-1] for chain in long_chains}) > 1:
        return None
    added = long_chains[0][0].new[-1]
    pairs = [pair for chain in long_chains for pair in itertools.pairwise(chain)]
    tokens = np.array([before.whole[-1] for before, _ in pairs], np.int64)
    begins, ends = (np.array([pair[place].at_ns for pair in pairs], np.int64) for place in (0, 1))
    slope = _slope(tokens, ends - begins, added)
    if slope is not None:
        earlier = slope * (tokens - added)
    else:
        rows = rows_named(trace, (Kind.CPU_OP,), OPS.__contains__)
        products = Intervals.of_events(trace.events, rows)
        earlier = products.overlap_ns(begins, ends) * (1 - added / tokens)
    # A device reads all weights for one token as for many, so products of fewer tokens may take as long there.
    is_known = slope is not None or not devices_with_activity(trace)
    per_step = sum(len(chain) for chain in long_chains) / len(find_steps(trace).steps)
    earlier_ns = round(float(earlier.mean()) * per_step) if is_known else None
    return WithoutCache(
        len(pairs), int(tokens.min()), int(tokens.max()), added, earlier_ns, slope is not None, _is_causal(trace)
    )


def _chains(trace: Trace) -> Iterator[list[_Joined]]:
    """Yields repetitions in a row, in which what is joined is embedded whole and then joined with as many tokens
    again."""
    chain, is_embedded = list[_Joined](), False
    for joined, embedded in _events(trace):
        if joined is None:
            is_embedded |= bool(chain) and embedded == chain[-1].whole
        elif not chain or (joined.tokens, joined.new) != (chain[-1].tokens, chain[-1].new):  # a mask grows likewise
            follows = bool(chain) and is_embedded and (joined.tokens, joined.new) == (chain[-1].whole, chain[-1].new)
            if not follows:
                yield chain
                chain = []
            chain, is_embedded = [*chain, joined], False
    yield chain


def _events(trace: Trace) -> Iterator[tuple[_Joined | None, Shape]]:
    """Yields what is joined or else what is embedded, in time order."""
    events = trace.events
    assert events.shapes is not None
    for row in rows_named(trace, (Kind.CPU_OP,), (_EMBEDDING, _CAT).__contains__).tolist():
        text = trace.inputs[int(events.shapes[row])] if events.shapes[row] >= 0 else ""
        if trace.name_of(row) == _EMBEDDING:
            shapes = shapes_of(text) or ()
            if len(shapes) > 1:
                yield None, shapes[1]
        elif (pair := _pair(text)) is not None:
            yield _Joined(int(events.start_ns[row]), *pair), ()


def _pair(text: str) -> tuple[Shape, Shape] | None:
    """Returns the shapes of tokens and of new ones that are joined, if they have one or two dimensions and there are
    fewer new ones; else None.

    >>> _pair("[[[8,62],[8,1]],[]]"), _pair("[[[2,8,4,61,64],[2,8,4,1,64]],[]]"), _pair("[[],[]]")
    (((8, 62), (8, 1)), None, None)
    """
    try:
        tensors, *_ = msgspec.json.decode(text, type=list[list[tuple[int, ...]]])
        tokens, new = tensors
    except (msgspec.MsgspecError, ValueError):
        return None
    fits = 0 < len(tokens) == len(new) <= 2 and tokens[:-1] == new[:-1] and tokens[-1] > new[-1] > 0
    return (tokens, new) if fits else None


def _slope(tokens: Int64, took_ns: Int64, added: int) -> float | None:
    """Returns the time that one more token takes, in ns; None if it does not show how long repetitions take without
    earlier tokens. It is the median over all pairs of repetitions, so that interrupted ones do not count."""
    low, high = np.triu_indices(len(tokens), 1)
    difference = tokens[high] - tokens[low]
    slopes: Float64 = (took_ns[high] - took_ns[low])[difference != 0] / difference[difference != 0]
    if not len(slopes):
        return None
    slope, usual = median(slopes), median(took_ns)
    rest = took_ns - slope * tokens
    error = MAD_SCALE * median(np.abs(rest - median(rest))) / float(np.sqrt(((tokens - tokens.mean()) ** 2).sum()))
    earlier = median(tokens) - added
    is_exact = 2 * error * earlier <= EXACT * usual and 0 < slope * earlier <= usual
    return slope if is_exact else None


def _is_causal(trace: Trace) -> bool | None:
    """Returns whether all attention ops of several tokens are causal; None if one of them does not show it."""
    events = trace.events
    rows = rows_named(trace, (Kind.CPU_OP,), ATTENTION.__contains__)
    assert events.shapes is not None
    if not len(rows) or events.settings is None or events.dtypes is None:
        return None
    inputs_of = (events.shapes, events.dtypes, events.settings)
    columns = np.stack([column[rows] for column in (events.name, *inputs_of)], axis=1)
    causal = set[bool | None]()
    for name, *inputs in np.unique(columns, axis=0).tolist():
        shapes, dtypes, settings = (trace.inputs[row] if row >= 0 else "" for row in inputs)
        work = work_of(trace.strings[name], shapes, dtypes, settings)
        causal.add(None if work is None else work.causal)
    return causal == {True} if None not in causal else None
