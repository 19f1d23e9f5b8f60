"""The tab for users who cannot see or use a pointer: axe runs on every view and on what opens
in it, and the tests follow the Tab key."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Frame, expect

from tests.browser.conftest import OpenTab, StartTensorBoard
from tests.browser.tab import AXE, VIEWS, Tab, state, toggle_theme, violations, wait_until_all_is_read

#: A run with a loader, several spans and workers, one of which has a GPU with kernels to choose.
RUN = "num_dataloaders_simulated"
#: A run with what RUN lacks: memory, modules and lines.
RECORDED_MORE = re.compile("cpu_kept_graph")
OF_RANKS = re.compile("late_rank")


def open_picker(tab: Frame) -> None:
    tab.get_by_role("button", name="Run").first.click()
    expect(tab.get_by_role("listbox")).to_be_visible()


def open_menu(tab: Frame) -> None:
    tab.get_by_role("button", name="Show as table, save or link").first.click()
    expect(tab.get_by_role("menu")).to_be_visible()


def show_table(tab: Frame) -> None:
    open_menu(tab)
    tab.get_by_role("menuitem", name="Show as table").click()


def unfold_card(tab: Frame) -> None:
    tab.locator("details.basis summary").first.click()


def show_hint(tab: Frame) -> None:
    tab.locator("[data-hint][tabindex='0']").last.focus()
    tab.page.keyboard.press("Shift+Tab")
    tab.page.keyboard.press("Tab")
    expect(tab.locator("header [role=tooltip]")).to_be_visible()  # the tooltip is inside a landmark


def open_shortcuts(tab: Frame) -> None:
    tab.get_by_role("button", name="Keyboard shortcuts").click()
    expect(tab.get_by_role("dialog")).to_be_visible()


def unfold_more(tab: Frame) -> None:
    """It stays unfolded in the views that follow."""
    tab.locator("details.fold > summary").press("Enter")
    expect(tab.locator("details.fold .head").first).to_be_visible()


def walk_picture(tab: Frame) -> None:
    tab.get_by_role("grid").last.press("End")


def open_kernel(tab: Frame) -> None:
    tab.get_by_role("grid", name="Kernels by kernel").locator("tbody tr").first.click()
    expect(tab.get_by_role("region", name="The chosen kernel")).to_be_visible()


def open_op(tab: Frame) -> None:
    tab.get_by_role("grid", name="Ops", exact=True).locator("tbody tr").first.click()
    expect(tab.get_by_role("region", name="The chosen op")).to_be_visible()


def walk_flame_graph(tab: Frame) -> None:
    tab.get_by_role("heading", name=re.compile("^Which code takes")).scroll_into_view_if_needed()
    tab.get_by_role("application").press("ArrowDown")


def hide_and_zoom(tab: Frame) -> None:
    """Hide a kind of frames, whose entry in the legend then loses its colour, and zoom in, which shows the way out."""
    tab.get_by_role("heading", name=re.compile("^Which code takes")).scroll_into_view_if_needed()
    graph = tab.get_by_role("application")
    kind = tab.get_by_label("Kinds of frames").get_by_role("button").last
    kind.click()
    expect(kind).to_have_attribute("aria-pressed", "false")
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        graph.press(key)
    expect(tab.get_by_role("navigation", name="Zoomed into")).to_be_visible()


def choose_instant(tab: Frame) -> None:
    for key in ("ArrowRight", "Enter"):
        tab.get_by_role("slider").first.press(key)
    expect(tab.get_by_role("button", name="Show the peak")).to_be_visible()


def choose_cell(tab: Frame) -> None:
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Space"):
        tab.locator(".rank-map").press(key)
    expect(tab.locator(".rank-map .choice")).to_be_attached()


def open_event(tab: Frame) -> None:
    stage = tab.get_by_role("application")
    expect(stage).not_to_have_attribute("data-boxes", "0")
    stage.press("ArrowDown")
    stage.press("Enter")
    expect(tab.get_by_role("button", name="Copy the name")).to_be_visible()


#: Pictures that react to keys but have a role that does not, or that have such a role but cannot get the focus.
MISNAMED = """() => [...document.querySelectorAll("svg.chart, [role=application], [role=slider], [role=img]")]
  .filter(each => (each.tabIndex >= 0) !== ["slider", "application"].includes(each.getAttribute("role")))
  .map(each => each.outerHTML.slice(0, 200))"""

#: What opens in a view, and the selector of the new element. Esc closes it.
OPENED: dict[str, dict[Callable[[Frame], None], str]] = {
    "overview": {
        open_shortcuts: "dialog",
        open_picker: ".pop",
        open_menu: ".pop",
        unfold_card: "details",
        show_hint: "[role=tooltip]",
        show_table: "section.picture",
    },
    "trends": {walk_picture: "[role=grid]"},
    "tensor_cores": {unfold_more: "details.fold"},
    "gpu": {open_kernel: ".kernel-detail"},
    "operators": {open_op: ".op-detail", walk_flame_graph: "section:has(.flame)"},
    "timeline": {open_event: ".event"},
}


def test_axe_finds_nothing_in_any_view_and_what_opens_in_it(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    if not AXE.exists() and not os.environ.get("CI"):
        pytest.skip("axe-core is not installed: `make check` installs the front end's packages")
    server = tensorboard(measured_demo)
    one = tab(server, state(run=RUN))
    wait_until_all_is_read(server)
    one.view("overview")
    one.frame.evaluate(AXE.read_text("utf-8"))
    found = []
    for title, view in VIEWS.items():
        one.go_to(title)
        one.view(view)
        found += violations(one, view, "body")
        for opened, new in OPENED.get(view, {}).items():
            opened(one.frame)
            found += violations(one, f"{view}, {opened.__name__}", new)
            one.page.keyboard.press("Escape")
        assert one.frame.evaluate(MISNAMED) == [], f"{view}: pictures say what they are not"
    found += of_recorded_more(one)
    assert found == [], "\n".join(found)


def of_recorded_more(one: Tab) -> list[str]:
    """Choose other runs in the same page and check their views."""
    found = []
    for run, title, view, chosen in (
        (RECORDED_MORE, "Memory", "memory", choose_instant),
        (RECORDED_MORE, "Operators", "operators", hide_and_zoom),
        (OF_RANKS, "Ranks", "ranks", choose_cell),
    ):
        open_picker(one.frame)
        one.frame.get_by_role("option", name=run).click()
        one.go_to(title)
        one.view(view)
        expect(one.frame.get_by_role("grid").first).to_be_visible()
        found += violations(one, f"{view} of {run.pattern}", "body")
        chosen(one.frame)
        found += violations(one, f"{view} of {run.pattern}, {chosen.__name__}", "body")
        assert one.frame.evaluate(MISNAMED) == [], f"{view}: pictures say what they are not"
    return found


#: The element with the focus: its name, its landmark, and the focus ring around it.
FOCUSED = """() => {
  const focused = document.activeElement;
  if (focused === document.body) return null;
  const style = getComputedStyle(focused);
  const ring = style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
  const landmark = focused.closest("header, nav, main")?.tagName.toLowerCase() ?? "page";
  focused.dataset.reached = "";
  return { name: (focused.ariaLabel ?? focused.textContent).slice(0, 60), landmark, ring, colour: style.outlineColor };
}"""

#: Visible controls that the Tab key did not reach. A table shows only the
#: controls of the row with the focus or pointer.
MISSED = """() => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
  .filter(each => !("reached" in each.dataset) && !each.disabled && each.tabIndex >= 0)
  .filter(each => each.checkVisibility({ visibilityProperty: true }))
  .map(each => each.outerHTML.slice(0, 120))"""


def test_the_tab_key_reaches_every_control_in_order_and_shows_where_it_is(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    server = tensorboard(measured_demo)
    one = tab(server, state(run=RUN, view="gpu"))
    one.view("gpu")
    wait_until_all_is_read(server)
    stops = []
    one.frame.locator(".skip").focus()
    while (stop := one.frame.evaluate(FOCUSED)) and len(stops) < 200:
        stops.append(stop)
        one.page.keyboard.press("Tab")
    assert stops[0]["name"] == "Skip to the content"
    order = [stop["landmark"] for stop in stops]
    assert order == sorted(order, key=["page", "header", "nav", "main"].index)
    assert [stop for stop in stops if stop["ring"] < 2] == []
    assert {stop["colour"] for stop in stops} == {ink(one.frame)}, "the ring is as plain as text"
    assert one.frame.evaluate(MISSED) == []

    one.frame.locator(".skip").focus()
    toggle_theme(one.page)
    assert one.frame.evaluate(FOCUSED)["colour"] == ink(one.frame)
    one.page.keyboard.press("Enter")
    expect(one.frame.get_by_role("main")).to_be_focused()
    levels = one.frame.get_by_role("heading").evaluate_all("all => all.map(each => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def ink(frame: Frame) -> str:
    """The colour of text, which contrasts strongly with the background in both themes."""
    colour: str = frame.evaluate("getComputedStyle(document.body).color")
    return colour
