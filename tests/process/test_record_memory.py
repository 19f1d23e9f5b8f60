"""Memory snapshots that the recorder writes, tested with a stand-in for torch's CUDA allocator."""

from __future__ import annotations

import gc
import os
import pickle
from types import SimpleNamespace

import pytest

from tb_steptime.snapshots.reading import read_snapshot
from tests.drawn.snapshots import Allocator

torch = pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

from tb_steptime.record import profile_steps  # noqa: E402
from tb_steptime.record.memory import ENTRIES, MOST_OF_OOM  # noqa: E402

SHORT = {"skip_first": 0, "wait": 0, "warmup": 1, "active": 2, "repeat": 2}


@pytest.fixture
def cuda(monkeypatch):
    """calls: those that switch the memory history on or off; observers: those of out-of-memory errors; fails: the
    exception that writing a snapshot raises."""
    fake = SimpleNamespace(calls=[], observers=[], fails=None)

    def dump(path):
        with open(path, "wb") as file:
            file.write(pickle.dumps(Allocator().state()))
        if fake.fails:
            raise fake.fails

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", lambda **told: fake.calls.append(told))
    monkeypatch.setattr(torch.cuda.memory, "_dump_snapshot", dump)
    attach = "_cuda_attach_out_of_memory_observer"
    monkeypatch.setattr(torch._C, attach, fake.observers.append, raising=False)
    monkeypatch.setenv("RANK", "3")
    return fake


def train(folder, when, steps=6, act=lambda step: None):
    with profile_steps(folder, snapshot=when, **SHORT) as prof:
        for step in range(steps):
            torch.ones(2).sum()
            act(step)
            prof.step()


def names(folder):
    return sorted(path.name for path in folder.glob("*.pickle"))


def test_with_each_span_one_is_written_that_can_be_read(tmp_path, cuda):
    train(tmp_path, "at_span")
    assert names(tmp_path) == ["rank3_step_3.pickle", "rank3_step_6.pickle"]
    assert read_snapshot(tmp_path / "rank3_step_3.pickle").lost == {}
    assert cuda.calls == [{"max_entries": ENTRIES, "stacks": "python"}, {"enabled": None}]
    assert cuda.observers == []
    train(tmp_path, "at_span", steps=3)
    assert "rank3_step_3_2.pickle" in names(tmp_path)


def test_where_memory_runs_out_the_first_ones_are_written_and_none_when_it_is_over(tmp_path, cuda):
    def run_out(step):
        for observer in cuda.observers:
            observer(0, 1 << 30, 1 << 30, 1 << 20)

    train(tmp_path, "on_oom", act=run_out)
    written = [f"rank3_step_{step}_oom.pickle" for step in range(MOST_OF_OOM)]
    assert names(tmp_path) == written
    run_out(9)
    gc.collect()
    run_out(9)
    assert names(tmp_path) == written


def test_what_cannot_be_written_is_said_and_the_training_goes_on(tmp_path, cuda, caplog):
    cuda.fails = OSError(28, os.strerror(28))
    train(tmp_path, "at_span")
    assert names(tmp_path) == []
    assert caplog.text.count("No memory snapshot was written") == 2
    assert len(list(tmp_path.glob("*.pt.trace.json.gz"))) == 2


def test_without_cuda_and_with_another_torch_it_is_said_once(tmp_path, cuda, monkeypatch, caplog):
    def other(**told):
        raise TypeError("unexpected keyword argument")

    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", other)
    train(tmp_path, "on_oom")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    train(tmp_path, "at_span")
    assert [line for line in caplog.messages if "memory snapshots" in line] == [
        "No memory snapshots are written: unexpected keyword argument. Training continues.",
        "No memory snapshots are written: torch sees no GPU of CUDA or ROCm.",
    ]
    assert names(tmp_path) == []


def test_another_word_is_refused(tmp_path):
    with pytest.raises(ValueError, match="one of on_oom, at_span, and not 'always'"):
        profile_steps(tmp_path, snapshot="always")
