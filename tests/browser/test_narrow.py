"""The tab at 200 % zoom, on a phone, in the colours of the system and on paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenTab, StartTensorBoard
from tests.browser.tab import VIEWS, picture, state, wait_until_all_is_read

RUN = "num_dataloaders_simulated"

#: The title of its card names an op, in half of the width of the view.
CPU_RUN = "cpu_baseline"

#: The width of a window of 1280 px at 200 % zoom, and of a phone.
ZOOMED_PX, PHONE_PX = 640, 390

#: Texts that are wider than their box, except those in pictures and in boxes that scroll.
CLIPPED = """() => [...document.querySelectorAll("h1, h2, h3, .tile *, .verdict *, .cards *, .note *")]
  .filter(each => !each.closest("svg, .visually-hidden, code, pre") && getComputedStyle(each).display !== "inline")
  .filter(each => each.clientWidth > 0 && each.scrollWidth > each.clientWidth + 1)
  .map(each => `${each.className} ${each.scrollWidth} > ${each.clientWidth}: ${each.textContent.slice(0, 60)}`)"""

#: Elements that the edge of the view cuts off, because the view does not scroll sideways. Content of a box that scrolls
#: by itself may be wider.
CUT = """() => [...document.querySelectorAll("main *")].filter(each => {
    const edge = document.documentElement.clientWidth + 1;
    if (each.getBoundingClientRect().right <= edge || each.closest("svg *, .visually-hidden")) return false;
    for (let box = each.parentElement; box.localName !== "main"; box = box.parentElement)
      if (getComputedStyle(box).overflowX !== "visible" && box.getBoundingClientRect().right <= edge) return false;
    return true;
  }).map(each => `${each.localName}.${each.className} ends at ${each.getBoundingClientRect().right}`)"""

#: Parts of the mean step whose colour the system has replaced, and controls without a border.
LOST = """() => [...document.querySelectorAll(".fill, .button")]
  .filter(each => each.offsetWidth > 0)
  .filter(each => each.matches(".fill")
    ? getComputedStyle(each).forcedColorAdjust !== "none"
    : getComputedStyle(each).borderTopStyle === "none")
  .map(each => each.outerHTML.slice(0, 120))"""

#: Parts of a card that extend beyond it, and gains that overlap its title.
OUTSIDE = """() => [...document.querySelectorAll(".cards .meta, .cards h3, .cards .gain")]
  .filter(each => each.getBoundingClientRect().right > each.closest("li").getBoundingClientRect().right + 1
    || each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline")
  .map(each => each.textContent)"""

#: Sorted figures and their head, as far as they are beyond the sides of the table's box.
OUT_OF_SIGHT = """(box) => [...box.querySelectorAll(".sorted, th[aria-sort]")]
  .filter((each) => each.getBoundingClientRect().left < box.getBoundingClientRect().left - 1
    || each.getBoundingClientRect().right > box.getBoundingClientRect().right + 1)
  .map((each) => each.textContent)"""

#: Pairs of texts of one picture that overlap.
TOUCHING = """() => [...document.querySelectorAll("svg.chart")].flatMap((picture) => {
    const texts = [...picture.querySelectorAll("text")].map((each) => [each.textContent, each.getBoundingClientRect()]);
    return texts.flatMap(([one, a], at) => texts.slice(at + 1)
      .filter(([, b]) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)
      .map(([other]) => `${picture.getAttribute("class")}: ${one} / ${other}`));
  })"""

#: Labels of the axis of a step that overlap.
TICKS_TOUCHING = """() => [...document.querySelectorAll(".ticks")].flatMap((ticks) => {
    const shown = [...ticks.children].filter(each => each.offsetWidth > 0);
    return shown.slice(1)
      .filter((each, at) => each.getBoundingClientRect().left < shown[at].getBoundingClientRect().right)
      .map(each => each.textContent);
  })"""

#: The names of the largest ops: text, whether it is cut off, and width.
NAMES = """() => [...document.querySelectorAll(".largest .link")]
  .map(each => [each.textContent, each.scrollWidth > each.clientWidth + 1, each.clientWidth])"""

#: Enough for the beginning of a name, and for a bar.
READABLE_PX = 80

#: How much lower the content of a box is than the box.
CUT_PX = "each => each.scrollHeight - each.clientHeight"

#: The positions of the bar, its first choice and its buttons.
BAR = """() => Object.fromEntries(Object.entries({
    bar: ".bar", run: ".bar .pick", share: ".bar .menu button", help: ".bar .ask",
  }).map(([name, selector]) => [name, document.querySelector(selector).getBoundingClientRect().toJSON()]))"""


#: Unfolds what a view keeps folded: pictures that nobody sees do not follow the window.
UNFOLD = """() => document.querySelectorAll("main details").forEach(each => { each.open = true; })"""

#: Resolves once pictures have followed a change of the window.
REDRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def test_no_view_is_wider_than_the_window(tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab) -> None:
    """Each view is drawn in one of the widths, and the window gets the other one then, as by zooming."""
    server = tensorboard(measured_demo)
    widths = [PHONE_PX, ZOOMED_PX]
    one = tab(server, state(run=RUN), width=widths[0])
    wait_until_all_is_read(server)
    one.view("overview")
    found = []
    for title, view in VIEWS.items():
        one.go_to(title)
        one.view(view)
        one.frame.evaluate(UNFOLD)
        for width in widths:
            one.page.set_viewport_size({"width": width, "height": 800})
            one.frame.evaluate(REDRAWN)
            where = f"{view} at {width} px"
            if one.overflow_px() > 0:
                found.append(f"{where}: {one.overflow_px()} px wider than the window")
            found += [f"{where}: {clipped}" for check in (CLIPPED, CUT) for clipped in one.frame.evaluate(check)]
        widths.reverse()
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("width", [ZOOMED_PX, PHONE_PX])
def test_what_stands_side_by_side_keeps_its_room(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab, width: int
) -> None:
    one = tab(tensorboard(measured_demo), state(run=CPU_RUN), width=width)
    one.view("overview")
    assert one.frame.evaluate(TICKS_TOUCHING) == []
    names = one.frame.evaluate(NAMES)
    assert names and not [text for text, cut, width in names if cut and width < READABLE_PX]
    compared = tab(tensorboard(measured_demo), state(run=RUN, view="compare"), width=width)
    compared.view("compare")
    totals = compared.frame.locator(".waterfall .total")
    expect(totals).to_have_count(2)
    assert max(totals.nth(at).bounding_box()["width"] for at in range(2)) >= READABLE_PX


def test_on_paper_a_long_table_covers_nothing_below_it(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    one = tab(tensorboard(measured_demo), state(run=RUN, view="compare"))
    one.view("compare")
    rows = one.frame.locator(".rows").first
    expect(rows).to_be_visible()
    assert rows.evaluate(CUT_PX) > 0
    one.page.emulate_media(media="print")
    assert rows.evaluate(CUT_PX) <= 1


def test_on_a_phone_the_sorted_figures_stay_in_sight(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    server = tensorboard(measured_demo)
    one = tab(server, state(run=RUN, view="gpu"), width=PHONE_PX)
    one.view("gpu")
    table = one.frame.get_by_role("grid", name=re.compile("^Kernels by"))
    rows = table.locator("xpath=..")
    assert rows.evaluate("box => box.scrollWidth - box.clientWidth") > 0
    for scrolled in (0, 10_000):
        rows.evaluate("(box, to) => { box.scrollLeft = to; }", scrolled)
        assert rows.evaluate(OUT_OF_SIGHT) == []


def test_on_a_phone_one_drawer_holds_the_pickers(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    server = tensorboard(measured_demo)
    one = tab(server, state(run=RUN), width=PHONE_PX)
    one.view("overview")
    drawer = one.frame.get_by_role("button", name=re.compile(f"^{RUN}.*simulated$"))
    picker = one.frame.get_by_role("button", name=f"Run {RUN}")
    expect(picker).to_be_hidden()
    drawer.click()
    picker.click()
    one.frame.get_by_role("option", name=CPU_RUN).click()
    drawer = one.frame.get_by_role("button", name=re.compile(f"^{CPU_RUN}"))
    expect(drawer).to_have_attribute("aria-expanded", "true")
    drawer.click()
    expect(one.frame.get_by_role("button", name=f"Run {CPU_RUN}")).to_be_hidden()


def test_the_colours_of_the_system_take_no_meaning_away(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    server = tensorboard(measured_demo)
    one = tab(server, state(run=RUN))
    wait_until_all_is_read(server)
    one.view("overview")
    one.page.emulate_media(forced_colors="active")
    assert one.frame.evaluate("matchMedia('(forced-colors: active)').matches")
    assert one.frame.evaluate(LOST) == []


def test_a_view_prints_as_one_page_that_names_its_run(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    server = tensorboard(measured_demo)
    one = tab(server, state(run=RUN))
    wait_until_all_is_read(server)
    page = one.page
    page.goto(f"{server.url}data/plugin_entry.html?name=tb_steptime#p.tb_steptime.run={RUN}")
    expect(page.locator("[data-view=overview]")).to_be_visible()
    reasons = page.locator(".cards .content")
    assert [each.is_visible() for each in reasons.all()] == [True] + [False] * (reasons.count() - 1)
    printed = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation")).to_be_hidden()
    assert reasons.count() > 1
    assert all(each.is_visible() for each in reasons.all()), "every card is open on paper"
    picture(page, "print-overview", full_page=True)
    expect(page.get_by_text(RUN).last).to_be_visible()
    one.forgive("favicon.ico")  # a stand-alone page requests one


def test_the_buttons_stay_at_the_end_of_the_bar(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    server = tensorboard(measured_demo)
    one = tab(server, state(run=RUN), width=ZOOMED_PX)
    one.view("overview")
    for width in (ZOOMED_PX, 900, 1030, 1280):
        one.page.set_viewport_size({"width": width, "height": 800})
        boxes = one.frame.evaluate(BAR)
        assert abs(boxes["share"]["top"] - boxes["run"]["top"]) < 8, f"{width} px: {boxes}"
        assert boxes["bar"]["right"] - 32 < boxes["help"]["right"] < boxes["bar"]["right"], f"{width} px: {boxes}"


CUT_NAMES = "names => names.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(n => n.textContent)"


@pytest.mark.parametrize(("run", "wide"), [(CPU_RUN, [1280, 1440]), (RUN, [1440])])
def test_the_search_of_the_bar_is_wide_where_all_names_have_room(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab, run: str, wide: list[int]
) -> None:
    server = tensorboard(measured_demo)
    one = tab(server, state(run=run))
    one.view("overview")
    search = one.frame.get_by_role("button", name="Go to anything")
    shown = []
    for width in (PHONE_PX, 900, 1099, 1280, 1440):
        one.page.set_viewport_size({"width": width, "height": 800})
        box = search.bounding_box()
        assert box is not None and box["height"] == 28
        if box["width"] >= 190 and search.get_by_text("Ctrl K").is_visible():
            shown.append(width)
        else:
            assert box["width"] < 34
        assert width < 1181 or one.frame.locator(".bar .pick > .clip").evaluate_all(CUT_NAMES) == []
    assert shown == wide


@pytest.mark.parametrize("width", [PHONE_PX, 900])
def test_no_texts_of_a_comparison_overlap(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab, width: int
) -> None:
    server = tensorboard(measured_demo)
    one = tab(server, state(view="compare", run="gpu_num_dataloaders", **{"with": "gpu_baseline/cuda/1"}), width=width)
    wait_until_all_is_read(server)
    expect(one.view("compare").locator("svg.waterfall")).to_be_visible()
    assert one.frame.evaluate(TOUCHING) == []


def test_no_card_is_wider_than_its_place(tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab) -> None:
    server = tensorboard(measured_demo)
    wait_until_all_is_read(server)
    one = tab(server, state(view="host", run=CPU_RUN))
    expect(one.view("host").locator(".cards h3").first).to_be_visible()
    for width in (900, 1280, 1680):
        one.page.set_viewport_size({"width": width, "height": 800})
        assert one.frame.evaluate(OUTSIDE) == [], f"{width} px"
