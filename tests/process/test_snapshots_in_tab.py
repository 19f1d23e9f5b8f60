"""Memory snapshots in a log directory: found, listed, read by another process, and served."""

from __future__ import annotations

import json
import pickle

import msgspec
import pytest

from tb_steptime.ingest.discovery import Discovery
from tb_steptime.ingest.names import Place, SnapshotName, snapshot_name
from tb_steptime.serve.wire import Index
from tests.drawn.snapshots import Allocator
from tests.drawn.stores import until
from tests.process.boards import PREFIX, WORK, tensorboard

PAGE = 2 << 20


def job(more=0):
    made = Allocator(segment=4 * PAGE)
    blocks = [made.alloc(PAGE, "/home/user/train.py", line) for line in (3, 3, 4, 4)]
    made.free(blocks[0])
    made.free(blocks[2])
    for _ in range(more):
        made.alloc(100, "/home/user/leak.py", 9)
    made.out_of_memory(2 * PAGE, 0, "/home/user/train.py", 8)
    return made


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "logs" / "run"
    folder.mkdir(parents=True)
    for step in (2, 10):
        (folder / f"000003_step_{step}.pickle").write_bytes(pickle.dumps(job(step).state()))
    (folder / "weights.pkl").write_bytes(pickle.dumps({"weights": [1, 2]}))
    (folder / "cut.pickle").write_bytes(pickle.dumps(job().state())[:-100])
    return folder.parent


def get(client, route, status=200):
    """The answer, once it is ready."""
    answer = until(lambda: (answer := client.get(PREFIX + route, headers=WORK)).status_code != 202 and answer)
    assert answer.status_code == status, answer.get_data(as_text=True)
    return json.loads(answer.get_data())


def indexed(client):
    return msgspec.convert(get(client, "index"), Index)


def test_snapshots_are_listed_and_served_with_windows_moments_and_growth(logs):
    client = tensorboard("--logdir", str(logs))
    index = indexed(client)
    assert index.runs == []
    assert [(each.run, each.name, each.rank, each.step) for each in index.snapshots] == [
        ("run", "cut", None, None), ("run", "000003_step_2", 3, 2), ("run", "000003_step_10", 3, 10),
    ]  # fmt: skip
    cut, early, late = (each.id for each in index.snapshots)
    page = get(client, f"snapshot?id={late}&device=0&bins=8")
    (device,) = page["summary"]["devices"]
    assert page["summary"]["path"] == "000003_step_10.pickle"
    assert page["headline"]["verdict"]["values"]["asked"] == {"value": 2 * PAGE, "unit": "bytes"}
    assert max(page["curve"]["most"]) == device["peak_in_use_bytes"] == page["at_bytes"] == 4 * PAGE
    assert page["stacks"]["names"] == ["all", "train.py:4 step", "train.py:3 step"]
    assert page["growth"] is None and sum(page["strips"][0]["size"]) == page["strips"][0]["bytes"]
    window = get(client, f"snapshot?id={late}&device=0&bins=4&from=0&to=3000&at=2500&since={early}")
    assert (window["curve"]["start_ns"], window["curve"]["end_ns"], len(window["curve"]["most"])) == (0, 3000, 4)
    assert (window["at_ns"], window["at_bytes"], window["at_count"]) == (2500, 2 * PAGE, 2)
    (line,) = window["growth"]["lines"]
    assert (line["line"], line["before_bytes"], line["after_bytes"]) == ("leak.py:9", 200, 1000)
    problem = get(client, f"snapshot?id={cut}&device=0&bins=8", 422)
    assert problem["file"] == "run/cut.pickle" and problem["problem"] and problem["hint"]


@pytest.mark.parametrize(
    ("query", "status"),
    [("id=none&device=0&bins=8", 404), ("id={id}&device=7&bins=8", 404), ("id={id}&device=-1&bins=8", 400),
     ("id={id}&device=0", 400), ("id={id}&device=0&bins=8&from=5&to=5", 400), ("id={id}&device=0&bins=8&since=x", 404)],
)  # fmt: skip
def test_what_there_is_not_is_a_problem(logs, query, status):
    client = tensorboard("--logdir", str(logs))
    id = indexed(client).snapshots[1].id
    assert get(client, f"snapshot?{query.format(id=id)}", status)["problem"]


@pytest.mark.parametrize(
    ("folder", "name", "expected"),
    [
        ("a/", "000003_step_10.pickle", SnapshotName("logs/a", "000003_step_10", 3, 10)),
        ("a/iteration_10/", "rank3_memory_snapshot.pickle", SnapshotName("logs/a", "rank3_memory_snapshot", 3, 10)),
        ("", "snapshot.pickle", SnapshotName("logs", "snapshot", None, None)),
        ("b/", "memory_step-4.pkl", SnapshotName("logs/b", "memory_step-4", None, 4)),
    ],
)
def test_names_say_rank_and_step(tmp_path, folder, name, expected):
    assert snapshot_name(Place("logs", tmp_path, "logs"), folder, name) == expected


def test_a_scan_that_finds_the_same_again_opens_nothing(logs):
    discovery = Discovery([Place("logs", logs, "logs")])
    first = discovery.scan()
    assert len(first.snapshots) == 3 and discovery.scan() is first
    (logs / "run" / "000003_step_2.pickle").unlink()
    assert len(discovery.scan().snapshots) == 2
