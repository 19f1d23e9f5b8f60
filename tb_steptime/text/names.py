"""Suggestions for names that a person entered and that are not known."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(asked: str, known: Iterable[str]) -> str:
    """Returns a question with a space before it, to append to an error message; an empty text where no name is similar.

    >>> did_you_mean("steptime", ["step_time", "launches"])
    ' Did you mean step_time?'
    >>> did_you_mean("loss", ["step_time", "launches"])
    ''
    """
    from difflib import get_close_matches  # most commands do not need it

    by_letters = {name.casefold(): name for name in known}
    near = get_close_matches(asked.casefold(), by_letters, n=1)
    return f" Did you mean {by_letters[near[0]]}?" if near else ""
