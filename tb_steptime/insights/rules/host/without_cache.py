"""Generation that computes all earlier tokens again for each new one."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.cards import card
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import host_card
from tb_steptime.metrics.steps.repeated_work import WithoutCache
from tb_steptime.text import Phrase, agreeing, count, phrase

_HOW = (
    "model.generate(..., use_cache=True)    # Transformers\n"
    "# else keep the keys and values of each layer, and pass only the new tokens"
)
_TITLE = phrase("Cache keys and values: earlier tokens are computed again")
_BY_SLOPE = phrase(
    "Time that each further token adds to a repetition, times the number of earlier tokens, mean over the steps (est.)."
)
_BY_WORK = phrase(
    "Time of matrix products and attention, times the share of the earlier tokens, mean over the steps (est.): "
    "products are assumed to take time in proportion to their rows."
)
_NO_TIME = phrase(
    "No gain is computed: whether fewer tokens take less time on a device does not follow from this trace."
)
_CAUSAL = phrase("All attention is causal, so earlier tokens give the same keys and values again.")
_MASKED = phrase("No op says that its attention is causal; a model whose tokens depend on later ones has no cache.")


def without_cache(facts: Facts) -> Insight | None:
    """Fires when tokens that have just been computed are put behind the others, and all of them are embedded again,
    five times in a row and by the same number.

    Similar pattern: a cache of keys and values: the tokens grow likewise, but only the new ones are embedded. Training
    on longer and longer texts, and inference over texts sorted by length: nothing is put behind what was embedded.

    Needs: shapes, also of lists of tensors (PyTorch 2.1 or later), and the CPU ops.

    Jobs: inference, on a GPU or not.

    Gain: what the earlier tokens take, by how much longer repetitions take with more tokens, or on the CPU by the work
    of products; none where neither is known. Where the recorder timed steps without the profiler, the same share of
    such a step.

    Left out: reading the cache. Models without an embedding. Texts cut to the model's length no longer grow, and their
    repetitions are not found.
    """
    repeated = facts.host.without_cache
    if repeated is None:
        return None
    best, why_confidence = (Confidence.MEDIUM, _CAUSAL) if repeated.is_causal else (Confidence.LOW, _MASKED)
    if not repeated.ns:
        return card(
            facts, "without_cache", _TITLE, _why(repeated), _NO_TIME, why_confidence, best, part=None, how=_HOW
        )  # fmt: skip
    return host_card(
        facts,
        id="without_cache",
        title=_TITLE,
        why=_why(repeated),
        gain_ns=round(min(repeated.ns, facts.step_ns) / facts.slowed),
        formula=_BY_SLOPE if repeated.by_slope else _BY_WORK,
        why_confidence=why_confidence,
        best=best,
        how=_HOW,
    )


def _why(repeated: WithoutCache) -> Phrase:
    template = "{repetitions} repetitions compute {first} to {last} tokens of each text, of which {added} (is|are) new."
    return phrase(
        agreeing(template, repeated.added),
        repetitions=count(repeated.repetitions),
        first=count(repeated.first),
        last=count(repeated.last),
        added=count(repeated.added),
    )
