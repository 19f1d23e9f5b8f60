"""Rare long stops of the host: garbage collection, kernels loaded at their first launch, stops without a reason."""

from __future__ import annotations

from typing import NamedTuple

from tb_steptime.insights.base import Confidence, Evidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE, HostCard, host_card
from tb_steptime.metrics.idle.host_stalls import Pause
from tb_steptime.text import Phrase, agreeing, code, count, ns, phrase


class _Stops(NamedTuple):
    """How the stops of one cause are told; the text may use {times}, with which it agrees, and {longest}."""

    id: str
    cause: str
    title: Phrase
    why: Phrase


_GARBAGE = _Stops(
    "garbage_collection",
    "garbage_collection",
    phrase("Keep garbage collection out of the steps"),
    phrase(
        "Python's collector stops the host {times} (time, for|times, at worst for) {longest}: {freeze} after the first "
        "steps, or {disable} and collect now and then.",
        freeze=code("gc.freeze()"),
        disable=code("gc.disable()"),
    ),
)
_LOADING = _Stops(
    "lazy_loading",
    "lazy_loading",
    phrase("Load kernels before the steps"),
    phrase(
        "{times} (kernel is loaded at its first launch, for|kernels are loaded at their first launch, at worst for) "
        "{longest}: warm up longer, or set {setting}.",
        setting=code("CUDA_MODULE_LOADING=EAGER"),
    ),
)
_UNEXPLAINED = _Stops(
    "host_stops",
    "unexplained",
    phrase("Find what stops the host"),
    phrase(
        "Nothing is recorded in {times} (stop, of|stops, at worst of) {longest}. Python's collector stops like this: "
        "try {freeze}.",
        freeze=code("gc.freeze()"),
    ),
)


def garbage_collection(facts: Facts) -> Insight | None:
    """Fires when Python's garbage collector leaves the GPU idle."""
    return _card(facts, _GARBAGE)


def lazy_loading(facts: Facts) -> Insight | None:
    """Fires when kernels that are loaded at their first launch leave the GPU idle."""
    return _card(facts, _LOADING)


def host_stops(facts: Facts) -> Insight | None:
    """Fires when stops for which nothing is recorded leave the GPU idle."""
    return _card(facts, _UNEXPLAINED)


def _card(facts: Facts, stops: _Stops) -> Insight | None:
    found = [pause for pause in facts.host.pauses if pause.cause == stops.cause]
    if not found:
        return None
    sure = all(pause.sure for pause in found)
    return host_card(
        facts,
        HostCard(
            id=stops.id,
            title=stops.title,
            why=_words(stops.why, found),
            gain_ns=sum(pause.idle_ns for pause in found),
            formula=phrase("Mean over the steps of the GPU's idle time that these stops of the host leave."),
            best=Confidence.HIGH if sure else Confidence.LOW,
            why_confidence=phrase(
                "The trace names these stops." if sure else "Told from their pattern; the trace names none."
            ),
            evidence=[Evidence(each.worst_step, each.worst_start_ns, each.worst_end_ns) for each in found][:EVIDENCE],
        ),
    )


def _words(words: Phrase, found: list[Pause]) -> Phrase:
    times = sum(pause.count for pause in found)
    longest = max(pause.worst_end_ns - pause.worst_start_ns for pause in found)
    return Phrase(agreeing(words.template, times), {**words.values, "times": count(times), "longest": ns(longest)})
