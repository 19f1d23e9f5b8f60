"""Another loader: one loader is judged, which most steps ask, and others, such as an evaluation's, cost time too."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.loader_waits import loader_card, shares
from tb_steptime.metrics.data_loading.loaders import LoaderRow, in_a_sentence
from tb_steptime.metrics.data_loading.wait_shares import Elsewhere
from tb_steptime.text import Phrase, agreeing, code, count, ns, phrase

_FORMULA = phrase(
    "Mean over the steps of the exposed wait for other loaders than the one that this view's figures are of, without "
    "first batches of epochs. No other card's gain has any of it."
)


def other_loader(facts: Facts) -> Insight | None:
    """Fires when waits for batches of other loaders than the judged one are worth a card."""
    elsewhere = facts.data_loading.elsewhere
    if elsewhere is None:
        return None
    loader = facts.data_loading.loaders[elsewhere.loader]
    name = in_a_sentence(loader.label)
    level, why = Confidence.HIGH, phrase("The loader's own marks tell when it is waited for.")
    if 2 * len(elsewhere.steps) < len(facts.data_loading.steps):
        level = Confidence.MEDIUM
        why = phrase("Waited for in few steps only, so another span may have more or fewer of them.")
    title = Phrase("Make " + name.template + " faster", name.values)
    gain, text = shares(facts).elsewhere_ns, _words(facts, elsewhere, loader)
    return loader_card(
        facts, "other_loader", title, text, gain, why, level, elsewhere.steps, formula=_FORMULA, judged=False
    )


def _words(facts: Facts, elsewhere: Elsewhere, loader: LoaderRow) -> Phrase:
    name, steps = in_a_sentence(loader.label), len(facts.data_loading.steps)
    rest = elsewhere.exposed_ns - elsewhere.most_exposed_ns
    costs = " leaves the GPU idle for {waited}" if facts.overview.has_device else " is waited for {waited}"
    opens = name.template[0].upper() + name.template[1:] + costs + " of the span, "
    opens += agreeing("in {those} of {all} (step|steps)", steps)
    opens += ", others {rest}: " if rest else ": "
    return phrase(
        opens + _remedy(loader),
        waited=ns(elsewhere.most_exposed_ns),
        those=count(len(elsewhere.steps)),
        all=count(steps),
        rest=ns(rest),
        workers=code("num_workers"),
        **name.values,
    )


def _remedy(loader: LoaderRow) -> str:
    """As the end of a sentence with {workers}."""
    workers = "it has no workers, set {workers}" if loader.multiprocess is False else "raise its {workers}"
    return workers + (", or evaluate less often." if loader.role == "evaluation" else ", or make its batches cheaper.")
