"""Sentences with numbers in them, before anyone decides how a number is written.

A sentence is made where its meaning is known (a rule, a metric, the reader) and its numbers become text only where it
is shown: in `format.ts` for the tab, in `printer.py` for the terminal. So no percent sign and no decimal point stands
here.
"""

from __future__ import annotations

import enum
import re

import msgspec

_ONE_OR_MANY = re.compile(r"\(([^(|)]*)\|([^(|)]*)\)")


class Unit(enum.Enum):
    """What a quantity is measured in. Fractions are 0-1."""

    NS = "ns"
    FRACTION = "fraction"
    COUNT = "count"
    NUMBER = "number"  # a plain number with decimals: waves, blocks per SM
    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes_per_second"
    TEXT = "text"  # a name out of the trace: a kernel, an op, a file; untrusted
    CODE = "code"  # something to type: a setting, a call


class Quantity(msgspec.Struct, frozen=True):
    """One value with its unit, or None where it is not measurable."""

    value: int | float | str | None
    unit: Unit


class Phrase(msgspec.Struct, frozen=True):
    """A sentence whose `{key}` places are filled from `values`; `[...]` marks the words to stress.

    >>> phrase("A step takes [{step}].", step=ns(177_600_000)).values
    {'step': Quantity(value=177600000, unit=<Unit.NS: 'ns'>)}
    """

    template: str
    values: dict[str, Quantity] = {}


class Note(msgspec.Struct, frozen=True):
    """What the user must know about the quality of a trace or of a figure.

    cause is a short fact ("Recorded with call stacks."), effect says which figures it touches and how, `qualifies`
    names the metrics or views that it stands above (empty: all).
    """

    id: str
    cause: Phrase
    effect: Phrase
    qualifies: tuple[str, ...] = ()


def phrase(template: str, /, **values: Quantity) -> Phrase:
    return Phrase(template, values)


def agreeing(template: str, number: float) -> str:
    """The template with the words that agree with a number in it, of each pair (for one|for any other).

    >>> agreeing("{steps} (step is|steps are) slow.", 1)
    '{steps} step is slow.'
    """
    return _ONE_OR_MANY.sub(r"\1" if number == 1 else r"\2", template)


def ns(value: float | None) -> Quantity:
    return Quantity(value, Unit.NS)


def fraction(value: float | None) -> Quantity:
    return Quantity(value, Unit.FRACTION)


def count(value: int | None) -> Quantity:
    return Quantity(value, Unit.COUNT)


def nbytes(value: float | None) -> Quantity:
    return Quantity(value, Unit.BYTES)


def text(value: str) -> Quantity:
    return Quantity(value, Unit.TEXT)


def code(value: str) -> Quantity:
    return Quantity(value, Unit.CODE)


def label(value: str) -> Quantity:
    """A label inside a sentence: small but for abbreviations.

    >>> label("Data loading").value, label("CPU, forward").value
    ('data loading', 'CPU, forward')
    """
    abbreviated = value[1:2].isupper()
    return text(value if abbreviated else value[:1].lower() + value[1:])


def shortened(name: str, most: int) -> str:
    """A long name without its middle, which says least: what it is stands first, what tells it apart last.

    >>> shortened("at::native::spin_kernel", 15)
    'at::nat…_kernel'
    """
    ends = most - 1
    return name if len(name) <= most else f"{name[: ends - ends // 2]}…{name[-(ends // 2) :]}"
