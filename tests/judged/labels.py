"""A label: which verdicts are right for a job, and which cards must, may and must not appear.

    Label("two_workers", "input", main="more_workers", may="loader_jitter", never="launch_graphs", why="...")

`why` gives the reason with its numbers, so that a reader can check it against the raw events without the package.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Label:
    """The right conclusions on one job. Words are separated by blanks; `one|other` accepts either of two cards.

    verdict: the right bounds. main: the card for what limits the job, which has to be among the first three; empty if
    no card names it, because the job is healthy or its recording does not show it. must: further required cards. may:
    cards that may also appear. never: cards that must not appear, not even as minor. All other cards may be minor at
    most.
    """

    job: str
    verdict: str
    main: str = ""
    must: str = ""
    may: str = ""
    never: str = ""
    why: str = ""

    @property
    def bounds(self) -> frozenset[str]:
        return frozenset(self.verdict.split())

    @property
    def asked_for(self) -> tuple[frozenset[str], ...]:
        """The required cards, each with its alternative names."""
        return tuple(frozenset(word.split("|")) for word in f"{self.main} {self.must}".split())

    @property
    def allowed(self) -> frozenset[str]:
        return frozenset(self.may.split()).union(*self.asked_for)

    @property
    def forbidden(self) -> frozenset[str]:
        return frozenset(self.never.split())
