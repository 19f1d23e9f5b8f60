"""The real traces beside the checkout. Numbers in the reasons were computed from the raw events alone.

busy: union of the device's activities; idle: the rest of their span; exposed: collectives while nothing computes.
"""

from __future__ import annotations

from tests.judged.labels import Label

#: By path within `traces/`.
SHARED_TRACES = (
    Label(
        "hta_a100_alexnet_cudasync", "host unknown", main="one_time",
        never="launch_graphs allocator_steady slow_steps no_workers tensor_cores_unused",
        why="Benchmark of two forward passes without step marks, cold: 29.9 of 43.4 s in one call that creates the "
        "CUDA context, 8.4 s in first mallocs and frees, 3.1 s in a first launch; the GPU works for 66 ms, 55 of "
        "them copies of weights.",
    ),
    Label(
        "hta_a100_ddp_control", "communication host mixed", main="exposed_communication",
        may="launch_graphs", never="slow_steps pageable_copies pageable_batch_copies input_bound",
        why="Recommender, rank 3 of 8, 77 ms a step: NCCL 27 ms, 14.7 of them exposed (19 %), most in the all-to-all "
        "of the inputs; idle 16 %, nearly all of it gaps under 0.2 ms before late launches of kernels of 9 us.",
    ),
    Label(
        "hta_a100_ddp_nccl", "host", main="launch_graphs",
        may="buffer_broadcast gradient_buckets fused_optimizer exposed_communication",
        never="slow_steps back_pressure",
        why="ResNet on 2 GPUs, 220 ms a step: idle 76 %, 3480 gaps each closed 5-20 us after its launch call; "
        "kernels of 16 us; the longest gaps are DDP's buffer copies (15.5 ms) and the optimizer (5 ms). NCCL "
        "15.6 ms a step, 13.2 exposed (6 %).",
    ),
    Label(
        "hta_a100_event_sync", "host unknown", may="one_time long_stretches",
        never="launch_graphs slow_steps",
        why="A test of 5 kernels (51 us) in one step of 3.2 ms, 2.2 ms of it in the first aten::empty: too little to "
        "conclude from.",
    ),
    Label(
        "hta_a100_triton", "unknown host", never="launch_graphs long_stretches small_grids",
        why="One compiled kernel of 2 us in a step mark of 13.3 s, in which nothing else is recorded after the first "
        "1.5 ms.",
    ),
    Label(
        "hta_cpu_gloo", "communication unknown", never="input_bound no_workers launch_graphs",
        why="Host side of rank 34 of 300: within the step of 210 ms two threads stand in gloo:all_reduce for 179 ms; "
        "of the training thread nothing but the step mark is recorded.",
    ),
    Label(
        "hta_mi250_toy", "host", main="one_time", never="slow_steps pageable_copies small_grids",
        why="One cold step of 9.3 ms, 6.5 ms of it in one first hipLaunchKernel; 14 kernels of 0.1 ms in all. What "
        "is left is the first pass of everything and shows no steady state.",
    ),
    Label(
        "hta_no_gpu_in_trace", "unknown", never="input_bound no_workers",
        why="The host side of one step of a GPU job: no launch, no kernel was recorded. NCCL is in its marks, so it "
        "is no CPU job.",
    ),
    Label(
        "hta_v100_ns", "gpu", main="tensor_cores_unused", may="small_grids",
        never="slow_steps launch_graphs pageable_copies",
        why="ResNet-50 in FP32 on a V100: busy 98.4 %, the queue is full; convolutions and GEMMs 298 of 472 ms, all "
        "volta_sgemm, scudnn and FFMA. The first step is 5 ms longer because the recording began with an empty "
        "queue: its first kernel starts after 3.5 ms.",
    ),
    Label(
        "kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz", "input", main="no_workers",
        may="launch_graphs zero_gradients tensor_cores_unused fused_optimizer tiny_optimizer_kernels",
        never="slow_steps more_workers",
        why="ResNet-50, one process: 69 ms a step in __next__ of the single-process loader, 57-62 ms of them with an "
        "idle GPU (287 of 393 ms idle); the rest are 1500 gaps before late launches (17 ms a step).",
    ),
    Label(
        "kineto_v100_resnet50/workers0/worker0.1623143566756.pt.trace.json.gz", "input", main="no_workers",
        may="launch_graphs zero_gradients tensor_cores_unused fused_optimizer tiny_optimizer_kernels",
        never="slow_steps more_workers",
        why="The same job later: 167 of 274 ms idle are in the loader (five waits of 32-35 ms, and the first), 17 ms "
        "a step are gaps before late launches.",
    ),
    Label(
        "kineto_v100_resnet50/workers4/worker0.1623212756351.pt.trace.json.gz", "host gpu mixed", main="launch_graphs",
        may="slow_steps zero_gradients tensor_cores_unused fused_optimizer tiny_optimizer_kernels",
        never="input_bound more_workers no_workers",
        why="Four workers, waits of 1.4 ms a step. Step 5 begins behind 45 ms of work from before the recording (its "
        "first copy waits 40 ms, later ones take 3). In the others busy 100 of 125 ms, the rest gaps of 10-1000 "
        "us before late launches; step 9 has 41 ms of them where the others have 6-10.",
    ),
    Label(
        "kineto_v100_resnet50/workers4/worker0.1623213129365.pt.trace.json.gz", "host gpu mixed", main="launch_graphs",
        may="zero_gradients pageable_batch_copies tensor_cores_unused fused_optimizer tiny_optimizer_kernels",
        never="slow_steps input_bound more_workers no_workers",
        why="As before: busy 101 of 122 ms. Step 16 waits 46 ms in its first copy for work from before the "
        "recording, and step 21 ends 85 ms after its last op: both are the recording's edges. In steps 17 to 20 the "
        "batch is copied from pageable memory in a call of 8.7 to 10.1 ms, 5.8 to 7.3 of which it waits for kernels.",
    ),
    Label(
        "tracelens_b200_eager", "host", main="launch_graphs", may="long_stretches",
        never="slow_steps allocator_steady exposed_communication tensor_cores_unused small_grids",
        why="vLLM, one prompt of 888 tokens, eager: busy 11.6 of 84.5 ms, 854 gaps before late launches, kernels of "
        "6 us; collectives 2.1 ms (2.5 %), compiled region 0.6 ms.",
    ),
    Label(
        "tracelens_h100_bert", "host", main="launch_graphs",
        never="slow_steps tensor_cores_unused sync_bubble alignment",
        why="Inference of one short sentence: busy 0.31 of 3.9 ms, 60 kernels of 5 us, each 60-250 us after the one "
        "before.",
    ),
    Label(
        "tracelens_h100_timesformer", "host input mixed", main="long_stretches", must="eager_attention",
        may="alignment slow_products",
        never="launch_graphs lazy_loading slow_steps pageable_copies",
        why="Inference of one video, 383 ms: 217 ms decode and resize it on the CPU before the first launch, then "
        "busy 158 of 160 ms: softmax 69 ms and align1 bmm 43 ms (eager attention), its scaling 16 ms.",
    ),
    Label(
        "tracelens_mi300_resnet", "communication", main="exposed_communication", may="layout_conversion",
        never="slow_steps launch_graphs input_bound",
        why="ResNet, rank 0 of 8, 19 ms a step: two all-reduces of 6.7 and 9 ms, 11.8 ms exposed; busy 97 %. The 968 "
        "activities of the first 30 ms were launched before the recording.",
    ),
    Label(
        "tracelens_mi300_vllm_graph", "gpu unknown", never="launch_graphs host_stops long_stretches small_grids",
        why="One decode step, the whole of it in one graph of 425 kernels: launched at 1.5 ms, starts at 8.4 ms "
        "behind work from before the recording, then busy 10.72 of 10.74 ms; mixture-of-experts GEMMs 7.0 ms of "
        "it.",
    ),
)  # fmt: skip
