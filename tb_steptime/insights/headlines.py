"""The first line of each view of one span, which says what is true and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tb_steptime.analyses.tensor_cores import DeviceSplit, KernelRow
from tb_steptime.insights.base import Confidence, Headline, Insight
from tb_steptime.insights.cpu_verdict import has_only_calls, holds_no_work
from tb_steptime.insights.facts import Facts, little_is_judged
from tb_steptime.insights.host_verdict import computes_nothing, ends_early, judge_span
from tb_steptime.insights.largest import nothing_waits, setting_ns
from tb_steptime.insights.rules.data_loading.loader_waits import shares
from tb_steptime.insights.rules.host.cpu_outside import draws_on_cpu
from tb_steptime.insights.severity import WARNING_FRACTION, most_gain
from tb_steptime.insights.wording.data_loading import main_label, workers_setting
from tb_steptime.insights.wording.gpu import TELL_APART_FRACTION
from tb_steptime.insights.wording.memory import memory_headline
from tb_steptime.insights.wording.operators import operators_verdict
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.insights.wording.terms import device_activity, matrix_units, processors_short
from tb_steptime.metrics.catalogue import NO_DEVICE
from tb_steptime.metrics.data_loading.waits import LoaderStep
from tb_steptime.metrics.idle.bottleneck import LEADING_FRACTION, STARVED_FRACTION, Bound
from tb_steptime.metrics.job.device import Vendor
from tb_steptime.text import Phrase, closed, code, filled, fraction, joined, label, ns, phrase, text

if TYPE_CHECKING:
    from tb_steptime.analyses.gpu import DeviceGpu, GpuResult
    from tb_steptime.metrics.kernels.table import KernelGroup


def overview(facts: Facts, insights: list[Insight]) -> Headline:
    if little_is_judged(facts):
        return Headline(judge_span(facts).text, _record_more(facts))
    verdict, first = judge_span(facts).text, most_gain(insights)
    slowed = facts.host.bound is Bound.HOST  # a GPU that sets the pace hides the observer
    if first is not None and first.view == "host" and slowed and facts.observed_ns > first.gain_ns:
        return Headline(verdict, _record_unobserved(facts))
    if first is not None:
        return Headline(verdict, _gain(first), _elsewhere(first), card=first.id)
    if (record := _record(facts)) and draws_on_cpu(facts) is None:
        return Headline(verdict, record)
    if insights and insights[0].id != "back_pressure":  # which says that there is nothing to do
        return Headline(verdict, do_first(insights[0]), _elsewhere(insights[0]), card=insights[0].id)
    return Headline(verdict, *_where_to_look(facts))


def _elsewhere(card: Insight) -> str | None:
    return card.view if card.view != "overview" else None


def do_first(card: Insight) -> Phrase:
    """Returns what the card says to do and what it gains; where no gain is computed, it says so."""
    if card.gain_ns:
        return _gain(card)
    return joined(card.title, closed(card.instead or phrase("no gain now")), by=": ")


def _where_to_look(facts: Facts) -> tuple[Phrase, str] | tuple[()]:
    """Says where to look if no card says what to do: what takes most of the step, and which view shows it."""
    if not facts.overview.has_device:
        return (_SEE_OPS, "host") if facts.host.cpu is not None else ()
    if not nothing_waits(facts):
        return phrase("The Host view shows before which launches the GPU is idle."), "host"
    if facts.share(setting_ns(facts)) >= LEADING_FRACTION:
        return phrase(_SETS_MEMORY, time=ns(setting_ns(facts))), "operators"
    kernels = facts.kernels or facts.split_kernels  # the commands leave out the view of the GPU
    if not kernels:
        return ()
    op = _op_of_kernel(facts.kernel_split, kernels[0])
    values = {"kernel": code(kernels[0].short or kernels[0].name), "share": fraction(kernels[0].share)}
    of = "{kernel} in {op}" if op else "{kernel}"
    template = f"The GPU view shows more of {of}, which takes the most kernel time: {{share}}."
    return filled(template, values | ({"op": code(op)} if op else {})), "gpu"


def _op_of_kernel(split: DeviceSplit | None, kernel: KernelGroup | KernelRow) -> str | None:
    """Returns the op that launches a kernel with half of kernel time: one with as much, as no other can have it."""
    first = split.ops[0] if split and split.ops else None
    return first.op if first and 2 * kernel.share >= 1 and first.split.kernel_ns >= kernel.total_ns else None


_SETS_MEMORY = "For {time} a step the GPU only sets memory, as a benchmark does to empty the GPU's cache."
_SEE_OPS = phrase("The Host view shows which ops and phases take the step.")


def _record_more(facts: Facts) -> Phrase:
    if not ends_early(facts):
        return phrase("Record later steps: begin the recording after a warm-up.")
    return _RECORD_THE_END if facts.has_finding("end_missing") else _RECORD_WHOLE_STEPS


_COPY_AGAIN = phrase("Copy the file again, or record again and let the job end: the rest of this file is missing.")
_RECORD_THE_END = phrase(
    "Record again, and call {call} before {stop}.", call=code("torch.cuda.synchronize()"), stop=code("prof.stop()")
)


def _record_unobserved(facts: Facts) -> Phrase:
    template = "Record without what observes each op, such as {observer}: it takes est. {observed} of each step."
    return phrase(template, observer=code("ExecutionTraceObserver"), observed=ns(facts.observed_ns))


def _record(facts: Facts) -> Phrase | None:
    """Says what to record if the trace lacks what would tell more; None where it lacks nothing."""
    if not facts.overview.has_device:
        if facts.overview.cut_short:
            return _COPY_AGAIN  # the profiler writes what the GPU did last
        if has_only_calls(facts):
            return phrase("Start the profiler in the process that computes, and stop it after some of its steps.")
        if holds_no_work(facts):
            return _RECORD_ONCE
        for finding, record in _RECORD_INSTEAD.items():
            if facts.has_finding(finding):
                return _READ_LOG_OF_GPU if record is _READ_LOG and facts.job.device != "gpu" else record
        if facts.job.device == "gpu" and not any(shown.code == "runtime_calls" for shown in facts.job.evidence):
            return _record_the_device(facts)  # calls are recorded only together with the GPU
        return _RECORD_THE_RANKS if facts.host.bound is Bound.COMMUNICATION else None
    if facts.has_finding("gpu_cut_short") and facts.bound is not Bound.GPU:
        return _COPY_AGAIN
    if facts.host.cpu_unrecorded and facts.bound is Bound.UNKNOWN:
        return _RECORD_LAUNCHING
    if facts.has_finding("end_missing") and facts.idle_is_unexplained:
        return _RECORD_THE_END
    idle, alone = facts.idle, len(facts.overview.steps) == 1
    if idle is not None and (2 * idle.tail > facts.step_ns or (alone and computes_nothing(facts, idle))):
        return _RECORD_WHOLE_STEPS
    return None


def _record_the_device(facts: Facts) -> Phrase:
    device = facts.job.accelerator
    activities = code(f"profile(activities=[ProfilerActivity.CPU, {device_activity(device)}])")
    return phrase("Record the {device}, too: {activities}.", device=text(device), activities=activities)


_RECORD_ONCE = phrase(
    "Record while the loop runs: without {once}, a schedule begins again after its last step, and may find none.",
    once=code("repeat=1"),
)
_RECORD_ITS_WORK = phrase(
    "Record again with no other profiler attached, and call {call} before {stop}.",
    call=code("torch.cuda.synchronize()"),
    stop=code("prof.stop()"),
)
_RECORD_LAUNCHING = phrase(
    "Record with {activity}, and start the profiler in the thread that launches the work.",
    activity=code("ProfilerActivity.CPU"),
)
_RECORD_ALONE = phrase("Record again with no other profiler attached, and outside of WSL.")
_READ_LOG, _READ_LOG_OF_GPU = (
    phrase(template, failed=code("CUPTI initialization failed"))
    for template in (
        "The job's log says why this failed: see the line before {failed}.",
        "If the job uses the GPU, its log says why this failed: see the line before {failed}.",
    )
)
_RECORD_METAL, _RECORD_IF_METAL = (
    phrase(template, call=code("torch.mps.profiler.profile()"))
    for template in (
        "See the GPU's work in Xcode's Instruments: {call} marks it there.",
        "On Metal (MPS), see the GPU's work in Xcode's Instruments: {call} marks it there.",
    )
)
#: Advice by what was found in a recording without work of a GPU, the first one that was found; None: it lacks nothing.
_RECORD_INSTEAD = {
    "work_not_recorded": _RECORD_ITS_WORK,
    "work_ran_unrecorded": _RECORD_ALONE,
    "work_waited_for": _RECORD_ALONE,
    "only_captures": phrase("Record later steps, which launch the captured graphs."),
    "profiler_not_started": _READ_LOG,
    "mostly_unread": None,
    "work_on_mps": _RECORD_METAL,
    "device_unseen_by_linear": _RECORD_IF_METAL,
}
_RECORD_THE_RANKS = phrase(
    "The Ranks view names the rank that the others wait for, if all are recorded; if none is late, send less."
)
_RECORD_WHOLE_STEPS = phrase(
    "Record several whole steps: call {call} after each batch, and stop right after the last.", call=code("prof.step()")
)


def _gain(card: Insight) -> Phrase:
    return joined(card.title, _up_to(card), by=": ")


def _up_to(card: Insight) -> Phrase:
    return phrase("[up to {gain} a step ({share})].", gain=ns(card.gain_ns), share=fraction(card.gain_fraction))


def data_loading(facts: Facts, insights: list[Insight]) -> Headline:
    result = facts.data_loading
    if result.unknown is not None and result.unknown.code == "loader_on_other_thread":
        return Headline(explain(result.unknown), None if result.recorded else _RECORD)
    if result.unknown is not None or result.mean is None:
        return Headline(
            phrase("The steps of this trace have no loader events."),
            phrase("Wrap a loader that is not torch's in {call}.", call=_RECORD_FUNCTION),
        )
    first = most_gain([insight for insight in insights if insight.view == "data_loading"])
    if first is None and facts.overview.has_device:
        template = "The loader keeps up: the GPU waits {exposed} a step for data."
        return Headline(phrase(template, exposed=ns(result.mean.exposed_ns)))
    if first is None:
        template = "The loader keeps up: a step waits {wait} for its batch."
        return Headline(phrase(template, wait=ns(result.mean.wait_ns)))
    return Headline(_loader_verdict(facts, result.mean, first), _gain(first), None, _loader_code(facts, first))


_RECORD = phrase("Two lines in the script record how fast its batches are produced.")
_RECORD_FUNCTION = code('record_function("enumerate(DataLoader)#mine.__next__")')


#: Sentences by the card that names the cause, or else by whether the loader has worker processes (None: unknown).
_WAITS_BECAUSE = {
    "epoch_starts": "no batch is ready when an epoch begins",
    "loader_overhead": "the main process receives each batch itself",
    False: "the main process produces each batch itself",
    True: "the workers' batches come late",
    None: "the next batch is not ready in time",
}


def _loader_verdict(facts: Facts, mean: LoaderStep, first: Insight) -> Phrase:
    """first: what costs most, which is the cause that is named."""
    exposed_ns = {
        "epoch_starts": shares(facts).first_ns,
        "loader_overhead": first.gain_ns,
    }.get(first.id, mean.exposed_ns - shares(facts).others_ns)
    cause = text(_WAITS_BECAUSE.get(first.id, _WAITS_BECAUSE[facts.data_loading.multiprocess]))
    if facts.overview.has_device:
        return phrase("The GPU waits {exposed} a step because {cause}.", exposed=ns(exposed_ns), cause=cause)
    return phrase("A step waits {exposed} because {cause}.", exposed=ns(exposed_ns), cause=cause)


def _loader_code(facts: Facts, first: Insight) -> str | None:
    """Returns the code to type; None unless the number of workers of the main loader is to be changed."""
    curve = facts.data_loading.curve
    if (
        curve is None
        or first.id == "input_bound"
        or first.confidence is Confidence.LOW
        or curve.recommended <= curve.measured_workers
    ):
        return None
    pinned = "pin_memory=True, " if facts.overview.has_device else ""
    call = (
        f"loader = DataLoader(dataset, {workers_setting(curve)},\n                    {pinned}persistent_workers=True)"
    )
    name = main_label(facts.data_loading)
    return f"# {name}\n{call}" if name else call


#: Rules that move work to the tensor cores.
_TENSOR_CORE_RULES = ("tensor_cores_unused", "alignment")

_LATER = "After the first fix: [up to {later} a step]."
_WHEN_BUSY = "[Up to {later} a step], once the GPU limits the step."


def tensor_cores(facts: Facts, insights: list[Insight]) -> Headline:
    result = facts.tensor_cores
    if result.unknown is not None or not result.devices:
        on_gpu = facts.overview.has_device
        return Headline(explain(result.unknown or NO_DEVICE), *(() if on_gpu else (SEE_HOST, "host")))
    first = next((insight for insight in insights if insight.id in _TENSOR_CORE_RULES), None)
    verdict = _tensor_verdict(result.devices[0], facts.job.vendor)
    if first is None:
        return Headline(verdict)
    if first.gain_ns:
        return Headline(verdict, _gain(first))
    is_second = any(insight.gain_ns for insight in insights)
    return Headline(verdict, phrase(_LATER if is_second else _WHEN_BUSY, later=ns(first.later_ns)), "overview")


def _tensor_verdict(device: DeviceSplit, vendor: Vendor | None) -> Phrase:
    low, high, eligible = device.share_low, device.share_high, device.matmul_like_share
    values = {
        "low": fraction(low), "high": fraction(high), "eligible": fraction(eligible), "cores": matrix_units(vendor),
    }  # fmt: skip
    more = eligible is not None and eligible >= WARNING_FRACTION
    if not high and more:
        return filled("{eligible} of kernel time could use {cores}, and none of it does.", values)
    if not high:
        return filled("No kernel runs on {cores}, and almost none could.", values)
    if device.unclassified is not None:
        return filled(_UNCLASSIFIED[more], values | {"unknown": fraction(device.unclassified)})
    share = "{low} to {high}" if low is not None and high - low >= TELL_APART_FRACTION else "{low}"
    rest = "another {eligible} could" if more else "almost none of the rest could"
    return filled(f"{share} of kernel time runs on {{cores}}, and {rest}.", values)


#: Sentences where kernel names reveal too little for useful bounds of the share, by whether a good part of kernel time
#: could use tensor cores.
_UNCLASSIFIED = {
    True: "{unknown} of kernel time is unclassified, because kernel names do not tell; another {eligible} could use "
    "{cores}, and does not.",
    False: "{unknown} of kernel time is unclassified: kernel names do not tell whether they run on {cores}.",
}


def gpu(facts: Facts, insights: list[Insight]) -> Headline:
    """Adds the first thing to do about the step: an idle GPU comes before a half-empty one."""
    assert facts.gpu is not None  # a view's headline is asked for where its result is
    headline = gpu_headline(facts.gpu, facts.job.vendor)
    first = most_gain(insights)
    if first is None or not facts.gpu.devices:
        return headline
    return Headline(headline.verdict, _gain(first), first.view if first.view != "gpu" else None)


def host(facts: Facts, insights: list[Insight]) -> Headline:
    """Adds what the host itself can do, and how many launches come too late in the phase that launches most."""
    verdict = judge_span(facts).text
    first = most_gain([insight for insight in insights if insight.view == "host"])
    if first is None:
        return Headline(verdict)
    return Headline(verdict, joined(first.title, joined(_up_to(first), *_starved(facts)), by=": "), "timeline")


def _starved(facts: Facts) -> list[Phrase]:
    """Says how many launches come too late in the phase that launches most, if most of them do."""
    phases = [each for each in facts.host.phases if each.bound is Bound.HOST and each.starved_share is not None]
    most = max(phases, key=lambda each: each.launches, default=None)
    if most is None or (most.starved_share or 0.0) < STARVED_FRACTION:
        return []
    starved, phase = fraction(most.starved_share), label(most.label)
    return [phrase("{starved} of {phase} launches are starved.", starved=starved, phase=phase)]


def operators(facts: Facts, insights: list[Insight]) -> Headline:
    """Adds the first thing to do about the step: an op that takes most need not be what the step waits for."""
    assert facts.operators is not None  # a view's headline is asked for where its result is
    verdict, first = operators_verdict(facts.operators), most_gain(insights)
    if verdict is None or first is None:
        return Headline(verdict or judge_span(facts).text)
    return Headline(verdict, _gain(first), _elsewhere(first) or "overview")


def memory(facts: Facts, insights: list[Insight]) -> Headline:
    """Adds the first thing to do about memory: its card stands below pictures and tables."""
    first = next((insight for insight in insights if insight.view == "memory"), None)
    headline = memory_headline(facts)
    return headline if first is None else Headline(headline.verdict, do_first(first))


HEADLINES: dict[str, Callable[[Facts, list[Insight]], Headline]] = {
    "overview": overview,
    "data_loading": data_loading,
    "tensor_cores": tensor_cores,
    "gpu": gpu,
    "host": host,
    "operators": operators,
    "memory": memory,
    "timeline": lambda facts, _: Headline(judge_span(facts).text),
}


def headline_of(view: str, insights: list[Insight], facts: Facts) -> Headline:
    return HEADLINES[view](facts, insights)


#: From this share on, advice treats a GPU as busy all the time, or as having work for all its SMs.
NEARLY_ALL = 0.90

#: The advice where nothing about a GPU is recorded.
SEE_HOST = phrase("The Host view shows what the CPU does.")


def gpu_headline(result: GpuResult, vendor: Vendor | None = None) -> Headline:
    """Returns the headline of the device that is busy longest. It speaks of kernels, as the tiles do, because "the GPU
    works" counts copies too."""
    if not result.devices:
        return Headline(explain(result.unknown or NO_DEVICE), SEE_HOST, "host")
    return Headline(_gpu_verdict(result.devices[0], len(result.devices) > 1, vendor))


def _gpu_verdict(device: DeviceGpu, several: bool, vendor: Vendor | None) -> Phrase:
    figures = {tile.metric: tile.value for tile in device.tiles}
    works, efficiency = figures["gpu_utilization"], figures["est_sm_efficiency"]
    if not works:
        return phrase("No kernel runs within the steps.")
    filled_share, template = None, "Kernels run on {gpu} for {works} of the time."
    if efficiency is not None:
        filled_share = efficiency / works
        template = _GPU_TEMPLATES[works >= NEARLY_ALL, filled_share >= NEARLY_ALL]
    values = {
        "works": fraction(works),
        "filled": fraction(filled_share),
        "gpu": text(f"GPU {device.device}" if several else "the GPU"),
        "units": processors_short(vendor),
    }
    return filled(template, values)


#: Sentences, by whether kernels run nearly all the time, and whether they have blocks for nearly all SMs.
_GPU_TEMPLATES = {
    (True, True): "Kernels run on {gpu} for {works} of the time, and fill it.",
    (False, True): "Kernels fill {gpu} when they run, but they run for only {works} of the time.",
    (True, False): "Kernels run on {gpu} for {works} of the time, but have blocks for only {filled} of its {units}.",
    (False, False): "Kernels run on {gpu} for {works} of the time, and then on only {filled} of its {units}.",
}
