"""What of a wait is neither a burst nor steady: rare long waits, and the loader's own work in the training process.

wait   l  l  l  l  LLLLLLLLLL  l  l  l       jitter: a few long ones without a period
       ^                                     overhead: what each wait lasts though its batch lies ready: the message is
                                             unpickled, its memory mapped, the batch handed over
"""

from __future__ import annotations

import msgspec

from tb_steptime.phrases import Phrase


class Jitter(msgspec.Struct, frozen=True):
    """Rare long waits without a period. typical_ns: the median wait; long_ns: mean of the long ones; exposed_ns: what
    they cost beyond the typical wait, per step. steps: in which they are."""

    typical_ns: int
    long_ns: int
    long_count: int
    exposed_ns: int
    steps: list[str]


class Overhead(msgspec.Struct, frozen=True):
    """The loader's work in the training process per batch, where worker processes make it.

    ns, exposed_ns: None where it cannot be told from the wait for a worker; then why says so. told_by: "recorder",
    "stacks", "ready" (waits of batches that lay ready in a burst) or "steady" (all waits alike, whatever the step).
    unpickle_ns, pin_ns: parts of it, where the recorder tells them; pin_ns is spent on a thread of its own.
    """

    ns: int | None
    exposed_ns: int | None
    told_by: str | None
    unpickle_ns: int | None
    pin_ns: int | None
    why: Phrase | None


class SlowLine(msgspec.Struct, frozen=True):
    """A line of the user's code inside the loader: "cifar.py(120): __getitem__", self time per batch."""

    line: str
    ns_per_batch: int
