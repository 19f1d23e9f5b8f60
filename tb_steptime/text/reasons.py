"""Reason: why a figure is not known, as a code with values; its words are in a table of `insights.wording.reasons`."""

from __future__ import annotations

import msgspec

from tb_steptime.text.quantities import Quantity


class Reason(msgspec.Struct, frozen=True):
    """What metrics and analyses return in place of a sentence, so that a stored result need not be measured again when
    its words change. `values` fill the places of the code's template."""

    code: str
    values: dict[str, Quantity] = {}
