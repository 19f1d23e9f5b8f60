"""The Step Insights tab in a Chromium, measured by the browser's own clocks: for `benchmarks.tab`.

Script time is the browser's measurement of the page's main thread, so other work on the machine adds little to it; the
time of a picture is the time that a person waits.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from playwright.sync_api import Browser, CDPSession, Frame, Page, Request

from tools.serve import TensorBoard

WIDTH, HEIGHT = 1440, 900
DRAWN_MS = 120_000

#: A page that has not changed for this long has finished.
QUIET_MS = 250
#: Longer than a frame, so that the first effects of an input are painted.
FRAME_SECONDS = 0.025

#: Installed in every frame before its own scripts. Records when it is ready, and when it last changed.
_CLOCKS = """
(() => {
  const clocks = (window.clocks = { ready: null, changed: 0, pressed: 0, armed: false, began: 0, first: 0, last: 0 });
  const now = () => performance.timeOrigin + performance.now();
  // a message that is sent while a frame is made comes after it was painted
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    clocks.last = now();
    if (clocks.first === 0 && !clocks.armed) clocks.first = clocks.last;
  };
  let due = false;
  const paints = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; port2.postMessage(null); });
  };
  const { setTransform } = CanvasRenderingContext2D.prototype; // with which each canvas of the tab begins
  CanvasRenderingContext2D.prototype.setTransform = function (...given) {
    paints();
    return setTransform.apply(this, given);
  };
  const isContent = ({ target }) => (target.closest ? target : target.parentElement)?.closest("main") != null;
  new MutationObserver((changes) => {
    if (changes.some(isContent)) { // not a tip that closes
      clocks.changed = now();
      paints();
    }
    if (clocks.ready === null && document.querySelector("[data-state='ready'] [data-view]"))
      requestAnimationFrame(() => { clocks.ready = now(); });
  }).observe(document, { childList: true, subtree: true, attributes: true, characterData: true });
  for (const kind of ["click", "keydown"]) addEventListener(kind, () => { clocks.pressed = now(); }, true);
  for (const kind of ["click", "keydown", "input", "pointermove", "wheel"])
    addEventListener(kind, ({ timeStamp }) => {
      if (!clocks.armed) return;
      clocks.armed = false;
      clocks.began = performance.timeOrigin + timeStamp;
    }, true);
})()
"""


class Painted(NamedTuple):
    """The time from an input to the first frame that shows an effect, and to the last one; None where nothing changes.
    worked_ms: how long the page's thread worked until then, without the time of other processes.
    """

    first_ms: float | None
    last_ms: float | None
    worked_ms: float


class Visit:
    """One page with the tab open.

    goto --- frame opens --- ready: a view is drawn
         first_ms                 frame_ms from the frame's opening on
    """

    def __init__(self, page: Page, server: TensorBoard, keys: dict[str, str]) -> None:
        self.page = page
        self.cdp: CDPSession = page.context.new_cdp_session(page)
        self.cdp.send("Performance.enable", {"timeDomain": "threadTicks"})  # without the time of other processes
        page.add_init_script(_CLOCKS)
        self._asked: set[Request] = set()
        page.on("request", lambda request: self._asked.add(request))
        page.on("requestfinished", lambda request: self._asked.discard(request))
        page.on("requestfailed", lambda request: self._asked.discard(request))
        said = "".join(f"&p.tb_steptime.{key}={quote(value, safe='')}" for key, value in keys.items())
        page.goto(f"{server.url}#tb_steptime{said}", wait_until="commit")
        self.frame = self._drawn()

    def reload(self) -> None:
        """Reloads like a browser that has TensorBoard's own files in its cache."""
        self.page.reload(wait_until="commit")
        self.frame = self._drawn()

    def _drawn(self) -> Frame:
        frame = _frame_of(self.page)
        frame.wait_for_function("clocks.ready !== null", timeout=DRAWN_MS)
        return frame

    @property
    def first_ms(self) -> float:
        """The time from opening the address to the first picture."""
        began: float = self.page.evaluate("performance.timeOrigin")
        return self.ready_ms - began

    @property
    def frame_ms(self) -> float:
        """The part of it after TensorBoard opened the tab's frame."""
        began: float = self.frame.evaluate("performance.timeOrigin")
        return self.ready_ms - began

    @property
    def ready_ms(self) -> float:
        """When the first picture appeared, in ms since 1970."""
        at: float = self.frame.evaluate("clocks.ready")
        return at

    def settle(self) -> None:
        """Wait until nothing changes any more."""
        quiet = f"performance.timeOrigin + performance.now() - clocks.changed > {QUIET_MS}"
        self.frame.wait_for_function(quiet, timeout=DRAWN_MS, polling=50)

    def press_ms(self, press: Callable[[], None]) -> float:
        """The time from a click or a key to the last change that follows from it."""
        press()
        self.settle()
        took: float = self.frame.evaluate("clocks.changed - clocks.pressed")
        return took

    def painted_since_start_ms(self) -> float:
        """The time from opening the address to the last painted frame."""
        self.settle()
        began: float = self.page.evaluate("performance.timeOrigin")
        painted: float = self.frame.evaluate("clocks.last")
        return painted - began

    def arm(self) -> None:
        """Starts the clocks at the next input."""
        self.frame.evaluate("clocks.armed = true; clocks.began = Infinity; clocks.first = clocks.last = 0")

    def painted_ms(self, act: Callable[[], None]) -> Painted:
        """Measures everything that follows from an input, including answers of the server."""
        self.arm()
        before = self.metric("TaskDuration")
        act()
        self.page.wait_for_timeout(2 * 1e3 * FRAME_SECONDS)
        while self._asked:
            self.page.wait_for_timeout(1e3 * FRAME_SECONDS)
        self.settle()
        worked = 1e3 * (self.metric("TaskDuration") - before)
        first, last = self.frame.evaluate("[clocks.first - clocks.began, clocks.last - clocks.began]")
        return Painted(first, last, worked) if first > 0 else Painted(None, None, worked)

    def script_ms(self, act: Callable[[], None]) -> float:
        """The script time that an input causes, up to the next frame."""
        before = self.metric("ScriptDuration")
        act()
        time.sleep(FRAME_SECONDS)
        return 1e3 * (self.metric("ScriptDuration") - before)

    def metric(self, name: str) -> float:
        metrics = self.cdp.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == name))

    @contextlib.contextmanager
    def tasks_ms(self, found: list[float]) -> Iterator[None]:
        """Adds the tasks of the page's main thread during the measurement, in its own time, longest first."""
        browser = self.page.context.browser
        assert browser is not None
        browser.start_tracing(page=self.page, categories=["disabled-by-default-devtools.timeline"])
        try:
            yield
        finally:
            found += _tasks_ms(json.loads(browser.stop_tracing())["traceEvents"])

    def heap_bytes(self) -> float:
        """The memory in use after a garbage collection."""
        for _ in range(3):
            self.cdp.send("HeapProfiler.collectGarbage")
        return self.metric("JSHeapUsedSize")

    def elements(self) -> float:
        """The number of nodes of the page, shown or not."""
        return self.metric("Nodes")


def _tasks_ms(events: list[dict[str, Any]]) -> list[float]:
    named = [event for event in events if event["name"] == "thread_name"]
    main = {(event["pid"], event["tid"]) for event in named if event["args"]["name"] == "CrRendererMain"}
    tasks = [event for event in events if event["name"] == "RunTask" and (event["pid"], event["tid"]) in main]
    return sorted((event.get("tdur", 0) / 1e3 for event in tasks), reverse=True)


@contextlib.contextmanager
def visit(browser: Browser, server: TensorBoard, **keys: str) -> Iterator[Visit]:
    """Opens the tab in a fresh profile; keys: those of its address, such as view and run."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    try:
        yield Visit(page, server, keys)
    finally:
        page.close()


def _frame_of(page: Page) -> Frame:
    """The iframe into which TensorBoard puts a plugin."""
    holder = page.wait_for_selector("iframe >> visible=true", timeout=DRAWN_MS)
    frame = holder.content_frame() if holder else None
    assert frame is not None
    frame.wait_for_function("window.clocks !== undefined", timeout=DRAWN_MS)
    return frame


def go_to(one: Visit, view: str) -> None:
    """Click a view in the list of views."""
    one.frame.get_by_role("navigation").get_by_text(view, exact=True).first.click()


def row(what: str, each_ms: Iterable[float]) -> None:
    """Print median and 95th percentile."""
    times = sorted(each_ms)
    most = times[min(len(times) - 1, round(0.95 * len(times)))]
    print(f"| {what} | {statistics.median(times):.1f} ms | {most:.1f} ms |", flush=True)
