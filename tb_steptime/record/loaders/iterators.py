"""The iterators of torch's loaders, which make batches or take them from workers, followed wherever they are made.

Relies on what the iterators of `torch/utils/data/dataloader.py` do. They keep their classes' names, so that the marks
"enumerate(DataLoader)#..." in traces stay as they are.
"""

from __future__ import annotations

from typing import Any

from tb_steptime.record.loaders.batch_states import Passage
from tb_steptime.record.loaders.multi_process import follow_multi_process
from tb_steptime.record.loaders.single_process import follow_single_process
from tb_steptime.record.loaders.subclassing import is_swapped


def follow(iterator: Any, passage: Passage, new: bool = True) -> None:
    """Record what the iterator does from here on. It was just made, or (not new) goes on with a new pass, as one that
    another recorder may have followed before. Raises AttributeError for an iterator of another make."""
    if is_swapped(iterator):
        iterator._tb_steptime.go_on_in(passage.journal)
        iterator._tb_steptime.ready()
        return
    iterator._tb_steptime = passage
    if hasattr(iterator, "_dataset_fetcher"):
        follow_single_process(iterator)
    else:
        follow_multi_process(iterator, new)
    passage.ready()
