"""The one kind of error that a user may see."""

from __future__ import annotations


class TraceError(Exception):
    """A trace that cannot be read, described in three parts for the user.

    problem: the fact, one sentence without a full stop ("The file holds no traceEvents").
    path:    the file that it is about, as it may be shown.
    hint:    the way out, one or two sentences.
    """

    def __init__(self, problem: str, path: object, hint: str) -> None:
        super().__init__(problem, str(path), hint)
        self.problem = problem
        self.path = str(path)
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}. {self.hint}"
