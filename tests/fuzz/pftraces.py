"""Damaged and lying Perfetto traces, drawn from a case's number alone, as `mutations` draws JSON.

of what the file says    numbers of events and of arguments, names, whole events, before they are written as packets
of the file              packets that are missing, twice or elsewhere, bytes turned over, cuts, wrong gzip
"""

from __future__ import annotations

import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.drawn.pftrace import backend_trace, converted_trace, packed, packets_of
from tests.drawn.real_traces import PFTRACES, real_path
from tests.drawn.small_trace import small_trace
from tests.fuzz.checks import finding
from tests.fuzz.seeds import Seed, paths, seeds

#: Within 64 bits: packets hold no others.
NUMBERS = (0, -1, 1, 2**31 - 1, -(2**31), 2**32, 2**53 + 1, 2**62, 2**63 - 1, -(2**63))
TEXTS = ("", "0", "-1", "abc", "NaN", "null", "\x00", "x" * 70_000, "ProfilerStep#18446744073709551616", "[[[[")
#: Packets of a real file that a case begins with.
MOST_PACKETS = 1_500


def write_case(case: int, path: Path) -> None:
    draw = random.Random(f"pftrace {case}")
    content = draw.choice(_MAKERS)(draw)
    for _ in range(draw.choice((0, 1, 1, 2))):
        content = draw.choice(_DAMAGES)(draw, content)
    if draw.random() < 0.3:
        content = packed(content)
        if draw.random() < 0.5:
            content = draw.choice((_cut, _turned))(draw, content)
    path.write_bytes(content)


def outcome(case: int) -> str | None:
    """What is wrong, or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "worker.1.pt.trace.pftrace"
        write_case(case, path)
        return finding(path)


def _drawn(draw: random.Random) -> bytes:
    """A recording whose numbers and names are replaced before it is written."""
    document = _document(draw)
    for _ in range(draw.choice((0, 1, 3, 30))):
        event = draw.choice(document["traceEvents"])
        _lie(draw, event if draw.random() < 0.4 else event.get("args") or event)
    write = draw.choice((backend_trace, converted_trace))
    return write(document)


def _document(draw: random.Random) -> dict[str, Any]:
    if draw.random() < 0.3:
        return small_trace(draw.choice((1, 3, 10)))
    return draw.choice(_excerpts(draw.randrange(5))).document()


@cache
def _excerpts(number: int) -> tuple[Seed, ...]:
    """Of a real trace where there are some; else of the tests'."""
    each = [path for path in paths() if path.suffix == ".gz"] or list(paths())
    return seeds(each[number % len(each)])


def _lie(draw: random.Random, holder: dict[str, Any]) -> None:
    keys = [key for key, value in holder.items() if isinstance(value, (int, float, str)) and key not in _SHAPE]
    if not keys:
        return
    key = draw.choice(keys)
    is_text = isinstance(holder[key], str) and key not in ("ts", "dur")
    holder[key] = draw.choice(TEXTS) if is_text else draw.choice(NUMBERS)


#: What makes an event one of a kind, and tracks, which the writer reckons with.
_SHAPE = {"ph", "cat", "pid", "tid", "device", "registers per thread", "shared memory"}


def _real(draw: random.Random) -> bytes:
    if not PFTRACES:
        return _drawn(draw)
    every = packets_of(real_path(draw.choice(PFTRACES)).read_bytes())
    start = draw.randrange(max(1, len(every) - MOST_PACKETS))
    return b"".join([*every[:30], *every[start : start + MOST_PACKETS]])


def _packets_elsewhere(draw: random.Random, content: bytes) -> bytes:
    try:
        every = packets_of(content)
    except IndexError:
        return content
    for _ in range(draw.choice((1, 5, 50))):
        place = draw.randrange(len(every)) if every else 0
        some = every[place : place + draw.choice((1, 2, 20))]
        if draw.random() < 0.5:
            del every[place : place + len(some)]
        else:
            target = draw.randrange(len(every) + 1)
            every[target:target] = some
    return b"".join(every)


def _turned(draw: random.Random, content: bytes) -> bytes:
    copied = bytearray(content or b"\n")
    for _ in range(draw.choice((1, 3, 30))):
        copied[draw.randrange(len(copied))] = draw.choice((0, 10, 127, 128, 255, draw.randrange(256)))
    return bytes(copied)


def _cut(draw: random.Random, content: bytes) -> bytes:
    return content[: draw.randrange(1, max(2, len(content)))]


def _hole(draw: random.Random, content: bytes) -> bytes:
    start = draw.randrange(max(1, len(content)))
    return content[:start] + draw.choice((b"", bytes(512))) + content[start + draw.choice((1, 100, 5_000)) :]


_MAKERS = (_drawn, _drawn, _real)
_DAMAGES = (_packets_elsewhere, _packets_elsewhere, _turned, _turned, _cut, _hole)
