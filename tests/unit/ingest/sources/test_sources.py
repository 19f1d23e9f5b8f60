"""The text of source files: which file is read, how much of it is trusted, and what is never opened."""

from __future__ import annotations

import gzip
import json
import os

import pytest

from tb_steptime.ingest.sources import (
    VARIABLE,
    Function,
    SourceMark,
    SourceText,
    file_in,
    functions_of,
    source_text,
    user_folders,
)
from tb_steptime.record.sources import FORMAT, MOST_FILE_BYTES

TEXT = '''import torch


@torch.no_grad()
def evaluate(net):
    scores = [score(x) for x in net]

    def score(x):  # inside another one
        return x
    return scores


async def main(): return 1
class Net:
    def forward(
        self,
    ):
        """Ends
late."""
        for x in self:
            yield x
'''


def test_functions_begin_with_their_decorators_and_end_with_their_last_line():
    assert functions_of(TEXT) == [
        Function("evaluate", 4, 10),
        Function("score", 8, 9),
        Function("main", 13, 13),
        Function("forward", 15, 21),
    ]


@pytest.mark.parametrize(
    "text", ["", "\n", "(((", "def", "def f(:\n  x", "'''", "\tx\n y", "def f():\n  pass\n )", "@\n"]
)
def test_what_is_no_python_has_the_functions_before_it(text):
    assert all(0 < each.first <= each.last for each in functions_of(text))


def test_a_line_is_a_function_one_that_was_reached_one_that_ran_or_of_another_version(tmp_path):
    (tmp_path / "job.py").write_text(TEXT)
    lines = ("4): evaluate", "6): <listcomp>", "21): forward", "15): forward", "5): evaluate", "8): gone", "99): main")
    named = [*(f"job.py({line}" for line in lines), "job.py(13): <module>", "b.py(1): f"]
    found = source_text("job.py", named, "function", None, [tmp_path])
    assert found == SourceText(
        file="job.py",
        origin="folder",
        lines=TEXT.split("\n"),
        path=str(tmp_path / "job.py"),
        marks=[
            SourceMark("job.py(4): evaluate", "function", 4, 10),
            SourceMark("job.py(6): <listcomp>", "call", 6, 6),
            SourceMark("job.py(21): forward", "reached", 21, 21),
            SourceMark("job.py(15): forward", "function", 15, 21),
            SourceMark("job.py(5): evaluate", "reached", 5, 5),
            SourceMark("job.py(8): gone", "other", 0, 0),
            SourceMark("job.py(99): main", "other", 0, 0),
            SourceMark("job.py(13): <module>", "reached", 13, 13),
        ],
    )
    ran = source_text("job.py", ["job.py(6): evaluate"], "call", None, [tmp_path])
    assert ran.marks == [SourceMark("job.py(6): evaluate", "call", 6, 6)]


def test_a_file_that_no_line_names_is_not_looked_for(tmp_path):
    (tmp_path / "job.py").write_text(TEXT)
    assert source_text("job.py", ["other.py(1): f"], "function", None, [tmp_path]) == SourceText("job.py")


def test_the_longest_end_of_a_name_that_the_folder_has_is_taken(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sets.py").write_text("a = 1")
    (tmp_path / "sets.py").write_text("b = 1")
    for name in ("data/sets.py", "src/data/sets.py", "/home/me/src/data/sets.py"):
        assert file_in(tmp_path, name).content == b"a = 1"
    assert file_in(tmp_path, "other/sets.py").content == b"b = 1"
    assert file_in(tmp_path, "none.py") is None


@pytest.fixture
def hostile(tmp_path):
    """A folder next to one that holds a secret."""
    (tmp_path / "secret.py").write_text("key = 1")
    folder = tmp_path / "job"
    (folder / "inner").mkdir(parents=True)
    (folder / "own.py").write_text("x = 1")
    (folder / "notes.txt").write_text("x = 1")
    (folder / "folder.py").mkdir()
    (folder / "large.py").write_bytes(b"#" * (MOST_FILE_BYTES + 1))
    (folder / "link.py").symlink_to(tmp_path / "secret.py")
    (folder / "inside.py").symlink_to(folder / "own.py")
    (folder / "out").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.py")
    return folder


@pytest.mark.parametrize(
    "name",
    ["../secret.py", "inner/../../secret.py", "./../secret.py", "..\\secret.py", "out/secret.py", "link.py",
     "inside.py", "//secret.py", "C:/secret.py", "own.py\0.py", "secret.py:stream.py", "pipe.py", "folder.py",
     "large.py", "notes.txt", "", ".py", "/", "own.py/other.py", "x/" * 3000 + "z.py", "\udcff.py"],
)  # fmt: skip
def test_nothing_outside_of_the_folder_no_link_no_pipe_and_nothing_but_python_is_opened(hostile, name):
    assert file_in(hostile, name) is None


def test_an_absolute_path_means_its_end_within_the_folder(hostile):
    assert file_in(hostile, str(hostile.parent / "secret.py")) is None
    assert file_in(hostile, "/etc/own.py").content == b"x = 1"


@pytest.mark.parametrize("content", [b"a\0b", b"# coding: nothing-like-it\nx", b"# coding: rot13\nx"])
def test_what_is_no_text_is_none(tmp_path, content):
    (tmp_path / "a.py").write_bytes(content)
    assert source_text("a.py", ["a.py(1): f"], "function", None, [tmp_path]).origin is None


def test_a_file_says_its_encoding_itself(tmp_path):
    (tmp_path / "a.py").write_bytes("# coding: latin-1\nname = 'é'".encode("latin-1"))
    assert source_text("a.py", ["a.py(2): f"], "call", None, [tmp_path]).lines[1] == "name = 'é'"


def write_sources(folder, name, files):
    (folder / name).write_bytes(gzip.compress(json.dumps({"sources": FORMAT, "files": files}).encode()))


def recorded(folder, trace="a_7.250.pt.trace.json.gz", file="job.py", began_ns=250):
    found = source_text(file, [f"{file}(1): f"], "call", (folder / trace, began_ns), [])
    return None if found.origin is None else found.lines[0]


def test_the_file_of_the_traces_own_process_from_before_it_began_is_taken(tmp_path):
    for name, text in (("a_7.100", "first"), ("a_7.200", "second"), ("a_7.300", "later"), ("a_8.200", "another")):
        write_sources(tmp_path, f"{name}.sources.gz", {"job.py": text})
    assert recorded(tmp_path) == "second"
    assert recorded(tmp_path, "a_8.250.pt.trace.json.gz") == "another"
    assert recorded(tmp_path, "renamed.json") is None
    assert recorded(tmp_path, began_ns=50) is None


def test_a_renamed_trace_has_the_only_file_of_its_folder_and_names_may_lack_folders(tmp_path):
    write_sources(tmp_path, "a_7.100.sources.gz", {"src/job.py": "here", "x/one.py": "x", "y/one.py": "y"})
    assert recorded(tmp_path, "renamed.json") == "here"
    assert recorded(tmp_path, "renamed.json", "deep/src/job.py") == "here"
    assert recorded(tmp_path, "renamed.json", "one.py") is None
    assert recorded(tmp_path, "renamed.json", "ob.py") is None


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"no json"), gzip.compress(b'{"sources": 1, "files": {"job.py": 7}}'),
     gzip.compress(b'{"sources": 9, "files": {"job.py": "x"}}'), gzip.compress(b'{"sources": 1, "fi')[:-9],
     gzip.compress(b'{"sources": 1, "files": {"job.py": "' + b"x" * 7_000 + b'"}}')],
    ids=["empty", "no gzip", "no json", "no text", "newer", "cut", "endless"],
)  # fmt: skip
def test_a_damaged_or_endless_file_of_sources_is_none(tmp_path, content, monkeypatch):
    monkeypatch.setattr("tb_steptime.ingest.sources._MOST_JSON_BYTES", 6_000)
    (tmp_path / "a_7.100.sources.gz").write_bytes(content)
    assert recorded(tmp_path) is None


def test_a_link_in_its_place_is_not_followed(tmp_path):
    (tmp_path / "logs").mkdir()
    write_sources(tmp_path, "x_1.1.sources.gz", {"job.py": "elsewhere"})
    (tmp_path / "logs" / "a_7.100.sources.gz").symlink_to(tmp_path / "x_1.1.sources.gz")
    assert recorded(tmp_path / "logs") is None


def test_recorded_text_comes_before_that_of_a_folder_whose_path_is_for_the_editor(tmp_path):
    write_sources(tmp_path, "a_7.100.sources.gz", {"job.py": "recorded"})
    (tmp_path / "job.py").write_text("now")
    found = source_text("job.py", ["job.py(1): f"], "call", (tmp_path / "a_7.250.json", 250), [tmp_path])
    assert (found.origin, found.lines, found.path) == ("recorded", ["recorded"], str(tmp_path / "job.py"))


def test_folders_are_named_as_in_path(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert user_folders() == []
    monkeypatch.setenv(VARIABLE, os.pathsep.join((str(tmp_path), "", "b")))
    assert [str(each) for each in user_folders()] == [str(tmp_path), "b"]
