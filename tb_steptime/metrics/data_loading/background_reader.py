"""A recorded loader that a thread of its own reads: no mark tells whether the steps wait, as most profilers know no
such thread, and those that do tell what that thread waits for.

steps         | s....... | s....... | s....... |     whether they wait for a batch is in no mark
that thread   [asks...has][asks...has][asks...has]    and hands each batch on in a queue of its own
worker 0      [dataset......][collate]
worker 1    ..][dataset......][collate]               production / workers, against the time from batch to batch

That thread takes batches as fast as the steps use them, but for what its own queue holds. Where they could be made
faster than that, workers stand still and the loader keeps up. Where not, and the thread does nothing but wait for the
loader, its queue is empty and the steps have each batch as soon as it is made: the loader's pace is theirs.
"""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.data_loading.loaders import with_label
from tb_steptime.metrics.data_loading.recorded.loading import Recorded
from tb_steptime.metrics.data_loading.recorded.production import recorded_making
from tb_steptime.metrics.data_loading.scaling.needed_workers import FEWEST
from tb_steptime.text import Phrase, Quantity, agreeing, code, count, ns, phrase

#: Making a batch takes so much of the time from one that is taken to the next: there is none to spare. The thread waits
#: for the loader for so much of it: it does nothing else.
BUSY_FRACTION = 0.9


class Unmarked(msgspec.Struct, frozen=True):
    """Of a recorded loader without marks, est.: nobody knows what is waited for, but a pace tells who can be waiting.

    workers: 0 where the thread that reads it makes its batches. made_every_ns: production / workers; taken_every_ns:
    by that thread; over a while, by the steps. limits: the loader sets the pace; None where too little is recorded.
    needed: the fewest workers that make batches as fast as the steps take them now; None where the loader limits, as
    the steps would be faster then.
    """

    workers: int
    made_every_ns: int | None
    taken_every_ns: int
    limits: bool | None
    needed: int | None
    why_no_waits: Phrase
    sentence: Phrase | None
    advice: Phrase | None


WHY_NO_WAITS = phrase(
    "The loader is not read on the thread whose steps are recorded, so this trace does not show what the training loop "
    "waits for: neither exposed nor hidden waits are known."
)


def unmarked_loading(recorded: Recorded) -> Unmarked:
    """recorded: of a trace whose steps hold no mark of a loader."""
    taken, workers = recorded.taken_every_ns, _workers(recorded)
    made = None if recorded.production_ns is None else round(recorded.production_ns / max(1, workers))
    if made is None or recorded.waited_share is None:
        return Unmarked(workers, made, taken, None, None, WHY_NO_WAITS, None, None)
    busy = made >= BUSY_FRACTION * taken
    limits = busy and recorded.waited_share >= BUSY_FRACTION
    needed = None if limits else _needed(recorded, workers)
    pace = "sets the pace" if limits else "just keeps up" if busy else "keeps up"
    return Unmarked(
        workers=workers,
        made_every_ns=made,
        taken_every_ns=taken,
        limits=limits,
        needed=needed,
        why_no_waits=WHY_NO_WAITS,
        sentence=_with_name(recorded, _sentence(workers, made, taken, pace)),
        advice=_faster(recorded, workers) if limits else _fewer(workers, needed),
    )


def _workers(recorded: Recorded) -> int:
    return recorded.main_loader.workers if recorded.main_loader else 0


def _needed(recorded: Recorded, workers: int) -> int | None:
    """As if the steps waited for nothing, which they do not where the loader keeps up."""
    making = recorded_making(msgspec.structs.replace(recorded, consumer_ns=recorded.taken_every_ns))
    if making is None:
        return None
    return making.needed if workers else max(FEWEST, making.needed)


def _with_name(recorded: Recorded, said: Phrase) -> Phrase:
    """Which of several loaders it is."""
    main = recorded.main_loader
    return with_label(main.label, said) if main is not None and len(recorded.loaders) > 1 else said


def _sentence(workers: int, made_ns: int, taken_ns: int, pace: str) -> Phrase:
    who = "{workers} (worker makes|workers make)" if workers else "The thread that reads the loader makes"
    words = agreeing(who, workers) + " a batch every {made}, and one is taken every {taken}: est., the loader " + pace
    return phrase(words + ".", workers=count(workers), made=ns(made_ns), taken=ns(taken_ns))


def _faster(recorded: Recorded, workers: int) -> Phrase:
    """Where the loader limits. By how much the steps would be shorter, the trace does not tell."""
    if not workers:
        return phrase("Worker processes would make batches side by side: {setting} or more.", setting=_setting(FEWEST))
    if recorded.kind in ("cpu", "cores") and recorded.cores is not None and workers >= recorded.cores:
        return phrase(
            "The workers compute, and the machine has {cores} cores: a cheaper dataset would let the steps be shorter.",
            cores=count(recorded.cores),
        )
    return phrase(
        "Try more workers, such as {setting}, and compare: by how much the steps would be shorter does not show in "
        "this trace.",
        setting=_setting(2 * workers),
    )


def _fewer(workers: int, needed: int | None) -> Phrase | None:
    if needed is None or needed >= workers:
        return None
    return phrase(
        agreeing("{needed} (worker|workers) would do for steps as they are now.", needed), needed=count(needed)
    )


def _setting(workers: int) -> Quantity:
    return code(f"num_workers={workers}")
