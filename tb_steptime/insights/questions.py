"""What a rule answers before it may speak, taken from its docstring: a paragraph for when it fires, and one each for

Similar pattern   what else looks like this in a trace, and how to distinguish it
Needs             what must be recorded
Jobs              which jobs it is for
Gain              how the gain is computed
Left out          what the gain leaves out

and, from what was tried, how what the card promised compared with what was gained where it was followed. The tables are
results, and tests hold them against these: FOLLOWED is of the laboratory (`python -m benchmarks.laboratory`,
docs/laboratory.md), of trainings that gained by the card; ON_GPU likewise, of an H200 (`python -m
benchmarks.laboratory.on_gpu`, docs/laboratory_gpu.md); MADE_BY_OTHERS is of recordings that others made before and
after a change (`python -m tests.truth.pairs`, docs/accuracy.md).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import msgspec

QUESTIONS = ("Similar pattern", "Needs", "Jobs", "Gain", "Left out")
WHERE_FOLLOWED = "Followed"


class CardMeaning(msgspec.Struct, frozen=True):
    """What a card rests on, whatever the trace. id: that of the card; fires: when it appears; answers: by question, in
    the order of QUESTIONS, then what came of it where it was followed. The texts hold code in backticks."""

    id: str
    fires: str
    answers: dict[str, str]


def card_meaning(rule: Callable[..., Any]) -> CardMeaning:
    """Returns what a card means. It has no answers where Python runs without docstrings. KeyError for a rule that
    leaves a question open."""
    paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n", inspect.getdoc(rule) or "")]
    if paragraphs == [""]:
        return CardMeaning(rule.__name__, "", {})
    by_question = dict(each.split(": ", 1) for each in paragraphs[1:])
    answers = {question: by_question[question] for question in QUESTIONS}
    tried = followed_text(rule.__name__)
    return CardMeaning(rule.__name__, paragraphs[0], answers | ({WHERE_FOLLOWED: tried} if tried else {}))


class Followed(msgspec.Struct, frozen=True):
    """Results of so many trainings: the least, median and largest ratio of promise to gain."""

    trainings: int
    least: float
    median: float
    most: float


FOLLOWED: dict[str, Followed] = {
    "anomaly_detection": Followed(1, 0.73, 0.73, 0.73),
    "cpu_compiles": Followed(1, 0.73, 0.73, 0.73),
    "cpu_optimizer": Followed(4, 0.89, 0.98, 1.02),
    "each_micro_batch": Followed(1, 0.98, 0.98, 0.98),
    "epoch_starts": Followed(1, 0.96, 0.96, 0.96),
    "input_bound": Followed(4, 0.38, 0.9, 1.56),
    "loader_overhead": Followed(3, 0.39, 0.7, 1.12),
    "many_small_collectives": Followed(1, 0.98, 0.98, 0.98),
    "more_workers": Followed(3, 0.94, 1.02, 1.03),
    "no_workers": Followed(4, 0.98, 1.84, 2.23),
    "python_loop": Followed(6, 0.38, 0.9, 1.99),
    "recurring_steps": Followed(2, 0.44, 0.67, 0.89),
    "slow_half": Followed(1, 0.84, 0.84, 0.84),
    "slow_worker": Followed(1, 0.94, 0.94, 0.94),
    "sparse_gradients": Followed(2, 0.35, 0.53, 0.7),
    "straggler": Followed(4, 0.66, 1.08, 1.55),
    "without_cache": Followed(1, 1.2, 1.2, 1.2),
}

#: On an H200; a card counts wherever it stands.
ON_GPU: dict[str, Followed] = {
    "allocator_steady": Followed(1, 1.13, 1.13, 1.13),
    "anomaly_detection": Followed(1, 0.26, 0.26, 0.26),
    "between_passes": Followed(1, 1.3, 1.3, 1.3),
    "device_copies": Followed(1, 0.67, 0.67, 0.67),
    "double_precision": Followed(1, 0.3, 0.3, 0.3),
    "eager_attention": Followed(1, 0.40, 0.40, 0.40),
    "fused_optimizer": Followed(1, 0.26, 0.26, 0.26),
    "fusible_chains": Followed(1, 0.29, 0.29, 0.29),
    "garbage_collection": Followed(1, 0.99, 0.99, 0.99),
    "host_stops": Followed(1, 0.84, 0.84, 0.84),
    "launch_graphs": Followed(5, 0.67, 0.94, 1.19),
    "layout_conversion": Followed(1, 0.37, 0.37, 0.37),
    "long_stretches": Followed(3, 0.81, 0.86, 2.58),
    "pageable_batch_copies": Followed(2, 1.08, 1.47, 1.85),
    "recurring_steps": Followed(2, 0.91, 0.96, 1.0),
    "slow_products": Followed(2, 0.82, 0.85, 0.89),
    "small_grids": Followed(1, 1.25, 1.25, 1.25),
    "sync_bubble": Followed(2, 0.07, 0.25, 0.44),
    "tensor_cores_unused": Followed(3, 0.98, 1.02, 1.1),
    "tiny_optimizer_kernels": Followed(1, 1.02, 1.02, 1.02),
}

#: On GPUs: promised / gained.
MADE_BY_OTHERS: dict[str, float] = {
    "no_workers": 1.21,
    "compiled_waits": 0.99,
    "launch_graphs": 1.16,
    "sync_bubble": 1.13,
}


def followed_text(card: str) -> str | None:
    """Returns a sentence for each kind of training; None for a card that nobody followed yet.

    >>> followed_text("compiled_waits")
    'Others made this change on a GPU and recorded the job before and after: the card promised 0.99 times the gain.'
    """
    sentences = [_sentence_on_trainings(table[card], where) for table, where in _OURS if card in table]
    ratio_of_others = MADE_BY_OTHERS.get(card)
    if ratio_of_others is not None:
        sentences.append(
            "Others made this change on a GPU and recorded the job before and after: "
            f"the card promised {ratio_of_others:.2f} times the gain."
        )
    return " ".join(sentences) or None


_OURS = ((FOLLOWED, "on a CPU"), (ON_GPU, "on a GPU"))


def _sentence_on_trainings(each: Followed, where: str) -> str:
    if each.trainings == 1:
        return f"In one real training {where}, the card promised {each.median:.2f} times the gain."
    return (
        f"In {each.trainings} real trainings {where}, the card promised {each.least:.2f} to {each.most:.2f} times the "
        f"gain, {each.median:.2f} times in the median."
    )
