"""The line of the user's code and the nn.Module that an op or a call comes from, in words.

Newer traces have a row for each Python frame; those of 2021 and 2022 have a call stack on each op instead. Either way a
location is a text. In the backward pass at best the engine's lines are recorded: the user's line is that of the op of
the forward pass (`forward_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from tb_steptime.trace.frames import innermost_module, is_source, module_frames, module_name, short_frame, source_frames
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.nesting import RowsOf, innermost, op_rows
from tb_steptime.trace.ops import Rows, op_at
from tb_steptime.trace.table import Int32, Int64, StackTable, StringTable, distinct_in, is_in, values_at


class Words(msgspec.Struct, frozen=True, eq=False):
    """A text, or none, for each of some rows. Equal texts have the same number.

    number   int32, row of texts; -1 for none
    """

    number: Int32
    texts: Sequence[str]

    @staticmethod
    def none(count: int) -> Words:
        """Returns no text for each of so many rows."""
        return Words(np.full(count, -1, np.int32), ())

    def at(self, places: Int32 | Int64) -> Words:
        """Returns the texts at these places, in their order."""
        return Words(self.number[places], self.texts)

    def __getitem__(self, index: int) -> str | None:
        number = int(self.number[index])
        return self.texts[number] if number >= 0 else None

    def over(self, others: Words) -> Words:
        """Returns these texts, or the others' where these have none."""
        texts = list(dict.fromkeys((*others.texts, *self.texts)))
        number_of = {text: number for number, text in enumerate(texts)}
        own_number, theirs = (
            np.array([*(number_of[text] for text in each.texts), -1], np.int32)[each.number] for each in (self, others)
        )
        return Words(np.where(own_number >= 0, own_number, theirs), texts)


def sources(trace: Trace, rows: Rows) -> Words:
    """Returns the innermost frame outside torch and Python's library around each op or call: "train.py(54): step"."""
    if len(source_frames(trace)):
        return _words_of_frames(trace, source_frames, rows, short_frame)
    return stack_words(trace, rows, _source)


def modules(trace: Trace, rows: Rows) -> Words:
    """Returns the innermost nn.Module around each op or call: "Linear_3". Call stacks of ops do not contain it; ops of
    TorchScript may name it."""
    if not len(module_frames(trace)) and len(trace.hierarchies):
        return _words_of_ops(trace, trace.hierarchies, trace.hierarchy_texts, rows, innermost_module)
    return _words_of_frames(trace, module_frames, rows, module_name)


def hierarchies(trace: Trace, rows: Rows) -> Words:
    """Returns the modules of TorchScript around each op, as the op names them."""
    return _words_of_ops(trace, trace.hierarchies, trace.hierarchy_texts, rows, str)


def _words_of_frames(trace: Trace, frames: RowsOf, rows: Rows, text_of: Callable[[str], str]) -> Words:
    frame = innermost(trace, frames, rows.astype(np.int64))
    name = values_at(trace.events.name, frame).astype(np.int32)
    return words_of(name, trace.strings.strings, text_of)


def stack_words(trace: Trace, rows: Rows, text_of: Callable[[str], str | None]) -> Words:
    """Returns the result of `text_of` for the call stack of the op, or of the innermost op around it that has one:
    frames separated by ";", innermost first."""
    return _words_of_ops(trace, trace.stacks, trace.stack_texts, rows, text_of)


def _words_of_ops(
    trace: Trace, table: StackTable, texts: StringTable, rows: Rows, text_of: Callable[[str], str | None]
) -> Words:
    number = np.full(len(rows), -1, np.int32)
    if len(table):
        op = op_at(trace, rows.astype(np.int64))
        has_op = np.flatnonzero(op >= 0)
        of_ops = _stacks_of_ops(trace) if table is trace.stacks else _hierarchies_of_ops(trace)
        number[has_op] = of_ops[np.searchsorted(op_rows(trace), op[has_op])]
    return words_of(number, texts.strings, text_of)


@shared
def _stacks_of_ops(trace: Trace) -> Int32:
    return _texts_of_ops(trace, trace.stacks)


@shared
def _hierarchies_of_ops(trace: Trace) -> Int32:
    return _texts_of_ops(trace, trace.hierarchies)


def _texts_of_ops(trace: Trace, table: StackTable) -> Int32:
    """Returns for each op the text of itself, or of the innermost op around it that has one, as a row of the texts, or
    -1 for none."""
    ops = op_rows(trace)
    has_text = is_in(ops, table.event)
    holder = ops.copy()
    holder[~has_text] = innermost(trace, table.event.astype(np.int64), ops[~has_text])
    text = np.full(len(ops), -1, np.int32)
    text[holder >= 0] = table.stack[np.searchsorted(table.event, holder[holder >= 0])]
    return text


def words_of(number: Int32, texts: Sequence[str], text_of: Callable[[str], str | None]) -> Words:
    """Returns a text for each number. Each distinct text is processed once."""
    distinct_numbers = distinct_in(number[number >= 0]).tolist()
    shown_by_text = {text: text_of(texts[text]) for text in distinct_numbers}
    distinct = list(dict.fromkeys(word for word in shown_by_text.values() if word is not None))
    place = {word: index for index, word in enumerate(distinct)}
    new = np.full(len(texts) + 1, -1, np.int32)  # the last means none
    for text, word in shown_by_text.items():
        new[text] = -1 if word is None else place[word]
    return Words(new[number], distinct)


def _source(stack: str) -> str | None:
    """Returns the innermost frame of a call stack that is outside torch and Python's library, or None.

    >>> _source("/env/site-packages/torch/nn/functional.py(9): gelu;net.py(7): forward;train.py(54): step")
    'net.py(7): forward'
    """
    return next((short_frame(frame) for frame in stack.split(";") if is_source(frame)), None)
