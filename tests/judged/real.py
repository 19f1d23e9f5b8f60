"""The labelled real traces of the corpus, where they are available."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tests.drawn.real_traces import WAITS, is_real_trace_there, real_path
from tests.judged.found import Found, found_in
from tests.judged.jobs.shared import SHARED_TRACES
from tests.judged.labels import Label


@dataclass(frozen=True)
class RealJob:
    """The job that recorded a real trace, or a folder of them."""

    label: Label
    group: str = "real traces"

    @property
    def missing(self) -> str | None:
        """Why it cannot be judged here, if so."""
        here = is_real_trace_there(self.label.job)
        return None if here else f"{WAITS}traces/{self.label.job}"

    def found(self) -> tuple[Found, ...]:
        """The findings for each of its recordings; where they are missing the test is skipped."""
        return _read(self.label.job)


REAL_JOBS = tuple(map(RealJob, SHARED_TRACES))


@cache
def _read(name: str) -> tuple[Found, ...]:
    path = real_path(f"traces/{name}")
    return tuple(found_in(file) for file in (sorted(path.glob("*.json*")) if path.is_dir() else [path]))
