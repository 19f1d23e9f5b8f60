"""Waits that more workers do not end: starts of epochs, single late batches, and work of the main process; and the
code that all cards about waits for a loader share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tb_steptime.insights.base import Certainty, Evidence, EvidenceRow, Insight, high, low, medium
from tb_steptime.insights.cards import Words
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import ONCE, host_card
from tb_steptime.insights.rules.host.idle_cards import behind_batches_ns
from tb_steptime.insights.wording.data_loading import main_label, of_loader
from tb_steptime.metrics.data_loading.bursts import LIKELY_WORKERS
from tb_steptime.metrics.data_loading.loaders import RECEIVING_NS, EpochStarts
from tb_steptime.metrics.data_loading.recorded import Recorded
from tb_steptime.metrics.data_loading.wait_shares import Overhead, WaitShares
from tb_steptime.text import Phrase, agreeing, count, filled, fraction, joined, ns, phrase

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Formula of the gain of most of these cards.
EXPOSED = phrase("Mean over the steps of the time in which the loader is waited for and the GPU is idle.")
#: The same formula for traces without GPU activity.
_WAITED = phrase("Mean over the steps of the time in which the loader is waited for.")
_AND_BEHIND = phrase(
    "The idle time before launches that are late only because a batch was late is added: a replay without these waits "
    "shows it."
)
_MARKS_SAY = high("Every step waits: the loader itself marks its waits.")
MARKS_AGREE = high("Every step waits: the loader's own marks and the GPU's idle time agree.")
FEW_STEPS = medium("Seen in few steps only, so another span may have more or fewer of them.")
PREFETCH_MORE = phrase("Prefetch more batches")
#: Number of prefetched batches per worker that hides nearly all slow batches.
DEEP_PREFETCH = 8
DEEPER = f"DataLoader(..., prefetch_factor={DEEP_PREFETCH})"
SLOWEST_FASTER = phrase("Make the slowest batches faster")
_ALL_ZERO = WaitShares(0, 0, 0, 0, 0)


def shares(facts: Facts) -> WaitShares:
    """Returns the parts of the exposed wait; all are zero without loader events."""
    return facts.data_loading.causes.shares if facts.data_loading.causes else _ALL_ZERO


def with_launches_behind(facts: Facts, gain_ns: int, formula: Phrase = EXPOSED) -> tuple[int, Phrase]:
    """Returns the gain of batches that are less late, ns a step, with the formula that says how it was computed: to the
    exposed wait it adds launches that are late only because a batch was."""
    late_ns, behind_ns = shares(facts).late_ns, behind_batches_ns(facts)
    if not behind_ns or late_ns <= 0:
        return gain_ns, formula
    return gain_ns + round(behind_ns * min(gain_ns / late_ns, 1.0)), joined(formula, _AND_BEHIND)


def loader_card(
    facts: Facts,
    gain_ns: int,
    formula: Phrase | str,
    certainty: Certainty,
    *,
    waited_ns: int | None = None,
    of_main: bool = True,
    **words: Unpack[Words],
) -> Insight | None:
    """Returns the card, if its gain is worth one. Without GPU activity in the trace only the waits are known; if the
    job has a GPU, its work may hide them, so the confidence is low.

    waited_ns: the wait in the mean step that the reason states; None: the same as the gain. of_main: whether the card
    is about the main loader, which is named if there are other loaders.
    """
    if waited_ns is not None and waited_ns != gain_ns:
        on_device, on_host = "The GPU idles {waited} a step ({share}).", "A step waits {waited} ({share})."
        waits = on_device if facts.overview.has_device else on_host
        sentence = phrase(waits, waited=ns(waited_ns), share=fraction(facts.share(waited_ns)))
        words["why"] = joined(sentence, words["why"])
    label = main_label(facts.data_loading)
    if label and of_main:
        words["why"] = of_loader(label, words["why"])
    if not facts.overview.has_device:
        formula = _WAITED if formula is EXPOSED else formula
        certainty = _MARKS_SAY if certainty is MARKS_AGREE else certainty
        if facts.job.device == "gpu":
            certainty = low("The GPU's work is not in this trace: it may hide these waits.")
    words["evidence"] = evidence = _evidence(facts, words.get("steps", []))
    words["row"] = EvidenceRow("waits", evidence[0].step) if evidence else None
    return host_card(facts, gain_ns, formula, certainty, part="data_loader", view="data_loading", **words)


def makes_iterators(facts: Facts) -> bool:
    """Returns whether each batch of the main loader comes from an iterator of its own, as from `next(iter(loader))`."""
    result = facts.data_loading
    main = result.loaders[result.main_loader] if result.main_loader is not None else None
    return main is not None and not main.batches and main.first_batches > 1


def _evidence(facts: Facts, steps: Sequence[str]) -> list[Evidence]:
    """Returns the steps that wait longest, among the named steps if any are named."""
    starts = {row.name: (row.start_ns, row.start_ns + row.duration_ns) for row in facts.overview.steps}
    rows = [row for row in facts.data_loading.steps if row.exposed_ns > 0 and (not steps or row.name in steps)]
    rows.sort(key=lambda row: -row.exposed_ns)
    return [Evidence(row.name, *starts[row.name]) for row in rows[:3] if row.name in starts]


#: The title and the reason for a card about starts of epochs, by whether the workers start again; None: not known.
_EPOCHS = {
    True: (
        "Keep the workers between epochs",
        "Workers start again for each epoch. Its first batch takes {each}, {produced} of it to be produced.",
    ),
    False: ("Make epochs longer", "The first batch of an epoch takes {each}, as none is prefetched."),
    None: (
        "Keep the workers between epochs, or make epochs longer",
        "The first batch of an epoch takes {each}, including the start of the workers if they are not kept.",
    ),
}
_WITH_SETUP = (
    "An epoch's first batch takes {each}. Setting up its loader, which starts workers that are not kept, takes {setup} "
    "a step."
)
_OF_ITERATORS = "A new iterator is made for each batch, so that none is prefetched; a batch takes {each}."
_ITERATORS_WITH_SETUP = (
    "A new iterator is made for each batch, which then takes {each}. Setting it up, which starts workers that are not "
    "kept, takes {setup} a step."
)
#: The loop that takes all batches from one iterator.
ONE_ITERATOR = "for batch in loader:  # in place of next(iter(loader)), which starts the workers again for each batch"
_OF_RECEIVING = phrase(
    "Mean over the steps of the exposed wait for batches that are produced, each at most the median, less what a batch "
    "of one small tensor takes."
)
_ALONE = phrase(
    "Mean over the steps of the exposed wait for batches that are produced, less the time of producing them in the "
    "training process."
)
_DRAWS = "The main process needs {time} for a batch that is ready, {sampler} of it to draw the indices of a later one."
_TAKES = "Receiving a batch from a worker takes {time}; producing it takes {production}."
_RECEIVES = "The main process needs {time} for a batch that is ready: to unpickle it, to map its memory"
#: If receiving a batch takes at least this many times as long as making it, workers cost too much, whatever tensors
#: they return.
SOONER_TIMES = 2
#: From this share of the main process's time for a ready batch on, the card is about the sampler.
SAMPLER_FRACTION = 0.5
_KEPT = "DataLoader(..., persistent_workers=True)  # one loader for all epochs: a new one starts new workers"
_INDICES = "DataLoader(..., batch_sampler=...)  # draws its indices once, before the epoch"
_ONE_TENSOR = "DataLoader(..., collate_fn=...)  # one tensor per field, no lists and no NumPy arrays"


def epoch_starts(facts: Facts) -> Insight | None:
    """Fires when waits for first batches are worth a card, and worker processes produce them: without these every batch
    is waited for, the first one no longer than others.

    Similar pattern: the training itself begins: no card where the only first batch is that of the first step. A single
    epoch that begins may be the only one for hours: a minor card. A loop that makes an iterator for each batch, as
    `next(iter(loader))` does: the card asks for one iterator.

    Needs: the loader's marks of an epoch's end and of the next one's start. Where nothing of the job's GPU is recorded,
    its work may hide the waits: a minor card.

    Jobs: all that begin an epoch within the recorded steps, with worker processes.

    Gain: the exposed wait where epochs end and begin, mean over the steps, with the set-up of the loader, less the
    recorded production time of first batches where workers start again.

    Left out: how seldom epochs begin: in a long epoch the recorded steps may hold the only one.
    """
    starts = facts.data_loading.causes.starts if facts.data_loading.causes else None
    if starts is None or facts.data_loading.multiprocess is False:
        return None
    if starts.steps == [facts.overview.steps[0].name] and starts.batches == 1:
        return None  # the training begins, and no epoch ends
    respawns = starts.produced_ns is not None if starts.respawned else starts.respawned is None
    setup_ns = _setup_ns(facts, starts) if respawns else 0
    begin_ns = starts.exposed_ns + setup_ns
    title, why = _EPOCHS[starts.respawned]
    how = None if starts.respawned is False else _KEPT
    if starts.respawned is None and setup_ns:
        why = _WITH_SETUP
    if makes_iterators(facts):
        title, how = "Take all batches from one iterator", ONE_ITERATOR
        why = _ITERATORS_WITH_SETUP if setup_ns else _OF_ITERATORS
    template = "{number} (epoch begins|epochs begin) in these steps; longer epochs do so less often."
    often = phrase(agreeing(template, starts.batches), number=count(starts.batches))
    return loader_card(
        facts,
        id="epoch_starts",
        title=phrase(title),
        why=filled(why, {"each": ns(starts.wait_ns), "produced": ns(_produced_ns(starts)), "setup": ns(setup_ns)}),
        how=how,
        gain_ns=max(0, begin_ns - _produced_ns(starts) * starts.batches // len(facts.data_loading.steps)),
        formula="Mean over the steps of the exposed wait where an epoch ends and the next one begins, with the set-up "
        "of the loader between them, less the recorded production time of first batches where workers start again. No "
        "other card's gain includes any of it.",
        # from one, no frequency is known
        certainty=(low if starts.batches == 1 else medium)(often),
        steps=starts.steps,
        waited_ns=begin_ns if starts.respawned else starts.exposed_ns,
        of_main=False,
    )


def _setup_ns(facts: Facts, starts: EpochStarts) -> int:
    """Returns the time of the mean step in which loaders are set up; of a GPU's idle time as much as no other card
    claims, and nothing where the GPU is not recorded."""
    if facts.overview.has_device:
        return sum(pause.idle_ns for pause in facts.host.pauses if pause.cause == "loader")
    return starts.setup_ns if facts.job.device == "cpu" else 0


def _produced_ns(starts: EpochStarts) -> int:
    """Returns the production time of a first batch: workers that are kept save their start, but still produce it."""
    return min(starts.produced_ns or 0, starts.wait_ns) if starts.respawned else 0


def loader_jitter(facts: Facts) -> Insight | None:
    """Fires when rare long waits, beyond the usual one, are worth a card.

    Similar pattern: slow steps for another reason: only the time within the loader's marks counts. A wait for longer
    than the steps take that many prefetched batches are for, as where a worker stalls: no queue hides it, so the advice
    is to make that batch faster.

    Needs: the loader's marks, and enough waits to know the usual one. Where nothing of the job's GPU is recorded, its
    work may hide the waits: a minor card.

    Jobs: all that read a DataLoader with workers, training and inference, on a GPU or not.

    Gain: what these waits cost beyond the usual one, mean over the steps.

    Left out: how often batches are late in a long run, where they are in a single step: a minor card. Whether a deeper
    queue hides all of it depends on that.
    """
    result = facts.data_loading
    jitter = result.causes.jitter if result.causes else None
    if jitter is None:
        return None
    loader = result.recorded.main_loader if result.recorded is not None else None
    queued = DEEP_PREFETCH * (loader.workers if loader is not None else LIKELY_WORKERS)
    deep = loader is not None and (loader.prefetch or 0) >= DEEP_PREFETCH
    deep = deep or jitter.long_ns > queued * (facts.overview.steady_step_ns or facts.step_ns)
    template = agreeing(
        "{number} (batch comes|batches come) late, with a wait of {long} instead of {typical}.", jitter.long_count
    )
    return loader_card(
        facts,
        id="loader_jitter",
        title=SLOWEST_FASTER if deep else PREFETCH_MORE,
        why=phrase(template, number=count(jitter.long_count), long=ns(jitter.long_ns), typical=ns(jitter.typical_ns)),
        how=None if deep else DEEPER,
        gain_ns=shares(facts).jitter_ns,
        formula="What these waits cost beyond a usual wait, mean over the steps.",
        certainty=ONCE if len(jitter.steps) == 1 else FEW_STEPS,
        steps=jitter.steps,
    )


def loader_overhead(facts: Facts) -> Insight | None:
    """Fires when receiving a batch that a worker has produced takes clearly longer than any batch does.

    Similar pattern: late batches: told apart by the recorder, which knows when each was produced, or by a pattern of
    bursts, in which the short waits are for ready batches. A slow sampler, which draws indices in the main process: the
    recorder knows what it takes. A busy machine, which stops the main process while it receives: the median counts.

    Needs: the recorder's files, or a pattern of bursts. Where nothing of the job's GPU is recorded, its work may hide
    the waits: a minor card.

    Jobs: all that read a DataLoader with workers, training and inference, on a GPU or not.

    Gain: the exposed wait for batches that are produced, each at most the median, less what any batch takes, mean over
    the steps; where workers take longer to hand a batch over than to make it, the wait less the time of making it.

    Left out: waking up, and unpickling and mapping a single tensor, which no setting saves; on a thread, the time that
    it takes from the main process.
    """
    result = facts.data_loading
    overhead = result.causes.overhead if result.causes else None
    if overhead is None or overhead.ns is None:
        return None
    recorded, gain_ns, formula = facts.data_loading.recorded, overhead.gain_ns, _OF_RECEIVING
    alone_ns, alone_each_ns = _gain_alone(overhead, recorded)
    values = {"time": ns(overhead.ns)}
    if overhead.sampler_ns is not None and overhead.sampler_ns >= SAMPLER_FRACTION * overhead.ns:
        title, template, how = "Make the sampler faster", _DRAWS, _INDICES
        values["sampler"] = ns(overhead.sampler_ns)
    elif recorded is not None and (overhead.ns < RECEIVING_NS or 0 < SOONER_TIMES * alone_each_ns <= overhead.ns):
        if alone_ns <= 0:
            return None  # any batch takes as long to receive
        title, template, how = "Load batches in the training process", _TAKES, "DataLoader(..., num_workers=0)"
        values["production"], gain_ns, formula = ns(recorded.production_ns), alone_ns, _ALONE
    else:
        pinned = any(each.direction == "HtoD" and each.source == "Pinned" for each in facts.host.copies)
        title, how = "Return fewer, larger tensors", _ONE_TENSOR
        if facts.overview.has_device and not pinned:
            title, how = "Receive batches on a thread", "DataLoader(..., pin_memory=True)"
        template = _RECEIVES + ("." if overhead.source == "recorder" else ", and to draw the indices of a later one.")
    return loader_card(
        facts,
        id="loader_overhead",
        title=phrase(title),
        why=phrase(template, **values),
        how=how,
        gain_ns=gain_ns,
        formula=formula,
        certainty=(high if overhead.source == "recorder" else medium)(
            "It is known from when each batch was produced, or from the short waits between long ones."
        ),
    )


def _gain_alone(overhead: Overhead, recorded: Recorded | None) -> tuple[int, int]:
    """Returns the gain if the training process makes its batches itself instead of taking them from workers, and the
    time for a batch in that case. This time includes drawing the indices, which is needed in either case."""
    if recorded is None or recorded.production_ns is None or overhead.exposed_ns is None:
        return 0, 0
    own = 1 - (recorded.core_wait_share or 0.0)  # a single process waits for no other's core
    each_ns = round(recorded.production_ns * own) + (overhead.sampler_ns or 0)
    return overhead.exposed_ns - round(each_ns * recorded.batches_per_step), each_ns
