"""The iterators of torch's loaders, with and without workers, followed wherever they are created.

Relies on what the iterators of `torch/utils/data/dataloader.py` do. They keep their classes' names, so that the marks
"enumerate(DataLoader)#..." in traces stay as they are.
"""

from __future__ import annotations

from typing import Any

from tb_steptime.record.loaders.iterator_state import IteratorState
from tb_steptime.record.loaders.multi_process import follow_multi_process
from tb_steptime.record.loaders.single_process import follow_single_process
from tb_steptime.record.loaders.subclassing import is_swapped


def follow(iterator: Any, state: IteratorState, new: bool) -> None:
    """Record what the iterator does from here on. It was just created, or (not new) begins another pass, and another
    recorder may have followed it before. Raises AttributeError for an iterator that works otherwise than torch's."""
    if is_swapped(iterator):
        own: IteratorState = iterator._tb_steptime
        own.write_to(state.journal)
        if own.meter is not None:
            own.meter.write_to(state.journal)
        own.ready()
        return
    iterator._tb_steptime = state
    if hasattr(iterator, "_dataset_fetcher"):
        follow_single_process(iterator)
    else:
        follow_multi_process(iterator, new)
    state.ready()
