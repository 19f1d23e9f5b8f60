"""Which ranks block a job: generated dumps with a known culprit, and dumps of a job whose faulty ranks are known."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime import cli
from tb_steptime.files.paths import any_path
from tb_steptime.hangs.dumps import read_dump
from tb_steptime.hangs.verdict import find_hang
from tests.drawn.real_traces import DUMPS_OF_16_RANKS, real_path

WORLD = 8
#: The groups of a job with tensor and data parallelism: pairs of neighbours, and one group of all ranks.
GROUPS = {f"t{pair}": (2 * pair, 2 * pair + 1) for pair in range(WORLD // 2)} | {"all": tuple(range(WORLD))}


def dump(progress, *, frames=()):
    """The dump of one rank. progress: by group, the numbers of the last collective that was begun and finished."""
    return {
        "version": "2.10",
        "pg_config": {
            str(number): {"name": group, "desc": f"GROUP_{group}", "ranks": str(list(ranks))}
            for number, (group, ranks) in enumerate(GROUPS.items())
        },
        "pg_status": {
            str(number): {
                "last_enqueued_collective": begun,
                "last_started_collective": -1,
                "last_completed_collective": end,
            }
            for number, (begun, end) in enumerate(progress.values())
        },
        "entries": [
            {
                "pg_id": number,
                "process_group": (group, f"GROUP_{group}"),
                "collective_seq_id": sequence,
                "profiling_name": "nccl:all_reduce",
                "state": "completed" if sequence <= end else "scheduled",
                "is_p2p": False,
                "retired": False,
                "frames": list(frames),
            }
            for number, (group, (begun, end)) in enumerate(progress.items())
            for sequence in range(max(end, 1), begun + 1)
        ],
    }


def written(folder, jobs):
    """Write the dumps and find the hang. jobs: by rank, its progress."""
    for rank, progress in jobs.items():
        (folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(dump(progress)))
    return find_hang([read_dump(any_path(path)) for path in folder.iterdir()])


def groups_of(rank):
    return [group for group, ranks in GROUPS.items() if rank in ranks]


@given(st.integers(0, WORLD - 1), st.integers(5, 50))
def test_a_gpu_that_stops_is_told_by_what_others_have_finished(tmp_path_factory, faulty, at):
    jobs = {rank: dict.fromkeys(groups_of(rank), (at + 3, at)) for rank in range(WORLD)}
    for group in groups_of(faulty):
        jobs[faulty][group] = (at + 3, at - 2)
    found = written(tmp_path_factory.mktemp("dumps"), jobs)
    assert [(row.rank, row.why) for row in found.behind] == [(faulty, "finish")]
    assert (found.missing, found.waiting) == ([], [rank for rank in range(WORLD) if rank != faulty])


@given(st.integers(0, WORLD - 1), st.integers(5, 50))
def test_a_program_that_stops_is_told_by_what_others_have_begun_and_its_neighbour_is_not_blamed(
    tmp_path_factory, stopped, at
):
    """The neighbour waits in the pair for the stopped rank, so it has not begun what the others have begun in "all"."""
    jobs = {
        rank: {group: (at, at) if group != "all" else (at + 1, at) for group in groups_of(rank)}
        for rank in range(WORLD)
    }
    pair = next(group for group in groups_of(stopped) if group != "all")
    neighbour = next(rank for rank in GROUPS[pair] if rank != stopped)
    jobs[stopped] = {pair: (at, at), "all": (at, at)}
    jobs[neighbour] = {pair: (at + 1, at), "all": (at, at)}
    found = written(tmp_path_factory.mktemp("dumps"), jobs)
    assert [(row.rank, row.why) for row in found.behind] == [(stopped, "begin")]


def test_ranks_that_have_done_the_same_are_not_blamed(tmp_path):
    found = written(tmp_path, {rank: dict.fromkeys(groups_of(rank), (9, 9)) for rank in range(WORLD)})
    assert (found.behind, found.waiting) == ([], [])


def test_ranks_without_a_dump_are_named(tmp_path):
    found = written(tmp_path, {rank: dict.fromkeys(groups_of(rank), (9, 8)) for rank in range(WORLD - 2)})
    assert found.missing == [WORLD - 2, WORLD - 1]


def test_the_faulty_ranks_of_a_real_job_are_found():
    found = find_hang([read_dump(path) for path in real_path(DUMPS_OF_16_RANKS).glob("_dump_*")])
    assert [(row.rank, row.why) for row in found.behind] == [(12, "finish"), (14, "finish")]
    assert (len(found.waiting), found.missing) == (14, [])


@pytest.fixture
def folder(tmp_path):
    frames = [{"filename": "/home/user/train.py", "line": 40, "name": "step"}]
    for rank in range(WORLD):
        end = 5 if rank == 3 else 7
        progress = dict.fromkeys(groups_of(rank), (8, end))
        (tmp_path / f"dump_{rank}").write_bytes(pickle.dumps(dump(progress, frames=frames)))
    (tmp_path / "notes_1").write_text("no dump")
    return tmp_path


def test_the_command_says_it_in_a_sentence_and_a_table(folder, capsys):
    assert cli.main(["hang", str(folder)]) == 0
    out, err = capsys.readouterr()
    said, table = out.split("\n\n")
    first, (head, row) = " ".join(said.splitlines()), table.splitlines()
    assert max(map(len, said.splitlines())) <= 80, "a sentence is wrapped"
    assert (
        first.startswith("Rank 3 blocks the job: its GPU has not finished "),
        first.endswith("Ranks 0 to 2 and 4 to 7 wait."),
        err,
    ) == (
        True,
        True,
        "",
    )
    assert head.split()[0] == "Rank"
    assert row.split() == ["3", "t1", "GROUP_t1", "5", "7", "8", "8", "nccl:all_reduce", "train.py:40"]


def test_the_json_and_what_is_no_dump(folder, capsys):
    assert cli.main(["hang", str(folder), "--format", "json"]) == 0
    job = json.loads(capsys.readouterr().out)["job"]
    assert (job["ranks"], [row["rank"] for row in job["behind"]]) == (list(range(WORLD)), [3])
    for path in (folder / "notes_1", folder / "not_there_7"):
        assert cli.main(["hang", str(path)]) == 1
        out, err = capsys.readouterr()
        assert out == "" and str(path) in err and "Traceback" not in err
    (folder / "empty").mkdir()
    assert cli.main(["hang", str(folder / "empty")]) == 1
    assert "no dump" in capsys.readouterr().err
