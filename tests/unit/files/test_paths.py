"""Addresses: their names, their neighbours, and which parts of them may be shown."""

import os
from pathlib import Path

import pytest

from tb_steptime.files import remote
from tb_steptime.files.paths import address, any_path, identity, open_regular, write_atomically
from tb_steptime.files.problems import RemoteLost, RemoteMissing, RemoteProblem, RemoteRefused, problem_of
from tb_steptime.files.remote import RemotePath, RemoteStat
from tests.drawn.webhdfs import web_hdfs_server


def test_an_address_answers_as_a_path_does():
    trace = any_path("s3://bucket/logs/run/a.1.pt.trace.json.gz")
    assert (trace.name, trace.parent.name, trace.parent.parent) == (
        "a.1.pt.trace.json.gz",
        "run",
        RemotePath("s3://bucket/logs"),
    )
    assert str(trace.with_name("b.json")) == "s3://bucket/logs/run/b.json"
    assert (RemotePath("s3://bucket").parent, str(any_path("s3://bucket/") / "a")) == (
        RemotePath("s3://bucket"),
        "s3://bucket/a",
    )


def test_what_is_of_this_machine_stays_a_path():
    assert any_path("logs/a b") == Path("logs/a b")
    assert any_path("file:///tmp/a%20b") == Path("/tmp/a b")
    assert any_path("C://logs") == Path("C://logs")


def test_passwords_and_signatures_open_files_and_are_not_shown():
    path = any_path("https://me:secret@host/logs/a.json?sig=abc&x=1")
    assert (str(path), repr(path)) == (
        "https://me:***@host/logs/a.json?***",
        "RemotePath('https://me:***@host/logs/a.json?***')",
    )
    assert address(path.with_name("b.json")) == "https://me:secret@host/logs/b.json?sig=abc&x=1"
    assert path.name == "a.json"
    assert "secret" not in identity(path)
    assert str(any_path("abfs://container@account.dfs.core.windows.net/a")).startswith("abfs://container@account")


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ("gs", "pip install 'tb-steptime[gcs]'."),
        ("az", "pip install 'tb-steptime[azure]'."),
        ("hdfs", "pip install 'tb-steptime[hdfs]'."),
    ],
)
def test_a_package_that_is_not_installed_is_named(scheme, message, monkeypatch):
    def missing(url):
        raise ImportError("Install something from https://me:secret@index")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(RemoteProblem) as refusal:
        any_path(f"{scheme}://bucket/a.json").stat()
    assert refusal.value.fact == f"Reading {scheme}:// needs a package that is not installed"
    assert refusal.value.hint == message


def test_a_kind_of_store_that_nobody_knows():
    with pytest.raises(RemoteProblem, match="foo:// is no known kind of store"):
        remote.system_of("foo://a/b", "foo://a/b")


def test_a_store_that_wants_an_account(monkeypatch):
    def refused(url):
        raise ValueError("Must provide either a connection_string or account_name")

    monkeypatch.setattr("fsspec.core.url_to_fs", refused)
    with pytest.raises(RemoteRefused, match="The store wants an account or a key"):
        any_path("az://c/a.json").stat()


def test_what_stores_raise_is_said_in_our_words():
    class NoCredentialsError(Exception):
        pass

    class HttpError(Exception):
        code = 403

    secret = "https://me:secret@host"
    assert isinstance(problem_of(FileNotFoundError(secret), "a"), RemoteMissing)
    problems = [problem_of(each, "a") for each in (NoCredentialsError(secret), HttpError(secret), TimeoutError(secret))]
    assert [(type(each), each.fact, each.passing) for each in problems] == [
        (RemoteRefused, "No valid credentials for this store were found", False),
        (RemoteRefused, "The store refused access", False),
        (RemoteLost, "The connection to the store failed (TimeoutError)", True),
    ]
    assert not any("secret" in str(each) + each.hint for each in problems)


@pytest.fixture(params=["local", "memory", "webhdfs"])
def folder(request, tmp_path):
    if request.param != "webhdfs":
        yield tmp_path if request.param == "local" else any_path(f"memory://{tmp_path.name}")
        return
    with web_hdfs_server() as port:
        yield any_path(f"webhdfs://127.0.0.1:{port}/logs")


def test_a_file_is_written_whole_wherever_it_is(folder):
    place = folder / "new" / "a.txt"
    write_atomically(place, b"one")
    write_atomically(place, b"two")
    assert (place.read_bytes(), place.stat().st_size) == (b"two", 3)
    assert (place.is_file(), place.is_dir(), place.parent.is_dir(), (place.parent / "b").exists()) == (
        True,
        False,
        True,
        False,
    )


def test_times_and_marks_as_stores_tell_them():
    assert RemoteStat.from_info({"size": 5, "LastModified": "2026-01-02T03:04:05.678Z", "ETag": '"ab"'}) == (
        5,
        1767323045_000_000_000,
        "ab",
    )
    assert RemoteStat.from_info({"size": None, "mtime": 12.7}) == (0, 12_000_000_000, "")
    assert RemoteStat.from_info({"length": 5, "size": 5, "modificationTime": 12_700}) == (5, 12_000_000_000, "")
    assert RemoteStat.from_info({}) == (0, 0, "")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_only_files_are_opened_and_nobody_waits_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("a")
    with open_regular(tmp_path / "file") as file:
        assert file.read() == b"a"
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(path)
