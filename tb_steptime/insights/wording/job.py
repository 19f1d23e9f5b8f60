"""The kind of job in words: a line for the head of every view, and what shows each word of it."""

from __future__ import annotations

from tb_steptime.analyses.overview import DeviceFigures
from tb_steptime.insights.base import JobText
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.wording.terms import processors_short
from tb_steptime.metrics.job.device import Vendor
from tb_steptime.metrics.job.evidence import JobEvidence
from tb_steptime.metrics.job.execution import ExecutionId
from tb_steptime.metrics.job.kind import JobKind
from tb_steptime.metrics.job.purpose import Purpose
from tb_steptime.text import Phrase, agreeing, count, filled, fraction, joined, phrase, shortened, text

_PURPOSES: dict[Purpose, str] = {"training": "training", "inference": "inference", "unknown": ""}
_EXECUTIONS: dict[ExecutionId, str] = {
    "eager": "eager",
    "compiled": "compiled",
    "graphs": "graphs",
    "mixed": "partly compiled",
    "unknown": "",
}
#: Advice for a process that copies its model to several GPUs in each step.
IN_PLACE_OF_REPLICAS = "Use DistributedDataParallel in place of DataParallel"
ONE_PROCESS_EACH = """torchrun --nproc_per_node=gpu train.py  # a process for each GPU
model = DistributedDataParallel(model, device_ids=[local_rank])"""
#: The same for an inference, which has no gradients to add up.
COPY_PER_PROCESS = "torchrun --nproc_per_node=gpu infer.py  # each with a copy of the model, and a part of the inputs"

_VENDORS: dict[Vendor | None, str] = {"nvidia": "NVIDIA GPU", "amd": "AMD GPU", "other": "GPU", None: "GPU"}

#: Phrases of evidence. In each pair (one|many) the form that agrees with the number is used.
_EVIDENCE: dict[str, str] = {
    "autograd_nodes": "Training: {count} (node|nodes) of the autograd engine (runs|run).",
    "optimizer_steps": "Training: {count} (call|calls) of {name}.",
    "backward_ops": "Training: {count} (op computes|ops compute) gradients, such as {name}.",
    "backward_kernels": "Training: {count} (kernel computes|kernels compute) gradients or updates, such as {name}.",
    "layer_ops": "Inference: {count} (op|ops) of layers, such as {name}; neither gradients nor an optimizer.",
    "layer_kernels": "Inference: {count} (kernel|kernels) of layers, such as {name}; neither gradients nor an "
    "optimizer.",
    "graph_launches": "Graphs: {count} (call|calls) of {name}.",
    "compiled_regions": "Compiled: {count} (range|ranges) of compiled code, such as {name}.",
    "compiled_kernels": "Compiled: {count} generated (kernel|kernels), such as {name}.",
    "device_activities": "GPU: {count} (kernel, copy or set runs|kernels, copies and sets run) on it.",
    "runtime_calls": "GPU: {count} (call|calls) of its runtime, such as {name}; what it runs is not recorded.",
    "cpu_memory": "CPU: {count} (allocation|allocations) of memory, all of them there.",
    "unseen_device": "A device that is not recorded: {count} (time|times) {name} shows it.",
    "gpu_ops": "GPU: {count} (op|ops) that (needs|need) one, such as {name}; what it runs is not recorded.",
    "cpu_ops": "CPU: {count} (op|ops) of its libraries, such as {name}.",
    "world_size": "Ranks: the recording says {count}.",
    "replicas": "One process for several GPUs: {count} (call|calls) of nn.DataParallel, such as {name}.",
    "one_thread": "One process for several GPUs: one thread launches {count} (broadcast|broadcasts) on them, such as "
    "{name}.",
    "collectives": "Several ranks: {count} (collective|collectives), such as {name}.",
}
#: Maximum length of a kernel name, in characters.
_NAME_LENGTH = 60
#: Minimum share of compiled code or graphs to be mentioned.
_WORTH_SAYING = 0.01


def job_text(facts: Facts) -> JobText:
    """ "training · eager · NVIDIA A100-SXM4-80GB · rank 0 of 8"; what is not known is left out."""
    job = facts.job
    graphs = job.execution == "mixed" and (job.graph_share or 0.0) > (job.compiled_share or 0.0)
    execution = "partly in graphs" if graphs else _EXECUTIONS[job.execution]
    quantities = [text(word) for word in (_PURPOSES[job.purpose], execution, _where(facts)) if word]
    parts = [Phrase(f"{{part_{n}}}", {f"part_{n}": word}) for n, word in enumerate(quantities)]
    shown_by = [*_shares(job), *map(_evidence, job.evidence)]
    return JobText(
        joined(*parts, *_ranks(job), by=" · "), shown_by, _machine(facts), _units(facts), job.accelerator, job.vendor
    )


def _machine(facts: Facts) -> Phrase:
    """Says what the job ran on, as far as that is recorded: no more is said than the trace shows."""
    job = facts.job
    if facts.overview.devices:
        return phrase("{names}", names=text(_where(facts)))
    if job.device == "cpu":
        return phrase("CPU only")
    template = "{device} work not recorded" if job.device == "gpu" else "No {device} activity recorded"
    if facts.overview.cut_short:
        template = "{device} part of the file cut off"
    return phrase(template, device=text(job.accelerator))


def _units(facts: Facts) -> Phrase | None:
    device = facts.gpu.devices[0] if facts.gpu and facts.gpu.devices else None
    if device is None or device.sm_count is None:
        return None
    return phrase("{count} {units}", count=count(device.sm_count), units=processors_short(facts.job.vendor))


def _where(facts: Facts) -> str:
    if facts.job.device != "gpu":
        return "CPU" if facts.job.device == "cpu" else ""
    names = [_named(each, facts.job) for each in facts.overview.devices]
    if not names:
        return f"{facts.job.accelerator}, not recorded"
    return f"{len(names)} × {names[0]}" if len(names) > 1 and len(set(names)) == 1 else ", ".join(dict.fromkeys(names))


def _named(device: DeviceFigures, job: JobKind) -> str:
    """Returns the device's name in the trace, or else whose device it is."""
    if device.name not in ("", f"{job.accelerator} {device.device}"):
        return device.name
    return _VENDORS[job.vendor] if job.accelerator == "GPU" else job.accelerator


def _ranks(job: JobKind) -> list[Phrase]:
    if job.world_size is not None and job.world_size > 1:
        template = "{ranks} ranks" if job.rank is None else "rank {rank} of {ranks}"
        return [filled(template, {"rank": count(job.rank), "ranks": count(job.world_size)})]
    return [phrase("several ranks")] if job.ranks == "many" else []


def _shares(job: JobKind) -> list[Phrase]:
    if max(job.compiled_share or 0.0, job.graph_share or 0.0) < _WORTH_SAYING:
        return []
    template = "{compiled} of kernel time is compiled code, and {graphs} runs in graphs."
    if job.device == "cpu":
        template = "{compiled} of the time in ops is compiled code."
    return [filled(template, {"compiled": fraction(job.compiled_share), "graphs": fraction(job.graph_share)})]


def _evidence(shown: JobEvidence) -> Phrase:
    name = text(shortened(shown.name, _NAME_LENGTH))
    values = {"count": count(shown.count)} | ({"name": name} if shown.name else {})
    return Phrase(agreeing(_EVIDENCE[shown.code], shown.count), values)
