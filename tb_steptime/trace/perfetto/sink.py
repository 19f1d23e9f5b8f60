"""Packets -> columns, by means of the same rows that JSON events are decoded into.

Each end of a slice belongs to a begin. PyTorch writes slices in groups, all begins and then all ends, both in the
order of its rows. A slice may begin and end at the same times as another, so times do not show the pairs:

    file     a begins, b begins, c begins | a ends, b ends, c ends      k-th begin and k-th end
    time     a 0..9, b 1..4, c 5..8

Other writers put begins and ends in the order of time, and an end is that of the last open begin on its track:

    file     a begins, b begins | b ends | c begins | c ends, a ends

A run is a sequence of begins and the ends behind them. It is a group if its begins and ends are on the same tracks one
by one, no k-th end is before its begin, and the times of the run are not ascending. A file with one such run is written
that way throughout.
"""

from __future__ import annotations

import functools
from array import array
from collections import defaultdict
from typing import Any

import msgspec
import numpy as np

from tb_steptime.trace.kineto.categories import LEFT_OUT, kind_of
from tb_steptime.trace.kineto.columns import Columns
from tb_steptime.trace.kineto.notes import Damage
from tb_steptime.trace.kineto.row_types import Args, Complete, Counter, Meta, MetaArgs
from tb_steptime.trace.kineto.rows import EventBlock
from tb_steptime.trace.perfetto.arguments import Arguments
from tb_steptime.trace.perfetto.tracks import CLEARED, Lane, Sequences, Texts, Tracks, text_of
from tb_steptime.trace.table import Int64, Kind

_BEGIN, _END = 1, 2
#: Numbers of clocks in a snapshot.
_REALTIME, _BOOT_TIME = 1, 6
#: Times from here on do not fit 64 bits of nanoseconds, with room for sums.
_LATEST_NS = 2**62

#: Valid device numbers: no machine has more.
_DEVICES = range(128)

#: Names of stages, and the categories that the same activities have in JSON.
_STAGES = {
    "kernel": "kernel",
    "memcpy": "gpu_memcpy",
    "memset": "gpu_memset",
    "annotation": "gpu_user_annotation",
    "eventrecord": "graph_event_node",
    "hostnode": "graph_host_node",
}
#: The same by stage number, if the names are lost.
_STAGES_BY_NUMBER = dict(enumerate(_STAGES.values(), start=1))
#: Those categories that occupy the device.
_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
#: Kinds of slices and render stages that PyTorch does not have.
_UNKNOWN = (Kind.OTHER, LEFT_OUT)


class PacketSink:
    """Takes packets one by one. `finish` is called when there are no more.

    columns, damage    what was read, and what was lost on the way
    event_count        slices, render stages and samples of counters
    known_count        slices and render stages of categories that PyTorch has
    stage_count        render stages that are kernels, copies or memsets
    architectures      of devices, from their render stages: {0: "sm_90"}
    other_count        packets of kinds that PyTorch does not write
    """

    def __init__(self) -> None:
        self.columns = Columns()
        self.damage = Damage()
        self.event_count = self.known_count = self.stage_count = self.other_count = 0
        self.architectures: dict[int, str] = {}
        self._arguments = Arguments()
        self._tracks, self._sequences, self._slices = Tracks(), Sequences(), Slices()
        self._ahead_ns = 0
        self._rows: list[Complete] = []
        self._starts: list[int] = []
        self._lane_names: dict[tuple[Any, Any], str] = {}
        self._submitted, self._submitted_by = array("Q"), array("q")
        self._unlinked_rows, self._unlinked = array("q"), array("Q")
        self._stage_rows, self._stages = array("q"), array("Q")
        self._waiting_rows, self._waited_for = array("q"), array("Q")
        self._samples: list[Counter] = []
        self._texts_of: dict[bytes, str] = {}

    def take(self, packets: list[Any]) -> None:
        sequences = self._sequences
        for packet in packets:
            texts = sequences.texts.get(packet.sequence)
            if texts is None or packet.sequence_flags & CLEARED or packet.HasField("interned"):
                texts = sequences.texts_of(packet)
            if packet.HasField("track_event"):
                self._take_slice(packet.timestamp + self._ahead_ns, packet.track_event, texts)
            elif packet.HasField("stage"):
                self._take_stage(packet.timestamp + self._ahead_ns, packet.stage, texts)
            elif packet.HasField("track"):
                self._tracks.describe(packet.track)
            elif packet.HasField("clocks"):
                self._set_clock(packet.clocks)
            elif packet.HasField("counters"):
                self._take_samples(packet.timestamp + self._ahead_ns, packet.counters, texts)
            elif not packet.HasField("interned"):
                self.other_count += 1
        self._flush()

    def finish(self) -> None:
        """Pairs slices with their ends and activities with their launches, joins nodes of graphs, and names the
        lanes."""
        self._slices.close()
        columns = self.columns
        start = np.frombuffer(columns.start, np.int64) if len(columns) else np.empty(0, np.int64)
        rows, durations = self._slices.durations(start)
        if len(rows):
            np.frombuffer(columns.dur, np.int64)[rows] = durations
        self._link_launches()
        self._join_nodes()
        self.damage.unpaired_end_count = self._slices.stray_count
        self.damage.repaired_value_count = self._arguments.damaged_count
        names = [Meta("thread_name", pid, tid, MetaArgs(name)) for (pid, tid), name in self._lane_names.items()]
        columns.add(EventBlock([], np.empty(0, np.int64), names, 0))

    def _set_clock(self, clocks: Any) -> None:
        """Sets the clock offset. Times count from the start of the machine, unless a snapshot shows that both clocks
        are the same."""
        times = {clock.id: clock.timestamp for clock in clocks.clock}
        if _REALTIME in times and _BOOT_TIME in times:
            self._ahead_ns = times[_REALTIME] - times[_BOOT_TIME]

    def _take_slice(self, time_ns: int, slice: Any, texts: Texts) -> None:
        kind = slice.type
        if kind == _END:
            if 0 <= time_ns < _LATEST_NS:
                self._slices.end(slice.track, time_ns)
            else:
                self.damage.timeless_count += 1
            return
        self.event_count += 1
        if kind != _BEGIN:
            return  # instants and counters
        if slice.category_iids:
            category = texts.categories.get(slice.category_iids[0], "")
        else:
            category = self._text(slice.categories[0]) if slice.categories else ""
        if not 0 <= time_ns < _LATEST_NS:
            self.damage.timeless_count += 1
            return
        self.known_count += _kind(category) not in _UNKNOWN
        if _kind(category) == LEFT_OUT:
            self._slices.begin(NO_ROW, slice.track, time_ns)
            return
        name = texts.names.get(slice.name_iid, "") if slice.name_iid else self._text(slice.name)
        lane = self._tracks.lane(slice.track)
        args = self._arguments.of_slice(slice.annotations)
        row = self._add(time_ns, category, name, lane, None, args)
        self._slices.begin(row, slice.track, time_ns)
        if slice.HasField("launch"):
            self._submit(row, args, slice.launch.stages)

    def _take_stage(self, time_ns: int, stage: Any, texts: Texts) -> None:
        self.event_count += 1
        if not (0 <= time_ns < _LATEST_NS and stage.duration < _LATEST_NS):
            self.damage.timeless_count += 1
            return
        named = texts.specifications.get(stage.stage_iid, "")
        category = _STAGES.get(named.lower()) if named else _STAGES_BY_NUMBER.get(stage.stage_iid)
        if category is None:
            category = f"gpu stage {named or stage.stage_iid}"
        fields, architecture = self._arguments.of_stage(stage, texts.launch_arguments)
        device = stage.gpu
        lane = texts.stage_lane(device, stage.lane_iid)
        fields.setdefault("device", device)
        _put_on_lane(fields, lane)
        if architecture and fields["device"] in _DEVICES:
            self.architectures.setdefault(fields["device"], architecture)
        name = texts.kernels.get(stage.kernel_iid) or texts.names.get(stage.name_iid) or named
        row = self._add(time_ns, category, name, lane, stage.duration, Args(**fields))
        self.known_count += _kind(category) not in _UNKNOWN
        if stage.event:
            self._stage_rows.append(row)
            self._stages.append(stage.event)
        for each in stage.waits:
            self._waiting_rows.append(row)
            self._waited_for.append(each)
        if category in _WORK:
            self.stage_count += 1
            if "correlation" not in fields and stage.event:
                self._unlinked_rows.append(row)
                self._unlinked.append(stage.event)

    def _take_samples(self, time_ns: int, counters: Any, texts: Texts) -> None:
        self.event_count += len(counters.sample)
        described = texts.counters.get(counters.described_iid)
        if described is None or not 0 <= time_ns < _LATEST_NS:
            return
        time = msgspec.Raw(f"{time_ns // 1000}.{time_ns % 1000:03d}".encode())
        for sample in counters.sample:
            name = described.names.get(sample.counter)
            if name:
                value = sample.double if sample.HasField("double") else sample.int
                self._samples.append(Counter(time, name, f"GPU {described.gpu} Counters", {"": value}))

    def _add(self, time_ns: int, category: str, name: str, lane: Lane, dur_ns: int | None, args: Args) -> int:
        row = len(self.columns) + len(self._rows)
        dur_us = None if dur_ns is None else dur_ns / 1000
        self._rows.append(Complete(None, name, category, lane.pid, lane.tid, dur_us, args))
        self._starts.append(time_ns)
        if lane.name:
            self._lane_names[lane.pid, lane.tid] = lane.name
        return row

    def _flush(self) -> None:
        starts = np.array(self._starts, np.int64)
        self.columns.add(EventBlock(self._rows, starts, [], len(self._rows), counters=self._samples))
        self._rows, self._starts, self._samples = [], [], []

    def _text(self, encoded: bytes) -> str:
        text = self._texts_of.get(encoded)
        if text is None:
            text = self._texts_of[encoded] = text_of(encoded)
        return text

    def _submit(self, row: int, args: Args, stages: Any) -> None:
        """Links a call to the render stages that it launched. If the call has no correlation id, the first stage's
        number is used."""
        if not stages:
            return
        correlation = args.correlation
        if not isinstance(correlation, int) or correlation < 0:
            correlation = min(stages[0], _LATEST_NS)
            fields = {name: getattr(args, name) for name in Args.__struct_fields__}
            self._rows[row - len(self.columns)].args = Args(**{**fields, "correlation": correlation})
        for stage in stages:
            self._submitted.append(stage)
            self._submitted_by.append(correlation)

    def _link_launches(self) -> None:
        """Gives each activity without a correlation id that of the call that lists it."""
        listed, launching = _numbers(self._submitted), _numbers(self._submitted_by)
        matched, place = _match(_numbers(self._unlinked), listed)
        rows = _numbers(self._unlinked_rows)[matched]
        if len(rows):
            np.frombuffer(self.columns.correlation, np.int64)[rows] = launching[place]

    def _join_nodes(self) -> None:
        """Adds activities of graphs, and the edges to those that they waited for."""
        columns, rows = self.columns, _numbers(self._stage_rows)
        matched, place = _match(_numbers(self._waited_for), _numbers(self._stages))
        before, after = rows[place], _numbers(self._waiting_rows)[matched]
        if not len(before):
            return
        start, dur = np.frombuffer(columns.start, np.int64), np.frombuffer(columns.dur, np.int64)
        thread = np.frombuffer(columns.labels.threads, np.int32)[np.frombuffer(columns.label, np.int32)]
        columns.flows.add_arrows(start[before] + dur[before], thread[before], start[after], thread[after])


@functools.lru_cache(1024)
def _kind(category: str) -> int:
    return kind_of(category, "")


def _numbers(values: array[int]) -> Int64:
    return np.frombuffer(values, values.typecode) if values else np.empty(0, values.typecode)


def _match(values: Int64, among: Int64) -> tuple[Int64, Int64]:
    """Returns which of the wanted values are present, and where."""
    if not len(among):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.argsort(among, kind="stable")
    place = np.minimum(np.searchsorted(among[order], values), len(among) - 1)
    matched = np.flatnonzero(among[order][place] == values)
    return matched, order[place[matched]]


def _put_on_lane(fields: dict[str, Any], lane: Lane) -> None:
    """Sets the streams as in JSON: `stream` is the lane on which the activity is shown, and `original_stream` the
    hardware stream if that differs."""
    hardware = fields.get("stream")
    fields["stream"] = lane.tid
    if isinstance(hardware, int) and hardware != lane.tid:
        fields["original_stream"] = hardware


#: Row of a begin that is in no column, because its category is left out.
NO_ROW = -1


class Slices:
    """Begins and ends, in the order of the file.

    rows, ends_ns   what was paired: rows of begins, and the times of their ends
    stray_count     ends without a begin
    """

    def __init__(self) -> None:
        self.rows, self.ends_ns = array("q"), array("q")
        self.stray_count = 0
        self._grouped = False
        self._open: dict[int, list[int]] = defaultdict(list)
        self._start()

    def _start(self) -> None:
        self._begun, self._begun_on, self._begun_ns = array("q"), array("Q"), array("q")
        self._ended_on, self._ended_ns = array("Q"), array("q")

    def begin(self, row: int, track: int, time_ns: int) -> None:
        if self._ended_on:
            self.close()
        self._begun.append(row)
        self._begun_on.append(track)
        self._begun_ns.append(time_ns)

    def end(self, track: int, time_ns: int) -> None:
        self._ended_on.append(track)
        self._ended_ns.append(time_ns)

    def close(self) -> None:
        """Pairs what was begun and ended since the last call: a run, or what is left at the end of the file."""
        ends = len(self._ended_on)
        if ends and self._is_group(ends):
            self.rows += self._begun[:ends]
            self.ends_ns += self._ended_ns
            open_rows, open_tracks = self._begun[ends:], self._begun_on[ends:]  # of a file that was cut
            for row, track in zip(open_rows, open_tracks, strict=True):
                self._open[track].append(row)
        else:
            self._nest()
        self._start()

    def _is_group(self, ends: int) -> bool:
        if ends > len(self._begun) or self._begun_on[:ends] != self._ended_on:
            return False
        if not self._grouped:
            begins, ends_ns = _numbers(self._begun_ns), _numbers(self._ended_ns)
            times = np.concatenate((begins, ends_ns))
            self._grouped = bool((times[1:] < times[:-1]).any() and (ends_ns >= begins[:ends]).all())
        return self._grouped

    def _nest(self) -> None:
        for row, track in zip(self._begun, self._begun_on, strict=True):
            self._open[track].append(row)
        for track, time in zip(self._ended_on, self._ended_ns, strict=True):
            open_rows = self._open.get(track)
            if open_rows:
                self.rows.append(open_rows.pop())
                self.ends_ns.append(time)
            else:
                self.stray_count += 1

    def durations(self, start_ns: Int64) -> tuple[Int64, Int64]:
        """Returns the rows of the slices that have both a begin and an end, and their durations in ns."""
        rows, ends = _numbers(self.rows), _numbers(self.ends_ns)
        has_row = rows != NO_ROW
        return rows[has_row], ends[has_row] - start_ns[rows[has_row]]
