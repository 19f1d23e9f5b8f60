"""Cards of other people's recordings, compared with recordings of the same jobs after the change."""

from __future__ import annotations

import pytest

from tb_steptime.insights.questions import MADE_BY_OTHERS
from tests.drawn.real_traces import needs
from tests.truth.pairs import PAIRS, outcome

#: Some changes only remove work. For them, the promise is right within this share of the step.
MOST_ERROR = 0.1
#: A change that does the host's work in another way may gain less: the promise may be this many times the gain.
MOST_TIMES = 1.4


@pytest.mark.parametrize("pair", [pytest.param(pair, marks=needs(pair.after[0]), id=pair.card) for pair in PAIRS])
def test_a_card_promises_what_the_change_gained(pair):
    found = outcome(pair)
    if pair.card == "launch_graphs":
        assert found.gained <= found.promised <= MOST_TIMES * found.gained
    else:
        assert found.promised == pytest.approx(found.gained, abs=MOST_ERROR * found.step)
    assert round(found.promised / found.gained, 2) == MADE_BY_OTHERS[pair.card], "what the card says of it"
