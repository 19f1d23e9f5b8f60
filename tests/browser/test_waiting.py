"""What the tab shows while answers are late or broken, and what it requests, in a real TensorBoard."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import OpenTab, StartTensorBoard

#: Less than the five seconds between two requests of a tab in sight.
AT_ONCE_MS = 4_800

ROUTES = "**/data/plugin/tb_steptime/"

#: Imitates what a browser does to a page in a background tab: a headless browser has no background tabs.
IN_BACKGROUND = """Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
document.dispatchEvent(new Event("visibilitychange"))"""
IN_SIGHT = IN_BACKGROUND.replace("hidden", "visible")


def test_a_late_view_says_what_is_read(tensorboard: StartTensorBoard, recording: Path, tab: OpenTab) -> None:
    server = tensorboard(recording)
    one = tab(server)
    one.view("overview")
    routes: list[Route] = []
    one.page.route(f"{ROUTES}view?*view=host*", lambda route: routes.append(route))
    one.go_to("Host")
    expect(one.frame.locator("h1")).to_contain_text("Opening Host of")
    expect(one.frame.get_by_role("progressbar")).to_be_visible()
    expect(one.frame.get_by_text("Reading the summary of a trace of")).to_contain_text("B.")
    one.picture("waiting-host")
    routes[0].continue_()
    one.view("host")
    expect(one.frame.get_by_role("progressbar")).to_have_count(0)


def test_a_broken_answer_is_said_and_asked_for_again(
    tensorboard: StartTensorBoard, recording: Path, tab: OpenTab
) -> None:
    server = tensorboard(recording)
    one = tab(server)
    one.view("overview")
    pattern = f"{ROUTES}view?*view=host*"
    one.page.route(pattern, lambda route: route.fulfill(content_type="application/json", body='{"head": {'))
    one.go_to("Host")
    content = one.content("failed")
    expect(content).to_contain_text("it is not whole JSON")
    expect(content).to_contain_text("Trying again")
    one.picture("waiting-broken")
    one.page.unroute(pattern)
    one.view("host")


def test_a_view_whose_part_of_the_tab_does_not_come_is_asked_for_again(
    tensorboard: StartTensorBoard, recording: Path, tab: OpenTab
) -> None:
    one = tab(tensorboard(recording), state="&p.tb_steptime.view=nothing", anew=True)
    pattern = f"{ROUTES}parts/device-*.js"
    one.page.route(pattern, lambda route: route.abort())
    one.view("overview")
    one.go_to("Host")
    content = one.content("failed")
    expect(content).to_contain_text("The part of the tab that draws this view could not be loaded")
    expect(content).to_contain_text("Trying again")
    one.picture("waiting-part")
    with one.page.expect_request(pattern):
        content.get_by_role("button", name="Try again").click()
    one.page.unroute(pattern)
    one.view("host")
    one.forgive("net::ERR_FAILED")


def test_a_view_that_is_left_is_not_waited_for(tensorboard: StartTensorBoard, recording: Path, tab: OpenTab) -> None:
    server = tensorboard(recording)
    one = tab(server)
    one.view("overview")
    failed: list[str] = []
    one.page.on("requestfailed", lambda request: failed.append(f"{request.url} {request.failure}"))
    routes: list[Route] = []
    one.page.route(f"{ROUTES}view?*view=host*", lambda route: routes.append(route))
    one.go_to("Host")
    expect(one.frame.locator("h1")).to_contain_text("Opening Host of")
    one.go_to("Data loading")
    one.view("data_loading")
    assert [fault for fault in failed if "view=host" in fault and "ABORTED" in fault]


@pytest.mark.live  # it takes twelve seconds
def test_behind_another_plugin_or_in_a_background_page_nothing_is_asked(
    tensorboard: StartTensorBoard, recording: Path, tab: OpenTab
) -> None:
    server = tensorboard(recording)
    one, behind = tab(server), tab(server)
    urls: list[str] = []
    for page in (one, behind):
        page.view("overview")
        page.page.on("request", lambda request: urls.append(request.url))
    behind.frame.evaluate(IN_BACKGROUND)
    ours = one.frame
    ours.page.evaluate("location.hash = '#timeseries'")
    expect(one.page.locator("iframe >> visible=true")).to_have_count(0)
    urls.clear()
    one.page.wait_for_timeout(7_000)
    # Parts of the tab that are loaded ahead of their view are files, not data requests.
    assert [url for url in urls if "tb_steptime/" in url and "/parts/" not in url] == []
    with one.page.expect_request("**/tb_steptime/index", timeout=AT_ONCE_MS):
        one.page.evaluate("location.hash = '#tb_steptime'")
    with behind.page.expect_request("**/tb_steptime/index", timeout=AT_ONCE_MS):
        behind.frame.evaluate(IN_SIGHT)
