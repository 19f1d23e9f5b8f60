"""Note: what a user must know about the quality of a trace or a figure; its words are in `insights.wording.notes`."""

from __future__ import annotations

import msgspec

from tb_steptime.text.quantities import Quantity


class Note(msgspec.Struct, frozen=True):
    """What was found, as an id with values that fill the places in its sentences. qualifies: the metrics or views above
    which it stands; empty: all."""

    id: str
    values: dict[str, Quantity] = {}
    qualifies: tuple[str, ...] = ()
