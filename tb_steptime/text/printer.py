"""Formats numbers and sentences as text for the terminal. The only Python module that writes a percent sign.

Between a number and its unit, and between thousands, is a no-break space, which `plain` replaces by an ordinary one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tb_steptime.text import Phrase, Quantity, Unit

GAP = "\u00a0"
UNKNOWN = "–"

_TOKEN = re.compile(r"\{(\w+)\}|(\[)|(\])")
#: Rows: minimum value, divisor, decimals, unit sign.
_TIME_STEPS = (
    (60e9, 60e9, 1, "min"),
    (9.995e9, 1e9, 1, "s"),
    (0.9995e9, 1e9, 2, "s"),
    (0.9995e6, 1e6, 1, "ms"),
    (1e3, 1e3, 0, "µs"),
    (0, 1, 0, "ns"),
)
_BYTE_STEPS = ((1e10, 1e9, 1, "GB"), (1e8, 1e6, 0, "MB"), (1e6, 1e6, 1, "MB"), (1e3, 1e3, 0, "kB"), (0, 1, 0, "B"))

_RATE_STEPS = (
    (1e10, 1e9, 1, "GB/s"),
    (1e9, 1e9, 2, "GB/s"),
    *((least, size, decimals, f"{unit}/s") for least, size, decimals, unit in _BYTE_STEPS[1:]),
)


def maybe(write: Callable[[float], str], value: float | None, unknown: str = UNKNOWN) -> str:
    """Returns what `write` makes of a value, or `unknown` where there is none."""
    return unknown if value is None else write(value)


def render(phrase: Phrase, stress: Callable[[str], str] = str) -> str:
    """Returns a sentence with its numbers; `stress` is applied to the text between emphasis marks."""
    pieces: list[list[str]] = [[]]
    end = 0
    for token in _TOKEN.finditer(phrase.template):
        pieces[-1].append(phrase.template[end : token.start()])
        end = token.end()
        if token[1]:
            pieces[-1].append(quantity(phrase.values[token[1]]) if token[1] in phrase.values else token[0])
        else:
            pieces.append([])
    pieces[-1].append(phrase.template[end:])
    texts = ["".join(piece) for piece in pieces]
    return "".join(stress(text) if number % 2 and text else text for number, text in enumerate(texts))


def plain(phrase: Phrase) -> str:
    """Returns a sentence without marks, for files and other programs."""
    return render(phrase).replace(GAP, " ")


def quantity(value: Quantity) -> str:
    """Returns one value as it is written in a sentence."""
    if value.value is None:
        return UNKNOWN
    if isinstance(value.value, str):
        return f"`{printable(value.value)}`" if value.unit is Unit.CODE else printable(value.value)
    return _WRITERS[value.unit](value.value)


def duration(ns: float) -> str:
    """Formats a time in the unit that fits; zero is written in the unit of most times."""
    return f"0{GAP}ms" if ns == 0 else _in_steps(ns, _TIME_STEPS)


def change(ns: float) -> str:
    """Formats a difference of times with its sign."""
    return f"+{duration(ns)}" if ns > 0 else duration(ns)


def interval(low: float | None, high: float | None) -> str:
    """Formats the limits of a difference of times; UNKNOWN where they are not known."""
    return UNKNOWN if low is None or high is None else f"{change(low)} to {change(high)}"


def nbytes(count: float) -> str:
    """Formats bytes in decimal units, as for disks and networks."""
    return _in_steps(count, _BYTE_STEPS)


def rate(per_second: float) -> str:
    """Formats a rate; links and memory use GB/s from one on."""
    return _in_steps(per_second, _RATE_STEPS)


def percent(fraction: float) -> str:
    """Formats two digits of a share, or of what it lacks to all: `33 %`, `1.5 %`, `98.5 %`.

    So a share and its rest are equally exact, and agree with the one decimal of tables. 0 and 100 are exact.
    """
    percents = 100 * fraction
    if 9.95 <= abs(percents) <= 90.05 or percents >= 100:
        return f"{percents:.0f}{GAP}%"
    digits = f"{percents:.1f}".removesuffix(".0")
    return f"{_NEARLY.get(digits, digits) if percents else digits}{GAP}%"


_NEARLY = {"0": "<0.1", "-0": "-<0.1", "100": ">99.9"}


def percent_exact(fraction: float) -> str:
    """Formats percents with one decimal, for tables."""
    return f"{100 * fraction:.1f}{GAP}%"


def count(value: float) -> str:
    """Formats `12 500`, but `1250`: four digits are read at a glance."""
    digits = f"{round(value):,}" if abs(value) >= 10_000 else str(round(value))
    return digits.replace(",", GAP)


def counted(value: int, one: str) -> str:
    """Returns `1 step`, `6 steps`."""
    return f"{count(value)} {one}" + ("" if value == 1 else "s")


def number(value: float) -> str:
    """Formats three significant digits."""
    return f"{value:.3g}" if abs(value) < 999.5 else count(value)


def printable(text: str) -> str:
    """Returns a name from a trace without characters that would control a terminal."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def _in_steps(value: float, steps: tuple[tuple[float, float, int, str], ...]) -> str:
    _, divisor, decimals, sign = next((step for step in steps if abs(value) >= step[0]), steps[-1])
    scaled = value / divisor
    digits = f"{scaled:,.{decimals}f}".replace(",", GAP)
    return f"{digits}{GAP}{sign}"


_WRITERS: dict[Unit, Callable[[float], str]] = {
    Unit.NS: duration,
    Unit.FRACTION: percent,
    Unit.COUNT: count,
    Unit.NUMBER: number,
    Unit.BYTES: nbytes,
    Unit.BYTES_PER_SECOND: rate,
    Unit.TEXT: str,
    Unit.CODE: str,
}
