"""Quantities: values with a unit, before they are formatted."""

from __future__ import annotations

import enum

import msgspec


class Unit(enum.Enum):
    """What a quantity is measured in. Fractions are 0-1."""

    NS = "ns"
    FRACTION = "fraction"
    COUNT = "count"
    NUMBER = "number"  # a plain number with decimals: waves, blocks per SM
    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes_per_second"
    TEXT = "text"  # a name from the trace: a kernel, an op, a file; untrusted
    CODE = "code"  # something to type: a setting, a call


class Quantity(msgspec.Struct, frozen=True):
    """One value with its unit, or None where it is not measurable."""

    value: int | float | str | None
    unit: Unit


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
    """Returns a label for use inside a sentence: lower case except abbreviations.

    >>> label("Data loading").value, label("CPU, forward").value
    ('data loading', 'CPU, forward')
    """
    abbreviated = value[1:2].isupper()
    return text(value if abbreviated else value[:1].lower() + value[1:])
