"""Properties of GPUs that a `.pftrace` lacks: taken from their architecture, or from a trace beside it.

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
from tb_steptime.trace.compute_capability import SM_LIMITS
from tb_steptime.trace.kineto.source import Source

_ARCHITECTURE = re.compile(r"sm_(\d+)(\d)[a-z]?")
#: Registers of every SM since compute capability 5.0.
_REGISTERS = 65_536

#: Maximum number of neighbouring traces that are opened: the ranks of a job have the same GPUs.
_MOST_BESIDE = 8
_HEAD_BYTES = 64 * 1024
_PROPERTIES = re.compile(rb'"deviceProperties"\s*:\s*\[')
_DECODER = msgspec.json.Decoder(list[dict[str, Any]])

Capability = tuple[int, int]


def by_architecture(architectures: Mapping[int, str]) -> list[dict[str, Any]]:
    """Device properties, as JSON has them, for those architectures that are known.

    >>> by_architecture({0: "sm_75"})[0]["maxThreadsPerMultiprocessor"]
    1024
    """
    found = []
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
        found.append(properties)
    return found


def capability_of(architecture: str) -> Capability | None:
    """
    >>> capability_of("sm_103a")
    (10, 3)
    """
    match = _ARCHITECTURE.fullmatch(architecture)
    return (int(match[1]), int(match[2])) if match else None


def beside(path: Path, capabilities: set[Capability]) -> list[dict[str, Any]] | None:
    """The device properties of a JSON trace in the same folder; None if there is none whose GPUs all have these
    capabilities."""
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
            return listed
    return None


def _capability(properties: Mapping[str, Any]) -> tuple[Any, Any]:
    return properties.get("computeMajor"), properties.get("computeMinor")


def _properties(path: Path) -> list[dict[str, Any]]:
    """The device properties in a trace's head; empty if there are none in it."""
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
