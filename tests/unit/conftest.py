"""Most traces of these tests are drawn in microseconds."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def drawn_small(drawn_in_microseconds: None) -> None:
    """See `drawn_in_microseconds`."""
