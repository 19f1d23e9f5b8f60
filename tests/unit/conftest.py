"""What is drawn in letters of a microsecond each has no room for costs of a millisecond."""

from __future__ import annotations

import pytest

from tb_steptime.insights.rules.data_loading import late_batches, other_waits
from tb_steptime.metrics.data_loading.scaling import throughput


@pytest.fixture(autouse=True)
def drawn_in_microseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """To take a batch from a worker costs nothing; a test of that cost sets it."""
    monkeypatch.setattr(throughput, "HANDOVER_NS", 0)
    monkeypatch.setattr(late_batches, "HANDOVER_NS", 0)
    monkeypatch.setattr(other_waits, "RECEIVING_NS", 0)
