"""What is said of bursts: how many workers there are and what they take, or why that cannot be told."""

from __future__ import annotations

from tb_steptime.text import Phrase, agreeing, code, count, fraction, ns, phrase

#: A loader of which a step takes one batch misses some, or has some more, at the ends of epochs.
_ABOUT_ONE = 0.1


def is_one_a_step(batches: float) -> bool:
    return abs(batches - 1) < _ABOUT_ONE


def rest_of_step(batches: float) -> str:
    """What `consumer_ns` is, as words of a phrase."""
    return "the rest of the step" if is_one_a_step(batches) else "the loop uses one up in"


def one_in(workers: int, batches: float = 1.0) -> str:
    """Which steps wait, as words of a phrase that has {workers} among its values; which batches, where a step takes
    several."""
    words = {1: "every step", 2: "every second step", 3: "every third step"}.get(workers, "one step in {workers}")
    return words if is_one_a_step(batches) else words.replace("step", "batch")


def they_are_late(workers: int, production_ns: int, consumer_ns: int, long_ns: int, batches: float,
                  needed: int | None) -> Phrase:  # fmt: skip
    """One sentence of what `Burst` holds under these names."""
    who = agreeing("{workers} (worker needs|workers need) {batch} per batch", workers)
    ends = "; {needed} workers would end it." if needed else "."
    return phrase(
        who + ", " + rest_of_step(batches) + " {rest}: " + one_in(workers, batches) + " waits {wait}" + ends,
        workers=count(workers),
        batch=ns(production_ns),
        rest=ns(consumer_ns),
        wait=ns(long_ns),
        needed=count(needed),
    )


def they_keep_up(workers: int | None, consumer_ns: int) -> Phrase:
    """workers: None where their number is not known. consumer_ns: of one batch for each worker."""
    if workers:
        return phrase(
            "The {workers} workers keep up: each takes at most {most} for a batch.",
            workers=count(workers),
            most=ns(workers * consumer_ns),
        )
    return phrase(
        "The workers keep up: each takes at most {most} for a batch, times their number.", most=ns(consumer_ns)
    )


def too_short_waits(share: float) -> Phrase:
    return phrase(
        "How long a batch takes cannot be told from this trace, because late batches take only {share} of the step.",
        share=fraction(share),
    )


def how_many_in_a_row(batches: int) -> Phrase:
    """Of one loader, they are used up that many times as fast as of as many zipped ones."""
    return phrase(
        "How many workers keep up cannot be told from this trace, because a step asks for {batches} batches in a row: "
        "one loader may make them, or several. A recorder tells.",
        batches=count(batches),
    )


def at_times_they_keep_up(workers: int) -> Phrase:
    return phrase(
        "How long a batch takes cannot be told from this trace, because its {workers} workers keep up at times.",
        workers=count(workers),
    )


def too_few_batches(batches: int) -> Phrase:
    return phrase(
        "How long a batch takes cannot be told from this trace, because it shows only {batches} batches of an epoch: "
        "record three times as many steps as there are workers.",
        batches=count(batches),
    )


def too_few_waits(waits: int, enough: int) -> Phrase:
    return phrase(
        "How many workers there are cannot be told from this trace, because it shows only {waits} batches from the "
        "first late one of an epoch on: record {enough} or more, and three times as many as there are workers.",
        waits=count(waits),
        enough=count(enough),
    )


def waits_follow_the_step(period: int) -> Phrase:
    return phrase(
        "How many workers there are cannot be told from this trace, because the waits follow the rest of the step, "
        "which is longer once in {period} batches.",
        period=count(period),
    )


def slow_batch_or_workers(period: int) -> Phrase:
    return phrase(
        "How many workers there are cannot be told from this trace, because one wait in {period} is long: one batch "
        "in {period} is slow, or there are {period} workers.",
        period=count(period),
    )


def slow_batches(period: int, value: str = "workers") -> str:
    """Which ones, as words of a phrase that has the period among its values, by that name."""
    return one_in(period).replace("step", "batch").replace("{workers}", "{" + value + "}")


def slow_batch_instead(workers: int) -> Phrase:
    """What else the waits may mean, where their period is what tells the number of workers."""
    return phrase(
        "If {option} is not {workers}, " + slow_batches(workers) + " is slow instead.",
        option=code("num_workers"),
        workers=count(workers),
    )


def every_step_waits() -> Phrase:
    return phrase(
        "How many workers there are cannot be told from this trace, because every step waits alike: one worker, or "
        "several that take turns evenly."
    )


def no_period(alike: float | None) -> Phrase:
    return phrase(
        "How many workers there are cannot be told from this trace, because its waits have no period: they "
        "correlate by {alike} at best.",
        alike=fraction(alike),
    )
