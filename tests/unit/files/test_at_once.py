"""Several requests about files of a store are sent at the same time, and the answers keep their order."""

import threading
from pathlib import Path

import pytest

from tb_steptime.files.paths import answers
from tb_steptime.files.remote import RemotePath
from tests.drawn.stores import PATIENCE_SECONDS


def test_files_of_a_store_wait_together_and_others_one_after_the_other():
    together = threading.Barrier(3)

    def ask(path):
        if isinstance(path, RemotePath):
            together.wait(PATIENCE_SECONDS)
        return str(path)

    paths = [RemotePath("s3://b/1"), Path("x"), RemotePath("s3://b/2"), Path("y"), RemotePath("s3://b/3")]
    assert answers(ask, paths, lambda path: path) == ["s3://b/1", "x", "s3://b/2", "y", "s3://b/3"]


def test_what_is_raised_is_raised():
    def ask(path):
        raise OSError(str(path))

    with pytest.raises(OSError, match="s3://b/1"):
        answers(ask, [RemotePath("s3://b/1")], lambda path: path)
