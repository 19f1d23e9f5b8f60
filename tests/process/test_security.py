"""What a web page of another origin gets: no response that it can read, and it cannot start any work."""

from __future__ import annotations

import pytest

from tests.drawn.small_trace import write_trace
from tests.process.boards import PREFIX, WORK, tensorboard

pytestmark = pytest.mark.usefixtures("at_once")

ROUTES = ("index", "catalogue", "opening?view=overview", "view", "trends", "timeline", "report", "retry", "index.js")


@pytest.fixture
def client(tmp_path):
    write_trace(tmp_path / "logs" / "a" / "w.1.pt.trace.json")
    return tensorboard("--logdir", str(tmp_path / "logs"))


@pytest.mark.parametrize("headers", [WORK, {}])
def test_no_answer_is_for_another_origin(client, headers):
    for route in ROUTES:
        answer = client.get(PREFIX + route, headers={**headers, "Origin": "http://elsewhere"})
        assert [name for name, _ in answer.headers if name.startswith("Access-Control")] == []
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_browser_that_asks_for_another_origin_whether_it_may_send_the_header_is_refused(client):
    headers = {
        "Origin": "http://elsewhere",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "X-Tb-Steptime",
    }
    answer = client.options(PREFIX + "index", headers=headers)
    assert answer.status_code == 405
    assert [name for name, _ in answer.headers if name.startswith("Access-Control")] == []


def test_the_tab_stands_in_a_page_that_runs_scripts_of_this_server_only(client):
    policy = client.get("/data/plugin_entry.html?name=tb_steptime").headers["Content-Security-Policy"]
    directives = dict(each.split(" ", 1) for each in policy.split(";"))
    assert directives["default-src"] == "'self'"
    assert directives["connect-src"] == "'self'"
    assert directives["object-src"] == "'none'"
    scripts = set(directives["script-src"].split()) - {"'self'", "'unsafe-eval'"}
    assert all(each.startswith("'sha256-") for each in scripts)
