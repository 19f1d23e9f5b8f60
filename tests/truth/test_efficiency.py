"""TFLOP/s of products, attention and convolutions, compared with those that
TraceLens publishes for the same recordings.

The values are `TFLOPS/s_mean` of its reports: GEMM, SDPA_fwd, CONV_fwd and CONV_bwd. TraceLens
averages the rates of the calls, and counts the bias as one more operation per element; here a rate
is all operations / all time, without bias.
"""

from __future__ import annotations

from functools import cache

import pytest

from tb_steptime.metrics.catalogue import main_device
from tb_steptime.metrics.roofline.dots import roofline
from tb_steptime.metrics.roofline.utilization import model_gflop
from tests.drawn.real_traces import read_real

BERT = "tracelens_h100_bert/bert-small.json.gz"
TIMESFORMER = "tracelens_h100_timesformer/timesformer.json.gz"
RESNET = "tracelens_mi300_resnet/resnet_act_checkpoint.json.gz"

PUBLISHED = (
    (BERT, "aten::addmm", "[[512],[141,512],[512,512],", 17, 12.747),
    (BERT, "aten::addmm", "[[30522],[141,512],[512,30522],", 1, 106.860),
    (BERT, "aten::addmm", "[[512],[141,2048],[2048,512],", 4, 35.762),
    (BERT, "aten::addmm", "[[2048],[141,512],[512,2048],", 4, 48.325),
    (BERT, "aten::_flash_attention_forward", "[[1,141,8,64],", 4, 4.362),
    (TIMESFORMER, "aten::bmm", "[[96,3137,64],[96,64,3137]]", 12, 63.592),
    (TIMESFORMER, "aten::bmm", "[[96,3137,3137],[96,3137,64]]", 12, 71.176),
    (TIMESFORMER, "aten::bmm", "[[37632,8,8],[37632,8,64]]", 12, 2.845),
    (TIMESFORMER, "aten::bmm", "[[37632,8,64],[37632,64,8]]", 12, 7.547),
    (TIMESFORMER, "aten::addmm", "[[3072],[25089,768],[768,3072],", 12, 718.782),
    (TIMESFORMER, "aten::addmm", "[[768],[25089,3072],[3072,768],", 12, 746.185),
    (TIMESFORMER, "aten::addmm", "[[2304],[25096,768],[768,2304],", 12, 705.464),
    (TIMESFORMER, "aten::addmm", "[[2304],[25088,768],[768,2304],", 12, 721.086),
    (TIMESFORMER, "aten::addmm", "[[768],[25088,768],[768,768],", 24, 632.128),
    (TIMESFORMER, "aten::addmm", "[[768],[25096,768],[768,768],", 12, 626.323),
    (RESNET, "aten::mm", "[[10,1000],[1000,512]]", 3, 1.1594),
    (RESNET, "aten::mm", "[[1000,10],[10,512]]", 3, 1.7281),
    (RESNET, "aten::miopen_convolution", "[[10,64,56,56],[64,64,3,3],", 24, 56.022),
    (RESNET, "aten::miopen_convolution", "[[10,512,7,7],[512,512,3,3],", 18, 44.214),
    (RESNET, "aten::miopen_convolution", "[[10,256,14,14],[256,256,3,3],", 18, 51.906),
    (RESNET, "aten::miopen_convolution", "[[10,128,28,28],[128,128,3,3],", 18, 60.075),
    (RESNET, "aten::convolution_backward", "[[10,64,56,56],[10,64,56,56],[64,64,3,3],", 12, 47.864),
    (RESNET, "aten::convolution_backward", "[[10,128,28,28],[10,128,28,28],[128,128,3,3],", 9, 45.973),
    (RESNET, "aten::convolution_backward", "[[10,256,14,14],[10,256,14,14],[256,256,3,3],", 9, 53.060),
    (RESNET, "aten::convolution_backward", "[[10,512,7,7],[10,512,7,7],[512,512,3,3],", 9, 45.769),
    (RESNET, "aten::convolution_backward", "[[10,128,28,28],[10,64,56,56],[128,64,3,3],", 3, 25.293),
    (RESNET, "aten::convolution_backward", "[[10,256,14,14],[10,128,28,28],[256,128,3,3],", 3, 27.557),
    (RESNET, "aten::convolution_backward", "[[10,512,7,7],[10,256,14,14],[512,256,3,3],", 3, 24.113),
    (RESNET, "aten::convolution_backward", "[[10,128,28,28],[10,64,56,56],[128,64,1,1],", 3, 4.181),
    (RESNET, "aten::convolution_backward", "[[10,256,14,14],[10,128,28,28],[256,128,1,1],", 3, 3.422),
    (RESNET, "aten::convolution_backward", "[[10,512,7,7],[10,256,14,14],[512,256,1,1],", 3, 5.712),
)


@cache
def rates(path: str) -> dict[tuple[str, str], tuple[int, float]]:
    """Calls and TFLOP/s by op and shapes, over all kernels that ran the op."""
    trace = read_real(path)
    device = main_device(trace)
    assert device is not None
    sums: dict[tuple[str, str], list[int]] = {}
    for dot in roofline(trace, device).dots:
        place = sums.setdefault((dot.op, dot.shapes), [0, 0, 0])
        for at, value in enumerate((dot.calls, dot.calls * dot.flops, dot.total_ns)):
            place[at] += value
    return {key: (calls, flops / total_ns / 1000) for key, (calls, flops, total_ns) in sums.items()}


@pytest.mark.parametrize(("path", "op", "shapes", "calls", "tflops"), PUBLISHED)
def test_tflops_agree_within_5_percent(path: str, op: str, shapes: str, calls: int, tflops: float):
    (found,) = [rate for (name, inputs), rate in rates(path).items() if name == op and inputs.startswith(shapes)]
    assert found == (calls, pytest.approx(tflops, rel=0.05))


def test_one_convolution_differs_by_what_is_around_it():
    """The reference measures aten::convolution, whose 1297.9 us include two memsets (34.8 us) and the kernel of the
    bias (64.9 us). Here the op is aten::cudnn_convolution with only its own kernels, and the bias is another op."""
    ((calls, tflops),) = [rate for (op, _), rate in rates(TIMESFORMER).items() if op == "aten::cudnn_convolution"]
    assert (calls, tflops) == (1, pytest.approx(22.802 * 1297.914 / (1297.914 - 34.784 - 64.864), rel=0.001))


def test_the_backward_pass_of_the_first_layer_is_half_of_theirs():
    """The reference counts the gradients of input and weight. According to the settings, [False, True, False], the
    gradient of the images is not computed, and all kernels belong to the gradient of the weight (igemm_wrw)."""
    ((calls, tflops),) = [rate for (op, shapes), rate in rates(RESNET).items()
                          if op == "aten::convolution_backward" and "[64,3,7,7]" in shapes]  # fmt: skip
    assert (calls, tflops) == (3, pytest.approx(79.309 / 2, rel=0.001))


def test_a_resnet_of_2021_has_no_gradient_of_its_images():
    """Counted by hand from the file: 261.58 GFLOP for the forward pass and as much for the gradients of the weights,
    7.55 less for the gradients of the inputs, and the three products of the last layer."""
    trace = read_real("kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz")
    forward, first, last = 261_576_720_384, 7_552_892_928, 3 * 2 * 32 * 2048 * 1000
    assert model_gflop(trace, 0).value == pytest.approx((3 * forward - first + last) / 1e9, rel=1e-9)
