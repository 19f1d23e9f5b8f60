"""`make demo` in a fresh clone: the tab opens with the run that the README shows, and the clone stays clean."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest
from playwright.sync_api import Browser, expect

from tests import PROJECT
from tests.browser.conftest import OpenTab
from tests.browser.tab import Tab, wait_until_all_is_read
from tests.drawn.bytecode import carry_bytecode
from tests.drawn.repositories import changes, commit_all, git, needs_git
from tools.docs.screenshots import PICTURES
from tools.serve import START_SECONDS, TensorBoard

pytestmark = needs_git

#: Files that `make demo` builds before it starts TensorBoard, and that git ignores.
BUILT = ("tb_steptime/static", "tb_steptime/trace/kineto/native/_scan*")
#: Targets that count as made: the packages are those of the environment that runs this test.
INSTALLED = (".venv/.python", ".venv/.node", ".venv/.demo")


class Demo(NamedTuple):
    """address: the one that `make demo` prints. cache: the user's cache directory."""

    clone: Path
    address: str
    cache: Path


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git tracks, as they are in this checkout, committed to a new repository."""
    if not (PROJECT / ".git").exists():
        pytest.skip("this is no checkout of git")
    clone = tmp_path_factory.mktemp("demo") / "clone"
    for name in git(PROJECT, "ls-files", "-z").split("\0"):
        if name and (PROJECT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, clone / name)
    carry_bytecode(PROJECT / "tb_steptime", clone / "tb_steptime")
    commit_all(clone)
    for pattern in BUILT:
        for path in PROJECT.glob(pattern):
            (shutil.copytree if path.is_dir() else shutil.copyfile)(path, clone / path.relative_to(PROJECT))
    return clone


@pytest.fixture(scope="module")
def demo(browser: Browser, clone: Path) -> Iterator[Demo]:
    """The fixture requests the browser, so that nothing is started in vain where there is no browser."""
    cache = clone.parent / "cache"
    command = ["make", *(word for made in INSTALLED for word in ("-o", made)), "demo"]
    command += [f"BIN={Path(sys.executable).parent}", "ARGS="]  # not those of the make that runs the tests
    command += [f"PYTHONPYCACHEPREFIX={sys.pycache_prefix or ''}"]  # packages are compiled there
    environment = os.environ | {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": ""}
    with subprocess.Popen(
        command, cwd=clone, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as made:
        try:
            yield Demo(clone, printed_address(made), cache)
        finally:
            os.killpg(made.pid, signal.SIGTERM)
            made.wait(START_SECONDS)


def printed_address(made: subprocess.Popen[str]) -> str:
    assert made.stdout is not None
    lines = []
    for line in made.stdout:
        lines.append(line)
        if found := re.search(r"http://\S+#tb_steptime\S*", line):
            return found[0]
    pytest.fail(f"`make demo` ended without an address:\n{''.join(lines)}")


@pytest.fixture
def server(demo: Demo) -> TensorBoard:
    """What a tab needs of the TensorBoard that `make demo` started."""
    server: Any = SimpleNamespace(url=demo.address.partition("#")[0])
    server.json_of = partial(TensorBoard.json_of, server)
    return cast(TensorBoard, server)


def opened_at(demo: Demo, server: TensorBoard, tab: OpenTab) -> Tab:
    """The tab at the address that `make demo` prints."""
    state = demo.address.removeprefix(f"{server.url}#tb_steptime")
    assert state != demo.address
    return tab(server, state)


def test_it_opens_with_the_run_that_the_readme_shows(demo: Demo, server: TensorBoard, tab: OpenTab) -> None:
    first = PICTURES[0]
    assert re.search(r"docs/screenshots/(\S+)\)", (PROJECT / "README.md").read_text())[1] == first.name
    one = opened_at(demo, server, tab)
    one.view(first.view)
    chosen = one.page.evaluate("decodeURIComponent(location.hash)")
    assert f"run={first.run}" in chosen


def test_by_hand_it_opens_with_a_gpu(server: TensorBoard, tab: OpenTab) -> None:
    one = tab(server)
    one.view("overview")
    expect(one.frame.get_by_text("NVIDIA H200").first).to_be_visible()


def test_no_trace_is_read_and_no_file_changes(demo: Demo, server: TensorBoard, tab: OpenTab) -> None:
    one = opened_at(demo, server, tab)
    one.view("overview")
    for title, view in (("Trends", "trends"), ("Timeline", "timeline"), ("Ranks", "ranks")):
        one.go_to(title)
        one.view(view)
    wait_until_all_is_read(server)
    assert changes(demo.clone) == []
    assert not list(demo.cache.rglob("*.steptime"))
