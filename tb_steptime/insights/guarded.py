"""One sentence that cannot be made takes only its own place: a rule that raises its card, a headline its view.

rule a  ──> card            rule b needs a result that could not be computed ──> no card, the note on that view says it
rule c  raises anything else ──> no card, its name in `failed`, the exception in the log
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import msgspec

from tb_steptime.insights.facts import Facts, NotComputed

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Guarded(msgspec.Struct, frozen=True):
    """failed: names of what raised, of anything but a result that is missing."""

    failed: list[str] = msgspec.field(default_factory=list)

    def made(self, name: str, make: Callable[[], T], otherwise: T) -> T:
        """Returns what `make` makes, or `otherwise` where that fails. Raises MemoryError."""
        try:
            return make()
        except NotComputed:
            return otherwise
        except MemoryError:
            raise
        except Exception:
            logger.exception("tb_steptime: %s could not be computed", name)
            self.failed.append(name)
            return otherwise

    def ask(self, name: str, of: Callable[[Facts], T], facts: Facts, otherwise: T) -> T:
        """Returns what `of` returns for the facts, or `otherwise` where that fails. Raises MemoryError."""
        return self.made(name, lambda: of(facts), otherwise)
