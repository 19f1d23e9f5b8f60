"""In a notebook: `%tensorboard` with the tab below its cell, and a span as `tb_steptime.open` displays it.

A real kernel runs the cells. Their output is put into a page as a notebook does it, and Chromium opens that page.
"""

from __future__ import annotations

import functools
import http.server
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests import PROJECT
from tests.drawn.stores import PATIENCE_SECONDS

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

pytestmark = pytest.mark.live

#: TensorBoard may outlive the kernel that started it.
ENDED_BY = "from tensorboard import manager; print(*[info.pid for info in manager.get_all()])"


@pytest.fixture
def kernel_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary directory in which the kernel's TensorBoard registers itself, so that no other TensorBoard is found,
    not even one that an earlier test left."""
    (tmp_path / "info").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "info"))
    monkeypatch.setenv("TENSORBOARD_BINARY", str(Path(sys.executable).parent / "tensorboard"))
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    return tmp_path


@pytest.fixture
def served(kernel_place: Path) -> Iterator[str]:
    """The address at which the folder is served."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(kernel_place))
    server = http.server.ThreadingHTTPServer(("localhost", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()


class Notebook:
    """A kernel that lives as long as the `with` block."""

    def __init__(self) -> None:
        self.client = nbclient.NotebookClient(
            nbformat.v4.new_notebook(), timeout=int(PATIENCE_SECONDS), startup_timeout=int(PATIENCE_SECONDS)
        )
        self.client.create_kernel_manager()
        self._sockets = tempfile.TemporaryDirectory()  # in its place ports could be taken until the kernel starts
        self.client.km.transport, self.client.km.ip = "ipc", f"{self._sockets.name}/kernel"

    def __enter__(self) -> Notebook:
        self.kernel = self.client.setup_kernel()
        self.kernel.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        for pid in map(int, self.run(ENDED_BY).split()):
            os.kill(pid, signal.SIGTERM)
        self.kernel.__exit__(*error)
        self._sockets.cleanup()

    def run(self, source: str) -> str:
        """The output of a cell: printed text, else the HTML of the displayed object, else its plain text."""
        cell = nbformat.v4.new_code_cell(source)
        self.client.nb.cells.append(cell)
        self.client.execute_cell(cell, len(self.client.nb.cells) - 1)
        return "".join(map(_shown, cell.outputs))


def _shown(output) -> str:
    return output.get("text") or output["data"].get("text/html") or output["data"]["text/plain"]


def test_the_tab_and_a_span_stand_below_their_cells(
    measured_demo: Path, kernel_place: Path, served: str, browser: Browser
) -> None:
    logdir = measured_demo / "num_dataloaders_simulated"
    with Notebook() as notebook:
        notebook.run("%load_ext tensorboard")
        tab = notebook.run(f"%tensorboard --logdir {logdir} --port 0")
        span = notebook.run(f"import tb_steptime\ntb_steptime.open({str(logdir)!r})[0]")
        (kernel_place / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{tab}{span}")
        page = browser.new_page()
        page.goto(f"{served}/page.html")
        expect(page.locator(".tb-steptime")).to_contain_text("The loader sets the pace")
        board = page.frame_locator("iframe").first
        board.get_by_role("tab", name="Step Insights").click()  # which plugin opens first is not up to us
        heading = board.frame_locator("iframe >> visible=true").locator("h1")
        expect(heading).to_contain_text("The loader sets the pace")
        page.close()
