"""The Data loading view in a real browser: recorded workers, a burst, and what
is not known, by pointer and keyboard."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenTab, StartTensorBoard
from tests.browser.tab import Tab, state
from tools.serve import TensorBoard

RECORDED = "cpu_recorded_workers"
BURST = "num_dataloaders_simulated"
ALIKE = "baseline_simulated"
NO_LOADER = "forum_preloaded_simulated"

#: More than the number of stops of the Tab key in the view.
MOST_STOPS = 200
FOCUSED_PICTURE = "document.activeElement.matches('svg.chart') ? document.activeElement.classList[1] : null"


def view_of(one: Tab) -> Locator:
    return one.view("data_loading")


def answer(server: TensorBoard, run: str) -> Any:
    """What the server says about the first span of a run."""
    runs = server.json_of("data/plugin/tb_steptime/index")["runs"]
    (span,) = [each["workers"][0]["spans"][0]["id"] for each in runs if each["name"] == run]
    return server.json_of(f"data/plugin/tb_steptime/view?span={span}&view=data_loading")["result"]


def rows(table: Locator) -> list[list[str]]:
    """The cells of the body rows, all read at the same moment, because rows may be drawn again between two queries."""
    expect(table.locator("tbody td").first).to_be_visible()
    cells: list[list[str]] = table.locator("tbody tr:not(.space)").evaluate_all(
        "(rows) => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.innerText))"
    )
    return cells


def heard(picture: Locator) -> str:
    """What a screen reader says about the chosen place in a picture."""
    expect(picture).not_to_have_attribute("aria-valuetext", re.compile("^Nothing chosen"))
    return (picture.get_attribute("aria-valuetext") or "").replace("\u00a0", " ")


def hover(picture: Locator, share: float) -> None:
    """Hover over the picture at this fraction of its width."""
    box = picture.bounding_box()
    assert box is not None
    picture.hover(position={"x": share * (box["width"] - 1), "y": box["height"] / 2})


def cut_off(view: Locator) -> list[str]:
    """The parts of the view that reach beyond its right edge, and the boxes that are narrower than their content."""
    found: list[str] = view.evaluate(
        """(view) => {
          const edge = view.getBoundingClientRect().right + 1;
          const said = (each) => `${each.tagName} ${each.getAttribute("class")} ${each.textContent.slice(0, 40)}`;
          const parts = [...view.querySelectorAll("section, svg, table, pre, p, li, .rows")];
          const beyond = parts.filter((each) => each.getBoundingClientRect().right > edge);
          const wide = [...view.querySelectorAll(".rows, pre")].filter((each) => each.scrollWidth > each.clientWidth);
          return [...beyond, ...wide].map(said);
        }"""
    )
    return found


def test_recorded_workers_have_a_lane_each_above_the_ready_batches_for_pointer_and_keys(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    server = tensorboard(measured_demo)
    view = view_of(tab(server, state(run=RECORDED, view="data_loading")))
    recorded = answer(server, RECORDED)["recorded"]
    counts = f"{len(recorded['lanes'])} lanes over {len(recorded['steps'])} steps"
    picture = view.get_by_role("slider", name=re.compile(counts))
    labels = picture.locator("text.small").all_text_contents()
    assert labels == [*(f"Worker {lane['worker']}" for lane in recorded["lanes"]), "Batches ready"]
    expect(picture.locator("path.depth-line")).to_have_count(1)
    expect(view.get_by_text("of the requests find their batch not ready")).to_be_visible()
    picture.press("ArrowRight")
    assert heard(picture).startswith("Worker 0")
    picture.press("ArrowDown")
    assert heard(picture).startswith("Worker 1")
    hover(picture, 0.5)
    tips = view.locator(".tip")
    expect(tips).to_have_count(1)  # even though the step is highlighted in every picture
    expect(tips).to_contain_text(re.compile("Dataset|Collate|Waits for a request"))


def test_a_recorded_batch_is_split_from_dataset_to_wait_and_nobody_is_told_to_record_it(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    server = tensorboard(measured_demo)
    view = view_of(tab(server, state(run=RECORDED, view="data_loading")))
    expect(view).not_to_contain_text("LoaderRecorder")
    table = view.get_by_role("grid", name="What becomes of a batch")
    assert [row[0] for row in rows(table)] == ["Dataset", "Collate", "Transfer", "Prefetched"]
    assert all(re.fullmatch(r"[\d.]+\sms", row[1]) for row in rows(table))
    expect(table.locator("tfoot")).to_contain_text("The loop waits")
    expect(view.get_by_role("img", name=re.compile("Dataset .*; Collate .*; Transfer .*; Prefetched"))).to_be_visible()


def test_recorded_workers_and_their_slowest_batches_are_listed(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    server = tensorboard(measured_demo)
    one = tab(server, state(run=RECORDED, view="data_loading", more="open"))
    view = view_of(one)
    recorded = answer(server, RECORDED)["recorded"]
    workers = rows(view.get_by_role("grid", name="Worker processes"))
    assert [(row[0], row[1]) for row in workers] == [
        (str(row["worker"]), str(row["batches"])) for row in recorded["workers"]
    ]

    slowest = view.get_by_role("grid", name="Slowest batches")
    shown = [(row[0], row[1], row[2]) for row in rows(slowest)]
    assert (
        shown
        == [(str(row["batch"]), str(row["worker"]), str(row["step"])) for row in recorded["slowest"]][: len(shown)]
    )
    slowest.locator("tbody tr").first.focus()
    one.page.keyboard.press("Enter")
    step = recorded["slowest"][0]["step"]
    one.page.wait_for_url(f"**p.tb_steptime.step={step}*")
    waits = view.get_by_role("grid", name="Wait for the loader in each step")
    expect(waits.locator("tr[aria-selected='true'] td").first).to_have_text(step)


def test_a_burst_is_a_sentence_with_the_workers_that_end_it_and_the_lines_that_record_them(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    server = tensorboard(measured_demo)
    view = view_of(tab(server, state(run=BURST, view="data_loading")))
    needed = answer(server, BURST)["needed_workers"]
    expect(view.get_by_role("heading", name=re.compile("^Every third step waits .* ms$"))).to_be_visible()
    picture = view.locator(".picture:has(svg.wait-columns)")
    sentence = re.compile(rf"^3 workers need .* per batch, .*; {needed} workers would end it\. ")
    expect(picture.get_by_role("note", name="Details")).to_have_attribute("data-hint", sentence)
    waits = view.locator("svg.wait-columns")
    expect(waits.locator("path.mark")).to_have_count(2)  # long waits, and the other waits
    expect(view.locator(".series-keys").filter(has_text="long wait")).to_contain_text("usual wait")
    hint = view.locator(".record-hint")
    expect(hint.locator("pre")).to_contain_text(f'log_dir = "{measured_demo / BURST}"')
    hint.get_by_role("button", name="Copy").click()
    expect(hint.get_by_role("status")).to_have_text(re.compile("opied"))


def test_the_curve_over_workers_is_read_by_keyboard_and_pointer(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    server = tensorboard(measured_demo)
    one = tab(server, state(run=BURST, view="data_loading"))
    curve = view_of(one).locator("svg.worker-curve")
    points = answer(server, BURST)["curve"]["points"]
    curve.focus()
    one.page.keyboard.press("Home")
    assert heard(curve).startswith("1 worker")
    one.page.keyboard.press("ArrowRight")
    one.page.keyboard.press("ArrowRight")
    measured = heard(curve)
    assert measured.startswith("3 workers")
    assert "Measured now" in measured
    one.page.keyboard.press("End")
    assert heard(curve).startswith(f"{points[-1]['workers']} workers")

    hover(curve, 0.999)
    expect(view_of(one).locator(".tip")).to_contain_text(f"{points[-1]['workers']} workers")
    hover(curve, 0.05)
    expect(view_of(one).locator(".tip")).to_contain_text("1 worker")


def test_what_cannot_be_told_has_its_reason_beside_the_lines_that_record_it(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    view = view_of(tab(tensorboard(measured_demo), state(run=ALIKE, view="data_loading")))
    place = view.locator(".record-hint")
    expect(place.get_by_role("heading")).to_have_text("Record the workers")
    why = re.compile(r"ambiguous in this trace: record the workers\.")
    expect(place.get_by_role("note", name="Details")).to_have_attribute("data-hint", why)
    expect(view.locator("svg.worker-curve")).to_have_count(0)
    expect(view.locator(".tiles li").filter(has_text="Workers needed")).to_have_count(0)
    unknown = view.locator(".tiles + p").get_by_role("note", name="Details")
    expect(unknown).to_have_attribute("data-hint", re.compile(r"Workers needed\. .*not in this trace"))
    assert cut_off(view) == []


def test_a_trace_without_a_loader_says_so(tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab) -> None:
    one = tab(tensorboard(measured_demo), state(run=NO_LOADER, view="data_loading"))
    view = view_of(one)
    assert one.verdict() == "The steps of this trace have no loader events."
    expect(view.get_by_role("grid")).to_have_count(0)


def test_what_a_loader_in_the_training_process_does(
    tensorboard: StartTensorBoard, real_pair: Path, tab: OpenTab
) -> None:
    view = view_of(tab(tensorboard(real_pair), state(run="workers0", view="data_loading")))
    table = view.get_by_role("grid", name="What the loader does")
    assert [len(row) for row in rows(table) if row[0] == "aten::_cat"] == [3]  # there is no column of lines
    picture = table.locator("xpath=ancestor::section[1]")
    why = re.compile("No Python frames are recorded")
    expect(picture.get_by_role("note", name="Details")).to_have_attribute("data-hint", why)
    assert cut_off(view) == []


def test_every_picture_is_reached_with_the_keyboard(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    """Pictures are reached in their visual order, and none traps the focus."""
    one = tab(tensorboard(measured_demo), state(run=RECORDED, view="data_loading"))
    one.frame.locator("#content").focus()
    wanted = ["worker-curve", "wait-columns", "production", "lanes"]
    reached: list[str] = []
    for _ in range(MOST_STOPS):
        one.page.keyboard.press("Tab")
        if (name := one.frame.evaluate(FOCUSED_PICTURE)) is not None:
            reached.append(name)
        if len(reached) == len(wanted):
            break
    assert reached == wanted


@pytest.mark.parametrize(
    ("run", "theme", "width"),
    [(RECORDED, "light", 1280), (RECORDED, "dark", 1920), (BURST, "dark", 1280), (BURST, "light", 1920)],
)
def test_nothing_is_cut_off(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab, run: str, theme: str, width: int
) -> None:
    one = tab(tensorboard(measured_demo), state(run=run, view="data_loading"), theme=theme, width=width)
    view = view_of(one)
    assert one.theme_of_background() == theme
    assert one.overflow_px() == 0
    assert cut_off(view) == []
    one.picture(f"data_loading-{run}-{width}-{theme}")
