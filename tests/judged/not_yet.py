"""Results that are known to be still wrong, each with the planned work that will fix it. It should be empty.

The part is "verdict", "cards" for missing required cards, or "extra" for cards that nobody would accept.
"""

from __future__ import annotations

NOT_YET: dict[tuple[str, str], str] = {}
