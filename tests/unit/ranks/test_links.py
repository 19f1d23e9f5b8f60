"""Which peak a bandwidth is compared with."""

from __future__ import annotations

import pytest

from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.messages import VARIABLE, Links, links_of
from tests.drawn.exchanging_ranks import rank

BOTH = Links(450e9, 50e9)


@pytest.mark.parametrize(
    ("links", "hosts", "peak"),
    [
        (BOTH, ["a", "a"], 450e9),
        (BOTH, ["a", "b", None], 50e9),
        (BOTH, ["a", None], None),
        (BOTH, [None, None], None),
        (Links(None, 25e9), [None, None], 25e9),
        (Links(450e9), ["a", "b"], None),
        (Links(), ["a", "a"], None),
    ],
)
def test_a_group_on_several_machines_is_held_against_the_network(
    links: Links, hosts: list[str | None], peak: float | None
):
    assert links.peak(hosts) == peak


@pytest.mark.parametrize("text", ["450", "machine=0", "machine=fast", "machine:450", "nvlink=450 network=50"])
def test_what_cannot_be_read_is_said(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv(VARIABLE, text)
    job = job_ranks([rank(0, "a a"), rank(1, "a a")])
    assert [note.id for note in job.notes] == ["links_not_read"]
    assert [row.of_peak for row in job.collectives] == [None]


def test_what_the_environment_tells_is_the_peak(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "machine=40")
    (row,) = job_ranks([rank(0, "a a"), rank(1, "a a")]).collectives
    assert (row.bus_rate, row.of_peak) == (10e9, 0.25)  # 1000 bytes in 100 ns
    assert links_of(" network=12.5  machine=300 ") == Links(300e9, 12.5e9)
