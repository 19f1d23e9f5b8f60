"""Which gaps a card about late launches shows."""

from __future__ import annotations

from tb_steptime.insights.base import Evidence
from tb_steptime.insights.host_gains import evidence_of_sites
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.steps.host_pace import SiteRow


def site(name: str, late_us: int, *gaps_us: tuple[int, int]) -> SiteRow:
    """A site whose late time in a step is this long, with gaps from one time to another."""
    examples = [Evidence("3", start, end) for start, end in gaps_us]
    return SiteRow(name, "forward", name, 1.0, None, None, 0, IdleNs(cpu_work=late_us), 0, examples)


def test_the_site_that_costs_most_is_shown_first_and_each_has_its_longest_gap():
    start = site("zero_grad", 200, (0, 200))
    model = site("model", 900, (300, 360), (400, 480), (500, 570))
    assert evidence_of_sites([start, model]) == [
        Evidence("3", *each) for each in [(400, 480), (0, 200), (500, 570), (300, 360)]
    ]
