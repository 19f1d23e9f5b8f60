"""Trainings with one declared cause, or with two (`tests/truth/simulate/mixtures.py`).

A step is bound by the device if the device works for most of it and a cause makes it up to a quarter longer: with an
infinitely fast host it would still take nearly as long. The one-time cost of a pause is not part of such a step. What a
cause costs is the difference to the same training without it; `python -m tests.truth.simulate causes` prints it.
"""

from __future__ import annotations

from tests.judged.labels import Label

_STEPS = "slow_steps"  # a pause makes one step slow, which either of two cards may say

#: Labels by the names of the causes.
MIXTURES = (
    Label(
        "slow_loader", "input", main="more_workers", never="no_workers launch_graphs slow_steps",
        why="Two workers of 36 ms: 13.1 of 19 ms a step are a wait for the batch.",
    ),
    Label(
        "item", "gpu sync", main="sync_bubble", never="launch_graphs slow_steps",
        why="A read-back before 0.9 ms of Python, which nothing hides then: 0.96 of 7 ms.",
    ),
    Label(
        "coalesce", "gpu sync", main="hidden_sync_backward", never="launch_graphs slow_steps",
        why="A count of indices is read back in the middle of backward: 0.95 of 7.2 ms.",
    ),
    Label(
        "tiny_kernels", "host", main="launch_graphs", never="sync_bubble",
        why="150 kernels of 2.6 us, 27 us of host each: 3.6 ms a step.",
    ),
    Label(
        "memory_anew", "gpu sync", main="allocator_steady", never="launch_graphs slow_steps",
        why="cudaFree, which waits, and cudaMalloc in each step: 1.2 of 7.3 ms.",
    ),
    Label(
        "full_queue", "gpu", main="back_pressure", never="launch_graphs sync_bubble host_stops",
        why="The queue of 1024 launches is full; with room for all of them the step takes as long.",
    ),
    Label(
        "collection", "gpu host", main="host_stops", may=_STEPS, never="launch_graphs",
        why="Python stands still once for 24 ms, in one of nine steps of 6.",
    ),
    Label(
        "in_series", "sync", main="serial_devices", may="sync_bubble", never="launch_graphs",
        why="A masked index on each of two GPUs waits for it before the other one gets work: 5.4 of 11.7 ms.",
    ),
    Label(
        "slow_loader and item", "input", main="more_workers", may="sync_bubble",
        why="12 ms of waits for batches; without the read-back the step would take as long.",
    ),
    Label(
        "slow_loader and coalesce", "input", main="more_workers", may="hidden_sync_backward",
        why="11.8 ms of waits for batches; the read-back in backward is hidden by them.",
    ),
    Label(
        "slow_loader and tiny_kernels", "input", main="more_workers", may="launch_graphs",
        why="8.4 ms of waits for batches; tiny kernels cost 3.6 ms once the loader keeps up.",
    ),
    Label(
        "slow_loader and memory_anew", "input", main="more_workers", may="allocator_steady",
        why="11.7 ms of waits for batches, and 1.2 ms of allocation that they hide.",
    ),
    Label(
        "slow_loader and collection", "input", main="more_workers", may="host_stops slow_steps",
        why="12 ms of waits for batches a step; the pause of 24 ms lets the workers get ahead.",
    ),
    Label(
        "slow_loader and in_series", "input", main="more_workers", must="serial_devices", may="sync_bubble",
        why="6.8 ms of waits for batches, and two GPUs that take turns in the rest.",
    ),
    Label(
        "item and coalesce", "gpu sync", main="sync_bubble", must="hidden_sync_backward",
        why="0.96 ms by one, 0.95 by the other.",
    ),
    Label(
        "item and tiny_kernels", "host", main="launch_graphs", may="sync_bubble",
        why="The tiny kernels after the read-back cost 7.5 ms; it waits for 0.05 ms only, and makes the host start "
        "late.",
    ),
    Label(
        "item and memory_anew", "gpu sync", main="allocator_steady", must="sync_bubble",
        why="1.2 ms of allocation, 0.96 ms behind the read-back.",
    ),
    Label(
        "item and collection", "gpu host sync mixed", main="host_stops", must="sync_bubble", may=_STEPS,
        why="One pause costs 2.3 ms a step on average, as no queue hides it after a read-back; the read-back 0.96.",
    ),
    Label(
        "item and in_series", "sync", main="serial_devices|sync_bubble", must="serial_devices sync_bubble",
        why="GPUs that take turns cost 5.4 ms, the read-back 0.97.",
    ),
    Label(
        "coalesce and tiny_kernels", "host", main="launch_graphs", must="hidden_sync_backward",
        why="4.8 ms by tiny kernels, 0.95 to 1.4 by the read-back in backward.",
    ),
    Label(
        "coalesce and memory_anew", "gpu sync", main="allocator_steady", must="hidden_sync_backward",
        why="1.2 ms of allocation, 0.95 ms behind the read-back in backward.",
    ),
    Label(
        "coalesce and collection", "gpu host sync mixed", main="host_stops", must="hidden_sync_backward", may=_STEPS,
        why="2.5 ms by the pause, 0.95 to 2 by the read-back.",
    ),
    Label(
        "coalesce and in_series", "sync", main="serial_devices", must="hidden_sync_backward", may="sync_bubble",
        why="4.7 ms by GPUs that take turns, 0.95 by the read-back in backward.",
    ),
    Label(
        "tiny_kernels and memory_anew", "host", main="launch_graphs", must="allocator_steady",
        why="6.3 ms by tiny kernels, as no queue is left after cudaFree; 1.2 ms by the allocation itself.",
    ),
    Label(
        "tiny_kernels and collection", "host", main="launch_graphs", must="host_stops", may=_STEPS,
        why="4 to 5.5 ms by tiny kernels, 2.7 by the pause.",
    ),
    Label(
        "tiny_kernels and in_series", "host sync mixed", main="launch_graphs", must="serial_devices", may="sync_bubble",
        why="6.3 ms by tiny kernels, 6.1 by GPUs that take turns.",
    ),
    Label(
        "memory_anew and collection", "gpu host sync mixed", main="host_stops", must="allocator_steady", may=_STEPS,
        why="2.6 ms by the pause, 1.2 to 2.8 by the allocation, which drains the queue.",
    ),
    Label(
        "memory_anew and in_series", "sync", main="serial_devices", must="allocator_steady", may="sync_bubble",
        why="5.6 ms by GPUs that take turns, 1.4 by the allocation.",
    ),
    Label(
        "full_queue and collection", "gpu", main="back_pressure", never="host_stops launch_graphs",
        why="The full queue lasts longer than the pause: it costs nothing.",
    ),
    Label(
        "collection and in_series", "sync", main="serial_devices", must="host_stops", may="sync_bubble slow_steps",
        why="6 ms by GPUs that take turns, 2.6 by the pause.",
    ),
)  # fmt: skip
