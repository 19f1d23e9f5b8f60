"""The text shown on a box: a short name if the trace's name is long.

    kernel, copy      as in every table                        gemm bf16 128x256
    Python frame      below its package or the working tree    timm/layers.py(3): forward
    anything else     as it is

The whole name stays beside it, for the event's details and for the search.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from tb_steptime.metrics.kernel_names.distinct_names import kernel_names
from tb_steptime.metrics.kernel_names.short_names import short_name
from tb_steptime.timeline.event_file import Columns
from tb_steptime.trace.frames import MODULE_FRAME, is_installed, is_source, short_frame
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind, distinct_in

_COPIES = (Kind.MEMCPY, Kind.MEMSET)


def write_shown_names(trace: Trace, columns: Columns, first_string: int) -> list[str]:
    """Write, for each string of the trace, the number of the text shown in its place, -1 for itself. Returns the
    additional strings; the first one gets the number first_string."""
    shown = np.full(len(trace.strings), -1, np.int32)
    added: dict[str, int] = {}
    for number, name in _shown(trace).items():
        if name != trace.strings[number]:
            shown[number] = added.setdefault(name, first_string + len(added))
    columns.add("shown", shown)
    return list(added)


def _shown(trace: Trace) -> dict[int, str]:
    kernels, frames = kernel_names(trace), _names(trace, Kind.PYTHON)
    tree = working_tree(frames.values())
    return {
        **{number: kernels[name] for number, name in _names(trace, Kind.KERNEL).items()},
        **{number: short_name(name) for number, name in _names(trace, *_COPIES).items()},
        **{number: shown_frame(name, tree) for number, name in frames.items()},
    }


def _names(trace: Trace, *kinds: Kind) -> dict[int, str]:
    """Name by its number, of all events of these kinds."""
    numbers = distinct_in(trace.events.name[trace.events.rows(*kinds)])
    return {number: trace.strings[number] for number in numbers.tolist()}


def working_tree(frames: Iterable[str]) -> str:
    """The folder that holds all files of the user that frames name by a whole path, with "/" at its end; "" for none.

    >>> working_tree(["/home/me/job/train.py(54): step", "/home/me/job/data/sets.py(7): item", "json/decoder.py(3): f"])
    '/home/me/job/'
    """
    own = [frame for frame in frames if frame.startswith("/") and is_source(frame) and not is_installed(frame)]
    folder = os.path.commonpath([os.path.dirname(frame.partition("(")[0]) for frame in own]) if own else ""
    return f"{folder}/" if len(folder) > 1 else ""


def shown_frame(frame: str, tree: str) -> str:
    """A frame's file below its package or the working tree; a module's call is the module.

    >>> shown_frame("/home/me/job/data/sets.py(7): item", "/home/me/job/"), shown_frame("nn.Module: Linear_3", "")
    ('data/sets.py(7): item', 'Linear_3')
    """
    return short_frame(frame.removeprefix(MODULE_FRAME)).removeprefix(tree or " ")
