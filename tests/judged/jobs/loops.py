"""Loops whose steps differ because the training itself does so; nothing is wrong with them."""

from __future__ import annotations

from dataclasses import replace

from tests.judged.jobs.drawn import FIRST, MS, SMALL, LabelledJob, job
from tests.judged.jobs.healthy import GRAPHS, STEP, WAITS
from tests.judged.labels import Label
from tests.truth.simulate.causes import Recording, Section
from tests.truth.simulate.jobs.inference import prompt_step
from tests.truth.simulate.jobs.ranks import all_reduce
from tests.truth.simulate.jobs.transfers import read_back, synchronized
from tests.truth.simulate.jobs.transformer import fused_adamw, training_step
from tests.truth.simulate.mixtures import PLAIN as PLAIN_TRAINING
from tests.truth.simulate.mixtures import in_one_pass, plain_step

NOT_TRUE = f"{GRAPHS} {WAITS} host_stops"


def only(sections: tuple[Section, ...], *steps: int) -> tuple[Section, ...]:
    """Acts only in the given recorded steps, counted from 0."""
    return tuple(replace(section, steps=tuple(FIRST + step for step in steps)) for section in sections)


LOOPS: tuple[LabelledJob, ...] = (
    job(
        Label(
            "loop_accumulates", "gpu", never=NOT_TRUE,
            why="Gradients of four steps are added before the optimizer runs: every fourth step is 1 ms longer.",
        ),
        (*STEP[:-1], *only(STEP[-1:], 3, 7)),
        active=8,
    ),
    job(
        Label(
            "loop_logs", "gpu", never=NOT_TRUE,
            why="Every fifth step reads the loss back and writes a log for 1 ms.",
        ),
        (*STEP, *only((read_back(), Section((), stop_ns=1 * MS)), 4, 9)),
        active=10,
    ),
    job(
        Label(
            "loop_lengths_vary", "gpu", may="slow_steps", never=NOT_TRUE,
            why="Sequences of 512, 768 and 1024 tokens in turn: steps of 6, 9 and 12 ms, all of them busy.",
        ),
        tuple(
            section
            for number, length in enumerate((512, 1024, 768))
            for section in only(training_step(replace(SMALL, length=length)), *range(number, 9, 3))
        ),
        active=9,
    ),
    job(
        Label(
            "loop_validates", "gpu", may="slow_steps", never=NOT_TRUE,
            why="One of eight steps is followed by three forward passes of a validation: 10 ms more, all of them "
            "busy.",
        ),
        (*STEP, *only(prompt_step(SMALL, waits=False) * 3, 4)),
        active=8,
    ),
    job(
        Label(
            "loop_two_gpus", "gpu", never=f"{WAITS} serial_devices slow_steps",
            why="One process, two GPUs, one backward pass for both: they work at the same time.",
        ),
        in_one_pass(replace(PLAIN_TRAINING, sections=plain_step())).sections,
        devices=2,
    ),
    job(
        Label(
            "loop_no_sync", "gpu communication", may="exposed_communication", never=NOT_TRUE,
            why="Ranks exchange gradients in every fourth step only; then 1 ms of it is exposed.",
        ),
        (*STEP, *only((Section((all_reduce(40_000_000, 1 * MS),)),), 3, 7)),
        ranks=4,
        active=8,
    ),
    job(
        Label(
            "loop_saves", "host mixed gpu", main="slow_steps|host_stops", may="sync_bubble", never=f"{GRAPHS} {WAITS}",
            why="One of eight steps saves a checkpoint: it waits for the device, then writes for 400 ms.",
        ),
        (*STEP, *only((synchronized(), Section((), stop_ns=400 * MS)), 4)),
        active=8,
    ),
    job(
        Label(
            "loop_saves_without_marks", "host mixed gpu", may="slow_steps host_stops sync_bubble long_stretches",
            never=f"launch_graphs {WAITS}",
            why="The same without prof.step().",
        ),
        (*STEP, *only((synchronized(), Section((), stop_ns=400 * MS)), 4)),
        active=8,
        recording=Recording(marks=False),
    ),
    job(
        Label(
            "loop_two_optimizers", "gpu", never=f"{NOT_TRUE} slow_steps",
            why="Two networks are trained in turn within a step, as in an adversarial training.",
        ),
        (*STEP, *STEP[1:]),
    ),
    job(
        Label(
            "loop_two_optimizers_without_marks", "gpu", never=f"{NOT_TRUE} slow_steps",
            why="The same without prof.step(): two optimizer steps in each.",
        ),
        (*STEP, *STEP[1:-1], replace(fused_adamw(SMALL.parameters), mark="Optimizer.step#Adam.step")),
        recording=Recording(marks=False),
    ),
)  # fmt: skip
