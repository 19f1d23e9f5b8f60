"""The tab in a real TensorBoard, with the PyTorch Profiler tab installed beside it, in a real Chromium."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser import logs
from tests.browser.conftest import OpenTab, StartTensorBoard
from tests.browser.tab import (
    DRAWN_MS,
    FONTS,
    VIEWS,
    Tab,
    state,
    toggle_theme,
    wait_until_all_is_read,
    wait_until_scalars_are_read,
)
from tests.drawn.small_trace import write_trace
from tools.serve import TensorBoard

#: The page has received its three fonts.
FONTS_ARE_HERE = "performance.getEntriesByType('resource').filter(({name}) => name.endsWith('.woff2')).length === 3"


def test_the_tab_stands_beside_the_pytorch_profiler(
    tensorboard: StartTensorBoard, recording: Path, tab: OpenTab
) -> None:
    pytest.importorskip("torch_tb_profiler", reason="the PyTorch Profiler tab is not installed")
    server = tensorboard(recording, beside=True)
    one = tab(server)
    one.view("overview")
    expect(one.page.get_by_role("tab", name="Step Insights", selected=True)).to_be_visible()
    plugins = server.json_of("data/plugins_listing")
    assert {"tb_steptime", "pytorch_profiler"} <= plugins.keys()
    assert plugins["tb_steptime"]["enabled"]


def test_the_tab_brings_its_font_along(tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab) -> None:
    """A page whose font comes after its first picture has it from the next view on."""
    one = tab(tensorboard(measured_demo))
    one.view("overview")
    one.frame.wait_for_function(FONTS_ARE_HERE)
    one.go_to("Host")
    one.view("host")
    assert one.frame.evaluate(FONTS) == ["Roboto", "Roboto", "Roboto Mono"]


def test_every_view_draws(tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab) -> None:
    """The tab follows TensorBoard's theme while it is open, too."""
    server = tensorboard(measured_demo)
    draw_every_view(tab(server, theme="dark", width=1920), server, "demo")


def test_every_view_draws_a_real_pair_of_recordings(
    tensorboard: StartTensorBoard, real_pair: Path, tab: OpenTab
) -> None:
    """One recording is compared with the other, which every view of a span states; and one has logged a loss."""
    logs.write_scalars(real_pair / "workers4", "loss", [2.5, 1.25])
    server = tensorboard(real_pair)
    one = tab(server, theme="dark", width=1920, state=state(run="workers4", **{"with": "workers0/worker0/1"}))
    draw_every_view(one, server, "real", says="workers4 (span 1) compared with workers0 (span 1)")
    one.go_to("Compare")
    assert one.verdict().startswith("workers4 is 1.3x faster than workers0")
    expect(one.frame.get_by_role("region", name="Comparison")).to_contain_text("Changes: workers4 less workers0")
    one.frame.get_by_role("button", name="Idle reason").click()
    expect(one.frame.get_by_role("slider", name="Mean step: workers0")).to_have_accessible_name(re.compile("GPU busy"))
    wait_until_scalars_are_read(server, "workers4")
    one.go_to("Trends")
    expect(one.frame.get_by_text("workers0, compared with")).to_be_visible()
    one.frame.get_by_role("button", name="Add a scalar…").click()
    one.frame.get_by_role("button", name="loss", exact=True).click()
    expect(one.frame.locator(".overlay")).to_contain_text("loss")


def draw_every_view(one: Tab, server: TensorBoard, name: str, says: str | None = None) -> None:
    """Visit all views as a user does, look at each in both themes, and save a picture of each. The tab is open in the
    dark theme. says: a text that every view of one span has beside another."""
    wait_until_all_is_read(server)
    for title, view in VIEWS.items():
        one.go_to(title)
        one.view(view)
        assert one.verdict().endswith((".", "?"))
        if says is not None and view not in ("trends", "ranks", "compare"):
            expect(one.frame.get_by_role("region", name="Comparison")).to_contain_text(says)
        for theme, width in (("dark", 1920), ("light", 1280)):
            one.page.set_viewport_size({"width": width, "height": 800})
            assert one.theme_of_background() == theme
            assert one.overflow_px() == 0
            one.picture(f"{view}-{name}-{width}-{theme}")
            toggle_theme(one.page)


def test_a_link_opens_what_it_was_copied_from(tensorboard: StartTensorBoard, recording: Path, tab: OpenTab) -> None:
    server = tensorboard(recording)
    first = tab(server)
    first.view("overview")
    first.go_to("Data loading")
    first.view("data_loading")
    link, verdict = first.state(), first.verdict()

    first.page.reload()
    first.view("data_loading")
    assert first.verdict() == verdict

    first.page.goto("about:blank")
    first.page.go_back()
    first.view("data_loading")
    assert first.verdict() == verdict

    second = tab(server, link, theme="dark")  # in a browser profile without the storage of the first
    second.view("data_loading")
    assert second.verdict() == verdict


def test_back_goes_to_the_view_before_and_stays_in_the_tab(
    tensorboard: StartTensorBoard, recording: Path, tab: OpenTab
) -> None:
    one = tab(tensorboard(recording), anew=True)
    one.view("overview")
    for title in ("Data loading", "Host"):
        one.go_to(title)
        one.view(VIEWS[title])
    expect(one.page).to_have_title(re.compile("^Host · .* · Step Insights$"))

    one.page.go_back()
    one.view("data_loading")
    expect(one.page).to_have_title(re.compile("^Data loading · "))
    one.page.go_back()
    one.view("overview")
    one.page.go_forward()
    one.view("data_loading")
    assert one.verdict()


def test_empty_log_directory_shows_how_to_record_and_a_span_that_arrives_appears(
    tensorboard: StartTensorBoard, tab: OpenTab, tmp_path: Path
) -> None:
    """Below a path and without TensorBoard's own reader of event files, which all other tests have at hand."""
    one = tab(tensorboard(tmp_path, "--path_prefix=/some/where", "--load_fast=false"))
    empty = one.content("empty")
    expect(empty.locator("pre, code").first).to_contain_text("torch.profiler")
    one.frame.evaluate("window.same = true")  # a reload would clear this
    write_trace(tmp_path / "job" / "worker0.1.pt.trace.json")
    one.view("overview")
    assert one.verdict()
    assert one.frame.evaluate("window.same")


def test_a_broken_file_leaves_the_others_usable(tensorboard: StartTensorBoard, odd_runs: Path, tab: OpenTab) -> None:
    server = tensorboard(odd_runs)
    failed = tab(server, state(run="broken"))
    root = failed.content("failed")
    expect(root).to_contain_text("worker0.1700000000000.pt.trace.json")
    failed.forgive("status of 422")

    whole = tab(server, state(run="whole"))
    whole.view("overview")
    assert whole.verdict()


def test_inferred_steps_give_way_to_the_whole_recording_and_come_back(
    tensorboard: StartTensorBoard, odd_runs: Path, tab: OpenTab
) -> None:
    one = tab(tensorboard(odd_runs), state(run="unmarked"))
    one.view("overview")
    expect(one.frame.get_by_text("3 inferred steps")).to_be_visible()
    one.frame.get_by_role("button", name="Show the whole recording as one step").click()
    expect(one.frame.locator("p.origin")).to_contain_text("the recording as one step", timeout=DRAWN_MS)
    expect(one.frame.get_by_text("training · eager · CPU")).to_be_visible()
    one.go_to("Timeline")
    one.view("timeline")
    one.go_to("Overview")
    one.frame.get_by_role("button", name="Show steps").click()
    expect(one.frame.get_by_text("3 inferred steps")).to_be_visible(timeout=DRAWN_MS)


def test_a_ticked_card_moves_the_bar_and_stays_ticked(
    tensorboard: StartTensorBoard, recording: Path, tab: OpenTab
) -> None:
    """The card is ticked by keyboard. It stays ticked after a reload and on the way back from another view."""
    one = tab(tensorboard(recording), state(view="overview"))
    overview = one.view("overview")
    before = overview.locator(".row-name.thin").inner_text()
    overview.locator(".tick input").nth(1).focus()
    one.page.keyboard.press("Space")
    expect(overview.locator(".row-name.thin")).not_to_have_text(before)
    ticked = overview.locator(".row-name.thin").inner_text()
    one.reload()
    expect(one.view("overview").locator(".row-name.thin")).to_have_text(ticked)
    one.go_to("Host")
    one.view("host")
    one.page.go_back()
    expect(one.view("overview").locator(".row-name.thin")).to_have_text(ticked)
