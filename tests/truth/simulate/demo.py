"""The demo's five experiments as they would go on an A100: declared, not measured."""

from __future__ import annotations

from pathlib import Path

from tests.truth.simulate.causes import Loader, Span, Training
from tests.truth.simulate.chrome import file_name, write
from tests.truth.simulate.forum import forum_questions
from tests.truth.simulate.machine import Machine
from tests.truth.simulate.networks import resnet50, small_cnn
from tests.truth.simulate.reasons import full_truth
from tests.truth.simulate.truth import ground_truth

MS = 1_000_000


def experiments() -> list[Training]:
    return [
        Training(
            "baseline",
            "a small network, one loader worker that needs 18 ms for a batch of 128 images.",
            Loader(18 * MS, workers=1, jitter=0.03),
            small_cnn(128, normalize=False),
            seed=1,
        ),
        Training(
            "num_dataloaders",
            "a small network, three loader workers that need 18 ms each for a batch of 128 images.",
            Loader(18 * MS, workers=3, jitter=0.01),
            small_cnn(128, normalize=False),
            seed=2,
        ),
        Training(
            "transforms",
            "a small network that normalizes its input itself, three loader workers that need 7 ms each for a batch.",
            Loader(7 * MS, workers=3, jitter=0.03),
            small_cnn(128, normalize=True),
            seed=3,
        ),
        Training(
            "resnet50_baseline",
            "ResNet-50 in FP32 with TF32 off, 128 images of 224 x 224, three loader workers that are fast enough.",
            Loader(7 * MS, workers=3, jitter=0.03),
            resnet50(128, 224, mixed=False),
            seed=4,
            active=4,
        ),
        Training(
            "autocast",
            "ResNet-50 in mixed precision with a gradient scaler, 128 images of 224 x 224, three loader workers that "
            "are fast enough.",
            Loader(7 * MS, workers=3, jitter=0.03),
            resnet50(128, 224, mixed=True),
            seed=5,
            active=4,
        ),
    ]


def simulate(training: Training) -> list[Span]:
    """The recorded spans of a training, each with its ground truth."""
    machine = Machine(training)
    spans = machine.run()
    for span in spans:
        span.truth = (
            full_truth(training, span)
            if training.in_full
            else ground_truth(training, span, machine.workers.produced_ns)
        )
    return spans


def recordings() -> list[Training]:
    """All that are shown: the demo's experiments, two spans of each, and the forum's questions, one span of each."""
    return [*experiments(), *forum_questions()]


def write_demo(out: Path) -> list[Path]:
    """out/<training>_simulated/gpu.<time>.pt.trace.json.gz."""
    paths = []
    for training in recordings():
        for span in simulate(training):
            paths.append(out / f"{training.name}_simulated" / file_name(span))
            write(paths[-1], training, span)
    return paths
