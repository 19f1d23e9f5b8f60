"""Tensor cores unused: matrix work that runs on the plain cores although the GPU has better."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import WORTH_FRACTION, Facts, confidence, severity
from tb_steptime.metrics.peaks import Peaks, peaks_of
from tb_steptime.phrases import Phrase, Quantity, Unit, code, ns, phrase, text


def tensor_cores_unused(facts: Facts) -> Insight | None:
    """Fires when the eligible time is worth a card.

    The gain is bounded by the ratio of the device's peaks, and what it is worth now by the host: a step cannot fall
    below
    what the host needs without its waits, so only GPU time above that floor counts.
    """
    eligible_ns = facts.figure("matmul_like_time")
    device = next((each for each in facts.tensor_cores.devices if each.device == facts.overview.device), None)
    if facts.tensor_cores.unknown or not eligible_ns or device is None or facts.share(eligible_ns) < WORTH_FRACTION:
        return None
    peaks = peaks_of(device.name)
    if peaks is None:
        return None
    bound_ns = round(eligible_ns * (1 - peaks.fp32 / peaks.half))
    now_ns = min(bound_ns, _above_floor_ns(facts))
    worth_now = facts.share(now_ns) >= WORTH_FRACTION
    level, why = confidence(
        facts, Confidence.MEDIUM, phrase("The gain is a bound from data-sheet peaks, not a measurement.")
    )
    kernel_ns = facts.figure("kernel_sum_time") or 0.0
    return Insight(
        id="tensor_cores_unused",
        severity=severity(facts.share(now_ns if worth_now else 0)),
        title=phrase("Use the tensor cores") if worth_now else phrase("Then use the tensor cores"),
        text=_words(eligible_ns, kernel_ns, worth_now),
        gain_ns=now_ns if worth_now else 0,
        gain_fraction=facts.share(now_ns) if worth_now else 0.0,
        later_ns=None if now_ns == bound_ns else bound_ns,
        gain_formula=_formula(eligible_ns, peaks, device.name),
        confidence=level,
        why_confidence=why,
        view="tensor_cores",
        colour="kernel",
        part="kernel",
    )


def _above_floor_ns(facts: Facts) -> int:
    floor_ns = facts.figure("host_floor")
    return max(0, (facts.overview.mean_gpu_busy_ns or 0) - round(floor_ns or 0))


def _words(eligible_ns: float, kernel_ns: float, worth_now: bool) -> Phrase:
    setting = code("torch.autocast")
    if worth_now:
        return phrase(
            "Matrix work without them takes {eligible} of {kernels} kernel time a step. Mixed precision moves it "
            "there: {setting}.",
            eligible=ns(eligible_ns),
            kernels=ns(kernel_ns),
            setting=setting,
        )
    return phrase(
        "Matrix work without them takes {eligible} of {kernels} kernel time. {setting} pays once the GPU, not the "
        "input or the "
        "host, sets the pace.",
        eligible=ns(eligible_ns),
        kernels=ns(kernel_ns),
        setting=setting,
    )


def _formula(eligible_ns: float, peaks: Peaks, device: str) -> Phrase:
    return phrase(
        "{eligible} of matrix work a step x (1 - {plain} / {tensor}), the peaks of {device} in TFLOP/s without and "
        "with tensor "
        "cores; at most what the GPU works longer than the host needs.",
        eligible=ns(eligible_ns),
        plain=Quantity(peaks.fp32, Unit.NUMBER),
        tensor=Quantity(peaks.half, Unit.NUMBER),
        device=text(device),
    )
