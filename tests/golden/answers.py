"""The routes' answers over a log directory. Run as a script, it prints the answers of the imported checkout.

PYTHONPATH=CHECKOUT python tests/golden/answers.py LOGDIR > answers.json
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tensorboard.plugins import base_plugin
from werkzeug.test import Client

from tb_steptime.plugin import StepTimePlugin

#: Long enough for all demo recordings, on a machine that is also doing other work.
PATIENCE_SECONDS = 300


class Answers:
    """Answers of the routes over a log directory, after all of it has been read."""

    def __init__(self, plugin: StepTimePlugin) -> None:
        self.routes = {path: Client(route) for path, route in plugin.get_plugin_apps().items()}
        end = time.monotonic() + PATIENCE_SECONDS
        while (index := self.get("index"))["spans_ready"] < index["spans_total"]:
            assert time.monotonic() < end, index
            time.sleep(0.1)

    def get(self, route: str, **query: str) -> Any:
        response = self.routes[f"/{route}"].get("/", query_string=query, headers={"X-Tb-Steptime": "1"})
        assert response.status_code == 200, response.get_data(as_text=True)
        return json.loads(response.get_data())

    def views(self) -> list[str]:
        return [view["id"] for view in self.get("catalogue")["views"]]

    def runs(self) -> list[str]:
        return [run["name"] for run in self.get("index")["runs"]]

    def pages(self, run: str) -> dict[str, Any]:
        """Every view of the run's first span, by the view's id."""
        (entry,) = (each for each in self.get("index")["runs"] if each["name"] == run)
        span = entry["workers"][0]["spans"][0]["id"]
        return {view: self.get("view", span=span, view=view) for view in self.views()}


@contextmanager
def answers_of(logdir: Path) -> Iterator[Answers]:
    plugin = StepTimePlugin(base_plugin.TBContext(logdir=str(logdir)))
    try:
        yield Answers(plugin)
    finally:
        plugin.store.close()


def main(logdir: str) -> None:
    with answers_of(Path(logdir)) as answers:
        json.dump({run: answers.pages(run) for run in answers.runs()}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
