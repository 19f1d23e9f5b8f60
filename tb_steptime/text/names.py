"""Names that a person asked for and that are not known: which one may be meant."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(asked: str, known: Iterable[str]) -> str:
    """A question with a space before it, to stand behind what is wrong; nothing where no name is like it.

    >>> did_you_mean("steptime", ["step_time", "launches"])
    ' Did you mean step_time?'
    >>> did_you_mean("loss", ["step_time", "launches"])
    ''
    """
    from difflib import get_close_matches  # most commands never ask

    by_letters = {name.casefold(): name for name in known}
    near = get_close_matches(asked.casefold(), by_letters, n=1)
    return f" Did you mean {by_letters[near[0]]}?" if near else ""
