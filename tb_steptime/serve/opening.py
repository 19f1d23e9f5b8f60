"""The page that the tab opens with. It lets the first answer hold everything that the first picture shows.

    script ──> index ──> catalogue ──> view     one after the other, each later while other tabs hold the interpreter
    script ──> opening                          where the address names something
    script with its opening                     where it does not, and all is read

The tab itself chooses the span (`frontend/src/address/selection.ts`) and uses the page if it is the page of that span.
If the server picked another span, the tab sends one more request, and shows nothing wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from tb_steptime.ingest.states import SpanState
from tb_steptime.serve.directory import WHOLE_RECORDING
from tb_steptime.serve.wire import Index, Opening, RunEntry, SpanEntry, WorkerEntry, encode


@dataclass(frozen=True)
class Address:
    """What the tab's address names; empty where it does not. number: of the span within its worker; steps: "recording"
    for the recording as one step."""

    run: str = ""
    worker: str = ""
    number: str = ""
    steps: str = ""

    def id_of(self, span: SpanEntry) -> str:
        return span.id + (WHOLE_RECORDING if self.steps == "recording" else "")


def first_span(index: Index, address: Address) -> SpanEntry | None:
    """Returns the span that the address names, as far as it names one, or one of the newest run where it names no
    existing run. A span that is not named by number is the first one that is read, since only those have a page."""
    runs = [run for run in index.runs if run.name == address.run] or _newest(index.runs)
    workers = [worker for run in runs for worker in run.workers]
    spans = _spans([worker for worker in workers if worker.name == address.worker] or workers)
    exact = next((span for span in spans if str(span.number) == address.number), None)
    return exact or next((span for span in spans if span.state is SpanState.READY), None)


def is_at_rest(index: Index) -> bool:
    """Whether no trace waits to be read. The tab then need not send a request at once to have one read."""
    spans = [span for run in index.runs for span in _spans(run.workers)]
    return all(span.state in (SpanState.READY, SpanState.FAILED) for span in spans)


def version_of(opening: Opening) -> str:
    """Returns a digest of an index without the time of its last scan."""
    index = msgspec.structs.replace(opening.index, scanned_at_ms=0)
    return hashlib.blake2b(encode(msgspec.structs.replace(opening, index=index)), digest_size=8).hexdigest()


def _newest(runs: Sequence[RunEntry]) -> list[RunEntry]:
    """Returns the run that was recorded last; a recording of a GPU comes before one without."""
    whole = [(run, span) for run in runs for span in _spans(run.workers) if span.state is not SpanState.FAILED]
    among = [(run, span) for run, span in whole if span.has_gpu is not False] or whole
    return [max(among, key=lambda each: each[1].recorded_ns)[0]] if among else []


def _spans(workers: Sequence[WorkerEntry]) -> list[SpanEntry]:
    return [span for worker in workers for span in worker.spans]
