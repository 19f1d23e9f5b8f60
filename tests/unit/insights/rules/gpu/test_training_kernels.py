"""Cards about kernels of optimizers, and of gradients of indexed tensors and of embeddings, on drawn traces."""

from __future__ import annotations

import random

import pytest

from tb_steptime.insights.base import Insight, Severity
from tb_steptime.trace.model import Trace
from tests.drawn.cards import card, card_sentence, sure
from tests.drawn.timeline import A100, timeline

GEMM = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn"
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>(int)"
FOREACH = "void multi_tensor_apply_kernel<TensorListMetadata<3>, PointwiseOpFunctor<float, 3, 3, 0> >"
FUSED = "void multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4> >"
INDEXING = "void at::native::(anonymous namespace)::indexing_backward_kernel<float, 4>(long const*, long const*)"
CELLS = [random.Random(seed).randrange(50_000, 500_000) for seed in range(3)]


def up_to(insight: Insight) -> int:
    """The gain once the GPU sets the pace: in these drawings the host is not held up."""
    return insight.gain_ns if insight.later_ns is None else insight.later_ns


def trained(cells: int, kernel: str = ELEMENTWISE, optimizer: str = "Adam", cell_ns: int = 100_000) -> Trace:
    """Steps of 100 cells, in which the optimizer's two kernels take so many cells together; the GPU always works."""
    first, second = cells // 2, cells - cells // 2
    step = f"g{'g' * (97 - cells)}{'a' * first}{'b' * second}yy"
    return timeline(
        f"""
        step     | {"1" * 100}{"2" * 100}{"3" * 100} |
        user Optimizer.step#{optimizer}.step | {(".." + "o" * 4 + "." * 94) * 3} |
        runtime  | {("g.a.b" + "." * 95) * 3} |
        kernel 7 | {step.replace("yy", "..") * 3} |""",
        cell_ns=cell_ns,
        names={"g": GEMM, "a": kernel, "b": kernel},
        devices={0: A100},
    )


@pytest.mark.parametrize("cell_ns", CELLS)
def test_separate_kernels_of_adam_gain_three_fifths(cell_ns: int):
    insight = sure(trained(20, cell_ns=cell_ns), "optimizer_passes")
    assert up_to(insight) == 12 * cell_ns
    assert insight.severity is Severity.MINOR
    assert insight.how == "torch.optim.Adam(model.parameters(), fused=True)"


@pytest.mark.parametrize(
    ("given", "fires"),
    [
        ({"cells": 20, "kernel": FOREACH, "optimizer": "AdamW"}, True),
        ({"cells": 20, "kernel": FUSED}, False),
        ({"cells": 20, "kernel": "triton_for_fused_0"}, False),
        ({"cells": 20, "optimizer": "SGD"}, False),
        ({"cells": 2}, True),
        ({"cells": 1}, False),
    ],
    ids=["foreach", "fused", "compiled", "another optimizer", "just a hundredth", "too little"],
)
def test_what_makes_a_whole_update_or_is_another_optimizer_has_no_card(given: dict[str, object], fires: bool):
    assert (card(trained(**given), "optimizer_passes") is not None) == fires  # type: ignore[arg-type]


def test_an_optimizer_that_the_gpu_waits_for_has_only_the_card_about_its_launches():
    trace = timeline(
        """
        step     | 11111111112222222222 |
        user Optimizer.step#Adam.step | ...oooooo....oooooo. |
        runtime  | g..a..b.c.g..a..b.c. |
        kernel 7 | ggg.a..b.cggg.a..b.c |""",
        cell_ns=100_000,
        names={"g": GEMM, "a": ELEMENTWISE, "b": ELEMENTWISE, "c": ELEMENTWISE},
        devices={0: A100},
    )
    assert card(trace, "optimizer_passes") is None
    assert card(trace, "fused_optimizer") is not None


def indexed(cells: int, cell_ns: int = 100_000, kernel: str = INDEXING) -> Trace:
    """Steps of 100 cells; of these a sort and a sum take so many together, the sort two."""
    step = f"{'g' * (98 - cells)}ss{'i' * (cells - 2)}.."
    return timeline(
        f"""
        step     | {"1" * 100}{"2" * 100}{"3" * 100} |
        op       | {("mm.xxxx" + "." * 93) * 3} |
        runtime  | {("g..s.i" + "." * 94) * 3} |
        kernel 7 | {step * 3} |""",
        cell_ns=cell_ns,
        names={"g": GEMM, "s": "cub::DeviceRadixSortOnesweepKernel", "i": kernel, "m": "aten::mm",
               "x": "aten::_index_put_impl_"},
        inputs={"x": ("[[5000,256],[]]", '["float",""]')},
        devices={0: A100},
    )  # fmt: skip


@pytest.mark.parametrize("cell_ns", CELLS)
def test_gradients_of_indexed_tensors_count_with_their_sort(cell_ns: int):
    insight = sure(indexed(40, cell_ns), "indexed_gradients")
    assert up_to(insight) == 30 * cell_ns
    assert insight.severity is Severity.MINOR
    assert "aten::_index_put_impl_ 5000×256" in card_sentence(insight)


@pytest.mark.parametrize(
    ("cells", "kernel", "fires"), [(5, INDEXING, True), (4, INDEXING, False), (40, "compute_grad_weight<float>", False)]
)
def test_a_twentieth_of_the_step_is_worth_a_card(cells: int, kernel: str, fires: bool):
    assert (card(indexed(cells, kernel=kernel), "indexed_gradients") is not None) == fires


TABLE, HEAD = "[5000000,64]", "[64,4]"
ADAM = ("aten::_foreach_lerp_", "aten::_foreach_addcdiv_")


def with_table(
    indices: str = "[500000]",
    optimizer: str = "Adam",
    updates: tuple[str, str] = ADAM,
    handled: tuple[str, str] = (f"[{TABLE}]", f"[{HEAD}]"),
    between: str = "aten::mul",
    inside: str = "..",
    forward: str = "mm",
    exchange: str = "",
) -> Trace:
    """Steps of 10 ms on one GPU. Zeros fill the gradient of a table for 1 ms, and the optimizer's ops update for 3 and
    1.5 ms. handled: their inputs. between: an op before them. inside: what else the table's node runs. forward: ops
    of the forward pass. exchange: a collective."""
    op = (forward + "n" * 6 + "..cuuvv").ljust(100, ".")
    busy = "g" * 30 + "z" * 10 + "e" * 3 + "a" * 30 + "b" * 15
    return timeline(
        f"""
        step     | {"1" * 100}{"2" * 100}{"3" * 100} |
        user Optimizer.step#{optimizer}.step | {("." * 11 + "oooo").ljust(100, ".") * 3} |
        op       | {op * 3} |
        op       | {("..dddd" + inside).ljust(100, ".") * 3} |
        op       | {"..ff".ljust(100, ".") * 3} |
        runtime  | {"g.z.e......a.b".ljust(100, ".") * 3} |
        kernel 7 | {busy.ljust(100, ".") * 3} |
        {exchange and f"nccl 9   | {exchange.ljust(300, '.')} |"}""",
        cell_ns=100_000,
        names={"g": GEMM, "z": ELEMENTWISE, "e": "embedding_backward_feature_kernel<float>", "a": FOREACH, "b": FOREACH,
               "m": "aten::mm", "n": "autograd::engine::evaluate_function: EmbeddingBackward0", "c": between,
               "d": "aten::embedding_dense_backward", "f": "aten::fill_", "u": updates[0], "v": updates[1],
               "s": "aten::add", "w": "aten::linalg_vector_norm"},
        inputs={"d": (f"[[4096,64],{indices},[],[],[]]", "[]"), "f": (f"[{TABLE},[]]", "[]"),
                "u": (f"[{handled[0]},[],[]]", "[]"), "v": (f"[{handled[1]},[],[]]", "[]")},
        devices={0: A100},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "saved_us"),
    [
        ({}, 0.8 * (1_000 + 3_000)),
        ({"handled": (f"[{TABLE},{TABLE}]", f"[{HEAD}]")}, 0.8 * (1_000 + 1_500)),  # an output layer of its shape
        ({"optimizer": "SGD", "updates": ("aten::_foreach_add_", "aten::_foreach_add_")}, 0.8 * (1_000 + 3_000)),
        ({"updates": ("aten::_fused_adam_", "aten::_fused_adam_")}, 0.8 * (1_000 + 3_000)),
        ({"forward": "mw"}, 0.8 * (1_000 + 3_000)),  # the norm is one of the model
    ],
    ids=["Adam", "output layer", "SGD", "fused", "a norm in the model"],
)
def test_what_goes_into_rows_of_a_table_without_an_index_is_to_be_spared(given: dict[str, str], saved_us: float):
    insight = sure(with_table(**given), "dense_tables")  # type: ignore[arg-type]
    assert up_to(insight) == round((saved_us - 500) * 1_000)
    assert (insight.severity, "500 000 of the 5 000 000 rows" in card_sentence(insight)) == (Severity.MINOR, True)
    assert ("SparseAdam" in (insight.how or "")) == ("optimizer" not in given)


@pytest.mark.parametrize(
    "given",
    [
        {"indices": "[2000000]"},  # 0.2 of 4 ms less 0.5 ms is less than a tenth of the step
        {"indices": "[]"},
        {"handled": ("[]", "[]")},
        {"handled": (f"[{HEAD}]", f"[{HEAD}]")},  # filling alone is too little
        {"optimizer": "AdamW"},
        {"updates": ("aten::_foreach_add", "aten::_foreach_addcdiv_")},  # weight decay
        {"updates": ("aten::_foreach_maximum_", "aten::_foreach_addcdiv_")},  # AMSGrad
        {"optimizer": "SGD", "updates": ("aten::_foreach_mul_", "aten::_foreach_add_")},  # momentum
        {"optimizer": "SGD", "updates": ("aten::_fused_sgd_", "aten::_fused_sgd_")},
        {"between": "aten::_foreach_norm"},  # clipping
        {"inside": "ss"},  # the table is the output layer, too
        {"exchange": "." * 90 + "pppp"},  # several ranks
    ],
    ids=["many rows", "indices unknown", "shapes unknown", "another part", "AdamW", "weight decay", "AMSGrad",
         "momentum", "fused SGD", "clipping", "tied", "ranks"],
)  # fmt: skip
def test_no_gradient_is_to_be_sparse_that_cannot_be_or_that_hardly_gains(given: dict[str, str]):
    assert card(with_table(**given), "dense_tables") is None  # type: ignore[arg-type]
