"""One damage or lie a case, drawn from the case's number alone, so that a number is all a report needs to say.

of what the file says    numbers, types, keys, names, ids, times of one event, one key of many events, the head
of the file              cuts, bytes turned over, parts of two files in one, wrong gzip
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from typing import Any

from tests.fuzz.seeds import Seed

#: What a hostile or broken writer puts in the place of a number.
NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2**31 - 1, -(2**31), 2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, -(10**30), 1e308,
    -1e308, 5e-324, 0.1, -0.5, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
#: What stands in the place of anything. The lone surrogate is half of a character, which no encoding can write.
VALUES: tuple[Any, ...] = (
    None, True, False, "", "0", "-1", "abc", "NaN", "1e400", "\ud800", "\x00", "x" * 70_000, "<b>&amp;", "../../etc",
    "ProfilerStep#18446744073709551616", "ncclKernel", [], {}, [1, 2], [[[]]], {"a": {}}, [2**64] * 3, [-1, 0, 1],
)  # fmt: skip

_Event = dict[str, Any]


def mutated(case: int, seed: Seed, other: Seed) -> bytes:
    """The bytes of a file, of the seed with one to three mutations; packed where the last one is of its packing."""
    draw = random.Random(case)
    if draw.random() < 0.7:
        document = seed.document()
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            draw.choice(_OF_WHAT_IT_SAYS)(draw, document)
        text = json.dumps(document, ensure_ascii=draw.random() < 0.8).encode("utf-8", "surrogatepass")
    else:
        text = seed.text()
        for _ in range(draw.choice((1, 1, 2))):
            text = draw.choice(_OF_THE_FILE)(draw, text, other)
    if draw.random() < 0.15:
        return _cut_or_turned(draw, gzip.compress(text, 1))
    return gzip.compress(text, 1) if draw.random() < 0.1 else text


def _some_event(draw: random.Random, document: dict[str, Any]) -> _Event:
    events = [event for event in document["traceEvents"] if isinstance(event, dict)]
    return draw.choice(events) if events else {}


def _holders(draw: random.Random, event: _Event) -> _Event:
    """The event, or as often its arguments, which hold most of what analyses read."""
    args = event.get("args")
    return args if isinstance(args, dict) and args and draw.random() < 0.6 else event


def _number(draw: random.Random, document: dict[str, Any]) -> None:
    holder = _holders(draw, _some_event(draw, document))
    keys = [key for key, value in holder.items() if isinstance(value, int | float)]
    if keys:
        holder[draw.choice(keys)] = draw.choice(NUMBERS)


def _value(draw: random.Random, document: dict[str, Any]) -> None:
    holder = _holders(draw, _some_event(draw, document))
    if holder:
        holder[draw.choice(list(holder))] = draw.choice(VALUES)


def _no_key(draw: random.Random, document: dict[str, Any]) -> None:
    holder = _holders(draw, _some_event(draw, document))
    if holder:
        del holder[draw.choice(list(holder))]


def _in_all(draw: random.Random, document: dict[str, Any]) -> None:
    """One key of many events at once: what a writer gets wrong, it gets wrong everywhere."""
    pattern = _holders(draw, _some_event(draw, document))
    if not pattern:
        return
    key, value = draw.choice(list(pattern)), draw.choice((*NUMBERS, *VALUES))
    share = draw.choice((0.1, 0.5, 1.0))
    for event in document["traceEvents"]:
        if isinstance(event, dict) and draw.random() < share:
            for holder in (event, event.get("args")):
                if isinstance(holder, dict) and key in holder:
                    holder[key] = value


def _swapped(draw: random.Random, document: dict[str, Any]) -> None:
    """Two events say of themselves what the other is."""
    one, two = _some_event(draw, document), _some_event(draw, document)
    keys = sorted(one.keys() & two.keys())
    if keys:
        key = draw.choice(keys)
        one[key], two[key] = two[key], one[key]


def _twice(draw: random.Random, document: dict[str, Any]) -> None:
    events = document["traceEvents"]
    start = draw.randrange(max(1, len(events)))
    events[start:start] = events[start : start + draw.choice((1, 5, 100))] * draw.choice((1, 3))


def _without(draw: random.Random, document: dict[str, Any]) -> None:
    """All events of a category or phase are missing."""
    key = draw.choice(("cat", "ph", "tid", "pid"))
    value = _some_event(draw, document).get(key)
    document["traceEvents"] = [e for e in document["traceEvents"] if not isinstance(e, dict) or e.get(key) != value]


def _longer(draw: random.Random, document: dict[str, Any]) -> None:
    """An event's times, by a factor: it covers others, or ends before it begins."""
    event = _some_event(draw, document)
    for key in draw.sample(("ts", "dur"), draw.choice((1, 2))):
        if isinstance(event.get(key), int | float):
            event[key] = event[key] * draw.choice((-1, 0, 1e-6, 0.999, 1.001, 10, 1e6, 1e12))


def _no_event(draw: random.Random, document: dict[str, Any]) -> None:
    """Something that is no event stands among them."""
    events = document["traceEvents"]
    events.insert(draw.randrange(len(events) + 1), draw.choice((*VALUES, *NUMBERS)))


def _head(draw: random.Random, document: dict[str, Any]) -> None:
    """What the file says of itself."""
    holders = [document, *(value for value in document.values() if isinstance(value, dict))]
    devices = document.get("deviceProperties")
    holders += [each for each in devices if isinstance(each, dict)] if isinstance(devices, list) else []
    holder = draw.choice(holders)
    keys = [key for key in holder if key != "traceEvents"]
    if keys:
        holder[draw.choice(keys)] = draw.choice((*NUMBERS, *VALUES))


def _bytes_turned(draw: random.Random, text: bytes, _: Seed) -> bytes:
    return turned(draw, text)


def turned(draw: random.Random, data: bytes) -> bytes:
    copied = bytearray(data)
    for _ in range(draw.choice((1, 1, 3, 30))):
        copied[draw.randrange(len(copied))] = draw.choice(b'"{}[],:\\\x00\xff0-e\n')
    return bytes(copied)


def _cut(draw: random.Random, text: bytes, _: Seed) -> bytes:
    return text[: draw.randrange(1, len(text))]


def _hole(draw: random.Random, text: bytes, _: Seed) -> bytes:
    start = draw.randrange(len(text))
    return text[:start] + draw.choice((b"", b"\x00" * 512)) + text[start + draw.choice((1, 100, 5_000)) :]


def _spliced(draw: random.Random, text: bytes, other: Seed) -> bytes:
    """The beginning of one file and the end of another."""
    end = other.text()
    return text[: draw.randrange(1, len(text))] + end[draw.randrange(len(end)) :]


def _strange_beginning(draw: random.Random, text: bytes, _: Seed) -> bytes:
    return draw.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\n\n", b"[", b"\x1f\x8b", b'{"a":')) + text


def _cut_or_turned(draw: random.Random, packed: bytes) -> bytes:
    return packed[: draw.randrange(1, len(packed))] if draw.random() < 0.5 else turned(draw, packed)


_OF_WHAT_IT_SAYS: tuple[Callable[[random.Random, dict[str, Any]], None], ...] = (
    _number, _number, _value, _value, _no_key, _in_all, _in_all, _swapped, _twice, _without, _longer, _longer,
    _no_event, _head,
)  # fmt: skip
_OF_THE_FILE: tuple[Callable[[random.Random, bytes, Seed], bytes], ...] = (
    _bytes_turned, _bytes_turned, _cut, _hole, _spliced, _strange_beginning,
)  # fmt: skip
