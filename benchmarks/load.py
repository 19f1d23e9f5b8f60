"""Measures a TensorBoard that many people have open while traces arrive: `python -m benchmarks.load`.

Each client sends the requests of a tab, with short pauses: for the index, for a view of a recording, for a window of a
timeline. No answer may be an error, though it may say "wait"; and each has to equal the answer to a single client at
rest.

    one client   ask ask ask
    clients                  ask ask ask ask ...        every 200: remembered by its question, compared with the first
    a writer      +run    +run    +run    +run
    at the end                                  ask     each question once more, by one client alone
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import statistics
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks.generate import write_trace
from tb_steptime.analyses import ANALYSES
from tools.serve import TensorBoard

MODULE = "tools.tensorboard_with_ours"
SMALL_BYTES = 500_000
#: Recordings that exist before the load, and the pause between those that arrive.
FIRST_RUNS, ARRIVAL_SECONDS = 8, 2.0
#: The number of recordings whose timeline is open.
DRAWN_RUNS = 3
#: At first a single client asks alone, for one part in so many of the time.
ALONE_SHARE = 6
#: The pause between two requests of a client: a person who never stops to think.
REST_SECONDS = 0.1
WAIT_SECONDS = 120.0
HEADERS = {"X-Tb-Steptime": "1"}
VIEWS = [each.id for each in ANALYSES]


@dataclass
class Load:
    """What all clients saw. told: for each request, the digest of the first answer. wrong: what was not as it should
    be.
    """

    url: str
    told: dict[str, str] = field(default_factory=dict)
    took_ms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    alone_ms: dict[str, list[float]] = field(default_factory=dict)
    answered: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, route: str, **query: Any) -> Any:
        """The answer with status 200; None for one that says "wait" or is wrong."""
        question = f"{route}?{urlencode(query)}"
        began = time.perf_counter()
        status, content = _get(f"{self.url}data/plugin/tb_steptime/{question}")
        took = 1e3 * (time.perf_counter() - began)
        with self.lock:
            self.took_ms[route].append(took)
            self.answered[route, status] += 1
            if status not in (200, 202):
                self.wrong.append(f"{status} for {question}: {content[:200]!r}")
        answer = json.loads(content) if status == 200 else None
        if answer is not None and route != "index":
            self._compare(question, answer)
        return answer

    def _compare(self, question: str, answer: Any) -> None:
        """The result and the timeline of a page belong to one file, whatever else arrives."""
        said = json.dumps(answer.get("result", answer), sort_keys=True)
        digest = hashlib.blake2b(said.encode()).hexdigest()
        with self.lock:
            if self.told.setdefault(question, digest) != digest:
                self.wrong.append(f"another answer for {question}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    load = measured(arguments.clients, arguments.seconds)
    who = f"{arguments.clients} clients for {arguments.seconds:.0f} s"
    print(f"| {who} | answers | wait | median | p95 | one client: median | p95 |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for route, each in sorted(load.took_ms.items()):
        waits = load.answered[route, 202]
        print(f"| {route} | {len(each):,} | {waits:,} | {_spread(each)} | {_spread(load.alone_ms[route])} |")
    print(f"\n{len(load.wrong)} wrong; {len(load.told)} questions asked again by one client.")
    for each in load.wrong[:20]:
        print(each)


def _spread(took_ms: list[float]) -> str:
    """Median and 95th percentile, as two cells."""
    return f"{statistics.median(took_ms):.0f} ms | {statistics.quantiles(took_ms, n=20)[-1]:.0f} ms"


def measured(clients: int, seconds: float) -> Load:
    """Measures a TensorBoard of its own, until the last trace has been read and each request was repeated."""
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder)
        for number in range(FIRST_RUNS):
            _arrive(logs, number)
        server = TensorBoard(logs, module=MODULE)
        try:
            load = Load(server.url)
            _until_read(load, FIRST_RUNS)
            _until_drawn(load)
            load.alone_ms = _asked(load, logs, 1, seconds / ALONE_SHARE)
            load.took_ms = _asked(load, logs, clients, seconds)
            _ask_again(load, sum(1 for _ in logs.iterdir()))
        finally:
            server.stop()
    return load


def _asked(load: Load, logs: Path, clients: int, seconds: float) -> dict[str, list[float]]:
    """How long the answers took with this many clients over this time, by route; traces arrive meanwhile."""
    load.took_ms, load.answered = defaultdict(list), Counter()
    over = threading.Event()
    threads = [threading.Thread(target=_client, args=(load, seed, over)) for seed in range(clients)]
    threads.append(threading.Thread(target=_write, args=(logs, over)))
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    over.set()
    for thread in threads:
        thread.join()
    return load.took_ms


def _client(load: Load, seed: int, over: threading.Event) -> None:
    chosen, seen = random.Random(seed), 0
    while not over.wait(REST_SECONDS):
        index = load.ask("index")
        spans = _ready(index) if index else []
        if len(spans) < seen:
            load.wrong.append(f"{len(spans)} recordings are read, {seen} were before")
        seen = len(spans)
        load.ask("view", span=chosen.choice(spans)["id"], view=chosen.choice(VIEWS))
        _timeline(load, chosen.choice(spans[:DRAWN_RUNS])["id"], chosen.randrange(4))


def _timeline(load: Load, span: str, window: int) -> Any:
    start = window * 10**7
    return load.ask("timeline", span=span, **{"from": start, "to": start + 10**7, "detail": 10**4})


def _write(logs: Path, over: threading.Event) -> None:
    number = sum(1 for _ in logs.iterdir())
    while not over.wait(ARRIVAL_SECONDS):
        _arrive(logs, number)
        number += 1


def _arrive(logs: Path, number: int) -> None:
    """Adds a run of its own, so that the pages of the others stay as they are."""
    place = logs / f"run{number}" / "worker.1.pt.trace.json.gz"
    place.parent.mkdir()
    write_trace(place, SMALL_BYTES + 5_000 * number)


def _until_read(load: Load, spans: int) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while len(_ready(load.ask("index"))) < spans:
        assert time.monotonic() < end
        time.sleep(0.1)


def _until_drawn(load: Load) -> None:
    for span in _ready(load.ask("index"))[:DRAWN_RUNS]:
        while _timeline(load, span["id"], 0) is None and not load.wrong:
            time.sleep(0.1)


def _ask_again(load: Load, spans: int) -> None:
    """Once everything has been read, one client repeats each request in turn; one that has to wait is repeated until it
    is answered.
    """
    took_ms, answered = dict(load.took_ms), load.answered
    load.took_ms, load.answered = defaultdict(list), Counter()
    _until_read(load, spans)
    for question in sorted(load.told):
        route, _, query = question.partition("?")
        end = time.monotonic() + WAIT_SECONDS
        while load.ask(route, **dict(pair.split("=") for pair in query.split("&"))) is None and not load.wrong:
            assert time.monotonic() < end
            time.sleep(0.02)
    load.took_ms, load.answered = defaultdict(list, took_ms), answered


def _ready(index: Any) -> list[Any]:
    spans = (span for run in index["runs"] for worker in run["workers"] for span in worker["spans"])
    return [span for span in spans if span["state"] == "ready"]


def _get(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=HEADERS), timeout=WAIT_SECONDS) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError as error:
        return 0, str(error).encode()


if __name__ == "__main__":
    main()
