"""Inference of a transformer: prompts, and decoding one token at a time."""

from __future__ import annotations

from dataclasses import dataclass

from tests.truth.simulate import kernels
from tests.truth.simulate.causes import Activity, Call, Op, Section
from tests.truth.simulate.jobs.compiled import activities_of, graph_launch
from tests.truth.simulate.jobs.transformer import Transformer, passes, to_device
from tests.truth.simulate.kernels import launch


@dataclass(frozen=True)
class Decoding:
    """One step of decoding: kernel_ns for each of eleven kernels per layer. host_ns: for one op."""

    layers: int = 24
    kernel_ns: int = 5_000
    host_ns: int = 12_000

    def ops(self) -> tuple[Op, ...]:
        names = (
            "aten::rms_norm", "aten::linear", "aten::view", "aten::mul", "aten::scaled_dot_product_attention",
            "aten::linear", "aten::add", "aten::rms_norm", "aten::linear", "aten::silu", "aten::linear",
        )  # fmt: skip
        return tuple(self._op(name) for _ in range(self.layers) for name in names)

    def _op(self, name: str) -> Op:
        product = name == "aten::linear"
        kernel = "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn" if product else _plain(name)
        activity = Activity(
            "kernel", kernel, self.kernel_ns, (216, 1, 1), (128, 1, 1), 90, 32768 if product else 0, tensor_core=product
        )
        return Op((name,), (launch(activity),), self.host_ns)


def _plain(name: str) -> str:
    return f"void at::native::vectorized_elementwise_kernel<4, at::native::{name.removeprefix('aten::')}_kernel>"


def sampled() -> Op:
    """The next token, which the host needs to continue: it waits for the device."""
    copy = kernels.copy("Memcpy DtoH (Device -> Pageable)", 8)
    calls = (Call("cudaMemcpyAsync", copy), Call("cudaStreamSynchronize", blocks=True))
    return Op(("aten::item", "aten::_local_scalar_dense"), calls, 16_000)


def decode_step(decoding: Decoding) -> tuple[Section, ...]:
    """Every kernel is launched by itself."""
    return (Section(decoding.ops()), Section((sampled(),)))


def decode_from_graph(decoding: Decoding, nodes: bool, ahead: bool = False) -> tuple[Section, ...]:
    """One launch per step. ahead: the next step is prepared before the last token is fetched, as good servers do."""
    prepare = Section((to_device(4096), to_device(1024)), python_ns=20_000)
    replay = Section((graph_launch(activities_of(decoding.ops()), nodes),))
    return (prepare, replay) if ahead else (prepare, replay, Section((sampled(),)))


def prompt_step(net: Transformer, waits: bool = True) -> tuple[Section, ...]:
    """Only the forward pass; the answer is fetched."""
    forward = Section(tuple(passes(net).forward[:-1]))
    return (Section((to_device(8 * net.tokens),)), forward, *([Section((sampled(),))] if waits else []))
