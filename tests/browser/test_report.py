"""A report of demo recordings, opened from a file in a real browser that has no network."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tb_steptime import cli
from tests.browser.conftest import OpenTab, StartTensorBoard
from tests.browser.tab import AXE, DRAWN_MS, FONTS, RUN_AXE, VIEWS, picture, state, wait_until_all_is_read

MOST_BYTES = 2_000_000

#: So many runs that the report does not hold every pair. A report of all runs holds less detail.
RUNS = (
    "baseline_simulated",
    "num_dataloaders_simulated",
    "transforms_simulated",
    "cpu_baseline",
    "forum_workers2_simulated",
)


@pytest.fixture(scope="module", params=["few runs", pytest.param("all runs", marks=pytest.mark.live)])
def report(request: pytest.FixtureRequest, measured_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    for run in RUNS:
        shutil.copytree(measured_demo / run, folder / "few runs" / run)
    # Recordings of a GPU are left out: they are the newest ones, and each takes more of the report than the
    # recordings for which MOST_BYTES is meant.
    shutil.copytree(measured_demo, folder / "all runs", ignore=shutil.ignore_patterns("gpu_*"))
    assert cli.main(["report", str(folder / request.param), "-o", str(folder / "report.html")]) == 0
    return folder / "report.html"


def axe_violations(page: Page) -> list[str]:
    """The page's policy allows only the page's own scripts, so axe is evaluated by the debugger. The list is empty
    where axe-core is not installed: `make check` installs the front end's packages, and a CI job has them."""
    if not AXE.exists() and not os.environ.get("CI"):
        return []
    page.evaluate(AXE.read_text() + "; 0")
    found = page.evaluate(RUN_AXE, ["html", {"resultTypes": ["violations"], "preload": False}])
    return [each["id"] for each in found]


@pytest.fixture
def opened(browser: Browser, report: Path, theme: str) -> Iterator[Page]:
    """The report, opened at its first view."""
    with from_file(browser, report, theme) as page:
        page.goto(f"{report.as_uri()}#tb_steptime{state(run='num_dataloaders_simulated')}")
        view(page, "overview")
        yield page


@contextmanager
def from_file(browser: Browser, report: Path, theme: str) -> Iterator[Page]:
    """An empty page without a network. At the end, check that only the file was
    requested and that no errors occurred."""
    faults: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=theme, offline=True)  # type: ignore[arg-type]
    page = context.new_page()
    page.on("console", lambda message: faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"uncaught: {error}"))
    page.on("request", lambda request: faults.append(f"request: {request.url}"))
    yield page
    context.close()
    assert [fault for fault in faults if not fault.startswith((f"request: {report.as_uri()}", "request: data:"))] == []


def view(page: Page, name: str) -> None:
    expect(page.locator(f"[data-view='{name}']")).to_be_visible(timeout=DRAWN_MS)
    expect(page.locator("main[data-state='ready']")).to_be_visible(timeout=DRAWN_MS)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_view_is_drawn_from_the_file_alone(opened: Page, report: Path, theme: str) -> None:
    assert report.stat().st_size < MOST_BYTES
    assert opened.evaluate("document.documentElement.classList.contains('dark-mode')") is (theme == "dark")
    expect(opened.get_by_role("navigation")).to_contain_text("Report of")
    for title, name in VIEWS.items():
        opened.get_by_role("navigation").get_by_text(title, exact=True).first.click()
        view(opened, name)
        assert opened.locator("h1").inner_text() != ""
        if theme == "light" and name in ("overview", "timeline"):
            assert axe_violations(opened) == []
        picture(opened, f"report-{name}-{theme}")
    assert opened.evaluate(FONTS) == ["Roboto", "Roboto", "Roboto Mono"]
    expect(opened.locator("main")).to_contain_text("Single events are not in the report.")
    expect(opened.locator("main")).to_contain_text("--timeline")
    expect(opened.get_by_role("button", name="Try again")).to_have_count(0)


@pytest.mark.parametrize("theme", ["light"])
def test_runs_are_compared_and_what_is_not_held_says_so(
    opened: Page, theme: str, request: pytest.FixtureRequest
) -> None:
    base = opened.url.partition("#")[0]
    few = request.node.callspec.params["report"] == "few runs"
    # In a report of many runs, the newest twelve are compared with the first of them.
    run, other = ("baseline", "num_dataloaders") if few else ("autocast", "baseline")
    address = state(view="compare", run=f"{run}_simulated", span="1", **{"with": f"{other}_simulated/gpu/1"})
    opened.goto(f"{base}#tb_steptime{address}")
    view(opened, "compare")
    expect(opened.locator("h1")).to_contain_text(other)
    expect(opened.get_by_role("region", name="Comparison")).to_contain_text(
        "Changes: " if few else "Compare them all the same"
    )
    other = state(view="compare", run="cpu_baseline", span="1", **{"with": "forum_workers2_simulated/gpu/1"})
    opened.goto(f"{base}#tb_steptime{other}")
    expect(opened.locator("h1")).to_have_text("This is not in the report.")
    with opened.expect_download() as saved:
        opened.goto(f"{base}#tb_steptime{state(view='overview', run='cpu_baseline')}")
        view(opened, "overview")
        opened.get_by_role("button", name="Show as table, save or link").first.click()
        opened.get_by_role("menuitem", name="Save as PNG").click()
    assert saved.value.suggested_filename.endswith(".png")


def test_the_timeline_of_a_step_is_drawn_searched_and_told_about(
    browser: Browser, measured_demo: Path, tmp_path: Path
) -> None:
    shutil.copytree(measured_demo / "num_dataloaders_simulated", tmp_path / "logs" / "num_dataloaders_simulated")
    report = tmp_path / "report.html"
    assert cli.main(["report", str(tmp_path / "logs"), "-o", str(report), "--timeline"]) == 0
    with from_file(browser, report, "light") as page:
        page.goto(f"{report.as_uri()}#tb_steptime{state(view='timeline')}")
        view(page, "timeline")
        timeline = page.locator("[data-view='timeline']")
        expect(timeline).to_contain_text(re.compile(r"this report has the events of step \d+"))
        stage = timeline.locator(".stage")
        expect(stage).to_have_attribute("data-boxes", re.compile(r"^[1-9]\d*$"), timeout=DRAWN_MS)
        timeline.get_by_role("searchbox", name="Find events by name in this report").fill("conv")
        expect(timeline.locator(".seek .found")).to_have_text(re.compile(r"^\d[\d\s]* found, .+ in this report$"))
        timeline.get_by_role("button", name="Next event found").click()
        chosen = timeline.get_by_role("region", name="The chosen event")
        expect(chosen.locator("h2")).to_have_text(re.compile("conv", re.IGNORECASE))
        expect(chosen.get_by_text("Duration")).to_be_visible()
        picture(page, "report-timeline-of-a-step")


def test_a_report_of_the_tab_opens_at_the_comparison_that_was_saved(
    browser: Browser, tensorboard: StartTensorBoard, measured_demo: Path, tab: OpenTab, tmp_path: Path
) -> None:
    """Among five runs a report does not hold every pair: this one is there because it was shown."""
    for run in ("baseline", "num_dataloaders", "transforms", "resnet50_baseline", "autocast"):
        shutil.copytree(measured_demo / f"gpu_{run}", tmp_path / "logs" / f"gpu_{run}")
    server = tensorboard(tmp_path / "logs")
    wait_until_all_is_read(server)
    one = tab(server, state(view="compare", run="gpu_transforms", **{"with": "gpu_autocast/cuda/1"}))
    one.view("compare")
    said = one.verdict()
    assert "autocast" in said
    one.frame.get_by_role("button", name="Share").click()
    with one.page.expect_download(timeout=DRAWN_MS) as saved:
        one.frame.get_by_role("menuitem", name="Save as report").click()
    file = tmp_path / "report.html"
    saved.value.save_as(file)
    with from_file(browser, file, "light") as page:
        page.goto(file.as_uri())
        view(page, "compare")
        expect(page.locator("h1")).to_have_text(said)
        page.go_back()
        assert page.url == "about:blank"
