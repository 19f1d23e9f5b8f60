"""The phases of a step, the sites within them, and the names of ranges and ops that mark a site."""

from __future__ import annotations

import re
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import NODE
from tb_steptime.trace.host_ranges import loader_names
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps.calls import OPTIMIZER_STEP
from tb_steptime.trace.table import Kind, UInt8, distinct_in

#: Phases of a step, in order; the last one is for work whose launch is not recorded.
PhaseId = Literal["data_loading", "zero_grad", "forward", "backward", "optimizer", "other", "unknown"]
#: Every phase and its label, in the order of a step.
PHASE_LABELS: dict[PhaseId, str] = {
    "data_loading": "Data loading",
    "zero_grad": "Zero gradients",
    "forward": "Forward",
    "backward": "Backward",
    "optimizer": "Optimizer",
    "other": "Other",
    "unknown": "Launch not recorded",
}
PHASES = tuple(PHASE_LABELS)


class Site(msgspec.Struct, frozen=True):
    """A place within a phase from which work is launched. Its id is stable and public."""

    id: str
    phase: PhaseId
    label: str


#: Every place, in the order of a step. The last two are for work whose launch is not recorded, and for idle time that
#: ends with no launch or that no verdict counts.
SITES = (
    Site("data_loading", "data_loading", "Data loading"),
    Site("zero_grad", "zero_grad", "Zero gradients"),
    Site("forward.inputs", "forward", "Forward: before the first layer"),
    Site("forward.buffer_broadcast", "forward", "Forward: buffer broadcast"),
    Site("forward.model", "forward", "Forward: model"),
    Site("backward.loss", "backward", "Backward: start"),
    Site("backward.nodes", "backward", "Backward: autograd nodes"),
    Site("backward.gradient_accumulation", "backward", "Backward: accumulation"),
    Site("backward.hooks", "backward", "Backward: hooks"),
    Site("optimizer", "optimizer", "Optimizer"),
    Site("other", "other", "Other"),
    Site("unknown", "unknown", "Launch not recorded"),
    Site("no_launch", "unknown", "Does not repeat, or after the last work"),
)
SITE = {site.id: place for place, site in enumerate(SITES)}
#: For each place in SITES the place of its phase in PHASES.
SITE_PHASE = np.array([PHASES.index(site.phase) for site in SITES], np.uint8)

#: The value for "no mark" in the table of names.
NO_MARK = 255

#: Marks of torch.optim and of the autograd engine, whose nodes had no mark but their own names before 2022.
_ZERO_GRAD_MARK = expression(r"Optimizer\.zero_grad#")
_ACCUMULATION = "AccumulateGrad"
_NODE = expression(r"(?:torch::autograd::)?(?:\w+Backwards?\d*|AccumulateGrad)$")

#: Common names of users' ranges, in lower case, without hashes, with "_" for spaces. The word before ":", "." or "/"
#: counts, too.
NAMED = {
    "data_loading": "data data_loading dataloading dataloader data_loader load_data load_batch get_batch next_batch "
    "fetch_batch wait_for_batch copy_batch_to_gpu",
    "zero_grad": "zero_grad zero_grads zerograd optimizer.zero_grad",
    "forward.model": "forward fwd forward_pass model_forward model.forward distributeddataparallel.forward "
    "fullyshardeddataparallel.forward",
    "backward.loss": "backward bwd backward_pass backprop loss.backward loss_backward",
    "optimizer": "optimizer optim opt optimizer_step optim_step opt_step step_optimizer optimizer.step",
}
_SITE_OF_WORD = {word: SITE[site] for site, words in NAMED.items() for word in words.split()}


def without_engine(name: str) -> str:
    """Returns a node's name without the engine's prefix. Other names are unchanged.

    >>> without_engine("autograd::engine::evaluate_function: MulBackward0")
    'MulBackward0'
    """
    return name.removeprefix(NODE)


def site_of_name(name: str) -> int:
    """Returns the place that a range with this name marks, if it is a mark of torch's or of the user's; else NO_MARK.

    >>> SITES[site_of_name("## forward:over_arch ##")].id
    'forward.model'
    """
    if OPTIMIZER_STEP.match(name):
        return SITE["optimizer"]
    if _ZERO_GRAD_MARK.match(name):
        return SITE["zero_grad"]
    word = re.sub(r"[\s-]+", "_", name.strip("# \t\n").lower())
    return _SITE_OF_WORD.get(word, _SITE_OF_WORD.get(re.split(r"[:./]", word)[0], NO_MARK))


def site_of_node(name: str) -> int:
    """Returns the place that an op with this name marks, if it is a node of the autograd engine; else NO_MARK.

    After a gradient is accumulated, the engine calls hooks, such as those of DistributedDataParallel, within its own
    mark. The engine's mark therefore stands for hooks, and AccumulateGrad's own mark for accumulation.
    """
    if name.startswith(NODE):
        return SITE["backward.hooks" if name.endswith(_ACCUMULATION) else "backward.nodes"]
    if not _NODE.match(name):
        return NO_MARK
    return SITE["backward.gradient_accumulation" if name.endswith(_ACCUMULATION) else "backward.nodes"]


@shared
def node_sites(trace: Trace) -> UInt8:
    """Returns for each string of the table the place that an op with this name marks, or NO_MARK. If the engine marks
    its nodes, only AccumulateGrad's own mark adds information."""
    strings = trace.strings.strings
    sites = np.array([site_of_node(name) for name in strings], np.uint8)
    if any(name.startswith(NODE) for name in strings):
        sites[[not (name.startswith(NODE) or name.endswith(_ACCUMULATION)) for name in strings]] = NO_MARK
    return sites


@shared
def range_sites(trace: Trace) -> UInt8:
    """Returns for each string of the table the place that a range of this name marks, or NO_MARK."""
    named = np.full(len(trace.strings), NO_MARK, np.uint8)
    users = distinct_in(trace.events.name[trace.events.rows(Kind.USER)])
    named[users] = [site_of_name(trace.strings[name]) for name in users.tolist()]
    named[loader_names(trace)] = SITE["data_loading"]
    return named
