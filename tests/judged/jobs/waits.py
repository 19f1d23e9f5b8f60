"""Jobs whose device waits: for the host's launches, for blocking calls, for batches."""

from __future__ import annotations

from dataclasses import replace

from tests.judged.jobs.drawn import FIRST, MS, SMALL, LabelledJob, job
from tests.judged.jobs.healthy import EDGES, GRAPHS, STEP, WAITS
from tests.judged.labels import Label
from tests.truth.simulate.causes import Call, Loader, Op, Recording, Section
from tests.truth.simulate.jobs.compiled import compiled_step, graph_step
from tests.truth.simulate.jobs.cpu_only import adam_step, cpu_step
from tests.truth.simulate.jobs.edges import compiled_in
from tests.truth.simulate.jobs.inference import Decoding, decode_from_graph, decode_step, prompt_step
from tests.truth.simulate.jobs.transfers import from_pageable, read_back, synchronized
from tests.truth.simulate.jobs.transformer import Transformer, training_step

NARROW = replace(SMALL, batch=1, length=128, width=512, classes=1024)
NOT_TRUE = f"{WAITS} {EDGES} tensor_cores_unused"


def late_update(ms: int, optimizer: Section) -> Section:
    """A host op before the update; a training doubles the op's duration."""
    return replace(optimizer, ops=(Op(("aten::_local_scalar",), (), ms * MS // 2), *optimizer.ops))


WAITING: tuple[LabelledJob, ...] = (
    job(
        Label(
            "narrow_network", "host", main="launch_graphs", may="fused_optimizer", never=NOT_TRUE,
            why="Kernels of 3 to 10 us, launched by ops of 25 to 50: the device starves.",
        ),
        training_step(NARROW),
    ),
    job(
        Label(
            "narrow_without_marks", "host", main="launch_graphs", may="fused_optimizer", never=NOT_TRUE,
            why="The same without prof.step().",
        ),
        training_step(NARROW),
        recording=Recording(marks=False),
    ),
    job(
        Label(
            "late_fused_optimizer", "host", may="launch_graphs long_stretches",
            never=f"{NOT_TRUE} fused_optimizer tiny_optimizer_kernels",
            why="Before the update, 4 ms of Python and CPU ops within Optimizer.step: the device waits. The update "
            "itself is fused already, in twelve launches because of its size.",
        ),
        (*training_step(NARROW)[:-1], late_update(4, training_step(replace(SMALL, depth=20))[-1])),
    ),
    job(
        Label(
            "decode_eager", "host", main="launch_graphs", may="sync_bubble", never=f"{NOT_TRUE} fused_optimizer",
            why="Decoding: 264 kernels of 5 us a token, each behind its launch; the fetch of the token waits for "
            "nothing.",
        ),
        decode_step(Decoding()),
        None,
    ),
    job(
        Label(
            "decode_eager_without_marks", "host", main="launch_graphs", may="sync_bubble",
            never=f"{NOT_TRUE} fused_optimizer",
            why="The same without prof.step().",
        ),
        decode_step(Decoding()),
        None,
        recording=Recording(marks=False),
    ),
    job(
        Label(
            "decode_graph_short", "sync host mixed gpu", may="sync_bubble between_graphs",
            never=f"{NOT_TRUE} launch_graphs long_stretches",
            why="One graph launch a token, 1.4 ms of work; the host fetches the token and prepares the next one for "
            "0.2 ms.",
        ),
        decode_from_graph(Decoding(), nodes=True),
        None,
    ),
    job(
        Label(
            "decode_graph_without_nodes", "unknown dependency sync mixed gpu", main="unrecorded_work",
            never=f"{NOT_TRUE} launch_graphs long_stretches",
            why="The same with a graph whose nodes are not recorded: the trace shows two small copies and a wait.",
        ),
        decode_from_graph(Decoding(), nodes=False),
        None,
    ),
    job(
        Label(
            "decode_ahead_without_nodes", "unknown", main="unrecorded_work",
            never=f"{NOT_TRUE} launch_graphs long_stretches sync_bubble",
            why="The same, and nobody reads the token: copies wait behind graphs that the trace does not show.",
        ),
        decode_from_graph(Decoding(), nodes=False, ahead=True),
        None,
    ),
    job(
        Label(
            "train_graph_without_nodes", "unknown", main="unrecorded_work",
            never=f"{NOT_TRUE} launch_graphs long_stretches sync_bubble fused_optimizer",
            why="A training whose passes are one graph without its nodes: the optimizer waits for it.",
        ),
        graph_step(SMALL, nodes=False),
    ),
    job(
        Label(
            "short_prompt", "host", main="launch_graphs", may="sync_bubble", never=f"{NOT_TRUE} fused_optimizer",
            why="Prompts of 64 tokens, eager: kernels of 3 to 10 us behind ops of 25.",
        ),
        prompt_step(Transformer(batch=1, length=64, classes=1024, depth=6)),
        None,
    ),
    job(
        Label(
            "item_every_step", "gpu", may="sync_bubble", never=NOT_TRUE,
            why="loss.item() at the end of each step: the queue is empty when the next step begins, 0.3 of 11.8 ms.",
        ),
        (*STEP, read_back()),
        host_factor=3.0,
    ),
    job(
        Label(
            "synchronize_every_step", "gpu sync", main="sync_bubble", never=f"{NOT_TRUE} {GRAPHS}",
            why="torch.cuda.synchronize() at the end of each step, then 3 ms of Python for a log.",
        ),
        (*STEP, synchronized(), Section((), stop_ns=3 * MS)),
    ),
    job(
        Label(
            "pageable_images", "sync gpu", main="pageable_copies|pageable_batch_copies",
            must="pageable_copies|pageable_batch_copies", never=f"{NOT_TRUE} {GRAPHS}",
            why="77 MB of images from pageable memory at 6 GB/s: 12.8 of 24 ms, in which the host waits and nothing "
            "runs.",
        ),
        (from_pageable(77_000_000), *STEP[1:]),
    ),
    job(
        Label(
            "allocator_every_step", "gpu sync", main="allocator_steady", may="sync_bubble",
            never=f"{NOT_TRUE} {GRAPHS}",
            why="The cache is emptied in each step: cudaFree waits for the device, then six cudaMalloc of 0.6 ms.",
        ),
        (
            *STEP[:2],
            Section((
                Op((), (Call("cudaFree", blocks=True, host_ns=200_000),), 500),
                *(Op(("aten::empty",), (Call("cudaMalloc", host_ns=600_000),), 1_000),) * 6,
            )),
            *STEP[2:],
        ),
    ),
    job(
        Label(
            "starved_one_worker", "input", main="input_bound|more_workers", never=f"no_workers {EDGES} {GRAPHS}",
            why="One worker needs 40 ms for a batch, the step 11.5.",
        ),
        STEP,
        Loader(40 * MS, workers=1, jitter=0.03),
        active=9,
    ),
    job(
        Label(
            "starved_four_workers", "input", main="more_workers", never=f"no_workers {EDGES} {GRAPHS}",
            why="Four workers of 100 ms: a batch each 25 ms, the step needs 11.5.",
        ),
        STEP,
        Loader(100 * MS, workers=4, jitter=0.02),
        wait=6, warmup=6, active=15,
    ),
    job(
        Label(
            "starved_no_workers", "input", main="no_workers", never=f"more_workers {EDGES} {GRAPHS}",
            why="The main process produces each batch in 20 ms itself.",
        ),
        STEP,
        Loader(20 * MS),
    ),
    job(
        Label(
            "starved_without_marks", "input", main="no_workers", never=f"more_workers {EDGES} {GRAPHS}",
            why="The same without prof.step().",
        ),
        STEP,
        Loader(20 * MS),
        recording=Recording(marks=False),
    ),
    job(
        Label(
            "compiled_starved", "input", main="input_bound|more_workers", never=f"no_workers {EDGES} {GRAPHS}",
            why="Under torch.compile, one worker of 40 ms.",
        ),
        compiled_step(SMALL),
        Loader(40 * MS, workers=1, jitter=0.03),
        active=9,
    ),
    job(
        Label(
            "compiles_again", "host", main="compiled_waits", may="slow_steps",
            never=f"{WAITS} {GRAPHS} one_time host_stops",
            why="A batch of another shape in the second and in the last of five steps: torch.compile works for 100 ms "
            "each time, of which the device has work for 8. A step takes 11.5 without it.",
        ),
        (compiled_in(100, FIRST + 1, FIRST + 4), *STEP),
    ),
    job(
        Label(
            "cpu_compiles_again", "cpu", main="cpu_compiles", may="slow_steps",
            never=f"{WAITS} {GRAPHS} one_time cpu_ops",
            why="No GPU: 20 ms of products a step; in the second and in the last of five steps torch.compile works "
            "for 200 ms.",
        ),
        (compiled_in(200, FIRST + 1, FIRST + 4), *cpu_step(20_000)),
        None,
        devices=0,
    ),
    job(
        Label(
            "cpu_computes", "cpu", never=f"{WAITS} {EDGES} {GRAPHS} loader_overhead",
            why="No GPU: 200 ms of products a step, 0.2 ms of waits for batches.",
        ),
        cpu_step(200_000),
        devices=0,
    ),
    job(
        Label(
            "cpu_python", "unknown", main="cpu_outside", never=f"{WAITS} {EDGES} {GRAPHS} cpu_ops cpu_optimizer",
            why="No GPU: in each step Python prepares a batch for 20 ms, of which nothing is recorded; then 4 ms of "
            "products.",
        ),
        (Section((), stop_ns=20 * MS), *cpu_step(4_000)),
        None,
        devices=0,
    ),
    job(
        Label(
            "cpu_saves", "cpu", main="slow_steps", never=f"{WAITS} {GRAPHS} host_stops",
            why="No GPU: steps of 16 ms; after every third of them Python saves a checkpoint for 25 ms.",
        ),
        (*cpu_step(16_000), Section((), stop_ns=25 * MS, steps=tuple(FIRST + step for step in (2, 5, 8)))),
        None,
        devices=0,
        active=10,
    ),
    job(
        Label(
            "cpu_preempted", "cpu", may="slow_steps", never=f"{WAITS} {GRAPHS}",
            why="No GPU: steps of 17 ms, 0.4 in the optimizer. In three of six another process takes the core for 10 "
            "ms from one op in it: no optimizer helps against that.",
        ),
        (
            *cpu_step(16_000)[:-1],
            *adam_step(tuple(FIRST + step for step in (0, 2, 5)), tuple(FIRST + step for step in (1, 3, 4))),
        ),
        None,
        devices=0,
        active=6,
    ),
    job(
        Label(
            "cpu_starved", "input", main="no_workers", never=f"{EDGES} {GRAPHS}",
            why="No GPU: 60 ms of products, 90 ms in which the main process produces the batch.",
        ),
        cpu_step(60_000),
        Loader(90 * MS),
        devices=0,
    ),
    job(
        Label(
            "cpu_little_wait", "cpu", may="more_workers input_bound", never=f"{EDGES} {GRAPHS}",
            why="No GPU: 10 of 100 ms a step are a wait for the batch, 90 are computed.",
        ),
        cpu_step(90_000),
        Loader(100 * MS, workers=1, jitter=0.02),
        devices=0,
    ),
)  # fmt: skip
