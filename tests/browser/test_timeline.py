"""The timeline in a real browser, fed by the real routes: events are drawn, chosen, zoomed to, and kept in the link."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenTab, StartTensorBoard
from tests.browser.logs import PFTRACE
from tests.browser.tab import state

HTML = "text/html; charset=utf-8"


def drawn(timeline: Locator) -> Locator:
    """The picture, once it shows events."""
    stage = timeline.locator(".stage")
    expect(stage).to_have_attribute("data-boxes", re.compile(r"^[1-9]\d*$"), timeout=20_000)
    return stage


def test_an_event_is_told_about_and_stays_in_the_link_and_a_search_goes_to_the_next(
    tensorboard: StartTensorBoard, recording: Path, tab: OpenTab
) -> None:
    one = tab(tensorboard(recording), state(view="timeline"))
    timeline = one.view("timeline")
    stage = drawn(timeline)
    stage.focus()
    stage.press("ArrowRight")
    stage.press("Enter")
    one.page.wait_for_url("**p.tb_steptime.event=*")
    chosen = timeline.get_by_role("region", name="The chosen event")
    name = chosen.locator("h2").inner_text()
    assert name
    expect(chosen.get_by_text("Duration")).to_be_visible()
    one.reload()
    expect(one.view("timeline").get_by_role("region", name="The chosen event").locator("h2")).to_have_text(name)
    timeline = one.view("timeline")
    drawn(timeline)
    field = timeline.get_by_role("searchbox", name="Find events by name in the whole recording")
    counter = timeline.locator(".seek .found")
    field.fill("profilerstep")
    expect(counter).to_have_text(re.compile(r"^\d+ found, .+ in all$"))
    field.press("Enter")
    expect(counter).to_have_text(re.compile(r"^\d+ of \d+, .+ in all$"))
    chosen = timeline.get_by_role("region", name="The chosen event")
    expect(chosen.locator("h2")).to_have_text(re.compile("^ProfilerStep#"))
    chosen.get_by_role("button", name="Close").press("Escape")
    expect(timeline.locator(".stage")).to_be_focused()


def test_keys_zoom_change_the_step_and_measure(tensorboard: StartTensorBoard, recording: Path, tab: OpenTab) -> None:
    one = tab(tensorboard(recording), state(view="timeline"))
    stage = drawn(one.view("timeline"))
    stage.focus()
    stage.press("w")
    one.page.wait_for_url("**p.tb_steptime.zoom=*")
    before = re.findall(r"zoom=(\d+)-(\d+)", one.page.url)
    stage.press("w")
    one.page.wait_for_function(f"!location.hash.includes('{'-'.join(before[0])}')")
    ((start, end),) = re.findall(r"zoom=(\d+)-(\d+)", one.page.url)
    assert int(end) - int(start) < int(before[0][1]) - int(before[0][0])
    one.view("timeline").get_by_role("button", name="Next step").click()
    one.page.wait_for_url("**p.tb_steptime.step=*")
    stage.press("ArrowRight")
    stage.press("m")
    measured = re.compile(r"kernels?\sstart")
    expect(one.view("timeline").get_by_text(measured)).to_be_visible()
    stage.press("p")
    one.page.wait_for_url("**p.tb_steptime.pins=*")
    one.reload()
    timeline = one.view("timeline")
    drawn(timeline)
    expect(timeline.get_by_text(measured)).to_be_visible()
    overview = timeline.get_by_role("slider", name="Visible part of the recording")
    overview.press("Home")
    one.page.wait_for_url("**p.tb_steptime.zoom=*")


#: Replaces Perfetto: it answers as Perfetto does, and shows what it was given.
PERFETTO = """<!doctype html><title>Perfetto</title><pre></pre><script>
addEventListener("message", ({ data, source, origin }) => {
  if (data === "PING") return source.postMessage("PONG", origin);
  const { buffer, title, fileName } = data.perfetto;
  document.querySelector("pre").textContent =
    JSON.stringify([title, fileName, buffer.byteLength, [...new Uint8Array(buffer.slice(0, 2))]]);
});
</script>"""


def test_a_step_is_saved_and_handed_to_perfetto_out_of_tensorboards_frame(
    tensorboard: StartTensorBoard, recording: Path, tab: OpenTab
) -> None:
    one = tab(tensorboard(recording), state(view="timeline"))
    one.page.context.route("https://ui.perfetto.dev/**", lambda route: route.fulfill(body=PERFETTO, content_type=HTML))
    timeline = one.view("timeline")
    drawn(timeline)
    timeline.get_by_role("button", name=re.compile("^Show as table")).click()
    with one.page.expect_download() as saved:
        timeline.get_by_role("menuitem", name=re.compile(r"^Download step \d+ as a trace$")).click()
    packed = Path(saved.value.path()).read_bytes()
    assert b"ProfilerStep#" in gzip.decompress(packed)
    with one.page.expect_popup() as opened:
        timeline.get_by_role("button", name="Open in Perfetto").click()
    expect(timeline.get_by_text("Perfetto has it, in the new window.")).to_be_visible()
    title, name, length, magic = json.loads(opened.value.locator("pre").inner_text())
    assert re.search(r" span 1, step \d+$", title)
    assert (name, length, magic) == (saved.value.suggested_filename, len(packed), [0x1F, 0x8B])


def test_a_pftrace_is_handed_to_perfetto_as_it_is(tensorboard: StartTensorBoard, odd_runs: Path, tab: OpenTab) -> None:
    trace = odd_runs / "packed" / PFTRACE
    one = tab(tensorboard(odd_runs), state(run="packed", view="timeline"))
    one.page.context.route("https://ui.perfetto.dev/**", lambda route: route.fulfill(body=PERFETTO, content_type=HTML))
    timeline = one.view("timeline")
    drawn(timeline)
    timeline.get_by_role("button", name=re.compile("^Show as table")).click()
    timeline.get_by_role("menuitem", name=re.compile(r"^Open step \d+ in Perfetto$")).click()
    expect(timeline.get_by_text("The whole .pftrace file is ready")).to_be_visible()
    with one.page.expect_popup() as opened:
        timeline.get_by_role("button", name="Open in Perfetto").click()
    expect(timeline.get_by_text("Perfetto has it, in the new window.")).to_be_visible()
    title, name, length, _ = json.loads(opened.value.locator("pre").inner_text())
    assert (title, name, length) == ("packed rank3 span 1", trace.name, trace.stat().st_size)
