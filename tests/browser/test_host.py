"""The Host view in a real browser: from the reason for an idle GPU to the place in the timeline that shows it."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenTab, StartTensorBoard
from tests.browser.tab import state

#: A run without a card about blocking calls: the queue of launches stands first.
LAUNCHES = "baseline_simulated"


def drag(picture: Locator, share: float, by_px: int) -> None:
    """Drag to the right, starting at this fraction of the picture's width."""
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None
    x, y = box["x"] + share * box["width"], box["y"] + box["height"] / 2
    mouse = picture.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + by_px, y, steps=4)
    mouse.up()


def test_a_stretch_of_the_queue_opens_in_the_timeline_and_leads_back(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    one = tab(tensorboard(measured_demo), state(view="host", run=LAUNCHES))
    host = one.view("host")
    drag(host.locator("svg.queue-chart"), 0.5, 120)
    one.page.wait_for_url("**p.tb_steptime.zoom=*")
    expect(host.get_by_role("button", name="Show all")).to_be_visible()
    (stretch,) = re.findall(r"zoom=(\d+-\d+)", one.page.url)
    host.locator(".step-buttons").get_by_role("button", name="Timeline").click()
    one.view("timeline")
    assert f"zoom={stretch}" in one.page.url

    one.go_to("Host")
    one.view("host").locator("svg.queue-chart").dblclick()
    one.page.wait_for_function("!location.hash.includes('p.tb_steptime.zoom')")


def test_steps_are_chosen_beside_the_queue_and_stay_chosen(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    one = tab(tensorboard(measured_demo), state(view="host", run=LAUNCHES))
    host = one.view("host")
    before = host.locator(".picture .sub").first.inner_text()
    host.get_by_role("button", name="Step after").click()
    expect(host.locator(".picture .sub").first).not_to_have_text(before)
    chosen = host.locator(".picture .sub").first.inner_text()
    one.reload()
    expect(one.view("host").locator(".picture .sub").first).to_have_text(chosen)


def test_reasons_stand_by_step_or_by_phase(tensorboard: StartTensorBoard, recording: Path, tab: OpenTab) -> None:
    one = tab(tensorboard(recording), state(view="host"))
    host = one.view("host")
    host.locator("details.fold > summary").click()
    one.page.wait_for_url("**p.tb_steptime.more=open*")
    host.get_by_role("button", name="Phase", exact=True).click()
    one.page.wait_for_url("**p.tb_steptime.idle=phase*")
    expect(host.get_by_role("slider", name=re.compile("a bar for each phase: .*Forward"))).to_be_visible()
