"""Why a request cannot be answered; the routes turn each into a status."""

from __future__ import annotations

from tb_steptime.ingest.states import Problem


class UnknownSpan(LookupError):
    """No span of this id, or no view of this name."""


class UnknownEvent(LookupError):
    """No event of this number in the span."""


class UnknownDevice(LookupError):
    """No device of this number among those whose memory was recorded in the span."""


class SpanFailed(Exception):
    """The span's trace could not be read; the problem is fit for the user."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem
