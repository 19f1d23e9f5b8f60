"""A store over an empty log directory, which holds no files of other tests."""

import pytest

from tb_steptime.ingest.discovery import Place
from tb_steptime.serve.store import Store


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


@pytest.fixture
def opened(logs):
    made = Store([Place("", logs, "logs")])
    yield made
    made.close()
