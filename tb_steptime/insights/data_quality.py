"""What is wrong with a recording, in words, and what it takes from the conclusions that rest on it.

finding   rows_overrun, affects gpu_time, trust medium
card      "Use tensor cores", rests on gpu_time          high -> medium, because of the finding
card      "Fuse the optimizer", rests on launches        as before
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec

from tb_steptime.analyses.overview import StepRow
from tb_steptime.insights.base import Confidence, Evidence, FindingText, Insight, Severity, Verdict
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.wording.card_text import listed
from tb_steptime.insights.wording.notes import worded
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import Affected, Finding, Note, Phrase, Trust, code, joined, phrase, text

_LABELS = {"repaired": "Repaired", "left_out": "Left out", "said": "Note"}
_WORDS: dict[Affected, str] = {
    "gpu_time": "GPU time",
    "launches": "idle time",
    "host_time": "CPU time",
    "steps": "step times",
    "memory": "memory",
    "recurrence": "what comes once",
}
#: Lowest first.
_LEVELS: tuple[Trust, ...] = ("none", "low", "medium", "high")
_CONFIDENCE = {"none": Confidence.LOW, "low": Confidence.LOW, "medium": Confidence.MEDIUM}

_WITH_DEVICE: frozenset[Affected] = frozenset({"gpu_time", "launches", "steps"})
_ON_HOST: frozenset[Affected] = frozenset({"host_time", "steps"})
_RESTS_ON_VIEW: dict[str, frozenset[Affected]] = {
    "host": _WITH_DEVICE,
    "data_loading": _WITH_DEVICE,
    "tensor_cores": frozenset({"gpu_time", "steps"}),
    "gpu": frozenset({"gpu_time", "steps"}),
    "operators": frozenset({"gpu_time", "steps"}),
    "memory": frozenset({"memory"}),
}
#: Cards that rest on other data than the other cards of their view.
_RESTS_ON: dict[str, frozenset[Affected]] = {
    **dict.fromkeys(
        ("idle_gpu", "cpu_ops", "cpu_optimizer", "cpu_outside", "cpu_compiles", "slow_half", "small_ops",
         "random_on_cpu", "sparse_gradients", "python_loop", "recurring_steps", "growing_graph", "unused_graph",
         "without_cache", "active_dropout", "anomaly_detection", "first_pass"),
        _ON_HOST,
    ),
    "one_time": frozenset({"steps", "recurrence"}),
    "unrecorded_work": frozenset({"gpu_time", "steps"}),
    "trace_quality": frozenset(),
}  # fmt: skip
#: What makes a card less certain, but never wrong. What no later step repeats comes once, whether the host computes or
#: waits for a device that is not recorded.
_LESS_CERTAIN: dict[str, frozenset[Affected]] = {"one_time": frozenset({"host_time"})}


def quality_lines(facts: Facts) -> list[FindingText]:
    """Returns a line for each finding: what was repaired first, then what was left out, then what was said. The last
    line says what can be trusted. Empty where nothing is wrong."""
    findings = facts.overview.findings
    steps = facts.overview.steps
    lines = [msgspec.structs.replace(_line(each), evidence=_evidence(each, steps)) for each in findings]
    trust = _trust(findings)
    return [*lines, trust] if trust else lines


#: What no amount of memory depends on.
_OF_TIME: frozenset[Affected] = frozenset({"gpu_time", "launches", "host_time"})


def quality_of_view(lines: Sequence[FindingText], view: str) -> list[FindingText]:
    """Returns the lines that stand in a view: in that of memory, none that only concerns times."""
    if view != "memory":
        return list(lines)
    return [each for each in lines if not each.affects or not _OF_TIME.issuperset(each.affects)]


def _line(finding: Finding) -> FindingText:
    text_of_note = worded(Note(finding.id, finding.values))
    effect, affects = text_of_note.effect, list(finding.affects)
    return FindingText(finding.id, _LABELS[finding.done], text_of_note.cause, effect, affects=affects)


def _evidence(finding: Finding, steps: Sequence[StepRow]) -> list[Evidence]:
    """Returns each range with the step in which it begins, or else the last step that began before it."""
    starts = [step.start_ns for step in steps]
    return [
        Evidence(steps[max(0, bisect_right(starts, start) - 1)].name, start, end)
        for start, end in finding.ranges
        if steps
    ]


def _trust(findings: Iterable[Finding]) -> FindingText | None:
    worst = _worst(findings)
    if not worst:
        return None
    named = {level: [each for each in _WORDS if worst.get(each) == level] for level in _LEVELS}
    phrases = [
        Phrase(f"[{level}] for what rests on {{{level}}}", {level: text(listed([_WORDS[each] for each in affected]))})
        for level, affected in named.items()
        if affected
    ]
    phrases[0] = Phrase(f"[{phrases[0].template[1].upper()}{phrases[0].template[2:]}", phrases[0].values)
    whole = phrase("To record it whole: {call} before {stop}.", call=_SYNCHRONIZE, stop=_STOP)
    missing = any(each.id in _ENDS_EARLY for each in findings)
    rest = joined(*phrases, phrase("high for the rest."), by=", ")
    effect = joined(rest, whole) if missing else rest
    return FindingText("trust", "Trust", Phrase(""), effect, affects=[each for each in _WORDS if each in worst])


_ENDS_EARLY = ("end_missing", "work_not_recorded")
_SYNCHRONIZE, _STOP = code("torch.cuda.synchronize()"), code("prof.stop()")


def _worst(findings: Iterable[Finding]) -> dict[Affected, Trust]:
    """Returns the lowest trust in each thing that a finding affects. What is as good as without findings is left
    out."""
    worst: dict[Affected, Trust] = {}
    for finding in findings:
        for each in finding.affects if finding.trust != "high" else ():
            worst[each] = min(worst.get(each, "high"), finding.trust, key=_LEVELS.index)
    return worst


def _lowest(facts: Facts, rests_on: frozenset[Affected]) -> Finding | None:
    """Returns the finding that lowers the trust in these things most; None where none does."""
    touching = [each for each in facts.overview.findings if each.trust != "high" and rests_on & set(each.affects)]
    return min(touching, key=lambda each: _LEVELS.index(each.trust), default=None)


def weighed(facts: Facts, insight: Insight) -> Insight | None:
    """Returns the card with no more confidence than the recording allows; None where no conclusion can be drawn."""
    rests_on = _RESTS_ON.get(insight.id, _RESTS_ON_VIEW.get(insight.view, _WITH_DEVICE))
    if not facts.overview.has_device and insight.view == "data_loading":
        rests_on = frozenset({"steps"})  # the loader's own marks
    finding = _lowest(facts, rests_on)
    if finding is not None and finding.trust == "none":
        return None
    finding = _lowest(facts, rests_on | _LESS_CERTAIN.get(insight.id, frozenset()))
    if finding is None:
        return insight
    level, why = _capped(insight.confidence, insight.why_confidence, finding)
    major = insight.severity is Severity.MAJOR and level is Confidence.LOW
    severity = Severity.WARNING if major else insight.severity
    return msgspec.structs.replace(insight, confidence=level, why_confidence=why, severity=severity)


def weighed_verdict(facts: Facts, verdict: Verdict) -> Verdict:
    """Returns the verdict, weighed by the same findings. Where host and device cannot be compared, why the device is
    idle is not said. A file that is cut still shows that the device sets the pace: what is missing would only add to
    its work."""
    finding = _lowest(facts, _WITH_DEVICE if facts.overview.has_device else _ON_HOST)
    if finding is None:
        return verdict
    level, why = _capped(verdict.confidence, verdict.why_confidence, finding)
    cut = finding.id == "gpu_cut_short"
    if finding.trust == "none" and facts.overview.has_device and not (cut and verdict.bound is Bound.GPU):
        return Verdict(Bound.UNKNOWN, _WHY_UNKNOWN.get(finding.id, _NOT_COMPARED), level, why)
    return msgspec.structs.replace(verdict, confidence=level, why_confidence=why)


_NOT_COMPARED = phrase("The clocks of CPU and GPU disagree, so why the GPU is idle is not known.")
_WHY_UNKNOWN = {
    "clock_set_back": phrase("The CPU's clock is set back during the recording, so what sets the pace is not known."),
    "gpu_cut_short": phrase("The file is cut and lacks GPU work, so why the GPU is idle is not known."),
    "end_missing": phrase("The work of no launched kernel is recorded, so what the GPU does is not known."),
}

_ORDER = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


def _capped(level: Confidence, why: Phrase, finding: Finding) -> tuple[Confidence, Phrase]:
    most = _CONFIDENCE[finding.trust]
    return (level, why) if _ORDER.index(level) <= _ORDER.index(most) else (most, _line(finding).cause)
