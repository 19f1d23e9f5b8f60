"""Epoch starts: the first batch of each epoch is waited for, however many workers there are."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.loader_waits import idles, loader_card
from tb_steptime.metrics.data_loading.epoch_starts import LoaderStarts
from tb_steptime.text import Phrase, agreeing, code, count, fraction, ns, phrase

_FORMULA = phrase(
    "Mean over the steps of the exposed wait where an epoch ends and the next one begins. No other card's gain has any "
    "of it."
)
_FORMULA_ANEW = phrase(
    "Mean over the steps of the exposed wait where an epoch ends and the next one begins, less the recorded time in "
    "which its first batch is made, as kept workers make it, too. No other card's gain has any of it."
)
_FORMULA_WITH_ITERATOR = phrase(
    "Mean over the steps of the exposed wait where an epoch ends and the next one begins and of making the new "
    "iterator, less the recorded time in which its first batch is made, as kept workers make it, too. No other card's "
    "gain has any of it."
)


def epoch_starts(facts: Facts) -> Insight | None:
    """Fires when waits for the judged loader's first batches are worth a card, and worker processes make them: without
    these every batch is waited for, the first one no longer than others."""
    starts = facts.data_loading.starts
    own = starts.of(facts.data_loading.main_loader) if starts else None
    if own is None or own.workers is False or own.wait_ns is None:
        return None
    title, reason = _deed(own)
    why = phrase(
        agreeing("{number} (epoch begins|epochs begin) in these steps; longer epochs begin less often.", own.batches),
        number=count(own.batches),
    )
    return starts_card(facts, "epoch_starts", own, title, phrase(reason), why, judged=True)


def starts_card(
    facts: Facts, id: str, starts: LoaderStarts, title: Phrase, reason: Phrase, why: Phrase, judged: bool = False
) -> Insight | None:
    """reason: the end of a sentence, with {each} and {setting}. judged: as in `loader_card`."""
    text = phrase(
        "{exposed} a step ({share}) " + idles(facts) + ": " + reason.template,
        exposed=ns(starts.exposed_ns),
        share=fraction(facts.share(starts.exposed_ns)),
        each=ns(starts.wait_ns),
        setting=code("persistent_workers=True"),
        **reason.values,
    )
    gain_ns, formula = _gain(facts, starts)
    return loader_card(
        facts, id, title, text, gain_ns, why, Confidence.MEDIUM, starts.steps, formula=formula, judged=judged
    )


def _gain(facts: Facts, starts: LoaderStarts) -> tuple[int, Phrase]:
    """With its formula. Workers that stay save what it takes to start them; what a GPU idles meanwhile is a matter of
    the host's cards."""
    if not starts.anew or starts.produced_ns is None:
        return starts.exposed_ns, _FORMULA
    saved_ns = max(0, starts.exposed_ns - starts.produced_ns)
    if facts.overview.has_device:
        return saved_ns, _FORMULA_ANEW
    return saved_ns + starts.making_ns, _FORMULA_WITH_ITERATOR


def _deed(starts: LoaderStarts) -> tuple[Phrase, str]:
    """What to do, and why and how, as the end of a sentence with {each} and {setting}."""
    if starts.anew:
        return (
            phrase("Keep the workers between epochs"),
            "workers start anew for each epoch, whose first batch takes {each}. Set {setting}.",
        )
    if starts.anew is False:
        return (
            phrase("Make epochs longer"),
            "an epoch's first batch takes {each}, as none is in store. Fewer, longer epochs wait less often.",
        )
    return (
        phrase("Keep the workers between epochs, or make epochs longer"),
        "an epoch's first batch takes {each}. Set {setting}, or make epochs longer where it is set.",
    )
