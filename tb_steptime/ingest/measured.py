"""A measured span: what its recording states about itself and the result of every analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from tb_steptime.ingest.recorder_files import SeenRecords
from tb_steptime.text import Note
from tb_steptime.trace.steps import StepsBy

R = TypeVar("R", bound=msgspec.Struct)


class SpanFacts(msgspec.Struct, frozen=True):
    """What a recording says of itself, whichever view is open.

    file_bytes is the size on disk, json_bytes that of its JSON text; origin_ns the epoch time of t = 0; steps_by says
    what marks the steps. rank, world_size and sm_count are None where the file does not say, simulated is the
    simulator's statement or None for a recording. gaps: by id of the view whose analysis failed, the kind of error; its
    result has no values, and a note says so.
    """

    file: str
    file_bytes: int
    json_bytes: int
    events: int
    origin_ns: int
    step_count: int
    first_step: str | None
    last_step: str | None
    mean_step_ns: int | None
    device_names: list[str]
    sm_count: int | None
    rank: int | None
    world_size: int | None
    simulated: str | None
    notes: list[Note]
    steps_by: StepsBy = "marks"
    gaps: dict[str, str] = {}


class GraphNames(msgspec.Struct, frozen=True):
    """Whether and from where the kernels in CUDA graphs were named (see `ingest.graph_names`).

    graphs: the trace has such kernels; wanted: they take much of the kernel time, and no eager recording named them.
    folder, file, bytes, digest describe the recording that named them: its folder relative to the trace's, `digest_of`
    its name, its size, and its `TraceStamp.digest`; empty where none did.
    """

    graphs: bool = False
    wanted: bool = False
    folder: str = ""
    file: str = ""
    bytes: int = 0
    digest: str = ""


class MeasuredSpan(msgspec.Struct, frozen=True):
    """Everything that is known of a span. records: the recorder's files that it was measured with. keeps_paths: files
    have their whole paths. names: where the names of the kernels in CUDA graphs come from.

    results by view id. Those of a span that was just measured are in memory; those of a summary file are read from it
    on each access (`ingest.summaries.reading.StoredResults`, which says what it raises).
    """

    facts: SpanFacts
    results: Mapping[str, msgspec.Struct]
    records: SeenRecords = SeenRecords()
    keeps_paths: bool = False
    names: GraphNames = GraphNames()

    def result(self, view: str, kind: type[R]) -> R:
        """Returns the result of one view. Raises KeyError where there is no such view, and what `results` raises."""
        result = self.results[view]
        assert isinstance(result, kind)
        return result
