"""What a view shows while an answer is on its way, when it fails, and once it is there after all. On a slow machine
each of these states lasts, and axe must find nothing in any of them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import OpenTab, StartTensorBoard
from tests.browser.tab import AXE, DRAWN_MS, state, violations, wait_until_all_is_read

RUN, OF_RANKS, RECORDED_MORE = "gpu_num_dataloaders", "cpu_late_rank", "cpu_kept_graph"


@dataclass(frozen=True)
class Late:
    """An answer, the place in the tab that requests it, and what is drawn of it. heading: of the picture that requests
    it once it is in sight."""

    route: str
    place: str
    drawn: str
    heading: str = ""


LATE = [
    Late("trends", state(run=RUN, view="trends"), "[data-view=trends]"),
    Late("ranks", state(run=OF_RANKS, view="ranks"), "[data-view=ranks]"),
    Late("rank_map", state(run=OF_RANKS, view="ranks"), ".rank-map"),
    Late("compare", state(run=RUN, view="compare"), "[aria-label=Comparison]"),
    Late("chain", state(run=RUN, view="compare", **{"with": "none"}), "table[aria-label=Experiments]"),
    Late("runs", state(run=RUN, all="runs"), "[role=table]"),
    Late("timeline", state(run=RUN, view="timeline"), "[role=application]:not([data-boxes='0'])"),
    Late("busy", state(run=RUN, view="timeline"), ".minimap .faint"),
    Late("timeline", state(run=RUN), ".place .sheets"),
    Late(
        "memory", state(run=RECORDED_MORE, view="memory", instant="1000000"), "table[aria-label='Largest allocations']"
    ),
    Late("flame", state(run=RECORDED_MORE, view="operators"), ".flame-pair", "Which code takes"),
]


@pytest.mark.parametrize("late", LATE, ids=[f"{late.route} in {late.place.split('=')[-1]}" for late in LATE])
def test_a_late_and_a_failed_answer_are_said_and_the_next_one_is_drawn(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab, late: Late
) -> None:
    if not AXE.exists() and not os.environ.get("CI"):
        pytest.skip("axe-core is not installed: `make check` installs the front end's packages")
    server = tensorboard(measured_demo)
    wait_until_all_is_read(server)
    held: list[Route] = []
    failing = False

    def answer(route: Route) -> None:
        if failing:
            route.fulfill(status=500, content_type="text/plain", body="")
        else:
            held.append(route)

    pattern = re.compile(rf"/tb_steptime/{late.route}(\?|$)")
    one = tab(server, late.place, before=lambda page: page.route(pattern, answer))
    tab_frame = one.frame
    drawn, error = tab_frame.locator(late.drawn), tab_frame.get_by_text(re.compile("error 500"))
    expect(tab_frame.locator("[data-state]").first).to_be_visible(timeout=DRAWN_MS)
    if late.heading:
        tab_frame.get_by_role("heading", name=late.heading).scroll_into_view_if_needed()
    while not held:
        one.page.wait_for_timeout(20)  # the browser's events are handled meanwhile
    tab_frame.evaluate(AXE.read_text("utf-8"))
    found = violations(one, f"{late.route} on its way", "body")
    expect(drawn).to_have_count(0)

    failing = True
    for route in held:
        answer(route)
    expect(error.first).to_be_visible()
    found += violations(one, f"{late.route} failed", "body")
    expect(drawn).to_have_count(0)

    one.page.unroute(pattern)
    expect(drawn.first).to_be_visible()
    expect(error).to_have_count(0)
    one.forgive("500")
    assert found == [], "\n".join(found)
