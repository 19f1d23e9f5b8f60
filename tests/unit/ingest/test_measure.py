"""From one trace file to everything that is known about its span."""

from __future__ import annotations

import pytest

from tb_steptime.errors import TraceError
from tb_steptime.ingest.measure import measure_file
from tests import PROJECT

TRACES = sorted((PROJECT / "tests" / "traces").glob("*.json*"))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_every_file_is_measured_or_refused_in_words(path):
    """This includes a file whose activities do not say on which device they ran."""
    try:
        assert measure_file(path).results
    except TraceError as error:
        assert str(error)
