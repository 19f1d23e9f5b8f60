"""The routes through TensorBoard's own WSGI application, on small traces. Traces without a summary are read by real
processes."""

import base64
import gzip
import json
import re
import shutil
import subprocess
import sys
import time
from urllib.parse import urlencode

import pytest
from tensorboard.backend import security_validator
from tensorboard.plugins import base_plugin

from tb_steptime import cli
from tb_steptime.plugin import StepTimePlugin
from tb_steptime.serve import bundle, responses, store
from tb_steptime.serve.wire import RESULTS
from tests.browser.logs import write_scalars
from tests.drawn.demo import measure_all
from tests.drawn.packed import in_rows
from tests.drawn.small_trace import small_trace, with_allocations, write_trace
from tests.drawn.stores import until
from tests.process.boards import PREFIX, WORK, tensorboard

pytestmark = pytest.mark.usefixtures("at_once")


def write_spans(folder):
    for number in (1, 2):
        write_trace(folder / f"host.{number}.pt.trace.json.gz", rank=2)


def write_bad(logs):
    (logs / "bad").mkdir()
    (logs / "bad" / "host.1.pt.trace.json").write_text("this is no trace")


@pytest.fixture
def unread(tmp_path):
    write_spans(tmp_path / "logs" / "a")
    write_bad(tmp_path / "logs")
    return tmp_path / "logs"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Two spans with their summaries. No test writes to this folder."""
    folder = tmp_path_factory.mktemp("measured")
    write_spans(folder)
    measure_all(folder)
    return folder


@pytest.fixture
def logs(tmp_path, measured):
    """Everything is already read, so only the tests of reading start a process."""
    shutil.copytree(measured, tmp_path / "logs" / "a")
    return tmp_path / "logs"


@pytest.fixture
def bad(logs):
    """Add a trace that cannot be read."""
    write_bad(logs)


@pytest.fixture
def client(logs):
    return tensorboard("--logdir", str(logs))


def get(client, route, status=200, headers=WORK):
    answer = client.get(PREFIX + route, headers=headers)
    assert answer.status_code == status, answer.get_data(as_text=True)
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    return json.loads(answer.get_data(), parse_constant=pytest.fail)


def read(client):
    """All spans by file, once each one has been read or has failed."""
    end = time.monotonic() + 300
    while True:
        index = get(client, "index")
        spans = {span["file"]: span for run in index["runs"] for worker in run["workers"] for span in worker["spans"]}
        if spans and all(span["state"] in ("ready", "failed") for span in spans.values()):
            return spans
        assert time.monotonic() < end, spans
        time.sleep(0.05)


def test_tensorboard_lists_an_active_tab(client):
    listing = json.loads(client.get("/data/plugins_listing").get_data())
    entry = listing["tb_steptime"]
    assert (entry["enabled"], entry["tab_name"]) == (True, "Step Insights")
    assert entry["loading_mechanism"] == {"type": "IFRAME", "module_path": PREFIX + "index.js"}


def test_an_empty_log_directory_is_an_inactive_tab_that_can_be_opened(tmp_path):
    (tmp_path / "empty").mkdir()
    client = tensorboard("--logdir", str(tmp_path / "empty"))
    assert json.loads(client.get("/data/plugins_listing").get_data())["tb_steptime"]["enabled"] is False
    index = get(client, "index")
    assert (index["runs"], index["spans_total"], index["problems"]) == ([], 0, [])
    assert index["places"] == [str(tmp_path / "empty")]
    assert abs(index["scanned_at_ms"] / 1000 - time.time()) < 60


def test_an_index_a_page_a_trend(unread):
    client = tensorboard("--logdir", str(unread))
    spans = read(client)
    assert [spans[f"a/host.{number}.pt.trace.json.gz"]["number"] for number in (1, 2)] == [1, 2]
    for view in RESULTS:
        page = get(client, f"view?span={spans['a/host.2.pt.trace.json.gz']['id']}&view={view}")
        assert page["head"]["file"] == "a/host.2.pt.trace.json.gz"
        assert (page["head"]["run"], page["head"]["rank"], page["head"]["span_count"]) == ("a", 2, 2)
        assert set(page["result"]) == set(RESULTS[view].__struct_fields__)
    trends = get(client, "trends?run=a")
    assert [span["state"] for span in trends["spans"]] == ["ready", "ready"]
    assert [span["run"] for span in get(client, "trends")["spans"]] == ["a", "a", "bad"]
    for focus in ("span 1", "span 2"):
        titles = get(client, f"trends?run=a&focus={focus.replace(' ', '%20')}")["titles"]
        assert titles["steps"]["values"]["name"]["value"] == focus
    assert list(get(client, "trends?run=a&focus=a")["titles"]["steps"]["values"]) == ["median"]


def test_two_runs_are_compared_and_all_are_a_chain(tmp_path):
    """The second run was recorded later. Its ops, which the GPU waits for, take half as long."""
    for run, op_us, origin in (("slow", 20, 2), ("fast", 10, 3), ("later", 10, 4)):
        path = tmp_path / run / "host.1.pt.trace.json.gz"
        write_trace(path, op_us=op_us, baseTimeNanoseconds=origin * 10**18)
    client = tensorboard("--logdir", str(tmp_path))
    ids = {file.split("/")[0]: span["id"] for file, span in read(client).items()}
    page = get(client, f"compare?base={ids['slow']}&candidate={ids['fast']}")
    assert (page["base"]["run"], page["candidate"]["run"]) == ("slow", "fast")
    parts = page["comparison"]["waterfalls"][0]["rows"]
    step = page["comparison"]["step"]
    assert sum(row["base_ns"] for row in parts) == step["base_ns"]
    assert sum(row["candidate_ns"] for row in parts) == step["candidate_ns"]
    assert {row["id"] for row in parts} <= page["labels"].keys()
    links = get(client, "chain")["links"]
    assert [each["of"]["run"] for each in links] == ["slow", "fast", "later"]
    assert [each["link"]["from_first"] is None for each in links] == [True, False, False]
    assert [each["of"]["run"] for each in get(client, "chain?run=fast&run=later")["links"]] == ["fast", "later"]
    ordered = get(client, "chain?order=later&order=slow")["links"]
    assert [each["of"]["run"] for each in ordered] == ["later", "slow", "fast"], "the others follow as recorded"
    assert ordered[1]["link"]["from_previous"]["base_ns"] == ordered[0]["link"]["step_ns"]
    assert get(client, f"compare?base={ids['slow']}&candidate=nowhere", 404)["problem"]


def test_the_host_view_has_the_cards_that_lead_to_it(client):
    span = read(client)["a/host.2.pt.trace.json.gz"]["id"]
    pages = {view: get(client, f"view?span={span}&view={view}") for view in RESULTS}
    every = pages["overview"]["insights"]
    assert {card["view"] for card in every} > {"host"}
    assert pages["host"]["insights"] == [card for card in every if card["view"] in ("host", "timeline")]
    assert all(page["insights"] == [] for view, page in pages.items() if view not in ("overview", "host"))


def test_a_failure_is_told_in_the_users_words(bad, client):
    bad = read(client)["bad/host.1.pt.trace.json"]
    assert bad["state"] == "failed"
    assert bad["error"] == get(client, f"view?span={bad['id']}&view=overview", 422)
    assert set(bad["error"]) == {"problem", "file", "hint"}
    assert bad["error"]["file"] == "bad/host.1.pt.trace.json"
    assert get(client, f"retry?span={bad['id']}", 202)["state"] in ("unread", "reading")


def test_work_needs_the_header(unread):
    client = tensorboard("--logdir", str(unread))
    index = get(client, "index", headers={})
    span = index["runs"][0]["workers"][0]["spans"][0]
    assert get(client, f"view?span={span['id']}&view=overview", 202, headers={})["state"] == "unread"
    get(client, "trends", headers={})
    assert "header" in get(client, f"retry?span={span['id']}", 403, headers={})["problem"]
    time.sleep(0.3)
    assert list(unread.rglob("*.steptime")) == []
    assert get(client, f"view?span={span['id']}&view=overview", 202)["file"] == span["file"]
    read(client)
    assert len(list(unread.rglob("*.steptime"))) == 2


def once_read(client, route, status=200):
    """The answer to a request that causes the trace to be read again."""
    until(lambda: client.get(PREFIX + route, headers=WORK).status_code != 202)
    return get(client, route, status)


def test_events_are_read_when_they_are_first_asked_for(client):
    spans = read(client)
    first, second = (spans[f"a/host.{number}.pt.trace.json.gz"]["id"] for number in (1, 2))
    window = "from=0&to=300000&detail=100"
    assert get(client, f"timeline?span={first}&{window}", 202, headers={})["state"] == "unread"
    waiting = get(client, f"timeline?span={first}&{window}", 202)
    assert waiting["file"] == "a/host.1.pt.trace.json.gz"
    assert waiting["state"] in ("unread", "reading")
    assert get(client, f"event?span={second}&event=0", 202)["file"] == "a/host.2.pt.trace.json.gz"
    page = once_read(client, f"timeline?span={first}&{window}")
    assert (page["start_ns"], page["end_ns"]) == (0, 300_000)
    assert [track["label"] for track in page["tracks"] if track["kind"] == "stream"] == ["Stream 7"]
    assert len(page["boxes"]["event"]) == sum(page["boxes"]["count"]) == 15 + 3 + 6  # recorded, steps, phases
    for event in set(page["boxes"]["event"]):
        detail = once_read(client, f"event?span={second}&event={event}")
        assert (detail["event"], detail["facts"][0]["label"]) == (event, "Duration")
    halves = once_read(client, f"busy?span={first}&from=0&to=300000&bins=2")
    assert (halves["of"], halves["devices"], len(halves["busy_ns"]), sum(halves["kernels"])) == ("gpu", 1, 2, 3)
    assert set(get(client, f"event?span={first}&event=1000", 404)) == {"problem", "file", "hint"}
    steps = get(client, f"search?span={first}&words=profilerstep&from=0&frames=own")
    assert (steps["count"], len(steps["hits"]["event"]), sum(steps["bins"])) == (3, 3, 3)
    (track,) = steps["tracks"]
    assert get(client, f"search?span={first}&words=profilerstep&from=0&first=2&track={track['track']}")["next"] == 2


def test_memory_is_answered_by_window_and_by_instant(client, logs):
    (logs / "m").mkdir()
    (logs / "m" / "host.1.pt.trace.json").write_text(json.dumps(with_allocations(small_trace())))
    span = read(client)["m/host.1.pt.trace.json"]["id"]
    (device,) = get(client, f"view?span={span}&view=memory")["result"]["devices"]
    assert (device["peak"]["allocated_bytes"], device["growth"]["bytes_per_step"]) == (1500, 0.0)
    route = f"memory?span={span}&from=0&to=100000&bins=5"
    page = once_read(client, f"{route}&device=0&at=40000")
    assert (page["curve"]["least"], page["curve"]["most"]) == (
        [500, 500, 1500, 1500, 500],
        [500, 1500, 1500, 1500, 1500],
    )
    parts = {part["category"]: part["bytes"] for part in page["alive"]["categories"]}
    assert parts == {"temporary": 1000, "before_recording": 500}
    assert [(row["op"], row["lives_steps"]) for row in page["alive"]["rows"]] == [("aten::mm", 0)]
    assert get(client, f"{route}&device=0")["alive"] is None
    assert "no memory of such a device" in get(client, f"{route}&device=1", 404)["problem"]
    assert "`bins`" in get(client, f"memory?span={span}&from=0&to=1&device=0", 400)["problem"]


def test_events_of_a_trace_that_is_gone_cannot_be_shown(client, logs):
    span = read(client)["a/host.1.pt.trace.json.gz"]["id"]
    route = f"timeline?span={span}&from=0&to=1000&detail=1"
    once_read(client, route)
    (logs / "a" / "host.1.pt.trace.json.gz").unlink()
    get(client, "index")  # this makes the server scan the directory
    for refused in (route, f"slice?span={span}&first=6&last=6"):
        problem = get(client, refused, 422)
        assert "summary" in problem["problem"]
        assert problem["file"] == "a/host.1.pt.trace.json.gz"
    assert get(client, f"view?span={span}&view=overview")["head"]["id"] == span


@pytest.mark.parametrize(
    ("window", "word"),
    [
        ("", "from"),
        ("from=0&to=1000", "detail"),
        ("from=0.5&to=1000&detail=1", "from"),
        ("from=0&to=1e9&detail=1", "to"),
        ("from=0&to=99999999999999999999&detail=1", "to"),
        ("from=0&to=\u0661&detail=1", "to"),
        ("from=1000&to=1000&detail=1", "from"),
    ],
)
def test_a_window_that_makes_no_sense_is_a_problem(client, window, word):
    problem = get(client, f"timeline?span=0&{window}", 400)
    assert f"`{word}`" in problem["problem"]
    if word != "detail":
        assert get(client, f"busy?span=0&{window.replace('detail', 'bins')}", 400) == problem


def once_cut(client, route):
    """The response with the slice as a file, once it is made."""
    return until(lambda: (answer := client.get(PREFIX + route, headers=WORK)).status_code != 202 and answer)


def test_a_step_is_downloaded_as_the_command_cuts_it_out(client, logs, tmp_path):
    trace = logs / "a" / "host.1.pt.trace.json.gz"
    route = f"slice?span={read(client)['a/host.1.pt.trace.json.gz']['id']}&first=6&last=6"
    assert get(client, route, 202, headers={})["state"] == "unread", "nothing is begun without the header"
    assert get(client, route, 202)["file"] == "a/host.1.pt.trace.json.gz"
    answer = once_cut(client, route)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/gzip")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="a_host_span1_step6.pt.trace.json.gz"'
    assert (answer.headers["X-Content-Type-Options"], answer.headers["Cache-Control"]) == ("nosniff", "no-store")
    assert int(answer.headers["Content-Length"]) == len(answer.get_data())
    cli.main(["slice", str(trace), "--steps", "6", "-o", str(tmp_path / "out.json.gz")])
    assert gzip.decompress(answer.get_data()) == gzip.decompress((tmp_path / "out.json.gz").read_bytes())


def test_a_slice_that_makes_no_sense_is_a_problem(client):
    id = read(client)["a/host.1.pt.trace.json.gz"]["id"]
    for _ in range(2):  # the problem is reported again on the second request
        problem = json.loads(once_cut(client, f"slice?span={id}&first=800&last=810").get_data())
        assert (problem["problem"], problem["hint"]) == ("It has no steps 800 to 810", "Its steps are 5 to 7.")
    assert "`last`" in get(client, f"slice?span={id}&first=7&last=5", 400)["problem"]
    assert get(client, f"slice?span={id}&first=5&last=25", 422)["problem"] == "At most 20 steps are downloaded at once"
    assert "one step" in get(client, f"slice?span={id}~recording&first=0&last=0", 422)["problem"]


@pytest.mark.parametrize("event", ["", "-", "1.0", "x", "nan"])
def test_an_event_that_makes_no_sense_is_a_problem(client, event):
    assert "`event`" in get(client, f"event?span=0&event={event}", 400)["problem"]


@pytest.mark.parametrize(
    "route",
    [
        "timeline?span=x&from=0&to=1&detail=1",
        "busy?span=x&from=0&to=1&bins=1",
        "memory?span=x&from=0&to=1&bins=1&device=0",
        "event?span=x&event=0",
        "search?span=x&words=a&from=0",
        "slice?span=x&first=5&last=5",
        "view",
        "view?span=&view=overview",
        "view?span=../../etc/passwd&view=overview",
        "view?span=0&view=",
        "retry?span=x",
    ],
)
def test_what_is_not_there_is_a_problem(client, route):
    assert set(get(client, route, 404)) == {"problem", "file", "hint"}


def test_an_unknown_view_is_a_problem(client):
    span = read(client)["a/host.1.pt.trace.json.gz"]
    assert "no such span or view" in get(client, f"view?span={span['id']}&view=nothing", 404)["problem"]


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_only_get_is_answered(client, method):
    answer = getattr(client, method)(PREFIX + "index", headers=WORK)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "GET, HEAD"


def test_an_error_of_ours_shows_no_traceback(client, monkeypatch, caplog):
    monkeypatch.setattr(store.Store, "index", lambda *_, **__: 1 / 0)
    problem = get(client, "index", 500)
    assert "ZeroDivisionError" not in json.dumps(problem)
    assert "ZeroDivisionError" in caplog.text


def test_an_unchanged_answer_is_not_sent_again(client):
    read(client)
    first = client.get(PREFIX + "index", headers=WORK)
    again = client.get(PREFIX + "index", headers={**WORK, "If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.get_data()) == (304, b"")
    for route in ("catalogue", "trends", "opening?view=overview"):
        first = client.get(PREFIX + route, headers=WORK)
        again = client.get(PREFIX + route, headers={**WORK, "If-None-Match": first.headers["ETag"]})
        assert (first.status_code, again.status_code) == (200, 304)


def test_tensorboard_finds_no_fault_with_any_answer(client, monkeypatch):
    """TensorBoard would print a warning on the user's terminal, at each poll."""
    faults = []
    monkeypatch.setattr(security_validator, "_maybe_raise_value_error", faults.append)
    span = read(client)["a/host.2.pt.trace.json.gz"]["id"]
    routes = ["index", "catalogue", "opening?view=overview", "trends", f"view?span={span}&view=host", "view"]
    for route in [*routes, f"slice?span={span}&first=0&last=0", "nothing", "index.js", "parts/none.js"]:
        tag = client.get(PREFIX + route, headers=WORK).headers.get("ETag")
        if tag:
            assert client.get(PREFIX + route, headers={**WORK, "If-None-Match": tag}).status_code == 304
    assert faults == []


def test_the_first_answer_holds_all_of_the_first_picture(bad, client):
    assert get(client, "opening?view=host&run=bad")["page"] is None
    span = read(client)["a/host.2.pt.trace.json.gz"]["id"]
    opening = get(client, "opening?view=host&run=a&worker=host&number=2")
    assert opening["page"] == get(client, f"view?span={span}&view=host")
    assert opening["catalogue"] == get(client, "catalogue")
    assert opening["index"] | {"scanned_at_ms": 0} == get(client, "index") | {"scanned_at_ms": 0}
    assert get(client, "opening?view=none", 404)["problem"] == "There is no such span or view"


def test_the_script_brings_what_it_would_ask_for_first_once_all_is_read(tmp_path, monkeypatch):
    """Where another plugin holds the interpreter, every request has to wait. If a trace is still unread, the tab asks
    by itself, with the header."""
    write_spans(tmp_path / "logs" / "a")
    monkeypatch.setattr(bundle, "STATIC", tmp_path)
    (tmp_path / "index.js").write_text("export function render() {}")
    client = tensorboard("--logdir", str(tmp_path / "logs"))
    assert client.get(PREFIX + "index.js").get_data() == b"export function render() {}"
    read(client)
    script = client.get(PREFIX + "index.js")
    program, _, brought = script.get_data(as_text=True).partition("\nglobalThis.stepInsightsOpening = ")
    assert program == "export function render() {}"
    opening = json.loads(json.loads(brought.removesuffix(";\n")))
    answer = get(client, "opening?view=overview")
    assert opening["index"]["runs"]
    assert [opening[part] for part in ("catalogue", "page")] == [answer[part] for part in ("catalogue", "page")]
    assert opening["index"] | {"scanned_at_ms": 0} == answer["index"] | {"scanned_at_ms": 0}
    again = client.get(PREFIX + "index.js", headers={"If-None-Match": script.headers["ETag"]})
    assert (again.status_code, again.get_data()) == (304, b"")


def test_the_script_comes_where_its_first_answer_cannot(client, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(bundle, "STATIC", tmp_path)
    (tmp_path / "index.js").write_text("export function render() {}")
    monkeypatch.setattr(store.Store, "opening_at_hand", lambda *_: 1 / 0)
    assert client.get(PREFIX + "index.js").get_data() == b"export function render() {}"
    assert "ZeroDivisionError" in caplog.text


def test_an_unchanged_answer_is_not_packed_either(client, monkeypatch):
    wanted = {"Accept-Encoding": "gzip"}
    tag = client.get(PREFIX + "catalogue", headers=wanted).headers["ETag"]
    monkeypatch.setattr(responses, "_packed", lambda content: pytest.fail("packed for nobody"))
    again = client.get(PREFIX + "catalogue", headers={**wanted, "If-None-Match": tag})
    assert (again.status_code, again.get_data(), again.headers.get("Content-Encoding")) == (304, b"", None)


def test_a_large_answer_is_compressed_for_whom_it_may_be(client):
    span = read(client)["a/host.1.pt.trace.json.gz"]["id"]
    plain = client.get(f"{PREFIX}view?span={span}&view=trends", headers=WORK)
    packed = client.get(f"{PREFIX}view?span={span}&view=trends", headers={**WORK, "Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.get_data()) == plain.get_data()
    assert int(packed.headers["Content-Length"]) < len(plain.get_data())


def test_the_catalogue_is_served(client):
    catalogue = get(client, "catalogue", headers={})
    assert [view["id"] for view in catalogue["views"]] == list(RESULTS)


def test_the_bundle_is_javascript_and_says_when_it_is_missing(bad, client, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "STATIC", tmp_path)
    missing = client.get(PREFIX + "index.js")
    assert (missing.status_code, missing.headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert "make demo" in missing.get_data(as_text=True)
    (tmp_path / "index.js").write_text("export function render() {}")
    built = client.get(PREFIX + "index.js")
    assert built.get_data() == b"export function render() {}"
    assert client.get(PREFIX + "index.js", headers={"If-None-Match": built.headers["ETag"]}).status_code == 304


def test_a_part_of_the_bundle_is_kept_by_browsers_and_nothing_else_is_served(client, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "STATIC", tmp_path / "static")
    (tmp_path / "static" / "parts").mkdir(parents=True)
    (tmp_path / "static" / "index.js").write_text("the entry")
    (tmp_path / "static" / "parts" / "host-A_b-1.js").write_text("export const Host = 1;")
    (tmp_path / "static" / "parts" / "sans-A_b-1.woff2").write_bytes(b"wOF2" + bytes(2_000))
    (tmp_path / "static" / "parts" / "secret.txt").write_text("secret")
    (tmp_path / "secret.js").write_text("secret")
    part = client.get(PREFIX + "parts/host-A_b-1.js")
    assert (part.status_code, part.get_data()) == (200, b"export const Host = 1;")
    assert part.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert part.headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert part.headers["X-Content-Type-Options"] == "nosniff"
    font = client.get(PREFIX + "parts/sans-A_b-1.woff2", headers={"Accept-Encoding": "gzip"})
    assert (font.status_code, font.get_data()) == (200, b"wOF2" + bytes(2_000)), "as it is, not packed again"
    assert font.headers["Content-Type"] == "font/woff2"
    assert font.headers["Cache-Control"] == "private, max-age=31536000, immutable"
    again = client.get(PREFIX + "parts/sans-A_b-1.woff2", headers={"If-None-Match": font.headers["ETag"]})
    assert (again.status_code, again.headers["Content-Type"]) == (304, "font/woff2")
    names = ["", "host-other.js", "secret.txt", "../index.js", "..%2findex.js", "%2e%2e/index.js", "../../secret.js"]
    for name in [*names, "..%5csecret.js", "/etc/passwd", "parts/host-A_b-1.js", "host-A_b-1.js/", "host-A_b-1.js%00"]:
        other = client.get(PREFIX + "parts/" + name)
        assert (other.status_code, b"secret" in other.get_data()) == (404, False), name


def test_a_report_is_a_file_to_download_for_the_tab_alone(client, tmp_path, monkeypatch):
    read(client)
    monkeypatch.setattr(bundle, "STATIC", tmp_path)
    assert "header" in get(client, "report", 403, headers={})["problem"]
    assert "without its front end" in get(client, "report", 422)["problem"]
    (tmp_path / "report.js").write_text("// the program")
    answer = client.get(PREFIX + "report", headers=WORK)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="report.html"'
    assert (answer.headers["X-Content-Type-Options"], answer.headers["Cache-Control"]) == ("nosniff", "no-store")
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'"
    assert answer.get_data().startswith(b"<!DOCTYPE html><!-- Step Insights report -->")
    assert len(answer.get_data()) == int(answer.headers["Content-Length"])


def test_a_report_opens_where_it_was_saved_and_has_the_pair_that_is_compared_there(client, tmp_path, monkeypatch):
    spans = read(client)
    monkeypatch.setattr(bundle, "STATIC", tmp_path)
    (tmp_path / "report.js").write_text("// the program")
    monkeypatch.setattr("tb_steptime.serve.report.included.pairs_of", lambda spans: iter(()))
    hostile = "</script>&\u2028"
    base, candidate = (span["id"] for span in list(spans.values())[:2])
    asked = [("key", "view"), ("value", "compare"), ("key", "with"), ("value", hostile)]
    pair = [("base", base), ("candidate", candidate)]
    for more, pairs in (([], []), (pair, [([base], [candidate])]), ([("base", "no"), ("candidate", "such")], [])):
        page = client.get(f"{PREFIX}report?{urlencode([*asked, *more])}", headers=WORK).get_data(as_text=True)
        packed = re.search('id="answers">([A-Za-z0-9+/=]*)<', page)[1]
        answers = in_rows(json.loads(gzip.decompress(base64.b64decode(packed))))
        assert answers["place"] == {"view": "compare", "with": hostile}
        assert [(page["base"]["spans"], page["candidate"]["spans"]) for page in answers["pairs"]] == pairs


def test_a_logdir_spec_names_runs(bad, logs):
    client = tensorboard("--logdir_spec", f"base:{logs / 'a'},new:{logs}")
    assert [run["name"] for run in get(client, "index")["runs"]] == ["base", "new/a", "new/bad"]


def test_no_answer_tells_where_the_log_directory_really_is(client, logs):
    for span in read(client).values():
        for view in RESULTS:
            answer = client.get(f"{PREFIX}view?span={span['id']}&view={view}", headers=WORK)
            assert str(logs) not in answer.get_data(as_text=True)


def test_the_entry_module_imports_nothing_that_might_be_missing():
    """For the user, an ImportError in that module would stop TensorBoard."""
    source = (
        "import sys; before = set(sys.modules); import tb_steptime.plugin; "
        "print([name for name in ('numpy', 'msgspec', 'isal', 'werkzeug') if name in set(sys.modules) - before])"
    )
    printed = subprocess.run([sys.executable, "-c", source], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == "[]"


def test_a_context_without_flags_still_loads(tmp_path):
    made = StepTimePlugin(base_plugin.TBContext(logdir=str(tmp_path)))
    assert made.is_active() is False
    assert "/index" in made.get_plugin_apps()


def test_scalars_of_event_files_beside_a_trace(bad, logs):
    """The event files hold simple values, as torch.utils.tensorboard writes
    them; TensorBoard converts them to scalars."""
    write_scalars(logs / "a", "train/loss", [2.5, 1.25])
    client = tensorboard("--logdir", str(logs))
    read(client)
    assert get(client, "scalars?run=a") == {"tags": ["train/loss"], "series": []}
    (series,) = get(client, "scalars?run=a&tag=train/loss")["series"]
    written = series.pop("wall_ns")
    assert 0 <= written[1] - written[0] < 10**9
    assert series == {"source": "a", "tag": "train/loss", "steps": [0, 1], "values": [2.5, 1.25]}
    assert get(client, "scalars?run=bad") == {"tags": [], "series": []}
