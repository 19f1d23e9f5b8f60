"""The edges of a recording, one-time work, and unrecorded work; nothing else is wrong in these jobs."""

from __future__ import annotations

from dataclasses import replace

from tests.judged.jobs.drawn import FIRST, MS, SMALL, LabelledJob, job
from tests.judged.jobs.healthy import EDGES, GRAPHS, LONG, STEP, WAITS
from tests.judged.labels import Label
from tests.truth.simulate.causes import MI300X, Loader, Recording, Section
from tests.truth.simulate.jobs.compiled import graph_step
from tests.truth.simulate.jobs.edges import (
    compiled_in,
    created_context,
    first_allocations,
    first_product,
    loaded_module,
    side_stream,
    unrecorded_work,
)
from tests.truth.simulate.jobs.transfers import from_pageable, prefetched, read_back
from tests.truth.simulate.jobs.transformer import training_step

BEHIND = {"wait": 1, "warmup": 5}  # steps in which the host gets ahead of the device before it is recorded
NOT_TRUE = f"{GRAPHS} {WAITS}"

AT_THE_EDGES: tuple[LabelledJob, ...] = (
    job(
        Label(
            "head_hidden", "gpu", never=f"{NOT_TRUE} {EDGES}",
            why="The device works off earlier steps, of which nothing is recorded, for some 20 ms: then it is busy.",
        ),
        STEP,
        recording=Recording(head="hidden"),
        **BEHIND,
    ),
    job(
        Label(
            "head_hidden_first_copy_waits", "gpu", never=f"{NOT_TRUE} {EDGES} pageable_copies sync_bubble",
            why="As above, and the batch comes from pageable memory: the first copy waits for the earlier work, the "
            "later ones for the step before theirs, which runs meanwhile; each costs 0.3 ms of idle time.",
        ),
        (from_pageable(262_144), *STEP[1:]),
        recording=Recording(head="hidden"),
        **BEHIND,
    ),
    job(
        Label(
            "head_hidden_waits_for_batches", "gpu", never=f"{NOT_TRUE} {EDGES} loader_jitter",
            why="The host is ahead of the device, and waits for batches of 5 ms; meanwhile the device works off "
            "earlier steps, of which nothing is recorded. A step takes 11.5.",
        ),
        STEP,
        Loader(5 * MS, workers=1),
        recording=Recording(head="hidden"),
        **BEHIND,
    ),
    job(
        Label(
            "head_hidden_slow_batch", "gpu", never=f"{NOT_TRUE} {EDGES} loader_jitter",
            why="As above, with two workers of 16 ms: the first recorded wait lasts longest.",
        ),
        STEP,
        Loader(16 * MS, workers=2),
        recording=Recording(head="hidden"),
        active=8,
        **BEHIND,
    ),
    job(
        Label(
            "head_hidden_graph", "gpu", never=f"{NOT_TRUE} {EDGES} loader_jitter",
            why="As above, with a graph a step: the host does little but wait for batches, and the device is always "
            "busy.",
        ),
        graph_step(SMALL, nodes=True),
        Loader(5 * MS, workers=1),
        recording=Recording(head="hidden"),
        active=8,
        **BEHIND,
    ),
    job(
        Label(
            "head_hidden_without_calls", "gpu unknown", never=f"{NOT_TRUE} {EDGES} loader_jitter",
            why="As above, without launch calls: nothing tells whether the device is idle before its first recorded "
            "work, while the host waits for batches. Afterwards it is always busy.",
        ),
        STEP,
        Loader(16 * MS, workers=2),
        recording=Recording(head="hidden", without=frozenset({"cuda_runtime", "cuda_driver"})),
        active=8,
        **BEHIND,
    ),
    job(
        Label(
            "head_hidden_prefetch", "gpu", never=f"{NOT_TRUE} {EDGES}",
            why="As above; the first recorded work is a copy on a stream of its own, which has nothing to wait for.",
        ),
        (*prefetched(1_000_000), *STEP[1:]),
        None,
        recording=Recording(head="hidden"),
        **BEHIND,
    ),
    job(
        Label(
            "head_hidden_prefetch_two_steps", "gpu", never=f"{NOT_TRUE} {EDGES}",
            why="As above, two steps only, and one before them.",
        ),
        (*prefetched(1_000_000), *STEP[1:]),
        None,
        recording=Recording(head="hidden"),
        active=2,
    ),
    job(
        Label(
            "head_unlinked", "gpu", never=f"{NOT_TRUE} {EDGES}",
            why="As HIP records it: the first 20 ms of activities have no call that launched them.",
        ),
        STEP,
        recording=Recording(head="unlinked"),
        gpu=MI300X,
        **BEHIND,
    ),
    job(
        Label(
            "tail_cut", "gpu", never=f"{NOT_TRUE} {EDGES}",
            why="The recording ends while the device still works: the kernels of the last steps are missing.",
        ),
        training_step(LONG),
        recording=Recording(tail="cut"),
        active=6,
    ),
    job(
        Label(
            "head_and_tail", "gpu unknown", never=f"{NOT_TRUE} {EDGES}",
            why="Both: the first 20 ms of the device and its last ones are missing.",
        ),
        STEP,
        recording=Recording(head="hidden", tail="cut"),
        active=12,
        **BEHIND,
    ),
    job(
        Label(
            "once_first_product", "gpu host mixed", main="one_time", never=f"{NOT_TRUE} slow_steps",
            why="The first product of the first recorded step sets its library up: 980 ms once, nothing recorded "
            "inside; the other steps take 11.5 ms and are busy.",
        ),
        (first_product(980, FIRST), *STEP),
    ),
    job(
        Label(
            "once_context", "gpu host mixed", main="one_time", never=f"{NOT_TRUE} slow_steps",
            why="The first call creates the CUDA context: 3 s once; the other steps are busy.",
        ),
        (created_context(3_000, FIRST), *STEP),
        wait=0, warmup=2,
    ),
    job(
        Label(
            "once_module", "gpu host mixed", main="one_time", never=f"{NOT_TRUE} slow_steps",
            why="The first launch of a kernel loads its module: 120 ms once.",
        ),
        (*STEP[:2], loaded_module(120, FIRST + 1), *STEP[2:]),
    ),
    job(
        Label(
            "once_compiled", "gpu host mixed", main="one_time", never=f"{NOT_TRUE} slow_steps",
            why="The first call compiles for 4 s inside the recording; all other steps are busy.",
        ),
        (compiled_in(4_000, FIRST), *STEP),
    ),
    job(
        Label(
            "once_allocations", "gpu host mixed", may="one_time", never=f"{NOT_TRUE} allocator_steady slow_steps",
            why="30 cudaMalloc of 1 ms in the first recorded step, none later: the cache of the allocator fills "
            "once.",
        ),
        (first_allocations(30, 1, FIRST), *STEP),
    ),
    job(
        Label(
            "unrecorded_work_waited_for", "unknown dependency mixed gpu", main="unrecorded_work",
            never=f"{NOT_TRUE} {EDGES} sync_bubble",
            why="In each step the device works for 15 ms on something that no record shows, and the host waits for "
            "it in a synchronize: the launches before it had returned.",
        ),
        (*STEP[:2], unrecorded_work(15, waits=True), *STEP[2:]),
    ),
    job(
        Label(
            "unrecorded_work_queued", "unknown dependency mixed gpu", may="unrecorded_work",
            never=f"{NOT_TRUE} {EDGES}",
            why="As above; nobody waits but the kernels that were launched behind it.",
        ),
        (*STEP[:2], unrecorded_work(15, waits=False), *STEP[2:]),
    ),
    job(
        Label(
            "graph_without_nodes", "unknown dependency gpu mixed", main="unrecorded_work",
            never=f"{NOT_TRUE} {EDGES}",
            why="Forward and backward pass are one graph launch whose nodes are not recorded: of 11 ms a step the "
            "trace shows copies and the optimizer, launched long before they start.",
        ),
        graph_step(SMALL, nodes=False),
    ),
    job(
        Label(
            "graph_without_nodes_read_back", "unknown dependency gpu mixed", main="unrecorded_work",
            never=f"{NOT_TRUE} {EDGES} fused_optimizer sync_bubble",
            why="As above, and item() at the end of each step: so nearly every launch that finds the device without "
            "recorded work waits for the graph, 24 ms long. The optimizer is fused, and launched in time.",
        ),
        (*graph_step(LONG, nodes=False), read_back()),
    ),
    job(
        Label(
            "side_stream_busy", "gpu", never=f"{NOT_TRUE} {EDGES}",
            why="A kernel of 6 ms on another stream, which the step waits for: the device is busy with it.",
        ),
        (*STEP[:2], *side_stream(6), *STEP[2:]),
    ),
    job(
        Label(
            "side_stream_unrecorded", "dependency unknown mixed", never=f"{NOT_TRUE} {EDGES}",
            why="The step waits for an event of a stream that is not in the trace, 18 ms beyond the end of its own "
            "work.",
        ),
        (*STEP[:2], *side_stream(18, recorded=False), *STEP[2:]),
    ),
    job(
        Label(
            "head_hidden_fp32", "gpu", main="tensor_cores_unused", may="small_grids", never=f"{NOT_TRUE} {EDGES}",
            why="FP32 with TF32 off: nine tenths of the kernel time are ampere_sgemm. The host is three steps ahead, "
            "so each launch waits for room in a queue of which the recording does not know how full it is.",
        ),
        training_step(replace(LONG, dtype="fp32")),
        recording=Recording(head="hidden"),
        active=3,
        **BEHIND,
    ),
    job(
        Label(
            "only_the_host_recorded", "unknown gpu", never=f"{GRAPHS} {EDGES} more_workers",
            why="The main process makes batches of 4 ms; the device needs 11.5 ms a step, so the queue hides most of "
            "them (a twelfth of the step is exposed). Nothing of the device was recorded: nobody can tell.",
        ),
        STEP,
        Loader(4 * MS),
        recording=Recording(
            without=frozenset({"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver"})
        ),
    ),
    job(
        Label(
            "without_marks_head_hidden", "gpu", never=f"{NOT_TRUE} {EDGES}",
            why="No prof.step(), and the device works off earlier steps at the beginning.",
        ),
        STEP,
        recording=Recording(head="hidden", marks=False),
        **BEHIND,
    ),
    job(
        Label(
            "one_slow_step", "gpu host mixed", main="slow_steps|host_stops", never=NOT_TRUE,
            why="Python stands still for 60 ms in one of eight steps of 11.5 ms, longer than the host was ahead.",
        ),
        (*STEP[:2], Section((), stop_ns=60 * MS, steps=(FIRST + 4,)), *STEP[2:]),
        active=8,
    ),
)  # fmt: skip
