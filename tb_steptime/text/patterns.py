"""Regular expressions that are compiled when they are first used.

Compiling one takes a tenth of a millisecond, and modules have two hundred: most commands use a few of them.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Pattern:
    """Becomes the compiled expression: each of its methods is stored here after the first use."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value


def expression(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like re.compile, but compiles on first use; an error in the expression is raised then.

    >>> expression("a+").match("aab")[0]
    'aa'
    """
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
