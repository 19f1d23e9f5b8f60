"""The Step Insights tab in a real browser page: open it, wait for a view, and collect everything that goes wrong.

The tests rely on this of the tab: the content root has the attribute data-state ("reading", "ready", "empty" or
"failed"), the root of a view has the attribute data-view, and the verdict is the h1.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from playwright.sync_api import ConsoleMessage, Error, Frame, Locator, Page, Request, expect

from tools.serve import TensorBoard

#: Where pictures go. Tests that pass take them only if SCREENSHOTS is set: they take a twentieth of the time.
ARTIFACTS = Path(__file__).resolve().parents[2] / "test-artifacts"
SCREENSHOTS = bool(os.environ.get("SCREENSHOTS"))

#: One of the front end's packages, which `make check` installs.
AXE = Path(__file__).resolve().parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"

#: All rules, including the one on the size of targets, which axe skips by default.
ALL = {"resultTypes": ["violations"], "preload": False, "rules": {"target-size": {"enabled": True}}}

#: What axe says about the elements that pass, which nobody reads, takes longer to send than a run of some rules.
RUN_AXE = "([within, options]) => axe.run(within, options).then(({ violations }) => violations)"

#: The rules whose result depends on the theme.
COLOURS = {"resultTypes": ["violations"], "preload": False, "runOnly": ["color-contrast", "link-in-text-block"]}

#: A view must draw in much less time than this: only one that would never be drawn must fail, however busy the machine.
DRAWN_MS = 120_000

#: The list of views: the label that is pressed, and the name of the view that opens.
VIEWS = {
    "Overview": "overview",
    "Trends": "trends",
    "Data loading": "data_loading",
    "Tensor cores": "tensor_cores",
    "GPU": "gpu",
    "Host": "host",
    "Operators": "operators",
    "Memory": "memory",
    "Compare": "compare",
    "Ranks": "ranks",
    "Timeline": "timeline",
}

#: The address of the tab's own document in TensorBoard.
PLUGIN = "plugin_entry.html?name=tb_steptime"

#: The fonts that the page brings along and can draw with.
FONTS = "[...document.fonts].filter(({status}) => status === 'loaded').map(({family}) => family.replaceAll('\"', ''))"

#: Runs in TensorBoard's page: loads the tab's iframe, which `leave` has emptied, again at another address of the page.
OPEN_IN_PLACE = """address => {
  history.replaceState(history.state, "", address);
  const frame = document.querySelector("iframe");
  frame.contentWindow.location.replace(frame.src);
}"""

#: Loads the tab's iframe again at the same address of the page.
RELOAD_IN_PLACE = "document.querySelector('iframe').contentWindow.location.reload()"

#: Empties the iframe and the tab's storage, undoes `toggle_theme`, and returns whether it did.
CLOSE_IN_PLACE = """() => {
  const frames = document.querySelectorAll("iframe");
  const { theme } = JSON.parse(localStorage.getItem("_tb_global_settings") ?? "{}");
  if (frames.length !== 1) return false;
  document.body.classList.toggle("dark-mode", theme === "dark");
  localStorage.clear();
  frames[0].contentWindow.location.replace("about:blank");
  return true;
}"""


class Tab:
    """One page with the tab open. `faults` collects console errors, uncaught errors and requests to other hosts."""

    def __init__(self, page: Page, server: TensorBoard) -> None:
        self.page = page
        self.server = server
        self.faults: list[str] = []
        page.on("console", self.hear_console)
        page.on("pageerror", self.hear_error)
        page.on("request", self.hear_request)

    def open(self, state: str = "") -> None:
        """Load the tab, with `state` in the address as in a shared link.

        If the page already shows this TensorBoard from an earlier test, only the tab is loaded: TensorBoard's own
        application takes three quarters of the time.
        """
        address = f"{self.server.url}#tb_steptime{state}"
        if self.shows_its_server:
            assert self.frame  # TensorBoard has put it there
            self._load(OPEN_IN_PLACE, address)
        else:
            self.page.goto(address)

    def reload(self) -> None:
        """Load the tab again: what it shows comes from the address and the storage. TensorBoard around it stays, which
        `test_a_link_opens_what_it_was_copied_from` reloads too."""
        self._load(RELOAD_IN_PLACE)

    def _load(self, script: str, *arguments: str) -> None:
        with self.page.expect_event("framenavigated", lambda frame: PLUGIN in frame.url):
            self.page.evaluate(script, *arguments)

    def leave(self) -> None:
        """Undo everything that this test did to the page, so that it does not affect the next test. The tab ends, but
        TensorBoard around it stays if it is as it was loaded."""
        self.page.remove_listener("console", self.hear_console)
        self.page.remove_listener("pageerror", self.hear_error)
        self.page.remove_listener("request", self.hear_request)
        for routed in (self.page, self.page.context):
            routed.unroute_all(behavior="ignoreErrors")
        self.page.emulate_media(media="null", forced_colors="null")
        if not (self.shows_its_server and self.page.evaluate(CLOSE_IN_PLACE)):
            self.page.evaluate("localStorage.clear()")
            self.page.goto("about:blank")
        self.page.context.clear_cookies()

    @property
    def shows_its_server(self) -> bool:
        """TensorBoard writes its theme into the address, before the fragment."""
        return self.page.url.partition("#")[0].partition("?")[0] == self.server.url

    @property
    def frame(self) -> Frame:
        """The document of the tab. TensorBoard puts a plugin into an iframe."""
        holder = self.page.wait_for_selector("iframe >> visible=true", timeout=DRAWN_MS)
        assert holder is not None
        frame = holder.content_frame()
        assert frame is not None
        return frame

    def content(self, state: str) -> Locator:
        """The content root, once it is in this state."""
        root = self.frame.locator(f"[data-state='{state}']")
        expect(root).to_be_visible(timeout=DRAWN_MS)
        return root

    def view(self, name: str) -> Locator:
        """The root of a view, once it is drawn."""
        root = self.frame.locator(f"[data-view='{name}']")
        expect(root).to_be_visible(timeout=DRAWN_MS)
        self.content("ready")
        return root

    def verdict(self) -> str:
        heading = self.frame.locator("h1")
        expect(heading).to_have_count(1)
        return heading.inner_text()

    def state(self) -> str:
        """The tab's state in a link copied from the address bar."""
        return urlsplit(self.page.url).fragment.removeprefix("tb_steptime")

    def hear_console(self, message: ConsoleMessage) -> None:
        of_host = "/font-roboto/" in message.location.get(
            "url", ""
        )  # TensorBoard asks for them without its path prefix
        if message.type == "error" and not of_host:
            self.faults.append(f"console: {message.text} ({message.location.get('url', '')})")

    def hear_error(self, error: Error) -> None:
        self.faults.append(f"uncaught: {error}")

    def hear_request(self, request: Request) -> None:
        own = urlsplit(self.server.url).netloc
        if not re.match(r"(data|blob|about):", request.url) and urlsplit(request.url).netloc != own:
            self.faults.append(f"request to another host: {request.url}")

    def picture(self, name: str) -> None:
        """Show how the page looks now, if pictures are wanted."""
        picture(self.page, name)

    def forgive(self, fault: str) -> None:
        """Remove the faults that contain these words: the browser reports every error status, expected or not."""
        self.faults = [other for other in self.faults if fault not in other]

    def go_to(self, title: str) -> None:
        """Press an entry in the list of views."""
        self.frame.get_by_role("navigation").get_by_text(title, exact=True).first.click()

    def theme_of_background(self) -> str:
        """ "dark" or "light", by the luminance of what the tab paints behind its content."""
        colour = self.frame.evaluate("getComputedStyle(document.body).backgroundColor")
        red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
        return "dark" if (2 * red + 5 * green + blue) / 8 < 128 else "light"

    def overflow_px(self) -> int:
        """The number of pixels by which the tab is wider than its frame."""
        width: int = self.frame.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return width


#: All demo recordings are read in a few seconds. A busy machine takes longer.
READ_SECONDS = 300.0


def picture(page: Page, name: str, wanted: bool = SCREENSHOTS, full_page: bool = False) -> None:
    """A picture of the page in ARTIFACTS, if it is wanted."""
    if wanted:
        page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=full_page)


def state(**values: str) -> str:
    """The tab's state as written in the address."""
    return "".join(f"&p.tb_steptime.{key}={quote(value, safe='')}" for key, value in values.items())


def wait_until_all_is_read(server: TensorBoard) -> None:
    """Pictures of many spans are compared from run to run, so none may be taken before all spans are read."""
    until = time.monotonic() + READ_SECONDS
    while (index := server.json_of("data/plugin/tb_steptime/index"))["spans_ready"] < index["spans_total"]:
        assert time.monotonic() < until, f"{index['spans_ready']} of {index['spans_total']} spans were read"
        time.sleep(0.2)


def wait_until_scalars_are_read(server: TensorBoard, run: str) -> None:
    """TensorBoard reads event files in the background while it serves pages."""
    until = time.monotonic() + READ_SECONDS
    while not server.json_of(f"data/plugin/tb_steptime/scalars?run={run}")["tags"]:
        assert time.monotonic() < until, f"no scalar of {run} was read"
        time.sleep(0.2)


def violations(one: Tab, where: str, within: str) -> list[str]:
    """What axe finds in the current theme, and in the colours of the other theme, in which the page stays."""
    found = run_axe(one.frame, f"{where}, {one.theme_of_background()}", within, ALL)
    toggle_theme(one.page)
    return found + run_axe(one.frame, f"{where}, {one.theme_of_background()}", within, COLOURS)


def run_axe(frame: Frame, where: str, within: str, options: dict[str, Any]) -> list[str]:
    """One line for each fault: the view, the rule, the element and what is wrong with it."""
    found = frame.evaluate(RUN_AXE, [within, options])
    return [
        f"{where}: {rule['id']}: {node['target']} {node['html'][:200]}\n    {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
    ]


def toggle_theme(page: Page) -> None:
    """Toggle the theme as TensorBoard does. The tab follows."""
    page.evaluate("document.body.classList.toggle('dark-mode')")
