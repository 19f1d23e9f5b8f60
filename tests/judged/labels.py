"""What a label says: which verdicts are right for a job, and which cards must, may and must not appear.

    Label("two_workers", "input", main="more_workers", may="loader_jitter", never="launch_graphs", why="...")

`why` gives the reason with its numbers, so that a reader can check it against the raw events without the package.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Label:
    """What is right to say of one job. Words are separated by blanks; `one|other`: either of two cards says it.

    verdict: the bounds that are right. main: the card of what limits the job: it has to be among the first three;
    empty: no card says it, because the job is healthy or its recording does not tell. must: further cards that have to
    be there. may: cards that may be there too. never: cards that may not even be there as minor ones. All other cards
    are at most minor.
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
