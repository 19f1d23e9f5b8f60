"""Whole answers of the routes on the demo recordings, held against files that were read by a person.

`make golden` writes them anew; the difference is then to be read before it is committed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tensorboard.plugins import base_plugin
from werkzeug.test import Client

from tb_steptime.plugin import StepTimePlugin
from tb_steptime.serve import store
from tests import PROJECT

DEMO = PROJECT / "demo_logs"
GOLDEN = PROJECT / "tests" / "golden"
WRITE = "TB_STEPTIME_WRITE_GOLDEN" in os.environ

WORK = {"X-Tb-Steptime": "1"}
VIEWS = ("overview", "data_loading", "tensor_cores")
#: A trends answer holds every metric: two of them show the format, and the others nothing new.
TRENDS_OF = ("baseline_simulated", "cpu_baseline")
#: So does one of the GPU, of which the first of many rows and the coarsest strips are enough.
GPU_OF = ("baseline_simulated", "cpu_baseline")
FIRST = 3
#: Sums of floats may differ in their last digits between builds of numpy.
DIGITS = 9

pytestmark = pytest.mark.skipif(not DEMO.is_dir(), reason="the demo recordings are not in this checkout")

_NUMBERS = re.compile(r"\[\s+((?:(?:-?[\d.e+-]+|null|true|false)(?:,\s+)?)+)\s+\]")


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Answers of the routes over a copy of the demo recordings, all of which are read."""
    logs = tmp_path_factory.mktemp("golden") / "demo_logs"
    shutil.copytree(DEMO, logs, ignore=shutil.ignore_patterns("*.steptime"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(logs.parent / "cache"))
        patch.setattr(store, "SETTLE_SECONDS", 0.0)
        plugin = StepTimePlugin(base_plugin.TBContext(logdir=str(logs)))
        routes = {path: Client(route) for path, route in plugin.get_plugin_apps().items()}

        def answer(route: str, **query: str) -> Any:
            response = routes[f"/{route}"].get("/", query_string=query, headers=WORK)
            assert response.status_code == 200, response.get_data(as_text=True)
            return json.loads(response.get_data())

        _until_read(answer)
        yield answer
        plugin.store.close()


def _until_read(answer: Any) -> None:
    end = time.monotonic() + 300
    while (index := answer("index"))["spans_ready"] < index["spans_total"]:
        assert time.monotonic() < end, index
        time.sleep(0.1)


def _runs() -> list[str]:
    return sorted(folder.name for folder in DEMO.iterdir() if folder.is_dir()) if DEMO.is_dir() else []


def _first_span(ask: Any, run: str) -> str:
    (entry,) = (each for each in ask("index")["runs"] if each["name"] == run)
    return str(entry["workers"][0]["spans"][0]["id"])


def _hold(name: str, answer: Any) -> None:
    path = GOLDEN / f"{name}.json"
    text = _readable(_rounded(answer))
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), "make golden writes it"
    assert json.loads(text) == json.loads(path.read_text(encoding="utf-8"))


def _readable(answer: Any) -> str:
    """One fact a line, but a list of numbers in one."""
    text = json.dumps(answer, indent=1, ensure_ascii=False)
    return _NUMBERS.sub(lambda found: f"[{', '.join(found[1].split())}]".replace(",,", ","), text) + "\n"


def _rounded(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: _rounded(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [_rounded(value) for value in answer]
    return float(f"{answer:.{DIGITS}g}") if isinstance(answer, float) else answer


def test_index(ask: Any) -> None:
    index = ask("index")
    index["places"] = [Path(place).name for place in index["places"]]
    _hold("index", index | {"version": "", "looked_at_ms": 0})


def test_catalogue(ask: Any) -> None:
    _hold("catalogue", ask("catalogue"))


@pytest.mark.parametrize("run", _runs())
@pytest.mark.parametrize("view", VIEWS)
def test_view(ask: Any, run: str, view: str) -> None:
    _hold(f"{run}.{view}", ask("view", span=_first_span(ask, run), view=view))


@pytest.mark.parametrize("run", TRENDS_OF)
def test_trends(ask: Any, run: str) -> None:
    _hold(f"{run}.trends", ask("trends", run=run))


@pytest.mark.parametrize("run", GPU_OF)
def test_gpu(ask: Any, run: str) -> None:
    page = ask("view", span=_first_span(ask, run), view="gpu")
    for device in page["result"]["devices"]:
        for strip in device["strips"]:
            del strip["levels"][1:]
        for rows in (*(table["rows"] for table in device["tables"]), device["details"]):
            del rows[FIRST:]
    _hold(f"{run}.gpu", page)
