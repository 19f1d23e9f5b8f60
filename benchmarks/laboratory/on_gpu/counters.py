"""Kernels of many kinds, once under torch.profiler and once under Nsight Compute, which reads the GPU's counters.

    python -m benchmarks.laboratory.on_gpu.counters record FOLDER                # FOLDER/kernels.pt.trace.json.gz
    ncu --profile-from-start off --csv --page raw --metrics ... python -m benchmarks.laboratory.on_gpu.counters run

Both launch the same kernels in the same order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

Work = Callable[[], object]


def kernels() -> dict[str, Work]:
    """The work that launches each kind of kernel, by name. The inputs are already on the GPU."""
    torch.manual_seed(0)
    works: dict[str, Work] = {}

    def matrix(rows: int, columns: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return (torch.randn(rows, columns, device="cuda") / 8).to(dtype)

    def product(name: str, rows: int, inner: int, columns: int, dtype: torch.dtype, *, tf32: bool = False) -> None:
        left, right = matrix(rows, inner, dtype), matrix(inner, columns, dtype)

        def work() -> object:
            torch.backends.cuda.matmul.allow_tf32 = tf32
            try:
                return left @ right
            finally:
                torch.backends.cuda.matmul.allow_tf32 = False

        works[name] = work

    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        word = str(dtype).removeprefix("torch.")
        product(f"mm {word} 4096", 4096, 4096, 4096, dtype)
        product(f"mm {word} 512", 512, 512, 512, dtype)
        product(f"mm {word} 8x4096x4096", 8, 4096, 4096, dtype)
        product(f"mm {word} 1023", 1023, 1023, 1023, dtype)
        product(f"mv {word} 1x4096x4096", 1, 4096, 4096, dtype)
    product("mm tf32 4096", 4096, 4096, 4096, torch.float32, tf32=True)
    product("mm tf32 1024", 1024, 1024, 1024, torch.float32, tf32=True)
    eight = (matrix(2048, 2048).to(torch.float8_e4m3fn), matrix(2048, 2048).to(torch.float8_e4m3fn).t())
    one = torch.ones((), device="cuda")
    works["mm fp8"] = lambda: torch._scaled_mm(*eight, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    whole = torch.randint(-9, 9, (2048, 2048), device="cuda").to(torch.int8)
    works["mm int8"] = lambda: torch._int_mm(whole, whole.t())
    many = torch.randn(64, 256, 256, device="cuda", dtype=torch.bfloat16)
    works["bmm bf16"] = lambda: many @ many

    image, weight = torch.randn(32, 64, 56, 56, device="cuda"), torch.randn(64, 64, 3, 3, device="cuda")
    for layout in (torch.contiguous_format, torch.channels_last):
        for dtype, tf32 in ((torch.float32, False), (torch.float32, True), (torch.bfloat16, False)):
            pixels, kernel = (each.to(dtype).to(memory_format=layout) for each in (image, weight))

            def convolved(pixels: Tensor = pixels, kernel: Tensor = kernel, tf32: bool = tf32) -> Tensor:
                torch.backends.cudnn.allow_tf32 = tf32
                return functional.conv2d(pixels, kernel, padding=1)

            works[f"conv {dtype} {'tf32' if tf32 else ''} {layout}"] = convolved
    volume, cube = torch.randn(4, 16, 32, 32, 32, device="cuda"), torch.randn(16, 16, 3, 3, 3, device="cuda")
    works["conv3d"] = lambda: functional.conv3d(volume, cube, padding=1)
    works["conv depthwise"] = lambda: functional.conv2d(image, weight[:, :1], padding=1, groups=64)

    query = torch.randn(4, 16, 1024, 64, device="cuda", dtype=torch.bfloat16)
    for backend in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH"):

        def attended(backend: str = backend) -> Tensor:
            with torch.nn.attention.sdpa_kernel(getattr(torch.nn.attention.SDPBackend, backend)):
                return functional.scaled_dot_product_attention(query, query, query)

        works[f"attention {backend}"] = attended
    lstm = nn.LSTM(256, 256, batch_first=True).cuda()
    series = torch.randn(64, 16, 256, device="cuda")
    works["lstm"] = lambda: lstm(series)[0]

    large, small = torch.randn(64 << 20, device="cuda"), torch.randn(1000, device="cuda")
    rows, long = torch.randn(8192, 1024, device="cuda"), torch.randn(2, 4 << 20, device="cuda")
    index = torch.randint(0, 8192, (16_384,), device="cuda")
    words = torch.randn(100_000, 128, device="cuda")
    works |= {
        "add large": lambda: large + 1,
        "add small": lambda: small + 1,
        "exp large": lambda: large.exp(),
        "copy large": lambda: large.clone(),
        "transpose": lambda: rows.t().contiguous(),
        "cat": lambda: torch.cat([rows, rows], 1),
        "sum large": lambda: large.sum(),
        "sum small": lambda: small.sum(),
        "sum rows": lambda: rows.sum(1),
        "sum columns": lambda: rows.sum(0),
        "softmax rows": lambda: rows.softmax(1),
        "softmax two long rows": lambda: long.softmax(1),
        "layer norm": lambda: functional.layer_norm(rows, (1024,)),
        "layer norm of two long rows": lambda: functional.layer_norm(long, (4 << 20,)),
        "batch norm": lambda: functional.batch_norm(image, None, None, training=True),
        "max pool": lambda: functional.max_pool2d(image, 2),
        "dropout": lambda: functional.dropout(rows),
        "gather": lambda: rows[index],
        "scatter": lambda: torch.zeros_like(rows).index_add_(0, index[:8192], rows),
        "embedding": lambda: functional.embedding(index, words),
        "sort": lambda: rows.flatten()[:1_000_000].sort(),
        "cumsum": lambda: rows.cumsum(1),
        "topk": lambda: rows.topk(8, 1),
        "nonzero": lambda: (rows > 3).nonzero(),
        "fft": lambda: torch.fft.rfft(rows),
        "random": lambda: torch.randn(1 << 20, device="cuda"),
        "cross entropy": lambda: functional.cross_entropy(rows, index[:8192] % 1024),
        "cholesky": lambda: torch.linalg.cholesky(torch.eye(256, device="cuda") * 2),
    }
    weights = [torch.randn(1024, 1024, device="cuda", requires_grad=True) for _ in range(4)]
    for each in weights:
        each.grad = torch.randn_like(each)
    for name, options in {"fused": {"fused": True}, "foreach": {"foreach": True}}.items():
        optimizer = torch.optim.AdamW(weights, **options)
        works[f"adamw {name}"] = optimizer.step
    return works


def launch(works: dict[str, Work]) -> list[str]:
    """Run all works, and return the names of those that raised, with the error."""
    failed = []
    for name, work in works.items():
        try:
            with torch.profiler.record_function(f"work: {name}"), torch.no_grad():
                work()
            torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001 - this torch or GPU cannot run it; the others are measured
            failed.append(f"{name}: {str(error)[:100]}")
    return failed


def main(way: str, folder: str = "") -> None:
    works = kernels()
    print(*launch(works), sep="\n")
    launch(works)
    if way == "record":
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as profiler:
            launch(works)
        Path(folder).mkdir(parents=True, exist_ok=True)
        profiler.export_chrome_trace(f"{folder}/kernels.pt.trace.json.gz")
        return
    torch.cuda.profiler.start()
    launch(works)
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
