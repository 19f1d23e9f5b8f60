"""What a file is that holds no trace, by its name and its first bytes: for the error that refuses it."""

from __future__ import annotations

import re

_AS_TRACE = "Record with torch.profiler.profile, and call export_chrome_trace of that profiler."
_MEMORY = (
    "Record with profile(profile_memory=True) and call export_chrome_trace: that trace has each allocation. "
    "For the lines of code that hold the memory, call torch.cuda.memory._dump_snapshot."
)
_UNPACK = "Unpack it, or pack it with gzip, which is read as it is."

_EVENTS = 'A trace lists events that have "ph", "ts" and "dur". ' + _AS_TRACE

#: The endings of Nsight's reports, which only its own tools read.
_BY_ENDING = {
    ".nsys-rep": ("The file is a report of Nsight Systems", _AS_TRACE),
    ".qdrep": ("The file is a report of Nsight Systems", _AS_TRACE),
    ".ncu-rep": ("The file is a report of Nsight Compute", _AS_TRACE),
}

#: How files open, and what they are; the first that matches counts. PyTorch's own are written by
#: torch/profiler/_memory_profiler.py, csrc/profiler/standalone/execution_trace_observer.cpp and
#: autograd/profiler_util.py. A pickle opens with its protocol, and packed files with the marks of their formats.
_BY_OPENING = (
    (
        rb"\[\s*\[\s*-?\d+\s*[,\]]",
        "The file holds lists of numbers, as export_memory_timeline writes them, and no events",
        _MEMORY,
    ),
    (rb"(?s).{,200}<title>GPU Memory Timeline", "The file is the picture of export_memory_timeline", _MEMORY),
    (
        rb'\{\s*"schema":\s*"[^"]*",\s*"pid":\s*\d+,\s*"time":',
        "The file is an execution trace of ExecutionTraceObserver, which has no times of the GPU",
        _AS_TRACE,
    ),
    (
        rb'(?s)(?:\{.*?"traceEvents"\s*:\s*)?\[\s*\{(?=.*\})(?!.*"ph"\s*:)',
        'The file holds records that are no events of a trace: the first ones have no "ph"',
        _EVENTS,
    ),
    (rb"\[\s*[^\s\]{]", "The file is a list of values, and holds no events", _EVENTS),
    (rb"-{5,}[- ]*\r?\n.*Self CPU", "The file is the table of key_averages(), which has only sums", _AS_TRACE),
    (
        rb"(?:[^\x00-\x1f;]+ \d+\r?\n)*[^\x00-\x1f;]+;[^\x00-\x1f]* \d+\r?\n",
        "The file holds the stacks of export_stacks, which have only sums",
        _AS_TRACE,
    ),
    (
        rb"(?s)\x80[\x02-\x05].*(?:segments|device_traces)",
        "The file is a memory snapshot, not a trace",
        "Read it with tb-steptime snapshot FILE, or open its folder in TensorBoard: Memory has a picker of snapshots.",
    ),
    (
        rb"(?s)\x80[\x02-\x05].*pg_config",
        "The file is a dump of NCCL's flight recorder, not a trace",
        "Read it with tb-steptime hang FILE.",
    ),
    (rb"\x80[\x02-\x05]", "The file is a pickle", _AS_TRACE),
    (rb"SQLite format 3\0", "The file is a database of SQLite, as Nsight Systems exports them", _AS_TRACE),
    (rb"(?s)PK\x03\x04.*?data\.pkl", "The file was written by torch.save", _AS_TRACE),
    (rb"\x1f\x8b", "The file is packed with gzip twice", "Unpack it once. What is packed once is read as it is."),
    (rb"PK\x03\x04", "The file is a zip archive", _UNPACK),
    (rb"\xfd7zXZ\0", "The file is packed with xz", _UNPACK),
    (rb"BZh[1-9]", "The file is packed with bzip2", _UNPACK),
    (rb"\x28\xb5\x2f\xfd", "The file is packed with zstd", _UNPACK),
    (rb"(?s).{257}ustar", "The file is a tar archive", _UNPACK),
    (
        rb"version https://git-lfs",
        "The file is a pointer of Git LFS; the trace itself was not fetched",
        "Run git lfs pull in its repository.",
    ),
    (
        rb"(?i)<!doctype html|<html",
        "The file is a web page",
        "If it was saved in a browser, download the file itself instead of the page that shows it.",
    ),
)


def other_file(name: str, head: bytes) -> tuple[str, str] | None:
    """Returns what a file that is no trace contains, and what to do instead, or None where neither its name nor its
    first bytes say so.

    >>> other_file("memory.json", b"[[1700, 1800], [[0, 8], [0, 16]]]")[0]
    'The file holds lists of numbers, as export_memory_timeline writes them, and no events'
    >>> other_file("records.json", b'[{"name": "aten::mm", "dur": 5}]')[0]
    'The file holds records that are no events of a trace: the first ones have no "ph"'
    >>> other_file("trace.json", b'{"traceEvents": [{"name": "x", "ph": "i"}]}')
    >>> other_file("trace.json", b'{"traceEvents": []}')
    """
    for ending, kind in _BY_ENDING.items():
        if name.endswith(ending):
            return kind
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return next(((fact, hint) for opening, fact, hint in _BY_OPENING if re.match(opening, text)), None)
