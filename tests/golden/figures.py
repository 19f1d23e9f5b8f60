"""The measured numbers of a page, independent of the names of fields and of the sentences around them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

#: Sums of floats may differ in their last digits between builds of numpy.
DIGITS = 9

#: Text rather than measured numbers: sentences and reasons with their quantities.
_SAID = ({"template", "values"}, {"code", "values"})


class Figure(NamedTuple):
    """A number as it is compared, and its place: names of fields, with `[]` for an index of a list."""

    text: str
    path: str


def figures_of(page: Any) -> list[Figure]:
    """The figures of a view's result and, if it has them, of its cards, neighbours or changes. Zeros are left out, so
    that a field of zeros may be added or removed."""
    return [figure for key, part in page.items() if key not in ("head", "headline") for figure in _numbers(part, key)]


def digest(figures: list[Figure]) -> str:
    """A hash independent of the fields' names and order, so that a field may be renamed or moved within its view."""
    counted = sorted(Counter(each.text for each in figures).items())
    return hashlib.sha1(repr(counted).encode()).hexdigest()[:16]


def _numbers(value: Any, path: str) -> Iterator[Figure]:
    if isinstance(value, dict):
        if value.keys() not in _SAID:
            for key, each in value.items():
                yield from _numbers(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for each in value:
            yield from _numbers(each, f"{path}[]")
    elif isinstance(value, int | float) and not isinstance(value, bool) and value:
        yield Figure(str(value) if isinstance(value, int) else f"{value:.{DIGITS}g}", path)
