"""Reads one Perfetto file: a Trace or a TraceError.

Properties of GPUs, which a `.pftrace` lacks, are taken from their architecture, or from a trace beside it.

stage says "sm_90"           -> compute capability 9.0, and the limits of its multiprocessors
rank0_trace.json.gz beside   -> its deviceProperties, where its GPUs are of that architecture
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath
from tb_steptime.text import Note, count, text
from tb_steptime.trace.compute_capability import SM_LIMITS
from tb_steptime.trace.file_names import rank_in_name
from tb_steptime.trace.kineto.document import Outline
from tb_steptime.trace.kineto.metadata import Metadata
from tb_steptime.trace.kineto.parts.sink import ReadEvents
from tb_steptime.trace.kineto.reader import TraceBuilder
from tb_steptime.trace.kineto.source import TEXT_BYTES, OnProgress, Source, head_of, ignore_progress
from tb_steptime.trace.model import Trace
from tb_steptime.trace.perfetto.packets import Packets
from tb_steptime.trace.perfetto.sink import PacketSink
from tb_steptime.trace.table import DEVICE_KINDS, EventTable

_OTHER_PROGRAM = (
    "This Perfetto trace is not of PyTorch's profiler",
    "Open it at ui.perfetto.dev. Step Insights reads what torch.profiler writes.",
)
#: If this much text contains no event of PyTorch, the rest of the file is not read: names and the first events come
#: first.
_ENOUGH_BYTES = 32 * 1024 * 1024


def read_perfetto(path: AnyPath, on_progress: OnProgress = ignore_progress) -> Trace:
    """Reads a whole `.pftrace`, gzip or not. Raises TraceError for traces of other programs and for files without
    events.

    What could be read of a damaged file is returned, with notes that count what was lost.
    """
    trace = _read(path, on_progress, trusting=True)
    return trace or _read(path, on_progress, trusting=False) or _refuse(path)


def _read(path: AnyPath, on_progress: OnProgress, trusting: bool) -> Trace | None:
    """Returns the trace, or None if the compressed data is corrupt and packets were damaged. Packets after the first
    damage may contain false numbers, so they are not trusted."""
    source = Source(path)
    try:
        packets = Packets(source.chunks(), ends_at_damage=not trusting)
        sink = PacketSink()
        for block in packets.blocks():
            sink.take(block)
            if not sink.known_count and source.text_bytes > _ENOUGH_BYTES:
                _refuse(path)
            on_progress(source.progress(sink.event_count))
    finally:
        source.close()
    if trusting and source.corrupt and packets.lost_count:
        return None
    source.corrupt |= not trusting
    sink.finish()
    if not sink.known_count and (sink.event_count or sink.other_count):
        _refuse(path)
    return _trace(source, packets, sink)


def _refuse(path: AnyPath) -> Trace:
    raise TraceError(_OTHER_PROGRAM[0], path, _OTHER_PROGRAM[1])


def _trace(source: Source, packets: Packets, sink: PacketSink) -> Trace:
    outline = Outline()
    outline.is_json = outline.has_events = True  # only a file that opens as a trace gets here
    outline.whole = not packets.cut_short
    sink.damage.lost_count += packets.lost_count
    metadata, notes = _mended(source.path, sink)
    metadata.has_stacks = sink.columns.has_stacks()
    read = ReadEvents(sink.columns, metadata, sink.damage, sink.event_count)
    trace = TraceBuilder(read, outline, source.extent, every_event=True).trace()
    job = replace(trace.job, rank=rank_in_name(source.path.name))
    return replace(trace, job=job, notes=(*trace.notes, *notes, *_losses(trace, sink)))


def _mended(path: AnyPath, sink: PacketSink) -> tuple[Metadata, list[Note]]:
    """Returns facts about the devices, although the file does not describe them."""
    metadata = Metadata()
    capabilities = {each: capability for each in sink.architectures.values() if (capability := capability_of(each))}
    beside_file = beside(path, set(capabilities.values())) if isinstance(path, Path) else None
    if beside_file:
        metadata.add("deviceProperties", msgspec.json.encode(beside_file))
        return metadata, [Note("devices-from-beside")]  # without the file's name, which may be the name of a machine
    properties = by_architecture(sink.architectures)
    if not properties:
        return metadata, [Note("devices-not-described")] if len(sink.columns.on_device) else []
    metadata.add("deviceProperties", msgspec.json.encode(properties))
    return metadata, [Note("devices-by-architecture", {"architecture": text(", ".join(sorted(capabilities)))})]


def _losses(trace: Trace, sink: PacketSink) -> list[Note]:
    """Returns notes on what render stages lack."""
    if not sink.stage_count:
        return []
    touching = _touching(trace.events)
    notes = [Note("cut-to-next", {"count": count(touching)})] if touching else []
    fills = len(trace.kernels) > 0 and any(device.sm_count for device in trace.devices.values())
    return [*notes, Note("no-static-shared-memory")] if fills else notes


def _touching(events: EventTable) -> int:
    """Returns the number of activities that end at the very moment when the next one of their lane begins, as truncated
    ones do."""
    rows = events.rows(*DEVICE_KINDS)
    rows = rows[np.argsort(events.thread[rows], kind="stable")]
    thread: Any = events.thread[rows]
    same = thread[1:] == thread[:-1]
    return int((same & (events.ends(rows)[:-1] == events.start_ns[rows][1:])).sum())


_ARCHITECTURE = re.compile(r"sm_(\d+)(\d)[a-z]?")
#: Registers of every SM since compute capability 5.0.
_REGISTERS = 65_536

#: Maximum number of neighbouring traces that are opened: the ranks of a job have the same GPUs.
_MOST_BESIDE = 8
_PROPERTIES = re.compile(rb'"deviceProperties"\s*:\s*\[')
_DECODER = msgspec.json.Decoder(list[dict[str, Any]])

Capability = tuple[int, int]


def by_architecture(architectures: Mapping[int, str]) -> list[dict[str, Any]]:
    """Returns the device properties, as JSON has them, for those architectures that are known.

    >>> by_architecture({0: "sm_75"})[0]["maxThreadsPerMultiprocessor"]
    1024
    """
    devices = []
    for device, architecture in sorted(architectures.items()):
        capability = capability_of(architecture)
        if capability is None:
            continue
        properties = {"id": device, "computeMajor": capability[0], "computeMinor": capability[1]}
        if limits := SM_LIMITS.get(capability):
            properties |= {
                "maxThreadsPerMultiprocessor": limits.threads,
                "regsPerMultiprocessor": _REGISTERS,
                "sharedMemPerMultiprocessor": limits.shared_memory,
            }
        devices.append(properties)
    return devices


def capability_of(architecture: str) -> Capability | None:
    """Returns the compute capability that an architecture's name states, or None if it states none.

    >>> capability_of("sm_103a")
    (10, 3)
    """
    match = _ARCHITECTURE.fullmatch(architecture)
    return (int(match[1]), int(match[2])) if match else None


def beside(path: Path, capabilities: set[Capability]) -> list[dict[str, Any]] | None:
    """Returns the device properties of a JSON trace in the same folder, or None if there is none whose GPUs all have
    these capabilities."""
    if not capabilities:
        return None
    try:
        names = sorted(each.name for each in path.parent.iterdir() if each.name.endswith((".json", ".json.gz")))
    except OSError:
        return None
    stem = path.name.split(".")[0]
    names.sort(key=lambda name: name.split(".")[0] != stem)  # of the same rank first
    for name in names[:_MOST_BESIDE]:
        listed = _properties(path.with_name(name))
        if listed and {(each.get("computeMajor"), each.get("computeMinor")) for each in listed} == capabilities:
            return listed
    return None


def _properties(path: Path) -> list[dict[str, Any]]:
    """Returns the device properties in a trace's head, if there are any."""
    try:
        head = head_of(path, TEXT_BYTES)
    except TraceError:
        return []
    match = _PROPERTIES.search(head)
    end = head.find(b"]", match.end()) if match else -1
    if match is None or end < 0:
        return []
    try:
        return _DECODER.decode(head[match.end() - 1 : end + 1])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return []
