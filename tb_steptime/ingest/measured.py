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
    """What a recording states about itself, which every view shows.

    file_bytes, json_bytes   size of the file on disk, and of its JSON text
    origin_ns                epoch time of t = 0
    rank, world_size, sm_count   None where the file does not state them
    simulated                what the simulator states about a simulated trace; None for a recording
    steps_by                 what marks the steps
    gaps                     kind of error, by id of the view whose analysis failed; the result of such a view has no
                             values, and a note tells the user
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

    graphs   the trace has such kernels
    wanted   they take much of the kernel time, and no eager recording named them
    folder, file, bytes, digest   the recording that named them: its folder relative to the trace's, `digest_of` its
             name, its size, and its `TraceStamp.digest`; empty or 0 if there is none
    share, searched   only where they are unnamed: their share of the kernel time, and a digest of what the search for a
             recording could judge
    """

    graphs: bool = False
    wanted: bool = False
    folder: str = ""
    file: str = ""
    bytes: int = 0
    digest: str = ""
    share: float = 0.0
    searched: str = ""


class MeasuredSpan(msgspec.Struct, frozen=True):
    """Everything that is known of a span.

    results       by id of the view. Those of a span that was just measured are in memory; those of a summary file are
                  read from it on each access (see `ingest.summaries.reading.StoredResults` for what it raises)
    records       the recorder's files that the span was measured with
    keeps_paths   the results contain whole paths of source files, not shortened ones
    names         where the names of the kernels in CUDA graphs come from
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
