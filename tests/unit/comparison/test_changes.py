"""A change is reported where the trace itself shows it, and never only because a time became shorter."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace

from tb_steptime.comparison.changes import changes_made
from tb_steptime.comparison.comparison import Residual, compare
from tb_steptime.comparison.sides import ExpectedGain, Side
from tb_steptime.insights.wording.compare import residual_text
from tb_steptime.text.printer import plain
from tests.drawn.timeline import A100, timeline
from tests.unit.comparison.sides import side_of

#: Each step copies its batch, multiplies, reads a number back and updates the weights.
STEP = """
    step     | 00000000000000000001111111111111111111 |
    op       | oooommm.iiii..wwww.oooommm.iiii..wwww. |
    user Optimizer.step#Adam.step | .............uuuuu..............uuuuu. |
    runtime  | .c..k...ds.....w....c..k...ds.....w... |
    memcpy 7 | ..c......d...........c......d......... |
    kernel 7 | .....kkk........ww......kkk........ww. |"""
NAMES = {"o": "aten::to", "m": "aten::mm", "i": "aten::item", "w": "aten::add_",
         "c": "Memcpy HtoD (Pageable -> Device)", "d": "Memcpy DtoH (Device -> Pageable)",
         "k": "ampere_sgemm_128x64_nn"}  # fmt: skip
FOREACH = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<2>, AddFunctor<float> >"
FUSED = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, Fused>"
HALF = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn"
TF32 = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x64x32_stage3_warpsize2x2x1_tensor16x8x8_execute_kernel"
FLASH = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4> >(Flash_fwd_params)"
PINNED = "Memcpy HtoD (Pinned -> Device)"


def job(drawing=STEP, *, expected=(), calls=None, **names):
    trace = timeline(
        drawing,
        names={**NAMES, **names},
        calls={"d": "cudaMemcpyAsync", "s": "cudaStreamSynchronize", **(calls or {})},
        devices={0: A100},
        nbytes={"c": 4_000_000, "d": 4},
    )
    return side_of("a", trace, expected=expected)


def made(base, candidate):
    return [change.id for change in changes_made(base, candidate)]


#: The number is no longer read back.
WITHOUT_ITEM = (
    STEP.replace("iiii", "....").replace("ds", "..").replace("......d.", "........").replace("d....", ".....")
)
#: The batch comes from pinned memory, but the host still waits for it.
WAITED_FOR = STEP.replace("runtime  | .c..", "runtime  | .cp.").replace("...w....c..", "...w....cp.")
WAIT = {"p": "cudaStreamSynchronize"}


@pytest.mark.parametrize(
    ("names", "change"),
    [
        ({"k": HALF}, "half_precision"),
        ({"k": TF32}, "tf32"),
        ({"c": PINNED}, "pinned_memory"),
        ({"w": FOREACH}, "optimizer"),
        ({"w": FUSED}, "optimizer"),
    ],
)
def test_what_the_names_of_the_candidate_show(names, change):
    assert made(job(), job(**names)) == [change]
    assert made(job(**names), job()) == [], "the other way it is no advice"


def test_a_fused_optimizer_is_more_than_one_of_many_tensors():
    assert made(job(w=FOREACH), job(w=FUSED)) == ["optimizer"]
    assert made(job(w=FUSED), job(w=FOREACH)) == []


def test_autocast_in_place_of_tf32_is_another_precision():
    assert made(job(k=TF32), job(k=HALF)) == ["half_precision"]


def test_fused_attention_has_kernels_of_its_own():
    assert "fused_attention" in made(job(), job(k=FLASH))


def test_a_number_that_is_read_back_no_more():
    assert made(job(), job(WITHOUT_ITEM)) == ["item_removed"]
    assert made(job(WITHOUT_ITEM), job()) == []


def test_a_copy_from_pinned_memory_that_is_waited_for_no_more():
    blocks, runs_on = job(WAITED_FOR, c=PINNED, calls=WAIT), job(c=PINNED)
    assert made(blocks, runs_on) == ["non_blocking"]
    assert made(runs_on, blocks) == []


@pytest.mark.parametrize(("share", "change"), [("compiled_share", "compiled"), ("graph_share", "graphs")])
def test_what_is_compiled_or_captured_by_its_share_of_kernel_time(share, change):
    assert made(job(), launched(job(), **{share: 0.8})) == [change]
    assert made(launched(job(), **{share: 0.7}), launched(job(), **{share: 0.8})) == [], "most of it was before"
    assert made(launched(job(), **{share: 0.8}), job()) == []


def launched(side, **shares):
    """The same side, with the given shares of kernel time launched in another way."""
    overview = side.first.overview
    job = replace(overview.job, **shares)
    results = {**side.first.results, "overview": replace(overview, job=job)}
    return Side(side.name, (dataclasses.replace(side.first, results=results),))


def test_memory_that_the_driver_is_asked_for_no_more():
    asks = STEP.replace("w....c..k", "wp...c..k").replace("w... |", "wp.. |")
    assert made(job(asks, calls={"p": "cudaMalloc"}), job()) == ["allocator"]


def test_images_that_are_converted_no_more():
    """The product runs on tensor cores before and after."""
    conv = {"m": "aten::cudnn_convolution", "k": TF32}
    converts = (
        STEP.replace("k...ds", "kn..ds").replace(".kkk..", ".nkkk.").replace("runtime  | .c..k", "runtime  | .c..k")
    )
    base = job(converts, **conv, n="void nchwToNhwcKernel<float, float, float, false, true>(float const*)")
    assert made(base, job(**conv)) == ["channels_last"]


def test_pageable_copies_that_are_gone_altogether_are_not_pinned():
    gone = "\n".join(line for line in STEP.splitlines() if "memcpy" not in line).replace(".c..", "....")
    assert "pinned_memory" not in made(job(), job(gone.replace("ds", "..").replace("..c.", "....")))


def test_a_step_that_is_only_shorter_was_not_changed():
    """The product takes a third of the time."""
    assert made(job(), job(STEP.replace("kkk", "k.."))) == []
    shorter = compare(job(expected=(ExpectedGain("tensor_cores_unused", 2_000, "kernel"),)),
                      job(STEP.replace("kkk", "k..")))  # fmt: skip
    assert (shorter.changes, shorter.predictions) == ([], [])


def test_what_was_measured_otherwise_than_predicted_is_explained_by_part():
    base = job(expected=(ExpectedGain("tensor_cores_unused", 3_000, "kernel"),))
    (found,) = compare(base, job(STEP.replace("kkk", "k.."), k=HALF)).predictions
    assert (found.change, found.of, found.predicted_ns) == ("half_precision", None, 3_000)
    assert sum(part.ns for part in found.residual) == found.predicted_ns - found.measured_ns
    assert Residual("kernel", 1_000) in found.residual, "2 us a step are gone of 3"
    assert plain(residual_text(found)).startswith("The step is 3 µs longer than predicted: ")


def test_where_two_things_were_changed_a_promise_is_held_against_its_part():
    cards = (ExpectedGain("tensor_cores_unused", 3_000, "kernel"), ExpectedGain("slow_steps", 500, None))
    found = compare(job(expected=cards), job(STEP.replace("kkk", "k.."), k=HALF, c=PINNED))
    assert found.changes == ["pinned_memory", "half_precision"]
    (prediction,) = found.predictions
    assert (prediction.of, prediction.measured_ns, prediction.residual) == (
        "kernel",
        2_000,
        [Residual("kernel", 1_000)],
    )
    assert plain(residual_text(prediction)) == "Kernel is 1 µs longer than predicted."


def test_a_change_without_a_card_is_named_and_is_no_prediction():
    found = compare(job(), job(c=PINNED))
    assert (found.changes, found.predictions) == (["pinned_memory"], [])
