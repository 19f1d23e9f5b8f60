"""Batches of the main loader that come late: which process should produce them, and how many workers are needed."""

from __future__ import annotations

import msgspec

from tb_steptime.insights.base import Certainty, Insight, high, low, medium
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.host_gains import sites_of
from tb_steptime.insights.rules.data_loading.loader_waits import (
    DEEPER,
    MARKS_AGREE,
    ONE_ITERATOR,
    SLOWEST_FASTER,
    loader_card,
    makes_iterators,
    shares,
    with_launches_behind,
)
from tb_steptime.insights.wording.data_loading import (
    may_lack_cores,
    pace,
    slow_batch_instead,
    with_interpreter_delay,
    workers_setting,
)
from tb_steptime.metrics.data_loading.bursts import LIKELY_WORKERS
from tb_steptime.metrics.data_loading.recorded import Recorded
from tb_steptime.metrics.data_loading.throughput import HANDOVER_NS
from tb_steptime.metrics.means import median
from tb_steptime.text import Phrase, agreeing, count, filled, fraction, joined, ns, phrase
from tb_steptime.text.frames import code_line

#: Minimum share of a batch's time that a line of code must take to be named.
WORTH_LINE = 0.3

#: A worker is slow if it takes at least this many times as long for a batch as the others, and each worker has made at
#: least this many batches.
SLOW_TIMES, LEAST_BATCHES = 3, 3

#: Taking a batch from a worker costs the main process about a millisecond, for the queue and for tensors in shared
#: memory. This may be all of the time for a tiny batch, and a part of the time for a short one.
_TINY_BATCH_NS, _SHORT_BATCH_NS = 2_000_000, 5_000_000
_RECORD_FIRST = phrase("Record the workers before you change their number")

_RECORDED = phrase("The workers' own times are recorded, batch by batch.")
_CORES_UNKNOWN = medium(
    "How many cores there are is not recorded. Where batches are computed, more workers than cores do not help."
)
_ON_THE_SAME_CORES = medium(
    "The training computes on the CPU, too, and how many cores there are is not recorded. Workers take cores from it "
    "while they compute a batch."
)
#: From this share of a batch's time in which its thread waits for a core on, other work shares the cores.
BUSY_FRACTION = 0.2
_BUSY = "The machine is busy: for {waits} of that time, the batch waits for a core. Other work would also slow workers."
_INFERRED = phrase("How long a batch takes is inferred from the period of the waits.")
_ITSELF = "The main process produces each batch itself, in {batch}; worker processes do so while it computes."
_ANEW = phrase("A new iterator is made for each batch; workers would start again with it.")
_ITSELF_SHORT = (
    "The main process produces each batch itself, in {batch}. Taking it from a worker would cost about as much."
)
#: The place of launches within the loader's marks.
_LOADER = ("data_loading",)
_ITSELF_ON_GPU = (
    "The main process produces each batch itself, in {batch}, with {launches} (launch|launches) a step on the GPU, "
    "which a forked worker process cannot use."
)
#: From this share of them on, what the loader launches is mostly copies to the GPU, which the loop can make.
_MOSTLY = 0.5
#: Without a share of its own, each worker of an iterable dataset yields all samples.
_SHARE = """\
worker = torch.utils.data.get_worker_info()  # in the dataset's __iter__: each worker reads its own share
for path in self.paths[worker.id :: worker.num_workers] if worker else self.paths: ..."""
_SHARDS = "# no more than the dataset has files or other shards: each worker reads its own"
_ON_CPU = "# dataset, sampler and collate_fn: tensors on the CPU, without .to(device)"
_ON_CPU_UNKNOWN = phrase("Whether the CPU can make these batches in time is not recorded.")
_UNKNOWN_COST = low("How long a batch takes is measured; how much of that can be saved is not.")
_WHOLE_BATCHES = (
    "sampler = BatchSampler({sampler}(dataset), batch_size, drop_last=False)  # from torch.utils.data\n"
    "DataLoader(dataset, sampler=sampler, batch_size=None)  # dataset[indices] gives a batch"
)
_YIELDS_BATCHES = "DataLoader(dataset, batch_size=None)  # where the dataset's __iter__ yields whole batches"
#: Ops that pick rows out of tensors by an index each, and stack them.
_PICKS = ("aten::select", "aten::as_strided", "aten::unsqueeze", "aten::stack", "aten::cat")
#: Least share of these ops, and most of any other ops, in the time of a batch that is made of picked rows. The rest is
#: Python, which calls them: 35 to 40 % of it as measured, and more on a busy machine.
_PICKED_FRACTION, _COMPUTED_FRACTION = 1 / 3, 0.1
_PICKED = (
    "The main process picks the rows of a batch one by one out of tensors in memory, in {batch}. One index picks all."
)
_PICKED_AT_ONCE = medium("The time is measured; picking all rows at once takes a small part of it.")
_SHORT = phrase("Batches are short: it may take as long to receive them from a worker.")
_UNKNOWN = phrase(
    "Ambiguous in this trace: too few workers or cores, a slow sampler, or slow transfers. Record the workers."
)
_MAY_COMPUTE = (
    "Whether the {workers} workers compute or wait is not recorded. If they compute, {cores} cores are too few."
)
_CAUSE_UNKNOWN = medium("The waits are measured; their cause is not.")
_RECORD = "LoaderRecorder(log_dir).watch(loader)  # from tb_steptime.record"
_ENOUGH = phrase(
    "Workers keep up on average, but slow batches block those behind them. Prefetching more batches helps."
)


def no_workers(facts: Facts) -> Insight | None:
    """Fires when the loader that is waited for most runs in the main process, and its late batches are worth a
    card.

    Similar pattern: a training loop that prepares its batch itself, outside a DataLoader: it leaves no mark, and is
    no case of this rule. Rows of tensors in memory, which one index picks without workers: `input_bound` says so. Other
    batches of a few milliseconds: workers may gain little, so it is a hint, or a less certain card. More workers than
    many machines have cores are a less certain card, too, and so is one about a machine whose cores other work shares,
    which the recorder tells, or about a training on the CPU where no recorder counts the cores. An iterable dataset, of
    which each worker would yield all samples: the card says how each reads its share. A loader that itself
    launches work on the GPU, such as copies in `collate_fn` or a sampler of graphs: its workers could not, and whether
    the CPU can do that work in time is not recorded. The card asks for batches on the CPU first, and is a minor one
    unless these are mostly copies to the GPU. A loop that makes an iterator for each batch, as `next(iter(loader))`
    does: the card asks for one iterator, too, because workers would start again with each. The first batch of a loader,
    if no other one is recorded, may take longer than later ones: a hint.

    Needs: the loader's marks; that it has no workers shows in its ops, which run on the training thread within
    them, or by the recorder. Where nothing of the job's GPU is recorded, its work may hide the waits: a minor card.

    Jobs: all that read a DataLoader in their steps, training and inference, on a GPU or not.

    Gain: the mean step less the predicted step with the recommended number of workers; without a prediction, the
    exposed wait for late batches. Est. 0.7 ms to take a batch from a worker is part of both. Launches that are late
    only because a batch was are added, as far as a replay shows them.

    Left out: starting the workers.
    """
    result, only_ns = facts.data_loading, _only_batch_ns(facts)
    curve = result.curve if only_ns is None else None
    if result.multiprocess is not False or result.mean is None or _picks_rows(facts):
        return None
    title, why = phrase("Load batches in worker processes"), phrase(_ITSELF, batch=ns(result.batch_ns))
    late_ns = shares(facts).late_ns if only_ns is None else only_ns
    gain_ns, formula = with_launches_behind(facts, curve.gain_ns if curve else late_ns - HANDOVER_NS)
    how = f"DataLoader(..., {workers_setting(curve) if curve else 'num_workers=N'})"
    how = f"{how}\n{_SHARE}" if result.iterable else how
    certainty = MARKS_AGREE
    if curve and may_lack_cores(curve):
        certainty = _CORES_UNKNOWN
    elif curve and curve.cores is None and facts.job.device == "cpu":
        certainty = _ON_THE_SAME_CORES
    if busy := _busy(result.recorded):
        certainty = medium(busy)
    if result.batch_ns is not None and result.batch_ns < _SHORT_BATCH_NS:
        certainty = (low if result.batch_ns < _TINY_BATCH_NS else medium)(_SHORT)
    launches = sum(row.launches for row in sites_of(facts.host, _LOADER))
    if launches >= max(1.0, result.batches_per_step or 0.0):
        title = phrase("Make batches on the CPU, in worker processes")
        why = _why_on_gpu(result.batch_ns, launches)
        how = f"{_ON_CPU}\n{how}\nbatch = batch.to(device)"
        copies = sum(row.count for row in facts.host.blocking if row.site in _LOADER and row.direction == "HtoD")
        certainty = (medium if copies >= _MOSTLY * launches else low)(_ON_CPU_UNKNOWN)
    if makes_iterators(facts):
        why, how = joined(why, _ANEW), f"{how}\n{ONE_ITERATOR}"
    if only_ns is not None:
        certainty = low(_FIRST_BATCH)
    return loader_card(facts, gain_ns, formula, certainty, id="no_workers", title=title, why=why, how=how)


_FIRST_BATCH = phrase("Only the first batch of the loader is recorded, which may take longer than later ones.")


def _only_batch_ns(facts: Facts) -> int | None:
    """Returns the exposed wait for the only recorded batch, ns a step, if its iterator begins with it; else None."""
    result, causes = facts.data_loading, facts.data_loading.causes
    if len(facts.overview.steps) > 1 or causes is None or causes.starts is None or causes.shares.late_ns:
        return None
    is_only = causes.starts.batches == round(result.batches_per_step or 0) == 1
    return causes.shares.first_ns if is_only else None


def _why_on_gpu(batch_ns: int | None, launches: float) -> Phrase:
    template = agreeing(_ITSELF_ON_GPU, round(launches))
    return phrase(template, batch=ns(batch_ns), launches=count(round(launches)))


def _busy(recorded: Recorded | None) -> Phrase | None:
    """Says that batches wait for a core, and how long; None if they hardly do, or if it is not recorded."""
    waits = recorded.core_wait_share if recorded is not None else None
    return phrase(_BUSY, waits=fraction(waits)) if waits is not None and waits >= BUSY_FRACTION else None


def _picks_rows(facts: Facts) -> bool:
    """Returns whether a batch is made of rows that are picked one by one out of tensors in memory, and of nothing
    else."""
    activities = facts.data_loading.activities
    if activities is None:
        return False
    total_ns = activities.more_ns + sum(row.ns_per_batch for row in activities.rows)
    picks_ns = sum(row.ns_per_batch for row in activities.rows if row.name in _PICKS)
    python_ns = sum(row.ns_per_batch for row in activities.rows if row.name is None)
    selects = any(row.name == _PICKS[0] for row in activities.rows)
    computed_ns = total_ns - picks_ns - python_ns
    return selects and picks_ns >= _PICKED_FRACTION * total_ns and computed_ns <= _COMPUTED_FRACTION * total_ns


def more_workers(facts: Facts) -> Insight | None:
    """Fires when a curve over the number of workers recommends more of them, and their late batches cost enough.

    Similar pattern: a GPU that is the limit while the loader is merely slow: then no wait is exposed. Workers that
    share too few cores: with the recorder `input_bound` says so, and no more workers than cores are asked for where it
    is not recorded whether they compute; without it, a number beyond those of many machines is said with that
    condition. One slow batch in twenty leaves the waits of twenty workers: where the period alone tells more than
    eight, the card asks to record them, and is a minor one.

    Needs: enough waits for a pattern of bursts, or the recorder's files. Where nothing of the job's GPU is recorded,
    its work may hide the waits: a minor card.

    Jobs: all that read a DataLoader with workers, training and inference, on a GPU or not.

    Gain: the mean step less the predicted step with the recommended number of workers. Launches that are late only
    because a batch was are added, as far as a replay shows them.

    Left out: memory and disk that more workers share: the curve assumes that a batch costs each of them the same. Cores
    are left out where no recorder counts them, and what other work takes of them: no more than a medium confidence.
    """
    result, curve = facts.data_loading, facts.data_loading.curve
    if curve is None or not curve.measured_workers or curve.recommended <= curve.measured_workers:
        return None
    if slow_worker(facts) is not None:
        return None
    number, check = curve.recommended, slow_batch_instead(result)
    setting = f"DataLoader(..., {workers_setting(curve)})" + (f"\n{_SHARDS}" if result.iterable else "")
    respawned = result.causes is not None and result.causes.starts is not None and result.causes.starts.respawned
    recorded, busy = result.recorded, _busy(result.recorded)
    reason = busy or (_RECORDED if recorded else _INFERRED)
    title = "Use {workers} (worker|workers)"
    if may_lack_cores(curve):
        title = "Use up to {workers} workers, if there are cores"
    guessed = check is not None and curve.measured_workers > LIKELY_WORKERS
    certain = low if guessed else high if recorded and not busy and not respawned else medium
    by_curve = phrase(
        "Mean over the steps of the exposed wait for late batches, less the wait that the curve predicts with this "
        "number of workers."
    )
    gain_ns, formula = with_launches_behind(facts, curve.gain_ns, by_curve)
    return loader_card(
        facts,
        id="more_workers",
        title=_RECORD_FIRST if guessed else phrase(agreeing(title, number), workers=count(number)),
        why=check if check and guessed else with_interpreter_delay(pace(result, curve), recorded),
        how=_RECORD if guessed else setting,
        gain_ns=gain_ns,
        formula=formula,
        certainty=certain(joined(_INFERRED, check) if check else reason),
    )


def slow_worker(facts: Facts) -> Insight | None:
    """Fires when one worker of an iterable dataset takes several times as long for a batch as the others, which would
    keep up without it.

    Similar pattern: slow batches: of a dataset with an index any worker may get them, so that no one of them is slow
    but by chance; a few batches tell nothing, and each worker has to have several.

    Needs: the recorder's files. Where nothing of the job's GPU is recorded, its work may hide the waits: a minor card.

    Jobs: all that read an iterable dataset with several workers, training and inference, on a GPU or not.

    Gain: the exposed wait for late batches, mean over the steps. Launches that are late only because a batch was are
    added, as far as a replay shows them.

    Left out: what the worker's own data may need.
    """
    recorded = facts.data_loading.recorded
    slowest = _slowest(recorded) if recorded is not None and recorded.main_loader.iterable else None
    if slowest is None or not recorded or not recorded.consumer_ns:
        return None
    worker, slow_ns, others_ns = slowest
    if slow_ns < SLOW_TIMES * others_ns or others_ns > recorded.main_loader.workers * recorded.consumer_ns:
        return None
    template = "Worker {worker} needs {slow} per batch, the others {usual}, and the loop takes their batches in turn."
    gain_ns, formula = with_launches_behind(facts, shares(facts).late_ns)
    return loader_card(
        facts,
        id="slow_worker",
        title=phrase("Make worker {worker} as fast as the others", worker=count(worker)),
        why=phrase(template, worker=count(worker), slow=ns(slow_ns), usual=ns(others_ns)),
        gain_ns=gain_ns,
        formula=formula,
        certainty=high(_RECORDED),
    )


def _slowest(recorded: Recorded) -> tuple[int, int, int] | None:
    """Returns the slowest worker's number, its time for a batch, and the median time of the others; None if there are
    fewer than two workers, or if too few batches of any worker are known."""
    own_workers = recorded.main_workers
    if len(own_workers) < 2 or min(each.batches for each in own_workers) < LEAST_BATCHES:
        return None
    times = {each.worker: each.dataset_ns + each.collate_ns for each in own_workers}
    slowest = max(times, key=lambda worker: times[worker])
    return slowest, times[slowest], round(median([ns for worker, ns in times.items() if worker != slowest]))


def input_bound(facts: Facts) -> Insight | None:
    """Fires when late batches are worth a card and no other number of workers is; on a CPU every wait is exposed, and
    worker processes hide it too.

    Similar pattern: ready batches that take long to receive: the recorder tells them apart, else the card says that
    they may be. Waits as short as for any batch that is ready do not count. Rows that the training process picks one by
    one, and does nothing else with: one index picks all of them. Windows of a series, which no index picks, are slices.

    Needs: the loader's marks (`enumerate(DataLoader)…`), which a torch DataLoader writes by itself; the recorder says
    how long a batch takes. Where nothing of the job's GPU is recorded, its work may hide the waits: a minor card.

    Jobs: all that read a DataLoader in their steps, training and inference, on a GPU or not.

    Gain: the exposed wait for late batches, mean over the steps. Launches that are late only because a batch was are
    added, as far as a replay shows them.

    Left out: what more prefetched batches do not save of it, waits that kernels hide, first batches of epochs and
    single late batches, which have cards of their own.
    """
    result = facts.data_loading
    if result.mean is None or any(rule(facts) is not None for rule in (no_workers, slow_worker, more_workers)):
        return None
    advice = _advice_for_main_process(facts) if result.multiprocess is False else _remedy(facts)
    gain_ns, formula = with_launches_behind(facts, shares(facts).late_ns)
    return loader_card(
        facts, gain_ns, formula, advice.certainty,
        id="input_bound", title=advice.title, why=advice.why, how=advice.how,
    )  # fmt: skip


class _Advice(msgspec.Struct, frozen=True):
    """What the card about late batches advises."""

    title: Phrase
    why: Phrase
    how: str | None
    certainty: Certainty


def _advice_for_main_process(facts: Facts) -> _Advice:
    """Returns the advice where workers would cost more than they save."""
    how = _WHOLE_BATCHES.format(sampler="SequentialSampler" if facts.infers else "RandomSampler")
    how = _YIELDS_BATCHES if facts.data_loading.iterable else how  # an iterable dataset has no sampler
    batch = ns(facts.data_loading.batch_ns)
    if _picks_rows(facts):
        return _Advice(phrase("Pick all rows of a batch at once"), phrase(_PICKED, batch=batch), how, _PICKED_AT_ONCE)
    title = phrase("Produce batches faster in the training process")
    return _Advice(title, phrase(_ITSELF_SHORT, batch=batch), how, _UNKNOWN_COST)


def _remedy(facts: Facts) -> _Advice:
    recorded, curve = facts.data_loading.recorded, facts.data_loading.curve
    if recorded is not None and recorded.kind == "cores":
        return _short_of_cores(facts, recorded)
    if curve is None or not curve.measured_workers:
        return _Advice(phrase("Produce batches faster"), _UNKNOWN, None if recorded else _RECORD, _CAUSE_UNKNOWN)
    if recorded is not None and curve.needed > curve.measured_workers:
        if recorded.kind is None:
            why = phrase(_MAY_COMPUTE, workers=count(curve.measured_workers), cores=count(recorded.cores))
            return _Advice(phrase("Produce batches faster"), why, None, _CAUSE_UNKNOWN)
        return _short_of_cores(facts, recorded)
    return _Advice(SLOWEST_FASTER, _ENOUGH, DEEPER, _certainty(facts))


def _certainty(facts: Facts) -> Certainty:
    steps = facts.data_loading.steps
    waits = all(step.exposed_ns >= WORTH_FRACTION * step.duration_ns for step in steps)
    return MARKS_AGREE if waits else medium("Some steps hardly wait, so the mean rests on a few.")


def _short_of_cores(facts: Facts, recorded: Recorded) -> _Advice:
    """Returns the advice for workers that have too few cores. It names the longest line of code, if that takes long
    enough."""
    template = (
        "The workers compute for {computes} of their time ({sampled} sampled batches), and there (is|are) {cores} "
        "(core|cores) for them."
    )
    if recorded.kind == "cores":
        template = (
            "The workers compute, and for {waits} of their time they wait for a core ({sampled} sampled batches)."
        )
    values = {
        "waits": fraction(recorded.core_wait_share),
        "computes": fraction(recorded.cpu_share),
        "sampled": count(recorded.sampled),
        "cores": count(recorded.cores),
    }
    why = filled(agreeing(template, recorded.cores or 1), values)
    longest = next(iter(recorded.lines.lines), None) if recorded.lines else None
    how = None
    if longest is not None and longest.share >= WORTH_LINE:
        how = f"# {code_line(longest.line).rpartition('/')[2]}: {longest.share:.0%} of a batch, est."
    return _Advice(phrase("Make the dataset cheaper"), with_interpreter_delay(why, recorded), how, _certainty(facts))
