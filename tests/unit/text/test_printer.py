"""Numbers as a terminal shows them."""

from __future__ import annotations

import pytest

from tb_steptime.text.printer import GAP, number


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.1234, "0.123"), (12.06, "12.1"), (999.4, "999"), (999.5, "1000"), (1021.0, "1021"), (123_456.0, "123 456")],
)
def test_a_number_has_three_digits_or_all_before_the_point(value: float, shown: str):
    assert number(value) == shown.replace(" ", GAP)
