"""Loops over the cell of a recurrent layer, which a layer of torch.nn would compute in one call.

op   [select][lstm_cell][select][lstm_cell][select][lstm_cell] ...       LSTM
op   [lstm_cell][linear][argmax][embedding][lstm_cell] ...               no such loop
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.phases.assignment import site_of
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, find_launches, rows_named
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.table import Int64, Kind, distinct_in, is_in

#: Cells compute one element of a sequence. cuDNN and MIOpen compute all of them in one call of the layer.
_CELL = expression(r"aten::(lstm|gru|rnn_tanh|rnn_relu)_cell$")
_LAYERS = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
#: The ops between two cells of a loop over a given sequence, which take the next element.
_TAKES = expression(
    r"aten::(select|slice|narrow|unbind|split|chunk|squeeze|unsqueeze|view|reshape|t|transpose|permute)$"
)
#: Minimum number of cells. The few of an excerpt show no loop.
_LEAST_CELLS = 10
#: Minimum share of the forward pass' launches in cells, and of the pairs of cells with nothing else between them. The
#: last cell is followed by the head or the loss.
_MOST_CELLS = 0.5


def sequence_layer(trace: Trace) -> str | None:
    """Returns the layer of torch.nn that computes what a loop over its cell does; None without such a loop. A similar
    pattern is a decoder whose next input depends on its last output, by attention or by choosing a token. It has other
    ops between its cells.

    op   [select][lstm_cell][select][lstm_cell][select][lstm_cell] ...       LSTM
    op   [lstm_cell][linear][argmax][embedding][lstm_cell] ...               none
    """
    cells = _cells(trace)
    if len(cells) < _LEAST_CELLS:
        return None
    events, calls = trace.events, find_launches(trace).call
    calls = calls[calls >= 0]
    forward = calls[SITE_PHASE[site_of(trace, calls)] == PHASES.index("forward")]
    in_cells = innermost(trace, _cells, forward) >= 0
    others = rows_named(trace, (Kind.CPU_OP,), lambda name: not (_CELL.match(name) or _TAKES.match(name)))
    others = others[is_in(events.thread[others], distinct_in(events.thread[cells]))]
    others = others[innermost(trace, _cells, others) < 0]
    others = others[innermost(trace, _takes, others) < 0]
    begun = np.searchsorted(events.start_ns[others], events.start_ns[cells])
    if in_cells.sum() <= _MOST_CELLS * len(forward) or (np.diff(begun) == 0).mean() <= _MOST_CELLS:
        return None
    name = _CELL.match(trace.name_of(cells[0]))
    return _LAYERS[name[1]] if name else None


def _cells(trace: Trace) -> Int64:
    return rows_named(trace, (Kind.CPU_OP,), _CELL.match)


def _takes(trace: Trace) -> Int64:
    return rows_named(trace, (Kind.CPU_OP,), _TAKES.match)
