"""Excerpts of traces that mutations begin with: small enough for thousands of cases, with every kind of event."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests import PROJECT
from tests.drawn.real_traces import REAL, real_trace

#: Events of an excerpt: a step or some of it, in which analyses find something to say.
EVENTS = 400
#: Excerpts of a trace, from its beginning, middle and end.
EXCERPTS = 3


@dataclass(frozen=True)
class Seed:
    """head: the keys of the file but for its events."""

    name: str
    head: dict[str, Any]
    events: tuple[Any, ...]

    def document(self) -> dict[str, Any]:
        """A copy of its own: mutations change it in place."""
        copy: dict[str, Any] = json.loads(self.text())
        return copy

    def text(self) -> bytes:
        return json.dumps({**self.head, "traceEvents": self.events}).encode()


@cache
def paths() -> tuple[Path, ...]:
    """Every trace at hand, the smaller first: others' real ones, those of the demo, and the tiny ones of the tests."""
    real = map(real_trace, REAL)
    demo = (PROJECT / "demo_logs").glob("*/*.json.gz")
    tiny = (path for path in (PROJECT / "tests/traces").glob("*.json") if _is_whole(path))
    return tuple(sorted((*real, *demo, *tiny), key=lambda path: (path.stat().st_size, path.name)))


@cache
def seeds(path: Path) -> tuple[Seed, ...]:
    """The excerpts of one trace. Lists of a process's and its threads' names stay with each."""
    document = _parsed(path)
    assert document is not None
    events = document.pop("traceEvents")
    names = [event for event in events if isinstance(event, dict) and event.get("ph") == "M"][:EVENTS]
    timed = [event for event in events if not (isinstance(event, dict) and event.get("ph") == "M")]
    timed.sort(key=_time)
    last = max(0, len(timed) - EVENTS)
    starts = sorted({last * place // max(1, EXCERPTS - 1) for place in range(EXCERPTS)})
    return tuple(Seed(f"{path.name}@{start}", document, (*names, *timed[start : start + EVENTS])) for start in starts)


def _time(event: Any) -> float:
    moment = event.get("ts") if isinstance(event, dict) else None
    return float(moment) if isinstance(moment, int | float) and not isinstance(moment, bool) else 0.0


def _is_whole(path: Path) -> bool:
    return _parsed(path) is not None


def _parsed(path: Path) -> dict[str, Any] | None:
    """None where the file is no trace that `json` reads: the tiny files of damages."""
    raw = path.read_bytes()
    try:
        document = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except ValueError:
        return None
    is_trace = isinstance(document, dict) and isinstance(document.get("traceEvents"), list)
    return document if is_trace and len(document["traceEvents"]) > 1 else None
