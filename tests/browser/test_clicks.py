"""The number of clicks from a cause to its line, from a kernel to its launch, and from a late rank to the reason."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenTab, StartTensorBoard
from tests.browser.tab import DRAWN_MS, Tab, state, wait_until_all_is_read


class Clicks:
    """Presses elements and counts the clicks."""

    def __init__(self) -> None:
        self.count = 0

    def on(self, element: Locator) -> None:
        element.click(timeout=DRAWN_MS)
        self.count += 1


def test_answers_are_two_clicks_away_and_a_comparison_three(
    tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab
) -> None:
    server = tensorboard(measured_demo)
    one = tab(server, state(run="gpu_kept_graph"))
    wait_until_all_is_read(server)
    assert from_a_cause_to_its_line(one) <= 2
    one.open(state(run="gpu_baseline"))
    assert from_the_slowest_kernel_to_its_launch(one) <= 2
    one.open(state(run="cpu_late_rank"))
    assert from_a_late_rank_to_why(one) <= 2
    one.open(state(run="gpu_baseline"))
    assert to_a_comparison(one, "gpu_num_dataloaders") <= 3


def from_a_cause_to_its_line(one: Tab) -> int:
    """The line below the picture of a card opens the line's source text."""
    clicks = Clicks()
    line = one.view("overview").locator(".place-line button").first
    line.scroll_into_view_if_needed(timeout=DRAWN_MS)
    name = line.inner_text(timeout=DRAWN_MS)
    clicks.on(line)
    expect(one.view("operators").locator(".source-head h3")).to_contain_text(name.split()[0], timeout=DRAWN_MS)
    return clicks.count


def from_the_slowest_kernel_to_its_launch(one: Tab) -> int:
    """The launches of the kernel over the span, and the ops that make them."""
    clicks = Clicks()
    one.view("overview")
    clicks.on(one.frame.get_by_role("navigation").get_by_text("GPU", exact=True).first)
    gpu = one.view("gpu")
    clicks.on(gpu.get_by_role("grid", name="Kernels by kernel").locator("tbody tr").first)
    detail = gpu.get_by_role("region", name="The chosen kernel")
    expect(detail.locator("path.calls")).to_be_visible()
    expect(detail.get_by_role("button", name="aten::").first).to_be_visible()
    return clicks.count


def from_a_late_rank_to_why(one: Tab) -> int:
    """The Overview of each rank names the late rank; Ranks says what the late rank does meanwhile."""
    clicks = Clicks()
    one.view("overview")
    clicks.on(one.frame.get_by_role("button", name="See Ranks"))
    one.view("ranks")
    assert "Rank 2 makes the others wait" in one.verdict()
    expect(one.frame.get_by_text("longer for its batches").first).to_be_visible()
    return clicks.count


def to_a_comparison(one: Tab, other: str) -> int:
    clicks = Clicks()
    one.view("overview")
    clicks.on(one.frame.get_by_role("button", name="Compare with"))
    clicks.on(one.frame.get_by_role("option", name=other).first)
    clicks.on(one.frame.get_by_role("navigation").get_by_text("Compare", exact=True))
    expect(one.view("compare").get_by_role("heading").first).to_be_visible()
    return clicks.count
