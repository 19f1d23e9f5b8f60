"""Jobs in which nothing is worth a card above minor: the device works, and what looks like a problem costs nothing."""

from __future__ import annotations

from dataclasses import replace

from tests.judged.jobs.drawn import FIRST, MS, QUICK, SMALL, LabelledJob, job
from tests.judged.labels import Label
from tests.truth.simulate.causes import H100, MI300X, Loader, Recording, Section
from tests.truth.simulate.jobs.compiled import compiled_step, graph_step
from tests.truth.simulate.jobs.inference import Decoding, decode_from_graph, prompt_step
from tests.truth.simulate.jobs.ranks import all_reduce, overlapped
from tests.truth.simulate.jobs.transfers import from_pageable, prefetched, read_back
from tests.truth.simulate.jobs.transformer import Transformer, training_step

STEP = training_step(SMALL)
LONG = replace(SMALL, depth=10)
GRAPHS = "launch_graphs long_stretches"
WAITS = "input_bound no_workers more_workers"
EDGES = "slow_steps host_stops"

HEALTHY: tuple[LabelledJob, ...] = (
    job(
        Label(
            "healthy", "gpu", never=f"{GRAPHS} {WAITS} {EDGES} tensor_cores_unused",
            why="A transformer in bfloat16 with fused attention and optimizer; the host needs half of the step.",
        ),
        STEP,
    ),
    job(
        Label(
            "healthy_queue_full", "gpu", may="back_pressure", never=f"{GRAPHS} {WAITS} {EDGES} sync_bubble",
            why="Ten layers, 440 launches a step: from the third step on the queue of 1024 is full, and launches "
            "wait.",
        ),
        training_step(LONG),
        active=6,
    ),
    job(
        Label(
            "healthy_h100", "gpu", never=f"{GRAPHS} {WAITS} {EDGES} tensor_cores_unused",
            why="The same on another card.",
        ),
        STEP,
        gpu=H100,
    ),
    job(
        Label(
            "healthy_partial_waves", "gpu", never=f"{GRAPHS} {WAITS} {EDGES} tensor_cores_unused",
            why="Products of 256 blocks on 108 SMs: three waves, the last of them a third full, at 210 of 312 "
            "TFLOP/s. No setting of the training changes that.",
        ),
        training_step(replace(SMALL, split=False)),
    ),
    job(
        Label(
            "healthy_no_loader", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="The same with data that is on the device before.",
        ),
        STEP,
        None,
    ),
    job(
        Label(
            "healthy_loader_just_enough", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="Two workers need 24 ms for a batch, the step 14: each wait is hidden behind work of the device.",
        ),
        STEP,
        Loader(20 * MS, workers=2, jitter=0.03),
    ),
    job(
        Label(
            "healthy_one_worker", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="One worker needs 8 of 14 ms.",
        ),
        STEP,
        Loader(8 * MS, workers=1, jitter=0.03),
    ),
    job(
        Label(
            "healthy_compiled", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="The same under torch.compile: few ops, Triton's kernels.",
        ),
        compiled_step(SMALL),
    ),
    job(
        Label(
            "healthy_graph", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="Forward and backward pass in one graph whose nodes are recorded: 10 ms of work by a call of 60 us.",
        ),
        graph_step(SMALL, nodes=True),
    ),
    job(
        Label(
            "healthy_graph_read_back", "gpu", never=f"{GRAPHS} {WAITS} {EDGES} fused_optimizer",
            why="As above, and item() in each step: the device waits 0.3 ms for the next graph.",
        ),
        (*graph_step(SMALL, nodes=True), read_back()),
    ),
    job(
        Label(
            "healthy_two_optimizers", "gpu", never=f"{GRAPHS} {WAITS} {EDGES} fused_optimizer",
            why="Two networks in turn, as a GAN trains them: two backward passes and two optimizers a step of 23 ms.",
        ),
        (*STEP, *STEP[1:]),
    ),
    job(
        Label(
            "healthy_ranks", "gpu", may="exposed_communication", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="Eight ranks, four buckets of 1 ms: all but the last run beside the backward pass; 0.3 of 14 ms "
            "exposed.",
        ),
        overlapped(STEP, (*(all_reduce(12_000_000, 1 * MS),) * 3, all_reduce(2_000_000, MS // 4))),
        ranks=8,
    ),
    job(
        Label(
            "healthy_prefetch_stream", "gpu", never=f"{GRAPHS} {WAITS} {EDGES} pageable_copies pageable_batch_copies",
            why="The next batch, 48 MB, is copied on a stream of its own beside the kernels.",
        ),
        (*prefetched(48_000_000), *STEP[1:]),
    ),
    job(
        Label(
            "healthy_item_once", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="loss.item() in one of six steps: it waits for the device, and costs what the host needs to be ahead "
            "again.",
        ),
        (*STEP, read_back((FIRST + 3,))),
        active=6,
    ),
    job(
        Label(
            "healthy_small_pageable_copy", "gpu", never=f"{GRAPHS} {WAITS} {EDGES} pageable_copies",
            why="The labels, 16 KB, come from pageable memory in a call of some microseconds behind the loader.",
        ),
        (Section(STEP[0].ops[:1]), from_pageable(16_384), *STEP[1:]),
    ),
    job(
        Label(
            "healthy_prompt", "gpu", never=f"{GRAPHS} {WAITS} {EDGES} hidden_sync_backward hidden_sync_optimizer",
            why="Inference of prompts of 8192 tokens: the device works for 40 ms, the answer is fetched at the end, "
            "and the next forward pass is launched within 0.2.",
        ),
        prompt_step(Transformer(depth=6, classes=8192)),
        None,
    ),
    job(
        Label(
            "healthy_decode_graph", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="Decoding from one graph a step, launched ahead of the device.",
        ),
        decode_from_graph(Decoding(layers=24, kernel_ns=20_000), nodes=True, ahead=True),
        None,
        active=6,
    ),
    job(
        Label(
            "healthy_amd", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="The same step as HIP records it.",
        ),
        STEP,
        gpu=MI300X,
    ),
    job(
        Label(
            "healthy_no_shapes", "gpu", never=f"{GRAPHS} {WAITS} {EDGES} tensor_cores_unused alignment",
            why="Recorded without shapes.",
        ),
        STEP,
        recording=Recording(shapes=False),
    ),
    job(
        Label(
            "healthy_without_marks", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="The loop does not call prof.step(); the optimizer's marks show five steps.",
        ),
        STEP,
        recording=Recording(marks=False),
    ),
    job(
        Label(
            "healthy_two_steps", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="Two steps only.",
        ),
        STEP,
        active=2,
    ),
    job(
        Label(
            "healthy_one_step", "gpu host", never=f"{WAITS} {EDGES}",
            why="One step only, which begins with an empty queue: 13 ms of work, and the launches before its first "
            "kernel.",
        ),
        STEP,
        active=1,
    ),
    job(
        Label(
            "healthy_stacks", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="Recorded with call stacks, which slow the host; the device is still busy.",
        ),
        tuple(replace(section, frames=("train.py(12): main", "train.py(40): step")) for section in STEP),
    ),
    job(
        Label(
            "healthy_device_records_only", "gpu unknown", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="Only CUDA was recorded: calls and activities, no ops, no marks.",
        ),
        STEP,
        recording=Recording(without=frozenset({"cpu_op", "user_annotation", "python_function"})),
    ),
    job(
        Label(
            "healthy_without_calls", "gpu unknown", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="The calls that launch are missing: marks, ops and activities are there.",
        ),
        STEP,
        recording=Recording(without=frozenset({"cuda_runtime", "cuda_driver"})),
    ),
    job(
        Label(
            "healthy_without_calls_queue_full", "gpu unknown", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="As above, with ten layers: in the first steps the host runs ahead, in later ones it waits for room "
            "in the queue. Without launch calls only its own marks tell steps apart, so they differ; the "
            "device's work does not.",
        ),
        training_step(LONG),
        recording=Recording(without=frozenset({"cuda_runtime", "cuda_driver"})),
        active=8,
    ),
    job(
        Label(
            "healthy_long_kernels", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="Batch 32: kernels of 2 ms, the host waits for nothing.",
        ),
        training_step(replace(SMALL, batch=32)),
        active=3,
    ),
    job(
        Label(
            "healthy_quick_loader", "gpu", never=f"{GRAPHS} {WAITS} {EDGES}",
            why="Eight workers, batches of 2 ms: the queue of batches is always full.",
        ),
        STEP,
        replace(QUICK, batch_ns=2 * MS, workers=8),
    ),
)  # fmt: skip
