"""Tracks and interned texts, to which events of a Perfetto trace refer by number.

track 7  {thread {pid 4711, tid 4712, name "thread 4712 (python)"}}            pid 4711, tid 4712
track 8  {parent 9, name "stream 7"}, track 9 {process {pid 0}}                pid 0, tid 7: as converters write it
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec.structs import replace

#: Writers keep 31 bits of process and thread numbers. This is -1, which Kineto uses for events that belong to no
#: process.
_MINUS_ONE = 2**31 - 1
#: Names of threads and streams as Kineto writes them, with their numbers.
_NUMBERED = re.compile(r"(?:thread|stream) +(-?\d+)")
#: Maximum nesting depth of tracks; a converter uses two levels.
_MOST_DEPTH = 10
#: Name of the hardware queue of a render stage: "[0007] stream 7".
_LANE = re.compile(r"\[(-?\d+)\]\s*(.*)")
#: Flag of a packet: everything interned before is forgotten.
CLEARED = 1


class Lane(msgspec.Struct, frozen=True):
    """A thread or stream as the JSON has it."""

    pid: int | str
    tid: int | str
    name: str


UNKNOWN_LANE = Lane("", "", "")


class Tracks:
    """Lanes by the number of their track. A track is described before its events."""

    def __init__(self) -> None:
        self._described: dict[int, Any] = {}
        self._lanes: dict[int, Lane] = {}

    def describe(self, track: Any) -> None:
        self._described[track.uuid] = track
        self._lanes.clear()

    def lane(self, uuid: int) -> Lane:
        lane = self._lanes.get(uuid)
        if lane is None:
            lane = self._lanes[uuid] = self._find(uuid)
        return lane

    def _find(self, uuid: int) -> Lane:
        track = self._described.get(uuid)
        if track is None:
            return replace(UNKNOWN_LANE, tid=uuid)
        if track.HasField("thread"):
            thread = track.thread
            return Lane(_number(thread.pid), _number(thread.tid), text_of(thread.name))
        name = text_of(track.name)
        pid = self._pid(track)
        if match := _NUMBERED.search(name):
            return Lane(pid, int(match[1]), name)
        return Lane(pid, name or uuid, name)

    def _pid(self, track: Any) -> int | str:
        for _ in range(_MOST_DEPTH):
            if track.HasField("process"):
                return _number(track.process.pid)
            track = self._described.get(track.parent)
            if track is None:
                break
        return ""


class Counters(msgspec.Struct, frozen=True):
    """Names of a GPU's counters, by number."""

    gpu: int
    names: dict[int, str]


class Texts:
    """Interned texts of one sequence of packets, by number."""

    def __init__(self) -> None:
        self.categories: dict[int, str] = {}
        self.names: dict[int, str] = {}
        self.kernels: dict[int, str] = {}
        self.specifications: dict[int, str] = {}
        self.launch_arguments: dict[int, str] = {}
        self.counters: dict[int, Counters] = {}

    def add(self, interned: Any) -> None:
        for texts, added in (
            (self.categories, interned.categories),
            (self.names, interned.names),
            (self.specifications, interned.specifications),
            (self.launch_arguments, interned.arguments),
        ):
            for each in added:
                texts[each.iid] = text_of(each.name)
        for kernel in interned.kernels:
            self.kernels[kernel.iid] = text_of(kernel.name or kernel.mangled_name)
        for each in interned.counters:
            names = {counter.iid: text_of(counter.name) for counter in each.descriptor.counter}
            self.counters[each.iid] = Counters(each.gpu, names)

    def stage_lane(self, device: int, iid: int) -> Lane:
        """Returns the lane of a hardware queue."""
        named = self.specifications.get(iid, "")
        match = _LANE.fullmatch(named)
        return Lane(device, int(match[1]), match[2].strip()) if match else Lane(device, iid, named)


class Sequences:
    """The interned texts of each sequence of packets."""

    def __init__(self) -> None:
        self.texts: dict[int, Texts] = {}

    def texts_of(self, packet: Any) -> Texts:
        """Returns the texts valid from this packet on: with those that it adds, without those that it clears."""
        texts = self.texts.get(packet.sequence)
        if texts is None or packet.sequence_flags & CLEARED:
            texts = self.texts[packet.sequence] = Texts()
        if packet.HasField("interned"):
            texts.add(packet.interned)
        return texts


def text_of(encoded: bytes) -> str:
    return encoded.decode("utf-8", "replace")


def _number(masked: int) -> int:
    return -1 if masked == _MINUS_ONE else masked
