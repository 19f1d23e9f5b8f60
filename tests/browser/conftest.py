"""Fixtures of the browser tests. Without a browser, tests are skipped with a visible reason; in CI they fail."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import logs
from tests.browser.tab import DRAWN_MS, SCREENSHOTS, Tab, picture
from tests.drawn.machine import NO_BROWSER
from tests.drawn.real_traces import real_path
from tools import chromium
from tools.serve import TensorBoard

FAILED = pytest.StashKey[bool]()

expect.set_options(timeout=DRAWN_MS)

#: A page of a test lives for seconds: to optimize its code takes longer than the optimized code saves.
SHORT_LIVED = "--js-flags=--no-opt"

#: Pages of one browser profile are in one process, where TensorBoard's application, once compiled, loads in less than
#: half of the time.
ONE_PROCESS = "--process-per-site"

StartTensorBoard = Callable[..., TensorBoard]
OpenTab = Callable[..., Tab]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)
            if "real_pair" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.real)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport]:
    report = yield
    if call.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = chromium.program()
    if program is None and os.environ.get("CI"):
        pytest.fail(f"Browser tests must run in CI: {NO_BROWSER}.")
    if program is None:
        pytest.skip(NO_BROWSER)
    with chromium.browser(SHORT_LIVED, ONE_PROCESS) as opened:
        yield opened


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with one recording and no summary. Tests may write to it."""
    return logs.copy_of(logs.demo_traces()[:1], tmp_path_factory.mktemp("logs") / "one")


@pytest.fixture(scope="session")
def odd_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with the runs whole, broken, unmarked and packed."""
    folder = logs.one_whole_one_broken(tmp_path_factory.mktemp("logs") / "odd")
    return logs.one_pftrace(logs.without_marks(folder))


@pytest.fixture(scope="session")
def measured_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with all demo recordings and the summaries that the project ships: to measure them here would let
    all workers wait at once. TensorBoard reads what a summary is too old for. Nobody writes to it."""
    ignored = shutil.ignore_patterns("*.md")
    return Path(shutil.copytree(logs.DEMO_LOGS, tmp_path_factory.mktemp("logs") / "demo", ignore=ignored))


@pytest.fixture(scope="session")
def real_pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with the V100 pair: an input-bound run, and a run of the
    same model that does not wait for batches."""
    folder = tmp_path_factory.mktemp("logs") / "pair"
    shutil.copytree(real_path("traces/kineto_v100_resnet50"), folder)
    return folder


@pytest.fixture(scope="session")
def tensorboard(browser: Browser) -> Iterator[StartTensorBoard]:
    """Start TensorBoard on a log directory, or return the one that already runs there with the same arguments.

    beside: load every installed plugin and the PyTorch Profiler tab. The fixture requests the browser, so that no
    server is started in vain where there is no browser.
    """
    running: dict[tuple[object, ...], TensorBoard] = {}

    def start(logdir: Path, *arguments: str, beside: bool = False) -> TensorBoard:
        key = (logdir, arguments, beside)
        if key not in running:
            module = "benchmarks.beside_profiler" if beside else "tools.tensorboard_with_ours"
            running[key] = TensorBoard(logdir, arguments, module=module)
        return running[key]

    yield start
    for server in running.values():
        server.stop()


@pytest.fixture(scope="session")
def profiles(browser: Browser) -> Callable[[str], BrowserContext]:
    """The browser profile of all pages in which TensorBoard has this theme."""

    @functools.cache
    def profile(theme: str) -> BrowserContext:
        made = browser.new_context(color_scheme="light" if theme == "dark" else "dark")
        setting = f"localStorage.setItem('_tb_global_settings', '{json.dumps({'theme': theme})}')"
        made.add_init_script(f"if (location.protocol === 'http:') {setting}")
        return made

    return profile


@pytest.fixture(scope="session")
def pages() -> dict[tuple[str, str], list[Page]]:
    """Pages that no test uses now, by the address of their TensorBoard and by theme. They keep its application, which
    takes longer to load than the tab."""
    return defaultdict(list)


@pytest.fixture
def tab(
    profiles: Callable[[str], BrowserContext],
    pages: dict[tuple[str, str], list[Page]],
    request: pytest.FixtureRequest,
) -> Iterator[OpenTab]:
    """Open the tab of a TensorBoard in a page of its own. After the test, check for faults, and take a screenshot if it
    failed or SCREENSHOTS is set.

    state is the part of a link after "#tb_steptime"; before is called with the page before the tab opens in it. theme
    is TensorBoard's theme; the browser prefers the other theme, because the tab must follow its host. anew: TensorBoard
    is loaded, too, because the page's history and the files that it has loaded are to be those of this test alone.
    """
    opened: list[tuple[Tab, str]] = []

    def open_tab(
        server: TensorBoard,
        state: str = "",
        theme: str = "light",
        width: int = 1280,
        before: Callable[[Page], object] = lambda page: None,
        anew: bool = False,
    ) -> Tab:
        unused = pages[server.url, theme]
        page = unused.pop() if unused else profiles(theme).new_page()
        page.set_viewport_size({"width": width, "height": 800})
        if anew:
            page.goto("about:blank")
        before(page)
        opened.append((Tab(page, server), theme))
        opened[-1][0].open(state)
        return opened[-1][0]

    yield open_tab
    for number, (one, theme) in enumerate(opened):
        name = re.sub(r"\W+", "-", request.node.name).strip("-")
        failed = request.node.stash.get(FAILED, True) or bool(one.faults)
        picture(one.page, f"{name}{f'-{number}' if number else ''}", wanted=failed or SCREENSHOTS)
        one.leave()
        pages[one.server.url, theme].append(one.page)
    assert [fault for one, _ in opened for fault in one.faults] == []
