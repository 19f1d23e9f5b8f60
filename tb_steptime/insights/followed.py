"""How often a card was followed, and how what it promised compared with what was gained.

Both tables are results, and tests hold them against these: FOLLOWED is of the laboratory (`python -m
benchmarks.laboratory`, docs/laboratory.md), of trainings that gained by the card; MADE_BY_OTHERS is of recordings that
others made before and after a change (`python -m tests.truth.pairs`, docs/accuracy.md).
"""

from __future__ import annotations

from typing import NamedTuple


class Followed(NamedTuple):
    """Of so many trainings; promised / gained in the least, the median and the most."""

    trainings: int
    least: float
    median: float
    most: float


FOLLOWED: dict[str, Followed] = {
    "anomaly_detection": Followed(1, 0.73, 0.73, 0.73),
    "cpu_compiles": Followed(1, 0.73, 0.73, 0.73),
    "cpu_optimizer": Followed(2, 0.84, 1.17, 1.5),
    "epoch_starts": Followed(1, 0.96, 0.96, 0.96),
    "input_bound": Followed(3, 0.38, 0.57, 1.56),
    "loader_overhead": Followed(3, 0.39, 0.7, 1.12),
    "more_workers": Followed(3, 0.94, 1.02, 1.03),
    "no_workers": Followed(4, 0.98, 1.84, 2.23),
    "python_loop": Followed(6, 0.38, 0.9, 1.99),
    "recurring_steps": Followed(1, 0.89, 0.89, 0.89),
    "slow_worker": Followed(1, 0.94, 0.94, 0.94),
}

#: On GPUs: promised / gained.
MADE_BY_OTHERS: dict[str, float] = {"no_workers": 1.25, "compiled_waits": 1.00, "launch_graphs": 1.20}


def followed_text(card: str) -> str | None:
    """A sentence or two; None for a card that nobody followed yet.

    >>> followed_text("launch_graphs")
    'Others made the change on a GPU, and recorded it before and after: promised was 1.20 times what was gained.'
    """
    said, ours, theirs = [], FOLLOWED.get(card), MADE_BY_OTHERS.get(card)
    if ours is not None and ours.trainings == 1:
        said.append(f"In one real training on a CPU, promised was {ours.median:.2f} times what was gained.")
    elif ours is not None:
        said.append(
            f"In {ours.trainings} real trainings on a CPU, promised was {ours.least:.2f} to {ours.most:.2f} times what "
            f"was gained, {ours.median:.2f} in the median."
        )
    if theirs is not None:
        said.append(
            "Others made the change on a GPU, and recorded it before and after: "
            f"promised was {theirs:.2f} times what was gained."
        )
    return " ".join(said) or None
