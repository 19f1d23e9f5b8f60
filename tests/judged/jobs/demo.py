"""The demo's recordings and the forum's questions, as `tests/truth/simulate` declares them."""

from __future__ import annotations

from tests.judged.labels import Label

#: By the name of the training in `tests/truth/simulate/demo.py` and `forum.py`.
DEMO = (
    Label(
        "baseline", "input", main="input_bound|more_workers", may="launch_graphs", never="no_workers slow_steps",
        why="One worker needs 18 ms for a batch, the rest of the step 2: the GPU waits for 16 of 18 ms.",
    ),
    Label(
        "num_dataloaders", "input", main="more_workers", may="launch_graphs", never="no_workers slow_steps",
        why="Three workers of 18 ms deliver a batch every 6 ms; the rest of the step is 2 ms of small kernels.",
    ),
    Label(
        "transforms", "host", main="launch_graphs", may="fused_optimizer", never="more_workers input_bound slow_steps",
        why="Three workers of 7 ms are just fast enough. Kernels of 5 us are launched by ops of 50: the host is the "
        "limit.",
    ),
    Label(
        "resnet50_baseline", "gpu", main="tensor_cores_unused", may="small_grids back_pressure",
        never="launch_graphs more_workers slow_steps",
        why="ResNet-50 in FP32 without TF32, batch 128: busy above 99 %, nine tenths of it FFMA convolutions.",
    ),
    Label(
        "autocast", "gpu", main="layout_conversion", may="small_grids sync_bubble",
        never="tensor_cores_unused launch_graphs slow_steps",
        why="The same in mixed precision: NCHW tensors are turned to NHWC and back around each convolution. The "
        "scaler's read-back waits for a GPU that is busy, but the launches after it are late: simulated without the "
        "wait, a step is 1.1 of 94.5 ms shorter.",
    ),
    Label(
        "forum_preloaded", "host", main="launch_graphs", may="fused_optimizer",
        never="input_bound no_workers slow_steps",
        why="MNIST on the GPU: 40 kernels of some us, each launched after the one before has ended.",
    ),
    Label(
        "forum_preloaded_item", "host", main="launch_graphs", may="fused_optimizer sync_bubble",
        never="input_bound no_workers slow_steps",
        why="As above, and item() in each step: it waits for nothing, because the GPU is done before it.",
    ),
    Label(
        "forum_workers2", "input", main="more_workers", may="launch_graphs fused_optimizer",
        never="slow_steps no_workers",
        why="Two workers of 9 ms deliver every 4.5 ms, the rest of the step takes 2.",
    ),
    Label(
        "forum_workers2_item", "input", main="more_workers", may="launch_graphs fused_optimizer sync_bubble",
        never="slow_steps no_workers",
        why="As above, with a read-back that waits for nothing.",
    ),
    Label(
        "forum_workers8", "host", main="launch_graphs", may="fused_optimizer",
        never="more_workers input_bound slow_steps",
        why="Eight workers are fast enough; taking a batch costs the loop 0.15 ms of 2.2.",
    ),
    Label(
        "forum_workers8_item", "host", main="launch_graphs", may="fused_optimizer sync_bubble",
        never="more_workers input_bound slow_steps",
        why="As above, with a read-back that waits for nothing.",
    ),
    Label(
        "forum_sparse_one_gpu", "gpu", main="tensor_cores_unused", may="hidden_sync_backward small_grids",
        never="launch_graphs slow_steps",
        why="FP32 GEMMs and sparse products fill the GPU; a coalesce in backward waits, and costs 2 % of the step.",
    ),
    Label(
        "forum_sparse_multi_gpu", "sync", main="serial_devices|hidden_sync_backward",
        must="serial_devices hidden_sync_backward", may="tensor_cores_unused small_grids",
        never="launch_graphs slow_steps",
        why="The coalesce of each backward pass waits for its GPU, so the other one stands idle: one works at a "
        "time.",
    ),
    Label(
        "forum_dense_multi_gpu", "gpu", main="tensor_cores_unused", may="small_grids",
        never="serial_devices launch_graphs slow_steps",
        why="Two GPUs work at the same time, on FP32 GEMMs of 256 blocks (216 fit at once).",
    ),
)  # fmt: skip
