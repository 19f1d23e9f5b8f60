"""Profiling set up in three lines, and by callbacks of the real libraries. The resulting files can be read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tb_steptime.analyses import data_loading
from tb_steptime.record.file.format import BEGAN, PRODUCED, RECEIVED
from tb_steptime.record.profiling import NO_STEP, TOO_FEW_STEPS
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.steps import find_steps
from tests.drawn.recorded import Stamped, recordings, rows, rows_of

torch = pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

from tb_steptime.record import profile_steps, recorder  # noqa: E402

SHORT = {"skip_first": 1, "wait": 1, "warmup": 1, "active": 3, "repeat": 2}
STEPS = 1 + 2 * (1 + 1 + 3)
#: Before PyTorch 2.1, a step is recorded with the number of the previous step.
LATE = torch.__version__.startswith("2.0.")


class Pairs(Stamped):
    """Samples for a network: an image of four pixels and its class."""

    def __getitem__(self, index: int) -> Any:
        return torch.rand(4), super().__getitem__(index)[0] % 2


class Named(Pairs):
    def __getitem__(self, index: int) -> Any:
        features, label = super().__getitem__(index)
        return {"features": features, "labels": label}


def spans(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.pt.trace.json.gz"))


def assert_both_are_there(folder: Path, steps: int = 3, workers: int = 2) -> None:
    """There are two traces that the tab can read, and the loader's files. The loops received their batches during the
    steps of the traces."""
    assert len(spans(folder)) == 2
    received = [row.named()["returned_ns"] for row in rows(folder, RECEIVED)]
    for path in spans(folder):
        trace = read_trace(path)
        found = find_steps(trace).steps
        assert len(found) == len(data_loading.analyse(trace).steps) == steps
        begin, end = trace.origin_ns + found[0].start_ns, trace.origin_ns + found[-1].end_ns
        assert steps - 1 <= sum(begin <= at < end for at in received) <= steps + 1
    assert len(rows(folder, PRODUCED)) >= len(received)
    main = next(file.header for file in recordings(folder) if file.header["process"] == "main")
    assert (main["settings"]["num_workers"], main["main_pid"]) == (workers, os.getpid())


def test_three_lines_record_two_spans_and_the_loader(tmp_path):
    layer = torch.nn.Linear(4, 2)
    with profile_steps(tmp_path, **SHORT) as prof:
        for features, _ in prof.watch(torch.utils.data.DataLoader(Pairs(4 * STEPS), 4, num_workers=2)):
            layer(features).sum().backward()
            prof.step()
    assert_both_are_there(tmp_path)


def test_after_the_last_span_the_profiler_is_gone(tmp_path):
    with profile_steps(tmp_path, **SHORT) as prof:
        assert prof.profiler is not None
        for _ in range(STEPS + 5):
            prof.step()
        assert prof.profiler is None
    assert len(spans(tmp_path)) == 2


def test_too_few_steps_are_a_warning(tmp_path, caplog):
    with profile_steps(tmp_path) as prof:
        for _ in range(7):
            prof.step()
    assert [record.message for record in caplog.records] == [TOO_FEW_STEPS % (tmp_path, 7, 25)]
    assert not spans(tmp_path)


@pytest.mark.parametrize("steps", range(STEPS + 3))
def test_steps_that_were_not_over_are_none(tmp_path, caplog, steps):
    """The loop ends after `steps` steps, inside the next one. No span shows that unfinished step, and a span that would
    hold no other step is not written."""
    layer = torch.nn.Linear(4, 2)
    with profile_steps(tmp_path, **SHORT) as prof:
        for _ in range(steps):
            layer(torch.rand(3, 4)).sum().backward()
            prof.step()
        layer(torch.rand(3, 4)).sum().backward()
    recorded = [[number - LATE for number in span if number < steps] for span in ([3, 4, 5], [8, 9, 10])]
    found = [[step.number for step in find_steps(read_trace(path)).steps] for path in spans(tmp_path)]
    assert found == [span for span in recorded if span]
    too_few = [TOO_FEW_STEPS % (tmp_path, steps, 6) if steps else NO_STEP % tmp_path]
    assert [record.message for record in caplog.records] == ([] if found else too_few)


def test_a_profiler_that_was_left_running_ends_when_the_next_one_starts(tmp_path, caplog):
    layer = torch.nn.Linear(4, 2)
    left = profile_steps(tmp_path / "left", **SHORT).start()
    for _ in range(5):
        layer(torch.rand(3, 4)).sum().backward()
        left.step()
    with profile_steps(tmp_path / "next", **SHORT) as prof:
        assert left.profiler is None
        for _ in range(STEPS):
            layer(torch.rand(3, 4)).sum().backward()
            prof.step()
    left.stop()
    found = {name: [len(find_steps(read_trace(path)).steps) for path in spans(tmp_path / name)] for name in NAMES}
    assert found == {"left": [2], "next": [3, 3]}
    assert not caplog.records


NAMES = ("left", "next")


def test_an_error_in_the_loop_is_passed_on_with_what_was_recorded(tmp_path):
    with pytest.raises(LookupError), profile_steps(tmp_path, **SHORT) as prof:
        for number in range(STEPS):
            prof.step()
            if number == 6:
                raise LookupError
    assert len(spans(tmp_path)) == 1


def test_a_span_that_cannot_be_written_does_not_end_the_training(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    with profile_steps(tmp_path / "file" / "logs", **SHORT) as prof:
        for _ in range(STEPS):
            prof.step()
    says = [record.message.partition(" to ")[0].partition(" in ")[0] for record in caplog.records]
    assert says == ["Steps are not timed", *["No trace was written"] * 2]


def test_nothing_happens_when_not_enabled(tmp_path):
    with profile_steps(tmp_path / "logs", **SHORT, enabled=False) as prof:
        for _ in prof.watch(torch.utils.data.DataLoader(Pairs(4 * STEPS), 4, num_workers=2)):
            prof.step()
    assert not (tmp_path / "logs").exists()


def fit_lightning(folder: Path, callbacks: list[Any], fails_at: int | None = None) -> Any:
    """Fit for one epoch, which may fail in a step, and return the loader of the training."""
    lightning = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")

    class Network(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 2)

        def training_step(self, batch: Any, number: int) -> Any:
            if number == fails_at:
                raise LookupError
            return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

        def validation_step(self, batch: Any, number: int) -> None:
            self.layer(batch[0])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    train, check = (torch.utils.data.DataLoader(Pairs(4 * n), 4, num_workers=2) for n in (STEPS, 3))
    lightning.Trainer(
        default_root_dir=folder,
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=1,
        callbacks=callbacks,
    ).fit(Network(), train, check)
    return train


def lightning_callback(folder: Path) -> Any:
    pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
    from tb_steptime.record.lightning import StepInsightsCallback

    return StepInsightsCallback(folder, **SHORT)


def test_lightning_is_profiled_by_a_callback(tmp_path, monkeypatch):
    logs = tmp_path / "logs"
    callback = lightning_callback(logs)
    monkeypatch.setenv("PL_SEED_WORKERS", "1")
    train = fit_lightning(tmp_path, [callback])
    assert len({file.header["loader"] for file in recordings(logs)}) >= 2, "the loader that validates is recorded too"
    (training,) = [file for file in recordings(logs) if file.header["process"] == "main" and len(file.rows) > STEPS]
    assert len([row for row in rows_of(training) if row.kind == RECEIVED]) == STEPS
    assert len(spans(logs)) == 2
    assert "pl_worker_init_function" in repr(train.worker_init_fn), "seeding of workers is as Lightning sets it up"


def train_transformers(folder: Path, callbacks: list[Any], fails_at: int | None = None) -> None:
    """Train for as many steps as two spans need. The training may fail in one of them."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 2)
            self.calls = 0

        def forward(self, features: Any, labels: Any) -> Any:
            self.calls += 1
            if self.calls - 1 == fails_at:
                raise LookupError
            scores = self.layer(features)
            return {"loss": torch.nn.functional.cross_entropy(scores, labels), "logits": scores}

    arguments = transformers.TrainingArguments(
        output_dir=str(folder / "out"),
        max_steps=STEPS,
        per_device_train_batch_size=4,
        dataloader_num_workers=2,
        dataloader_pin_memory=False,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
    )
    transformers.Trainer(model=Network(), args=arguments, train_dataset=Named(8 * STEPS), callbacks=callbacks).train()


def transformers_callback(folder: Path) -> Any:
    pytest.importorskip("transformers", reason="transformers is not installed")
    from tb_steptime.record.transformers import StepInsightsTrainerCallback

    return StepInsightsTrainerCallback(folder, **SHORT)


def test_transformers_are_profiled_by_a_callback(tmp_path):
    callback = transformers_callback(tmp_path / "logs")
    train_transformers(tmp_path, [callback])
    assert_both_are_there(tmp_path / "logs")


def assert_recorded_after_an_error(tmp_path: Path, train: Any, make: Any, same: bool) -> None:
    """A training fails in its sixth step, the third of the first span. The next training is recorded as if it were the
    first one. Of the first span, only what was recorded until the failure is there."""
    others = list(recorder._recorders)
    first = make(tmp_path / "first")
    with pytest.raises(LookupError):
        train(tmp_path, [first], fails_at=5)
    train(tmp_path, [first if same else make(tmp_path / "next")])
    assert recorder._recorders == others, "nothing records the rest of the process"
    found = {path: [step.number for step in find_steps(read_trace(path)).steps] for path in spans(tmp_path / "first")}
    assert list(found.values()) == [[3, 4], *([[3, 4, 5], [8, 9, 10]] if same else [])]
    if not same:
        assert_both_are_there(tmp_path / "next")
        assert {row.pass_number for row in rows(tmp_path / "first", RECEIVED)} == {0}
        assert len(rows(tmp_path / "first", RECEIVED)) <= 10


@pytest.mark.parametrize("same", [True, False])
def test_after_an_error_in_lightning_the_next_training_is_recorded(tmp_path, same):
    assert_recorded_after_an_error(tmp_path, fit_lightning, lightning_callback, same)


@pytest.mark.parametrize("same", [True, False])
def test_after_an_error_in_transformers_the_next_training_is_recorded(tmp_path, same):
    assert_recorded_after_an_error(tmp_path, train_transformers, transformers_callback, same)


def test_after_an_error_in_lightning_nothing_is_recorded_any_more(tmp_path):
    others = list(recorder._recorders)
    with pytest.raises(LookupError):
        fit_lightning(tmp_path, [lightning_callback(tmp_path / "logs")], fails_at=5)
    assert recorder._recorders == others
    assert len(spans(tmp_path / "logs")) == 1


def test_loaders_that_accelerate_creates_again_are_recorded(tmp_path):
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    from tb_steptime.record import LoaderRecorder

    loader = torch.utils.data.DataLoader(Pairs(16), 4, num_workers=2)
    with LoaderRecorder(tmp_path / "before") as before:
        list(accelerate.Accelerator(cpu=True).prepare(before.watch(loader)))
    with LoaderRecorder(tmp_path / "after") as after:
        list(after.watch(accelerate.Accelerator(cpu=True).prepare(loader)))
    for folder in (tmp_path / "before", tmp_path / "after"):
        assert len(rows(folder, RECEIVED)) == len(rows(folder, PRODUCED)) == 4
        assert len(rows(folder, BEGAN, "worker")) == 2
