"""Tensor cores unused: matrix work that runs on the plain cores although the GPU has better, and a setting moves it."""

from __future__ import annotations

from tb_steptime.analyses.tensor_cores import DeviceSplit
from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.rules.gpu.kernel_gains import KernelCard, device_split, kernel_card, worth_now
from tb_steptime.metrics.tensor_cores.opportunities import Obstacle
from tb_steptime.metrics.tensor_cores.peaks import peaks_of
from tb_steptime.text import Phrase, Quantity, Unit, code, ns, phrase, text

#: Reasons with a card of their own.
ELSEWHERE = ("alignment",)


def tensor_cores_unused(facts: Facts) -> Insight | None:
    """Fires when the eligible time is worth a card.

    Gain: kernel by kernel, time x (1 - peak without / peak with tensor cores).
    """
    eligible_ns, device = facts.figure("matmul_like_time"), device_split(facts)
    if facts.tensor_cores.unknown or not eligible_ns or device is None or facts.share(eligible_ns) < WORTH_FRACTION:
        return None
    mine = [obstacle for obstacle in device.obstacles if obstacle.why_not not in ELSEWHERE]
    bound_ns = round(eligible_ns * sum(each.bound_ns for each in mine) / device.total.matmul_like_ns)
    if facts.share(bound_ns) < WORTH_FRACTION:
        return None
    leading = _leading(mine)
    return kernel_card(
        facts,
        KernelCard(
            id="tensor_cores_unused",
            title=phrase("Use the tensor cores"),
            later=phrase("Then use the tensor cores"),
            why=_words(facts, eligible_ns, leading, bool(worth_now(facts, bound_ns))),
            gain_ns=bound_ns,
            formula=_formula(eligible_ns, device, mine),
            why_confidence=phrase("The gain is a bound from data-sheet peaks, not a measurement."),
            view="tensor_cores",
        ),
    )


def _leading(obstacles: list[Obstacle]) -> Obstacle:
    """The reason that holds for most of the gain; a stage's reason is that of the product that it serves."""
    products = [each for each in obstacles if each.why_not != "stage"]
    return max(products or obstacles, key=lambda each: each.bound_ns)


#: After a colon, by the id of the reason.
_BECAUSE = {
    "tf32_off": "FP32 inputs, TF32 off",
    "fp32": "FP32 inputs",
    "layout_conversion": "layouts are converted around it",
}


def _words(facts: Facts, eligible_ns: float, leading: Obstacle, now: bool) -> Phrase:
    because = _BECAUSE.get(leading.why_not)
    values = {"eligible": ns(eligible_ns)}
    sentence = "Matrix work without them takes {eligible}"
    if now:
        sentence, values = (
            sentence + " of {kernels} kernel time",
            values | {"kernels": ns(facts.figure("kernel_sum_time") or 0.0)},
        )
    sentence += " a step" + (f": {because}." if because else ".")
    if leading.setting is None:
        return Phrase(sentence, values)
    sentence += " {setting} moves it there." if now else " {setting} pays once the GPU sets the pace."
    return Phrase(sentence, values | {"setting": code(leading.setting)})


def _formula(eligible_ns: float, device: DeviceSplit, obstacles: list[Obstacle]) -> Phrase:
    """The ratio of most of the gain; other types of inputs have other ratios, which the table of the view shows."""
    peaks = peaks_of(device.name)
    if peaks is None:
        return phrase("Kernel by kernel, time x (1 - the ratio of the peaks without and with tensor cores).")
    tensor = peaks.tf32 if _leading(obstacles).why_not == "tf32_off" and peaks.tf32 else peaks.half
    return phrase(
        "{eligible} of matrix work a step x (1 - {plain} / {tensor}), the peaks of {device} in TFLOP/s without and "
        "with tensor cores; at most what the GPU works longer than the host needs. Memory bandwidth leaves {left} of "
        "the span's {bound}.",
        eligible=ns(eligible_ns),
        plain=Quantity(peaks.fp32, Unit.NUMBER),
        tensor=Quantity(tensor, Unit.NUMBER),
        device=text(device.name),
        left=ns(sum(each.gain_ns for each in obstacles)),
        bound=ns(sum(each.bound_ns for each in obstacles)),
    )
