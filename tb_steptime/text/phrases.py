"""Sentences with numbers in them, before anyone decides how a number is written.

A sentence is made where its meaning is known (a rule, a metric, the reader) and its numbers become text only where it
is shown: in `format.ts` for the tab, in `printer.py` for the terminal. So no percent sign and no decimal point stands
here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from tb_steptime.text.quantities import Quantity

_PLACE = re.compile(r"\{(\w+)\}")
_ONE_OR_MANY = re.compile(r"\(([^(|)]*)\|([^(|)]*)\)")


class Phrase(msgspec.Struct, frozen=True):
    """A sentence whose `{key}` places are filled from `values`; `[...]` marks the words to stress.

    >>> from tb_steptime.text.quantities import ns
    >>> phrase("A step takes [{step}].", step=ns(177_600_000)).values
    {'step': Quantity(value=177600000, unit=<Unit.NS: 'ns'>)}
    """

    template: str
    values: dict[str, Quantity] = {}


def phrase(template: str, /, **values: Quantity) -> Phrase:
    return Phrase(template, values)


def filled(template: str, values: Mapping[str, Quantity]) -> Phrase:
    """The template with those of the values that it has places for, where one of several templates was chosen.

    >>> from tb_steptime.text.quantities import count
    >>> filled("{a} of them.", {"a": count(1), "b": count(2)}).values.keys()
    dict_keys(['a'])
    """
    places = set(_PLACE.findall(template))
    return Phrase(template, {key: value for key, value in values.items() if key in places})


def joined(*phrases: Phrase, by: str = " ") -> Phrase:
    """Phrases one after another. Raises ValueError where two of them name different values alike.

    >>> joined(Phrase("Pin the memory"), Phrase("up to {gain}"), by=": ").template
    'Pin the memory: up to {gain}'
    """
    values: dict[str, Quantity] = {}
    for each in phrases:
        if any(values.get(key, value) != value for key, value in each.values.items()):
            raise ValueError(f"Two values of one name in {each.template!r}")
        values |= each.values
    return Phrase(by.join(each.template for each in phrases), values)


def agreeing(template: str, number: float) -> str:
    """The template with the words that agree with a number in it, of each pair (for one|for any other).

    >>> agreeing("{steps} (step is|steps are) slow.", 1)
    '{steps} step is slow.'
    """
    return _ONE_OR_MANY.sub(r"\1" if number == 1 else r"\2", template)


def shortened(name: str, most: int) -> str:
    """A long name without its middle, which says least: what it is comes first, what distinguishes it last.

    >>> shortened("at::native::spin_kernel", 15)
    'at::nat…_kernel'
    """
    ends = most - 1
    return name if len(name) <= most else f"{name[: ends - ends // 2]}…{name[-(ends // 2) :]}"
