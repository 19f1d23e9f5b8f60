"""`tb-steptime snapshot`: snapshots and folders of snapshots as text and JSON, and one error for anything else."""

from __future__ import annotations

import json
import pickle

import tb_steptime
from tb_steptime import cli
from tb_steptime.snapshots.summary import PAGE
from tests.drawn.snapshots import Allocator


def snapshot(capsys, *arguments):
    code = cli.main(["snapshot", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def written(folder, name="rank0_step_7.pickle"):
    made = Allocator(segment=4 * PAGE)
    blocks = [made.alloc(PAGE, "/home/user/train.py", line) for line in (3, 3, 4, 4)]
    made.free(blocks[0])
    made.free(blocks[2])
    made.out_of_memory(2 * PAGE, 0, "/home/user/train.py", 8)
    path = folder / name
    path.write_bytes(pickle.dumps(made.state()))
    return path


def test_a_table_says_why_memory_ran_out_and_names_lines(tmp_path, capsys):
    code, out, err = snapshot(capsys, written(tmp_path))
    assert (code, err) == (0, "")
    lines = out.replace("\u00a0", " ").splitlines()
    assert lines[3].startswith(
        "Out of memory: 4.2 MB asked at train.py:8, 0 B free on the GPU, 4.2 MB free in segments"
    )
    assert "expandable_segments:True" in lines[3]
    assert ["train.py:3", "step", "4.2", "MB", "2", "2.1", "MB", "5", "µs"] in map(str.split, lines)


def test_json_of_a_folder_leaves_out_other_pickles(tmp_path, capsys):
    (tmp_path / "deep").mkdir()
    written(tmp_path / "deep")
    (tmp_path / "other.pickle").write_bytes(pickle.dumps({"weights": [1, 2]}))
    code, out, err = snapshot(capsys, tmp_path, "--format", "json")
    report = json.loads(out)
    (found,), errors = report.values()
    (device,) = found["devices"]
    assert (code, err, errors, found["lost"]) == (0, "", [], {})
    assert (device["peak_in_use_bytes"], device["in_use_bytes"], device["reserved_bytes"]) == (
        4 * PAGE,
        2 * PAGE,
        4 * PAGE,
    )
    assert len(device["curve"]["time_us"]) == len(device["curve"]["in_use_bytes"])


def test_what_each_line_holds_more_than_in_an_earlier_snapshot(tmp_path, capsys):
    before, path = Allocator(), written(tmp_path)
    before.alloc(PAGE, "/home/user/train.py", 3)
    earlier = tmp_path / "earlier.pickle"
    earlier.write_bytes(pickle.dumps(before.state()))
    code, out, err = snapshot(capsys, path, "--since", earlier)
    lines = out.replace("\u00a0", " ").splitlines()
    assert (code, err) == (0, "")
    assert "GPU 0: +2.1 MB in use, +6.3 MB reserved" in lines
    assert ["train.py:4", "step", "0", "B", "2.1", "MB", "+2.1", "MB", "+1"] in map(str.split, lines)
    assert tb_steptime.snapshot(path, since=earlier).growth[0].more_bytes == PAGE
    assert snapshot(capsys, path, "--since", tmp_path / "none.pickle")[0] == 1


def test_a_folder_without_snapshots_is_a_problem(tmp_path, capsys):
    code, out, err = snapshot(capsys, tmp_path)
    assert (code, out) == (1, "")
    assert err.startswith(f"{tmp_path}: The folder holds no memory snapshots. ")


def test_a_pickle_that_would_run_code_is_one_line(tmp_path, capsys):
    path = tmp_path / "evil.pickle"
    path.write_bytes(b"cos\nsystem\n(S'echo'\ntR.")
    code, out, err = snapshot(capsys, path)
    assert (code, out) == (1, "")
    assert "GLOBAL" in err and "Traceback" not in err
