"""One process drives several GPUs, and they work one after another: what blocks the CPU for one keeps the others idle.

gpu0   kkkkkk      kkkkkk
gpu1         kkkkkk      kkkkkk      1 at a time, of 2
"""

from __future__ import annotations

from tb_steptime.insights.base import Insight, medium
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import Bounds, host_card, while_batches_are_late_ns
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.insights.wording.job import IN_PLACE_OF_REPLICAS, ONE_PROCESS_EACH
from tb_steptime.text import Phrase, Quantity, Unit, count, ns, phrase, text

_SPLIT = phrase("Assumes that the GPUs share the work of each layer, without what they then exchange.")
_OF_SPLIT_MODEL = (
    "# each layer split over the GPUs (tensor parallelism), instead of some layers on each GPU:\n"
    'torchrun --nproc-per-node={number} generate.py  # with from_pretrained(..., tp_plan="auto")\n'
    "# or a copy of the model on each GPU, if it fits"
)


def serial_devices(facts: Facts) -> Insight | None:
    """Fires when the GPUs of a process hardly ever work at the same time.

    Similar pattern: a pipeline whose stages depend on each other: the trace does not show that, so the confidence is
    medium. An inference is taken for a model whose layers are spread over the GPUs, and asked to split each layer.

    Needs: all GPUs of the process in one trace.

    Jobs: one process that drives several GPUs.

    Gain: the time in which any GPU works, less that of the GPU that works longest, mean over the steps. Where batches
    come late, the card gains this only once they come in time, unless a replay shows more.

    Left out: what the processes need to exchange gradients.
    """
    several = facts.host.several_devices
    if several is None or not facts.in_series:
        return None
    gain_ns = several.union_busy_ns - max(several.busy_ns)
    title = "Run one process per GPU"
    how = f"torchrun --nproc-per-node={len(several.devices)} train.py"
    how = f"{how}\n# with DistributedDataParallel"
    if facts.replicates:
        title, how = IN_PLACE_OF_REPLICAS, ONE_PROCESS_EACH
    if facts.hands_over:
        title = "Let the GPUs work at the same time"
        how = _OF_SPLIT_MODEL.format(number=len(several.devices))
        gain_ns = facts.at_most_ns(gain_ns, "device")  # each process then launches all layers as one does now
    values = {"number": count(len(several.devices)), "mean": Quantity(several.concurrency, Unit.NUMBER)}
    template = "On average {mean} of {number} GPUs work at a time"
    for worst in [] if facts.hands_over else several.blockers[:1]:
        template += "; {op} keeps GPU {waits} idle for {idle} a step"
        values |= {"op": text(brief(worst.op)), "waits": count(worst.idle_device), "idle": ns(worst.idle_ns)}
    return host_card(
        facts,
        id="serial_devices",
        title=phrase(title),
        why=Phrase(template + ".", values),
        how=how,
        gain_ns=gain_ns,
        formula="Time of the step in which any GPU works, less the time of the GPU that works longest.",
        certainty=medium(_SPLIT if facts.hands_over else phrase("Assumes that no GPU needs results of another one.")),
        part="kernel",
        of="devices",
        bounds=Bounds(most_now_ns=while_batches_are_late_ns(facts, gain_ns, "device")),
    )
