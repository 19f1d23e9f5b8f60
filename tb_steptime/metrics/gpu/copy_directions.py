"""Source and target of a copy, parsed from the activity's name.

Memcpy HtoD (Pageable -> Device)      HtoD, Pageable, Device
CopyHostToDevice                      HtoD, Host, Device: this producer does not name the kind of host memory
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.sources import Words, words_of
from tb_steptime.trace.table import Int32

_SPELLED = expression(r"(?P<direction>\w+to\w+)\s*\((?P<source>.+?)\s*->\s*(?P<target>.+?)\)")
_IN_WORDS = expression(r"Copy(?P<source>Host|Device)To(?P<target>Host|Device)")
_UNKNOWN_MEMORY = "Unknown"


class CopyDirection(NamedTuple):
    """Direction, source and target of a copy."""

    direction: str
    source: str
    target: str


def way(name: str) -> CopyDirection:
    """The way that the name of a copy shows.

    >>> way("Memcpy DtoH (Device -> Pinned)")
    CopyDirection(direction='DtoH', source='Device', target='Pinned')
    """
    if found := _SPELLED.search(name):
        return CopyDirection(found["direction"], found["source"], found["target"])
    if found := _IN_WORDS.search(name):
        return CopyDirection(f"{found['source'][0]}to{found['target'][0]}", found["source"], found["target"])
    return CopyDirection(name, _UNKNOWN_MEMORY, _UNKNOWN_MEMORY)


def directions(trace: Trace, copies: Int32) -> Words:
    """The direction of each of some rows of `find_launches` that are copies; none for -1."""
    known = copies >= 0
    name = np.full(len(copies), -1, np.int32)
    name[known] = trace.events.name[find_launches(trace).activity[copies[known]]]
    return words_of(name, trace.strings.strings, lambda text: way(text).direction)
