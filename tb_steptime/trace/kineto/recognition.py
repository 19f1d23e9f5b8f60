"""Recognises traces of PyTorch's profiler. It runs on every JSON file in a log directory, so it has to be fast."""

from __future__ import annotations

import re

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.trace.kineto.source import Source

_HEAD_BYTES = 64 * 1024

#: Keys and categories that this profiler writes and other writers of Chrome traces do not.
_KINETO = re.compile(
    rb'"(?:schemaVersion|deviceProperties|distributedInfo|baseTimeNanoseconds|record_shapes|with_stack|External id'
    rb'|Ev Idx|cpu_op|Operator|user_annotation|python_function|cuda_runtime|cuda_driver|gpu_memcpy|ac2g)"'
)
_EVENTS = re.compile(rb'"(?:traceEvents|ph)"\s*:')
#: Files whose events come after long metadata open with these keys.
_OPENING = re.compile(rb'"(?:deviceProperties|distributedInfo|baseTimeNanoseconds)"\s*:')


def looks_like_trace(path: str | AnyPath) -> bool:
    """Does the file's first part look like a Kineto trace? False for what cannot be read at all."""
    try:
        return looks_like_json_trace(head_of(any_path(path)))
    except TraceError:
        return False


def looks_like_json_trace(head: bytes) -> bool:
    """Whether the first part of a file looks like a Kineto trace in JSON."""
    opens_well = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    return opens_well and bool(_OPENING.search(head) or (_EVENTS.search(head) and _KINETO.search(head)))


def head_of(path: AnyPath, size: int = _HEAD_BYTES) -> bytes:
    """The first bytes of a file, unpacked. Raises TraceError where it cannot be read."""
    source = Source(path)
    try:
        head = b""
        for chunk in source.chunks():
            head += chunk
            if len(head) >= size:
                break
        return head[:size]
    finally:
        source.close()
