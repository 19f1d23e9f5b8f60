"""The GPU view in a real browser: from a point of Trends down to the launches of one kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenTab, StartTensorBoard
from tests.browser.tab import DRAWN_MS, Tab, state, wait_until_all_is_read
from tools.serve import TensorBoard


def answer(server: TensorBoard, one: Tab) -> Any:
    """What the server says about the span that the tab shows."""
    (run,) = server.json_of("data/plugin/tb_steptime/index")["runs"]
    span = run["workers"][0]["spans"][0]["id"]
    return server.json_of(f"data/plugin/tb_steptime/view?span={span}&view=gpu")["result"]


#: The number of colours in the middle column of a canvas.
COLOURS_DRAWN = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(canvas.width / 2, 0, 1, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""


def bars(picture: Locator) -> int:
    """The number of bars in a path: each bar starts with a move command (M)."""
    drawn = picture.get_attribute("d")
    assert drawn is not None
    return drawn.count("M")


def test_a_point_of_trends_leads_to_the_launches_of_a_kernel(
    tensorboard: StartTensorBoard, recording: Path, tab: OpenTab
) -> None:
    server = tensorboard(recording)
    one = tab(server, state(view="trends"))
    wait_until_all_is_read(server)
    trends = one.view("trends")
    trends.locator("svg.points").first.focus()
    one.page.keyboard.press("ArrowRight")
    one.page.keyboard.press("Enter")
    trends.locator(".open-span").get_by_role("button", name="GPU").click()

    gpu = one.view("gpu")
    (device,) = answer(server, one)["devices"]
    first = device["tables"][0]["rows"][0]["name"]
    gpu.get_by_role("grid", name="Kernels by kernel").locator("tbody tr").first.click()
    detail = gpu.locator(".kernel-detail")
    assert detail.get_attribute("data-name") == first
    launches = next(each for each in device["details"] if each["name"] == first)
    calls = detail.locator("path.calls")
    expect(calls).to_be_visible()
    assert bars(calls) == sum(count > 0 for count in launches["calls"]["count"])

    one.reload()
    expect(one.view("gpu").locator(".kernel-detail path.calls")).to_be_visible()


def test_dragging_zooms_the_rows_and_a_double_click_shows_all(
    tensorboard: StartTensorBoard, recording: Path, tab: OpenTab
) -> None:
    one = tab(tensorboard(recording), state(view="gpu"))
    rows = one.view("gpu").locator("svg.metric-rows")
    box = rows.bounding_box()
    assert box is not None
    middle, height = box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2
    one.page.mouse.move(middle, height)
    one.page.mouse.down()
    one.page.mouse.move(middle + 40, height, steps=4)
    one.page.mouse.up()
    one.page.wait_for_url("**p.tb_steptime.zoom=*")
    one.page.mouse.dblclick(middle, height)
    one.page.wait_for_function("!location.hash.includes('p.tb_steptime.zoom')")


def roofline(one: Tab, gpu: Locator, result: Any) -> None:
    """Every op that has operations is a dot, and each peak is a roof. The table beside it also lists the other ops."""
    dots = [dot for dot in result["dots"] if dot["flops"] > 0 and dot["total_ns"] > 0]
    picture = gpu.locator("svg.roofline")
    expect(picture.locator("path:not(.roof)")).to_have_count(len(dots))
    expect(picture.locator("path.roof")).to_have_count(len({roof["tflops"] for roof in result["roofs"]}))
    picture.focus()
    one.page.keyboard.press("ArrowRight")
    assert (picture.get_attribute("aria-valuetext") or "").startswith(dots[0]["op"])
    expect(gpu.get_by_role("grid", name="Ops by distance from the roof").locator("tbody tr").first).to_be_visible()


def test_an_op_opens_its_kernels(tensorboard: StartTensorBoard, recording: Path, tab: OpenTab) -> None:
    server = tensorboard(recording)
    one = tab(server, state(view="gpu", by="op", more="open"))
    gpu = one.view("gpu")
    (device,) = answer(server, one)["devices"]
    roofline(one, gpu, device["roofline"])
    op = device["tables"][2]["rows"][0]["name"]
    gpu.get_by_role("grid", name="Kernels by op").locator("tbody tr").first.click()
    rows = gpu.get_by_role("grid", name="Kernels by kernel and op").locator("tbody tr")
    expect(rows.first).to_be_visible()
    kernels = [row for row in device["tables"][1]["rows"] if row["op"] == op]
    expect(rows).to_have_count(len(kernels))
    # The flame graph shows the same op. It is computed from the trace once it is scrolled into view.
    one.go_to("Operators")
    operators = one.view("operators")
    operators.get_by_role("heading", name="Which code takes the GPU's time?").scroll_into_view_if_needed()
    graph = operators.get_by_role("application", name="Which code takes the GPU's time?")
    expect(graph).to_be_visible(timeout=DRAWN_MS)
    assert graph.locator("canvas").evaluate(COLOURS_DRAWN) > 2
    operators.get_by_role("searchbox", name="Find frames").fill(op)
    expect(operators.get_by_role("status").filter(has_text=" in ")).to_contain_text("%")
    # A link restores the zoom.
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        graph.press(key)
    zoomed = operators.get_by_role("navigation", name="Zoomed into")
    expect(zoomed).to_contain_text("all")
    way = zoomed.text_content()
    one.reload()
    expect(one.view("operators").get_by_role("navigation", name="Zoomed into")).to_have_text(
        way or "", timeout=DRAWN_MS
    )


def test_the_use_of_tensor_cores_is_drawn_in_full_where_there_is_one_step(
    tensorboard: StartTensorBoard, recording: Path, tab: OpenTab
) -> None:
    one = tab(tensorboard(recording), state(view="tensor_cores", steps="recording"))
    view = one.view("tensor_cores")
    split = view.locator(".tensor-split")
    expect(split.locator(".split-bar").first).to_be_visible()
    assert split.evaluate("each => each.scrollHeight - each.clientHeight") <= 1
