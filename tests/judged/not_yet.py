"""What is known not to be right yet, with the point of the work that will mend it. Empty is what it should be.

Part: "verdict", "cards" that have to be there, or "extra" ones that nobody would sign.
"""

from __future__ import annotations

NOT_YET: dict[tuple[str, str], str] = {}
