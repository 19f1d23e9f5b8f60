"""Several ranks: the part of their communication that nothing hides, as seen from one rank."""

from __future__ import annotations

from dataclasses import replace

from tests.judged.jobs.drawn import MS, SMALL, LabelledJob, job
from tests.judged.jobs.healthy import EDGES, GRAPHS, STEP, WAITS
from tests.judged.labels import Label
from tests.truth.simulate.causes import MI300X, Section
from tests.truth.simulate.jobs.compiled import compiled_step
from tests.truth.simulate.jobs.ranks import after_backward, all_reduce, joined, overlapped
from tests.truth.simulate.jobs.transfers import read_back
from tests.truth.simulate.jobs.transformer import training_step

NOT_TRUE = f"{GRAPHS} {WAITS} {EDGES} sync_bubble"
EXPOSED = "exposed_communication|many_small_collectives|collectives_on_compute_stream"
SMALL_ONES = "many_small_collectives|exposed_communication"
BUCKETS = (all_reduce(12_000_000, 2 * MS),) * 4
HIDDEN = (all_reduce(6_000_000, MS // 2),) * 4

RANKS: tuple[LabelledJob, ...] = (
    job(
        Label(
            "ranks_after_backward", "communication", main=EXPOSED, never=NOT_TRUE,
            why="Four buckets of 2 ms after the backward pass: 8 of 19.5 ms nothing but communication.",
        ),
        after_backward(STEP, BUCKETS),
        ranks=8,
    ),
    job(
        Label(
            "ranks_many_small", "communication host mixed", main=SMALL_ONES, never=f"{WAITS} {EDGES} sync_bubble",
            why="250 all-reduces of 40 us after the backward pass, one a tensor: 10 of 22 ms; the host "
            "needs as long to launch them.",
        ),
        after_backward(STEP, (all_reduce(50_000, 40_000),) * 250),
        ranks=8,
    ),
    job(
        Label(
            "ranks_many_quick", "communication gpu", main=SMALL_ONES,
            never=f"{WAITS} {EDGES} sync_bubble between_passes",
            why="150 all-reduces of 200 KB and 35 us each after the backward pass: 5.3 of 17 ms are exposed, and "
            "could run beside it.",
        ),
        after_backward(STEP, (all_reduce(50_000, 35_000),) * 150),
        ranks=8,
        call_ns=3_000, host_factor=1.0,
    ),
    job(
        Label(
            "ranks_many_small_late", "host communication mixed", main=SMALL_ONES,
            never=f"{WAITS} {EDGES} sync_bubble between_passes",
            why="200 all-reduces of 15 us after the backward pass, each launched by 80 us of host: the device waits "
            "for them, and nothing but buckets helps.",
        ),
        after_backward(STEP, (all_reduce(5_000, 15_000),) * 200),
        ranks=8,
    ),
    job(
        Label(
            "ranks_on_compute_stream", "communication gpu", main=EXPOSED, never=NOT_TRUE,
            why="Four buckets of 2 ms in the backward pass, on the stream that computes: none of it runs beside "
            "them.",
        ),
        overlapped(STEP, (all_reduce(12_000_000, 2 * MS, stream=0),) * 4),
        ranks=8,
    ),
    job(
        Label(
            "ranks_slow_network", "communication", main=EXPOSED, never=NOT_TRUE,
            why="Buckets go out during the backward pass, but take 12 ms each: 40 of 52 ms are exposed.",
        ),
        overlapped(STEP, (all_reduce(12_000_000, 12 * MS),) * 4),
        ranks=16,
    ),
    job(
        Label(
            "ranks_last_bucket", "gpu communication", main=EXPOSED, never=NOT_TRUE,
            why="All buckets but the last are hidden; that one takes 2.5 of 14 ms alone.",
        ),
        overlapped(STEP, (*BUCKETS[:3], all_reduce(24_000_000, 5 * MS // 2))),
        ranks=8,
    ),
    job(
        Label(
            "ranks_hidden_compiled", "gpu", may="exposed_communication", never=NOT_TRUE,
            why="Under torch.compile, buckets of 0.5 ms hidden by the backward pass.",
        ),
        overlapped(compiled_step(SMALL), HIDDEN),
        ranks=8,
    ),
    job(
        Label(
            "ranks_hidden_amd", "gpu", may="exposed_communication", never=NOT_TRUE,
            why="The same in eager mode on HIP.",
        ),
        overlapped(STEP, HIDDEN),
        ranks=8,
        gpu=MI300X,
    ),
    job(
        Label(
            "ranks_rare", "gpu", never=f"{NOT_TRUE} exposed_communication many_small_collectives",
            why="One all-reduce of a number a step, 20 us: nothing to gain.",
        ),
        (*STEP[:4], Section((all_reduce(1, 20_000),)), *STEP[4:]),
        ranks=2,
    ),
    job(
        Label(
            "ranks_mean_loss", "sync gpu", main="synchronous_exchange", may="exposed_communication",
            never=f"{NOT_TRUE} {GRAPHS} long_stretches",
            why="After the update the loss is all-reduced, which waits 0.5 ms for the other ranks, and read; then 5 ms "
            "of Python for a log.",
        ),
        (*overlapped(STEP, HIDDEN), Section((all_reduce(1, MS // 2),)), joined(), read_back(),
         Section((), stop_ns=5 * MS)),
        ranks=8,
    ),
    job(
        Label(
            "ranks_own_loss", "sync gpu", main="sync_bubble", may="exposed_communication",
            never=f"{GRAPHS} {WAITS} {EDGES} synchronous_exchange",
            why="Each rank reads its own loss after the update; gradients are exchanged before that, by another "
            "thread. Then 5 ms of Python for a log.",
        ),
        (*overlapped(STEP, HIDDEN), read_back(), Section((), stop_ns=5 * MS)),
        ranks=8,
    ),
    job(
        Label(
            "ranks_host_bound", "host", main="launch_graphs", may="exposed_communication fused_optimizer",
            never=f"{WAITS} {EDGES} tensor_cores_unused",
            why="Kernels of some us in a narrow network: the device starves, 60 % idle; the buckets of 60 us are no "
            "subject.",
        ),
        overlapped(
            training_step(replace(SMALL, batch=1, length=128, width=512, classes=1024)),
            (all_reduce(2_000_000, 60_000),) * 4,
        ),
        ranks=2,
    ),
)  # fmt: skip
