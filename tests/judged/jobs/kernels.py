"""Jobs whose device is busy with kernels that could be faster."""

from __future__ import annotations

from dataclasses import replace

from tests.judged.jobs.drawn import SMALL, LabelledJob, job
from tests.judged.jobs.healthy import EDGES, GRAPHS, STEP, WAITS
from tests.judged.labels import Label
from tests.truth.simulate.causes import V100
from tests.truth.simulate.jobs.compiled import compiled_step
from tests.truth.simulate.jobs.inference import prompt_step
from tests.truth.simulate.jobs.transfers import copies_on_device
from tests.truth.simulate.jobs.transformer import Transformer, training_step

NOT_TRUE = f"{GRAPHS} {WAITS} {EDGES}"
ATTENTION = "eager_attention"
SLOW = "slow_products|alignment"

SLOW_KERNELS: tuple[LabelledJob, ...] = (
    job(
        Label(
            "eager_attention", "gpu", main=ATTENTION, never=f"{NOT_TRUE} tensor_cores_unused",
            why="Scores of 16 heads of 2048 x 2048 go to memory for scale and softmax and back, forward and "
            "backward: more than half of the step.",
        ),
        training_step(replace(SMALL, batch=2, length=2048, attention="eager")),
    ),
    job(
        Label(
            "eager_attention_prompt", "gpu", main=ATTENTION, never=f"{NOT_TRUE} tensor_cores_unused",
            why="The same in inference.",
        ),
        prompt_step(Transformer(batch=4, length=2048, attention="eager", classes=8192)),
        None,
    ),
    job(
        Label(
            "odd_length", "gpu", main=f"{SLOW}|{ATTENTION}", must=f"{SLOW} {ATTENTION}",
            never=f"{NOT_TRUE} tensor_cores_unused",
            why="Sequences of 1999 tokens in eager attention: bmm with align1 kernels at a quarter of the rate of "
            "the others.",
        ),
        training_step(replace(SMALL, batch=2, length=1999, attention="eager")),
    ),
    job(
        Label(
            "odd_vocabulary", "gpu", main=SLOW, never=f"{NOT_TRUE} tensor_cores_unused",
            why="50257 classes: the last layer's three products run on align1 kernels, at a quarter of the rate of "
            "the others, and take half of the step.",
        ),
        training_step(replace(SMALL, classes=50_257)),
    ),
    job(
        Label(
            "fp32", "gpu", main="tensor_cores_unused", may="small_grids eager_attention", never=NOT_TRUE,
            why="FP32 with TF32 off: all products are ampere_sgemm. Attention is written out, too.",
        ),
        training_step(replace(SMALL, dtype="fp32", attention="eager")),
        active=3,
    ),
    job(
        Label(
            "fp32_v100", "gpu", main="tensor_cores_unused", may="small_grids", never=NOT_TRUE,
            why="The same on a V100.",
        ),
        training_step(replace(SMALL, dtype="fp32")),
        gpu=V100,
        active=3,
    ),
    job(
        Label(
            "tf32", "gpu", never=f"{NOT_TRUE} tensor_cores_unused",
            why="FP32 with TF32 on: the products are on tensor cores.",
        ),
        training_step(replace(SMALL, dtype="tf32")),
    ),
    job(
        Label(
            "device_copies", "gpu", main="device_copies|layout_conversion", never=f"{NOT_TRUE} tensor_cores_unused",
            why="300 contiguous() a step, 32 MB each: 14 of 26 ms are copies within the device.",
        ),
        (*STEP[:3], copies_on_device(300, 32_000_000), *STEP[3:]),
    ),
    job(
        Label(
            "compiled_eager_attention", "gpu", may="eager_attention", never=f"{NOT_TRUE} tensor_cores_unused",
            why="Attention written out, under torch.compile: its kernels are generated ones.",
        ),
        compiled_step(replace(SMALL, attention="eager")),
    ),
)  # fmt: skip
