"""Writes a trace of any size in the format of Kineto, from a seed: `python -m benchmarks.generate 200MB trace.json`.

A training loop as the profiler records it: steps, loader waits, Python frames, nested ops with their shapes, launches,
the kernels that they launch with all their arguments, and arrows between them. The times are plausible but do not model
any machine: the trace is for measuring how fast it is read, not for analysis.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TextIO

PID, MAIN_THREAD, BACKWARD_THREAD, STREAM = 4242, 4242, 4310, 7
DEVICE_COUNT = 8
LAYERS = 50
BASE_TIME_NS = 1735689600000000000

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}

_OPS: tuple[tuple[str, str, str, tuple[list[int], ...]], ...] = (
    (
        "aten::conv2d",
        "aten::convolution",
        "aten::cudnn_convolution",
        ([128, 256, 14, 14], [512, 256, 3, 3], [], [], []),
    ),
    ("aten::batch_norm", "aten::_batch_norm_impl_index", "aten::cudnn_batch_norm", ([128, 512, 14, 14], *[[512]] * 4)),
    ("aten::linear", "aten::t", "aten::addmm", ([128, 2048], [1000, 2048], [1000], [], [])),
    ("aten::relu_", "aten::clamp_min_", "aten::clamp_min_", ([128, 512, 14, 14], [])),
    ("aten::add_", "aten::add_", "aten::add_", ([128, 512, 14, 14], [128, 512, 14, 14], [])),
    (
        "aten::scaled_dot_product_attention",
        "aten::_flash_attention_forward",
        "aten::empty",
        (*[[16, 12, 512, 64]] * 3, []),
    ),
)
_CLAMP = "launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar, at::native::detail::ClampLimits)"
_KERNELS = (
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct, float const*,"
    " cudnnTensorStruct, float*, float const*, float const*, float, float, float*, float*, float*, float*, float)",
    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_warpsize2x2x1_g1"
    "_tensor16x8x8_execute_kernel__5x_cudnn",
    "ampere_sgemm_128x64_nn",
    "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"
    f"{_CLAMP}::{{lambda()#1}}::operator()() const::{{lambda()#7}}::operator()() const::{{lambda(float)#1}},"
    " std::array<char*, 2ul> >(int, at::native::(anonymous namespace)::"
    f"{_CLAMP}::{{lambda()#1}}::operator()() const::{{lambda()#7}}::operator()() const::{{lambda(float)#1}},"
    " std::array<char*, 2ul>)",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "TensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4,"
    " (at::native::ADAM_MODE)0, false> >",
)
_FRAMES = (
    "train.py({}): training_step",
    "/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py(1751): _wrapped_call_impl",
    "/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py(1762): _call_impl",
    "nn.Module: Bottleneck_{}",
    "/opt/conda/lib/python3.11/site-packages/torchvision/models/resnet.py({}): forward",
    "/opt/conda/lib/python3.11/site-packages/torch/nn/modules/conv.py(553): forward",
    "<built-in method conv2d of type object at 0x7f{:06x}a0>",
)


class Generator:
    """Events of one process and its GPU, in the order in which Kineto writes them. Times are in microseconds."""

    def __init__(self, seed: int, layers: int = LAYERS) -> None:
        self.layers = layers
        self.random = random.Random(seed)
        self.host_us = 1_000_000.0 + self.random.random() * 1e9
        self.gpu_us = self.host_us
        self.number = 0

    def events(self) -> Iterator[str]:
        """Yields steps without end."""
        step = 0
        while True:
            yield from self._step(step)
            step += 1

    def _step(self, step: int) -> Iterator[str]:
        begin = self.host_us
        yield from self._loader()
        for layer in range(self.layers):
            yield from self._layer(layer, MAIN_THREAD, "")
        for layer in reversed(range(self.layers)):
            yield from self._layer(layer, BACKWARD_THREAD, "autograd::engine::evaluate_function: ")
        yield from self._optimizer()
        yield _event("user_annotation", f"ProfilerStep#{step}", MAIN_THREAD, begin, self.host_us - begin, self._id())

    def _loader(self) -> Iterator[str]:
        name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        wait = 200 + self.random.expovariate(1 / 800)
        yield _event("user_annotation", name, MAIN_THREAD, self.host_us, wait, self._id())
        self.host_us += wait

    def _optimizer(self) -> Iterator[str]:
        begin = self.host_us
        for _ in range(12):
            yield from self._launch("aten::_foreach_add_", MAIN_THREAD)
        yield _event(
            "user_annotation", "Optimizer.step#AdamW.step", MAIN_THREAD, begin, self.host_us - begin, self._id()
        )

    def _layer(self, layer: int, thread: int, prefix: str) -> Iterator[str]:
        begin, rand = self.host_us, self.random
        op, inner, innermost, dims = rand.choice(_OPS)
        shapes = _shapes(dims)
        self.host_us += 9
        launched = list(self._launch(innermost, thread))
        for depth, name in enumerate((prefix + op, inner, innermost)):
            args = f"{self._id()}, {shapes}"
            yield _event("cpu_op", name, thread, begin + 6 + depth, self.host_us - begin - 6 + depth, args)
        yield from launched
        if not prefix:
            yield from self._frames(layer, begin)
        self.host_us += rand.random() * 4

    def _frames(self, layer: int, begin: float) -> Iterator[str]:
        for depth, frame in enumerate(_FRAMES):
            self.number += 1
            name = frame.format(layer + 100)
            args = f'"Python parent id": {self.number - 1}, "Python id": {self.number}, "Ev Idx": {self.number}'
            yield _event("python_function", name, MAIN_THREAD, begin + depth * 0.5, self.host_us - begin - depth, args)

    def _launch(self, op: str, thread: int) -> Iterator[str]:
        rand = self.random
        self.number += 1
        correlation, call = self.number, self.host_us
        length = 3 + rand.random() * 5
        self.host_us += length + rand.random() * 3
        start = max(call + length + 2, self.gpu_us + 1)
        duration = rand.choice((4, 12, 40, 90)) * (0.8 + rand.random())
        self.gpu_us = start + duration
        args = f'"External id": {correlation}, "cbid": 211, "correlation": {correlation}'
        yield _event("cuda_runtime", "cudaLaunchKernel", thread, call, length, args)
        yield _arrow("s", correlation, PID, thread, call)
        yield self._kernel(start, duration, correlation)
        yield _arrow("f", correlation, 0, STREAM, start)

    def _kernel(self, start: float, duration: float, correlation: int) -> str:
        rand = self.random
        grid, block = rand.randrange(1, 4000), rand.choice((64, 128, 256, 512))
        per_sm = grid / 108
        args = f"""\
      "External id": {correlation}, "queued": 0, "device": 0, "context": 1, "stream": {STREAM},\
 "correlation": {correlation}, "registers per thread": {rand.choice((16, 32, 40, 96, 128))},\
 "shared memory": {rand.choice((0, 0, 1024, 16384, 49152))}, "blocks per SM": {per_sm:.6f},\
 "warps per SM": {per_sm * block / 32:.6f}, "grid": [{grid}, 1, 1], "block": [{block}, 1, 1],\
 "est. achieved occupancy %": {rand.randrange(101)}"""
        return _event("kernel", rand.choice(_KERNELS), STREAM, start, duration, args.lstrip(), pid=0)

    def _id(self) -> str:
        self.number += 1
        return f'"External id": {self.number}, "Record function id": 0, "Ev Idx": {self.number}'


def _event(category: str, name: str, tid: int, ts: float, dur: float, args: str, pid: int = PID) -> str:
    return f"""\
  {{
    "ph": "X", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": {tid},
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      {args}
    }}
  }}"""


def _arrow(phase: str, id: int, pid: int, tid: int, ts: float) -> str:
    end = ', "bp": "e"' if phase == "f" else ""
    return f"""\
  {{
    "ph": "{phase}", "id": {id}, "pid": {pid}, "tid": {tid}, "ts": {ts:.3f},
    "cat": "ac2g", "name": "ac2g"{end}
  }}"""


def _shapes(dims: Sequence[list[int]]) -> str:
    types = _json(["float" if shape else "Scalar" for shape in dims])
    strides = [[4096, 196, 14, 1][: len(shape)] for shape in dims]
    values = _json(["" if shape else "False" for shape in dims])
    return f'"Concrete Inputs": {values}, "Input type": {types}, "Input Strides": {strides}, "Input Dims": {list(dims)}'


def _json(words: list[str]) -> str:
    return str(words).replace("'", '"')


def write_trace(path: Path, size_bytes: int, seed: int = 1, layers: int = LAYERS) -> int:
    """Write a trace of about this many bytes of JSON, compressed where the name ends in .gz, and return the actual
    number. Fewer layers make more steps.
    """
    with _opened(path) as file:
        written = file.write(_head())
        separator = ""
        for event in Generator(seed, layers).events():
            written += file.write(separator) + file.write(event)
            separator = ",\n"
            if written >= size_bytes:
                break
        return written + file.write(_foot())
    raise AssertionError("a generator without end has ended")


def _opened(path: Path) -> AbstractContextManager[TextIO]:
    return gzip.open(path, "wt", compresslevel=4) if path.suffix == ".gz" else open(path, "w")


def _head() -> str:
    gpu = """\
    {{
      "id": {}, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85097971712,
      "computeMajor": 8, "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 108,
      "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 166912, "sharedMemPerMultiprocessor": 167936
    }}"""
    gpus = ",\n".join(gpu.format(id) for id in range(DEVICE_COUNT))
    job = '"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}, "record_shapes": 1, "with_stack": 1'
    return f'{{\n  "schemaVersion": 1,\n  "deviceProperties": [\n{gpus}\n  ],\n  {job},\n  "traceEvents": [\n'


def _foot() -> str:
    base = f'"displayTimeUnit": "ms",\n  "baseTimeNanoseconds": {BASE_TIME_NS}'
    return f'\n  ],\n  "traceName": "bench.json",\n  {base}\n}}\n'


def size_of(text: str) -> int:
    """The number of bytes of a size such as 200MB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is no size such as 200MB or 1GB")
    return int(float(match[1]) * _UNITS[(match[2] or "").upper()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", type=size_of, help="of the JSON, such as 200MB, 1GB, 10GB")
    parser.add_argument("path", type=Path, help="packed where it ends in .gz")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    write_trace(arguments.path, arguments.size, arguments.seed)


if __name__ == "__main__":
    main()
