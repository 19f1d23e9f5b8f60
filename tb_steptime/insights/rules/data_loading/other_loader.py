"""Other loaders: the figures are of the main one; others, such as an evaluation's, cost time too."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.loader_waits import LoaderCard, loader_card, shares
from tb_steptime.text import agreeing, count, label, phrase

_FORMULA = phrase(
    "Mean over the steps of the exposed wait for other loaders than the one that this view's figures are of, without "
    "first batches of epochs. No other card's gain has any of it."
)


def other_loader(facts: Facts) -> Insight | None:
    """Fires when waits for batches of other loaders than the main one are worth a card; names the costliest.

    Gain: the exposed wait for these other loaders, mean over the steps, without first batches of epochs.
    """
    result = facts.data_loading
    others = result.causes.other_loaders if result.causes else None
    if others is None:
        return None
    loader, often = result.loaders[others.loader], 2 * len(others.steps) >= len(result.steps)
    words = agreeing("In {those} of {all} (step|steps), mostly for the {loader}.", len(result.steps))
    return loader_card(
        facts,
        LoaderCard(
            id="other_loader",
            title=phrase("Make the {loader} faster", loader=label(loader.label)),
            why=phrase(words, those=count(len(others.steps)), all=count(len(result.steps)), loader=label(loader.label)),
            how="DataLoader(..., num_workers=N)",
            waited_ns=shares(facts).others_ns,
            formula=_FORMULA,
            best=Confidence.HIGH if often else Confidence.MEDIUM,
            why_confidence=phrase("The loader's own marks show when it is waited for.")
            if often
            else phrase("Waited for in few steps only, so another span may have more or fewer of them."),
            steps=others.steps,
            of_main=False,
        ),
    )
