"""Summaries of earlier releases -> the types of this one.

A release that renames or adds fields raises `layout.FORMAT` by one and adds a module with a function, which takes a
view's JSON of the format before and returns it in the new one, and its line here. What every such change has in common
is done by `fitting`: fields that are gone are dropped, optional ones that are missing get their default, and a sentence
that has become a reason code becomes that code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from tb_steptime.files.decoders import decoder
from tb_steptime.ingest.summaries import from_0_1
from tb_steptime.ingest.summaries.fitting import fitted
from tb_steptime.ingest.summaries.layout import FORMAT, SummaryHead

R = TypeVar("R", bound=msgspec.Struct)

Json = dict[str, Any]

#: The head is upgraded like a view.
HEAD = "head"


#: By the format that they upgrade from; the first argument is the view's id or HEAD.
_STEPS: dict[int, Callable[[str, Json], Json]] = {1: from_0_1.upgrade}

#: Codes of the sentences that earlier releases wrote, which are those of 0.1.0 alone: later ones write codes.
_CODES = from_0_1.CODES


def upgraded(line: bytes, format: int, view: str, kind: type[R]) -> R:
    """A view's result, or the head, of this or an earlier format. Raises ValueError where it does not fit the type."""
    if format == FORMAT:
        return decoder(kind).decode(line)
    result = msgspec.json.decode(line)
    if format not in _STEPS or not isinstance(result, dict):
        raise ValueError(f"no release wrote such a result in format {format}")
    for earlier in range(format, FORMAT):
        result = _stepped(earlier, view, result)
    decoder(kind)  # so that another thread may convert to it, too
    return msgspec.convert(fitted(result, kind, _CODES), kind)


def upgraded_head(line: bytes, format: int) -> SummaryHead:
    """Raises ValueError where it is no head."""
    return upgraded(line, format, HEAD, SummaryHead)


def _stepped(format: int, view: str, result: Json) -> Json:
    """One format further. Raises ValueError where the result lacks what every result of that format has."""
    try:
        return _STEPS[format](view, result)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no result of format {format}: {error!r}") from error
