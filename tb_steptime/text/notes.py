"""Note: what a user must know about the quality of a trace, or of a figure."""

from __future__ import annotations

import msgspec

from tb_steptime.text.phrases import Phrase


class Note(msgspec.Struct, frozen=True):
    """What the user must know about the quality of a trace or of a figure.

    cause is a short fact ("Recorded with call stacks."), effect says which figures it touches and how, `qualifies`
    names the metrics or views that it stands above (empty: all).
    """

    id: str
    cause: Phrase
    effect: Phrase
    qualifies: tuple[str, ...] = ()
