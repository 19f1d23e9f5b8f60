"""Generation without a cache, which computes all earlier tokens again for each new one.

tokens      [8, 62]  -> [8, 63]  -> [8, 64]       embedded whole in each repetition
op          embedding ... cat       embedding ... cat       the new token is appended

With a cache of keys and values the number of tokens grows as well, but only the new one is embedded. In training, and
for texts that are sorted by length, nothing is appended to the tokens that were embedded.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import ATTENTION, OPS, Shape, shapes_of, work_of
from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.job.kind import job_kind
from tb_steptime.metrics.means import MAD_SCALE
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Float64, Int64, Kind, median

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
