"""Plausible kernels for an A100: names as its libraries give them, lengths from arithmetic and memory traffic.

A kernel takes as long as the slower of its arithmetic and its memory traffic, at the share of the card's peak that such
kernels reach, plus a fixed start-up; fewer blocks than SMs use the card in part.
"""

from __future__ import annotations

import math

from tests.truth.simulate.causes import A100, Activity, Call

#: What good kernels achieve of 19.5 TFLOP/s (FP32), 312 TFLOP/s (FP16 on tensor cores), 2.0 TB/s.
FP32_FLOPS = 13.5e12
FP16_FLOPS = 95e12
BYTES_PER_SECOND = 1.35e12
STARTUP_NS = 1_800

FLOAT_BYTES = {"float": 4, "half": 2}
C_TYPE = {"float": "float", "half": "__half"}
AT_TYPE = {"float": "float", "half": "c10::Half"}
LAUNCH = "cudaLaunchKernel"


def launch(activity: Activity) -> Call:
    names = {"kernel": LAUNCH, "gpu_memcpy": "cudaMemcpyAsync", "gpu_memset": "cudaMemsetAsync"}
    return Call(names[activity.kind], activity)


def kernel_ns(flops: float, moved_bytes: float, blocks: int, peak_flops: float) -> int:
    filled = min(1.0, blocks / A100.sm_count)
    seconds = max(flops / (peak_flops * filled), moved_bytes / (BYTES_PER_SECOND * min(1.0, 2 * filled)))
    return STARTUP_NS + round(1e9 * seconds)


def convolution(direction: str, dtype: str, rows: int, columns: int, depth: int, moved_elements: int) -> Activity:
    """An implicit GEMM: rows x columns outputs, each a sum of `depth` products. direction: fprop, dgrad, wgrad."""
    tile, step = (128, 8) if dtype == "float" else (128, 32)
    # few outputs and long sums (weight gradients) are split along the sum
    splits = max(1, min(16, A100.sm_count // max(1, math.ceil(rows / tile) * math.ceil(columns / tile))))
    blocks = math.ceil(rows / tile) * math.ceil(columns / tile) * splits
    tokens = {
        "float": f"f32f32_f32f32_f32_nhwckrsc_nchw_tilesize{tile}x{tile}x{step}_stage3_warpsize2x2x1_g1_ffma",
        "half": f"f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize{tile}x{tile}x{step}_stage4_warpsize2x2x1_g1_tensor16x8x16",
    }
    indexed = "indexed_" if direction == "wgrad" else ""
    name = f"sm80_xmma_{direction}_implicit_gemm_{indexed}{tokens[dtype]}_execute_kernel_cudnn"
    flops = 2.0 * rows * columns * depth
    peak = FP32_FLOPS if dtype == "float" else FP16_FLOPS
    dur_ns = kernel_ns(flops, moved_elements * FLOAT_BYTES[dtype], blocks, peak)
    grid = (math.ceil(rows / tile) * math.ceil(columns / tile), 1, splits)
    if dtype == "float":
        return Activity("kernel", name, dur_ns, grid, (128, 1, 1), 234, 49152)
    return Activity("kernel", name, dur_ns, grid, (128, 1, 1), 230, 66048, tensor_core=True)


def gemm(dtype: str, rows: int, columns: int, depth: int, layout: str) -> Activity:
    grid = (math.ceil(rows / 32), math.ceil(columns / 32), 1)
    moved = (rows * depth + depth * columns + rows * columns) * FLOAT_BYTES[dtype]
    peak = FP32_FLOPS if dtype == "float" else FP16_FLOPS
    dur_ns = kernel_ns(2.0 * rows * columns * depth, moved, grid[0] * grid[1], peak / 2)
    if dtype == "float":
        return Activity("kernel", f"ampere_sgemm_32x32_sliced1x4_{layout}", dur_ns, grid, (128, 1, 1), 86, 32768)
    name = f"ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_{layout}"
    return Activity("kernel", name, dur_ns, grid, (128, 1, 1), 126, 81920, tensor_core=True)


def layout_change(dtype: str, elements: int, back: bool = False) -> Activity:
    """cuDNN converts NCHW tensors to NHWC for its tensor-core kernels, and the results back."""
    ctype = C_TYPE[dtype]
    direction, params = ("nhwcToNchw", "nhwc2nchw") if back else ("nchwToNhwc", "nchw2nhwc")
    name = (
        f"void cudnn::ops::{direction}Kernel<{ctype}, {ctype}, float, false, true, (cudnnKernelDataType_t)0>"
        f"(cudnn::ops::{params}_params_t<float>, {ctype} const*, {ctype}*)"
    )
    blocks = max(1, math.ceil(elements / 4096))
    dur_ns = kernel_ns(0, 2 * elements * FLOAT_BYTES[dtype], blocks, FP32_FLOPS)
    return Activity("kernel", name, dur_ns, (blocks, 1, 1), (256, 1, 1), 32, 33792)


def elementwise(functor: str, elements: int, moved_bytes: int, vector: int = 4) -> Activity:
    blocks = max(1, math.ceil(elements / (128 * vector)))
    name = (
        f"void at::native::vectorized_elementwise_kernel<{vector}, {functor}, std::array<char*, 2ul> >"
        f"(int, {functor}, std::array<char*, 2ul>)"
    )
    return Activity("kernel", name, kernel_ns(0, moved_bytes, blocks, FP32_FLOPS), (blocks, 1, 1), (128, 1, 1), 28)


def cast(to: str, elements: int) -> Activity:
    functor = f"at::native::(anonymous namespace)::direct_copy_{AT_TYPE[to]}"
    return elementwise(functor, elements, 6 * elements)


def batch_norm(dtype: str, channels: int, elements: int, backward: bool = False) -> Activity:
    ctype = C_TYPE[dtype]
    if backward:
        name = (
            f"void cudnn::bn_bw_1C11_kernel_new<{ctype}, float, float2, 512, true, 1>"
            f"(float, float, float, float, cudnnTensorStruct, {ctype} const*, cudnnTensorStruct, {ctype} const*)"
        )
    else:
        name = (
            f"void cudnn::bn_fw_tr_1C11_kernel_NCHW<{ctype}, float, int, 512, true, 1, true>"
            f"(cudnnTensorStruct, {ctype} const*, cudnnTensorStruct, {ctype}*, float const*, float const*)"
        )
    passes = 4.4 if backward else 2.8
    dur_ns = kernel_ns(0, passes * elements * FLOAT_BYTES[dtype], channels, FP32_FLOPS)
    return Activity("kernel", name, dur_ns, (channels, 1, 1), (512, 1, 1), 48, 4232)


def reduction(functor: str, elements: int, dtype: str) -> Activity:
    blocks = max(1, min(864, math.ceil(elements / 2048)))
    name = (
        f"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<{AT_TYPE[dtype]}, {functor}, unsigned int, 4> >"
    )
    dur_ns = kernel_ns(0, elements * FLOAT_BYTES[dtype], blocks, FP32_FLOPS)
    return Activity("kernel", name, dur_ns, (blocks, 1, 1), (32, 16, 1), 32, 16)


def pooling(name: str, inputs: int, outputs: int, dtype: str) -> Activity:
    blocks = max(1, math.ceil(outputs / 256))
    dur_ns = kernel_ns(0, (inputs + 2 * outputs) * FLOAT_BYTES[dtype], blocks, FP32_FLOPS)
    kernel = f"void at::native::(anonymous namespace)::{name}<{AT_TYPE[dtype]}, int>"
    return Activity("kernel", kernel, dur_ns, (min(blocks, 65535), 1, 1), (256, 1, 1), 32)


def small(name: str, blocks: int = 1, dur_ns: int = 2_600) -> Activity:
    return Activity("kernel", name, dur_ns, (blocks, 1, 1), (128, 1, 1), 32)


def multi_tensor(functor: str, elements: int, reads_writes: int) -> list[Activity]:
    """A foreach operation over all parameters: 64 Ki elements per block, 320 blocks per launch."""
    blocks = max(1, math.ceil(elements / 65536))
    name = (
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
        f"TensorListMetadata<{reads_writes}>, {functor}>"
    )
    launches = []
    for first in range(0, blocks, 320):
        part = min(320, blocks - first)
        moved = 4 * reads_writes * elements * part / blocks
        dur_ns = kernel_ns(0, moved, part, FP32_FLOPS)
        launches.append(Activity("kernel", name, dur_ns, (part, 1, 1), (512, 1, 1), 40))
    return launches


def copy(name: str, nbytes: int) -> Activity:
    """Over a PCIe 4.0 link, pinned memory: 24 GB/s."""
    return Activity("gpu_memcpy", name, 1_200 + round(nbytes / 24), nbytes=nbytes)
