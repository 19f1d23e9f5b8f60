"""The summaries beside the recordings of the demo, with which `make demo` opens at once.

python -m tools.demo_summaries     measure the recordings, and write the summaries that are not what was measured

It refuses where a figure changed and `DEFINITIONS` did not: summaries that users have would go on saying the old one.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tb_steptime.errors import TraceError
from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.summaries import SUFFIX, read_summary
from tb_steptime.ingest.summaries.layout import DEFINITIONS, FORMAT, SummaryHead, is_of, stamp
from tb_steptime.ingest.summaries.reading import StoredResults
from tb_steptime.ingest.summaries.writing import encode_summary

DEMO = Path(__file__).resolve().parents[1] / "demo_logs"

#: The last digits of a float depend on the machine.
SAME_FRACTION = 1e-9
#: More changes than this would not help.
MOST_SHOWN = 5

RAISE = (
    "Results that summaries hold have changed. Raise DEFINITIONS in tb_steptime/ingest/summaries/layout.py (it is "
    f"{DEFINITIONS}), so that users' summaries are measured again. Then run `make demo-summaries` and commit what it "
    "writes."
)
WRITE = "Run `make demo-summaries` and commit what it writes."


def main() -> int:
    measured = {trace: measure_file(trace) for trace in demo_traces()}
    untold = {trace: changes for trace, now in measured.items() if (changes := untold_changes(trace, now))}
    if untold:
        print("\n".join([*(described(trace, changes) for trace, changes in untold.items()), RAISE]), file=sys.stderr)
        return 1
    written = [summary_path(trace) for trace, now in measured.items() if write(trace, now)]
    gone = [path for path in sorted(DEMO.rglob(f"*{SUFFIX}")) if not path.with_suffix("").exists()]
    for path in gone:
        path.unlink()
    print(f"{len(written)} of {len(measured)} summaries written, {len(gone)} without a trace removed")
    return 0


def demo_traces() -> list[Path]:
    return sorted(DEMO.rglob("*.pt.trace.json.gz"))


def summary_path(trace: Path) -> Path:
    return trace.with_name(trace.name + SUFFIX)


def untold_changes(trace: Path, now: MeasuredSpan) -> list[str]:
    """Paths of the fields that differ from the committed summary of the same definitions and the same trace."""
    committed = committed_summary(trace)
    if committed is None or not is_of(head_of(committed).trace, trace):
        return []
    return list(changed_fields(committed, now)) if is_current(head_of(committed)) else []


def committed_summary(trace: Path) -> MeasuredSpan | None:
    try:
        return read_summary(summary_path(trace))
    except TraceError:
        return None


def head_of(span: MeasuredSpan) -> SummaryHead:
    assert isinstance(span.results, StoredResults)
    return span.results.head


def is_current(head: SummaryHead) -> bool:
    return (head.format, head.definitions) == (FORMAT, DEFINITIONS)


def changed_fields(then: MeasuredSpan, now: MeasuredSpan) -> Iterator[str]:
    """The changes of the facts and of every view's result."""
    yield from _changed(msgspec.to_builtins(then.facts), msgspec.to_builtins(now.facts), "facts")
    for view in now.results:
        pair = (msgspec.to_builtins(each.results[view]) for each in (then, now))
        yield from _changed(*pair, view)


def _changed(then: Any, now: Any, path: str) -> Iterator[str]:
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted({*then, *now}, key=str):
            yield from _changed(then.get(key), now.get(key), f"{path}.{key}")
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, pair in enumerate(zip(then, now, strict=True)):
            yield from _changed(*pair, f"{path}.{number}")
    elif not _is_same(then, now):
        yield path


def _is_same(then: Any, now: Any) -> bool:
    if isinstance(then, float) and isinstance(now, float):
        return math.isclose(then, now, rel_tol=SAME_FRACTION)
    return bool(then == now)


def described(trace: Path, changes: list[str]) -> str:
    more = f" and {len(changes) - MOST_SHOWN} more" if len(changes) > MOST_SHOWN else ""
    return f"{trace.relative_to(DEMO)}: {', '.join(changes[:MOST_SHOWN])}{more}"


def write(trace: Path, now: MeasuredSpan) -> bool:
    """Whether the existing summary differed from this one."""
    committed = committed_summary(trace)
    if (
        committed is not None
        and is_current(head_of(committed))
        and is_of(head_of(committed).trace, trace)
        and not list(changed_fields(committed, now))
    ):
        return False
    summary_path(trace).write_bytes(content_of(trace, now))
    return True


def content_of(trace: Path, now: MeasuredSpan) -> bytes:
    """The same on every machine: each checkout gives the files other times, so only their contents count."""
    files = [msgspec.structs.replace(each, mtime_ns=0) for each in now.records.files]
    records = msgspec.structs.replace(now.records, files=files)
    return encode_summary(
        msgspec.structs.replace(stamp(trace), mtime_ns=0), msgspec.structs.replace(now, records=records)
    )


if __name__ == "__main__":
    sys.exit(main())
