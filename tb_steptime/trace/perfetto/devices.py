"""What a `.pftrace` does not hold of its GPUs: by their architecture, or as a trace beside it has them.

stage says "sm_90"           -> compute capability 9.0, and the limits of its multiprocessors
rank0_trace.json.gz beside   -> its deviceProperties, where its GPUs are of that architecture
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tb_steptime.errors import TraceError
from tb_steptime.trace.kineto.source import Source

_ARCHITECTURE = re.compile(r"sm_(\d+)(\d)[a-z]?")
#: Of a multiprocessor: most threads, and kilobytes of shared memory, by compute capability. CUDA C++ Programming Guide,
#: "Technical specifications per compute capability". All have 65,536 registers.
_LIMITS = {
    (5, 0): (2048, 64), (5, 2): (2048, 96), (5, 3): (2048, 64),
    (6, 0): (2048, 64), (6, 1): (2048, 96), (6, 2): (2048, 64),
    (7, 0): (2048, 96), (7, 2): (2048, 96), (7, 5): (1024, 64),
    (8, 0): (2048, 164), (8, 6): (1536, 100), (8, 7): (1536, 164), (8, 9): (1536, 100),
    (9, 0): (2048, 228), (10, 0): (2048, 228), (10, 3): (2048, 228), (11, 0): (1536, 228),
    (12, 0): (1536, 100), (12, 1): (1536, 100),
}  # fmt: skip
_REGISTERS = 65_536

#: Traces beside that are looked into: the ranks of a job have the same GPUs.
_MOST_BESIDE = 8
_HEAD_BYTES = 64 * 1024
_PROPERTIES = re.compile(rb'"deviceProperties"\s*:\s*\[')
_DECODER = msgspec.json.Decoder(list[dict[str, Any]])

Capability = tuple[int, int]


def by_architecture(architectures: Mapping[int, str]) -> list[dict[str, Any]]:
    """Device properties as JSON has them, of the architectures that are known.

    >>> by_architecture({0: "sm_75"})[0]["maxThreadsPerMultiprocessor"]
    1024
    """
    found = []
    for device, architecture in sorted(architectures.items()):
        capability = capability_of(architecture)
        if capability is None:
            continue
        properties = {"id": device, "computeMajor": capability[0], "computeMinor": capability[1]}
        if capability in _LIMITS:
            threads, shared = _LIMITS[capability]
            properties |= {
                "maxThreadsPerMultiprocessor": threads,
                "regsPerMultiprocessor": _REGISTERS,
                "sharedMemPerMultiprocessor": shared * 1024,
            }
        found.append(properties)
    return found


def capability_of(architecture: str) -> Capability | None:
    """
    >>> capability_of("sm_103a")
    (10, 3)
    """
    match = _ARCHITECTURE.fullmatch(architecture)
    return (int(match[1]), int(match[2])) if match else None


def beside(path: Path, capabilities: set[Capability]) -> tuple[list[dict[str, Any]], str] | None:
    """The device properties of a JSON trace in the same folder, and its name. None where there is none whose GPUs are
    all of these capabilities."""
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
        if listed and {_capability(each) for each in listed} == capabilities:
            return listed, name
    return None


def _capability(properties: Mapping[str, Any]) -> tuple[Any, Any]:
    return properties.get("computeMajor"), properties.get("computeMinor")


def _properties(path: Path) -> list[dict[str, Any]]:
    """Of a trace's head; nothing where it has none there."""
    try:
        source = Source(path)
    except TraceError:
        return []
    try:
        head = b""
        for chunk in source.chunks():
            head += chunk
            if len(head) >= _HEAD_BYTES:
                break
    except TraceError:
        return []
    finally:
        source.close()
    match = _PROPERTIES.search(head)
    end = head.find(b"]", match.end()) if match else -1
    if match is None or end < 0:
        return []
    try:
        return _DECODER.decode(head[match.end() - 1 : end + 1])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return []
