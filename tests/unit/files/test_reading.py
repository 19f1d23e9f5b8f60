"""A remote file is read in order and ahead of its reader, and a range is read again where a connection fails."""

import random
import threading
from functools import partial

import pytest

from tb_steptime.files import remote
from tb_steptime.files.problems import RemoteLost
from tb_steptime.files.remote import RemoteFile


class Store:
    """Fails the given number of times for each range. With `short`, every answer lacks its last byte."""

    def __init__(self, content, failures=0, *, short=False):
        self.content, self.failures, self.short = content, failures, short
        self.asked = []
        self.lock = threading.Lock()

    def cat_file(self, _, start, end):
        with self.lock:
            self.asked.append((start, end))
            tries = self.asked.count((start, end))
        if tries <= self.failures:
            raise ConnectionResetError("https://me:secret@host")
        return self.content[start : end - self.short]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(remote, "FIRST_BYTES", 10)
    monkeypatch.setattr(remote, "BLOCK_BYTES", 40)
    monkeypatch.setattr(remote, "WAITS_SECONDS", (0.0, 0.0))


CONTENT = random.Random(1).randbytes(333)


def opened(store):
    return RemoteFile(store, "a", len(store.content), "s3://bucket/a")


def test_it_is_the_same_file_in_parts_of_any_size_from_anywhere():
    for size in (1, 7, 50, 1000):
        with opened(Store(CONTENT)) as file:
            assert b"".join(iter(partial(file.read, size), b"")) == CONTENT
            file.seek(100)
            assert file.read(3) + file.read() == CONTENT[100:]
            file.seek(1000)
            assert file.read(1) == b""


def test_who_reads_the_begin_alone_fetches_little():
    store = Store(CONTENT)
    with opened(store) as file:
        assert file.read(10) == CONTENT[:10]
    assert store.asked == [(0, 10)]


def test_a_connection_that_fails_twice_is_tried_again():
    with opened(Store(CONTENT, failures=2)) as file:
        assert file.read() == CONTENT


def test_a_connection_that_fails_for_good_is_one_problem_without_secrets():
    with opened(Store(CONTENT, failures=3)) as file, pytest.raises(RemoteLost) as lost:
        file.read()
    assert (lost.value.fact, lost.value.filename) == (
        "The connection to the store failed (ConnectionResetError)",
        "s3://bucket/a",
    )


def test_a_block_that_comes_short_is_a_lost_connection():
    with opened(Store(CONTENT, short=True)) as file, pytest.raises(RemoteLost, match="sent 9 bytes of 10"):
        file.read()
