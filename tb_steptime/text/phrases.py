"""Sentences with numbers in them, before the numbers are formatted.

A sentence is made where its meaning is known (a rule, a metric, the reader) and its numbers become text only where it
is shown: in `format.ts` for the tab, in `printer.py` for the terminal. So no percent sign and no decimal point stands
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from tb_steptime.text.quantities import Quantity

_PLACE = re.compile(r"\{(\w+)\}")
_ONE_OR_MANY = re.compile(r"\(([^(|)]*)\|([^(|)]*)\)")


class Phrase(msgspec.Struct, frozen=True):
    """A sentence whose `{key}` places are filled from `values`; `[...]` marks the words to emphasize.

    >>> from tb_steptime.text.quantities import ns
    >>> phrase("A step takes [{step}].", step=ns(177_600_000)).values
    {'step': Quantity(value=177600000, unit=<Unit.NS: 'ns'>)}
    """

    template: str
    values: dict[str, Quantity] = {}


def phrase(template: str, /, **values: Quantity) -> Phrase:
    return Phrase(template, values)


def as_phrase(sentence: Phrase | str) -> Phrase:
    """Returns the sentence as a phrase: one without numbers may be its text alone."""
    return Phrase(sentence) if isinstance(sentence, str) else sentence


def filled(template: str, values: Mapping[str, Quantity]) -> Phrase:
    """Returns the template with only those values that it has places for, for code that chooses between templates.

    >>> from tb_steptime.text.quantities import count
    >>> filled("{a} of them.", {"a": count(1), "b": count(2)}).values.keys()
    dict_keys(['a'])
    """
    places = set(_PLACE.findall(template))
    return Phrase(template, {key: value for key, value in values.items() if key in places})


def joined(*phrases: Phrase, by: str = " ") -> Phrase:
    """Joins phrases. Raises ValueError where two of them use one name for different values.

    >>> joined(Phrase("Pin the memory"), Phrase("up to {gain}"), by=": ").template
    'Pin the memory: up to {gain}'
    """
    values: dict[str, Quantity] = {}
    for each in phrases:
        if any(values.get(key, value) != value for key, value in each.values.items()):
            raise ValueError(f"Two values of one name in {each.template!r}")
        values |= each.values
    return Phrase(by.join(each.template for each in phrases), values)


def closed(sentence: Phrase) -> Phrase:
    """Returns the sentence with its full stop.

    >>> closed(Phrase("Its trace does not show why")).template
    'Its trace does not show why.'
    """
    return Phrase(sentence.template + ".", sentence.values)


def agreeing(template: str, number: float) -> str:
    """Returns the template with the words that agree with a number, chosen from each pair (for one|for any other).

    >>> agreeing("{steps} (step is|steps are) slow.", 1)
    '{steps} step is slow.'
    """
    return _ONE_OR_MANY.sub(r"\1" if number == 1 else r"\2", template)


def shortened(name: str, most: int) -> str:
    """Returns a long name without its middle, which says least: the kind comes first, and the distinguishing part last.

    >>> shortened("at::native::spin_kernel", 15)
    'at::nat…_kernel'
    """
    ends = most - 1
    return name if len(name) <= most else f"{name[: ends - ends // 2]}…{name[-(ends // 2) :]}"


def no_such_steps(first: int, last: int) -> str:
    """Returns the sentence, without a full stop, for steps that a recording does not have.

    >>> no_such_steps(99, 99), no_such_steps(7, 9)
    ('It has no step 99', 'It has no steps 7 to 9')
    """
    return f"It has no step {first}" if first == last else f"It has no steps {first} to {last}"


def did_you_mean(requested: str, available: Iterable[str]) -> str:
    """Returns a question with a space before it, to append to an error message; an empty text where no name is similar.

    >>> did_you_mean("steptime", ["step_time", "launches"])
    ' Did you mean step_time?'
    >>> did_you_mean("loss", ["step_time", "launches"])
    ''
    """
    from difflib import get_close_matches  # most commands do not need it

    by_letters = {name.casefold(): name for name in available}
    nearest = get_close_matches(requested.casefold(), by_letters, n=1)
    return f" Did you mean {by_letters[nearest[0]]}?" if nearest else ""
