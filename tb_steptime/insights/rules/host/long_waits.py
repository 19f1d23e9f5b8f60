"""A few long waits for launches of the model, or between its passes. The card names what the CPU does meanwhile.

thread   [l]--op--[l]      |-- data.py(9): crop --|      [l]--op--[l]
device      kk      kk                                      kk      kk
gain        .....   LLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLL  .....
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.base import Evidence, Insight
from tb_steptime.insights.cards import Words
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE
from tb_steptime.insights.rules.host.blocking_rows import NAME_LENGTH, ON_GPU, PLACE_LENGTH, brief
from tb_steptime.insights.rules.host.idle_cards import has_one_graph, late_card, model_late
from tb_steptime.insights.rules.host.launch_graphs import how_to_schedule_ahead
from tb_steptime.insights.rules.host.requests import (
    OF_REQUESTS,
    SLEEPS,
    SPINS,
    WAITS_FOR_ANY,
    WAITS_FOR_DALI,
    WAITS_FOR_OTHERS,
    busiest,
    common_name,
    is_mostly,
    is_unrecorded,
    keeps_pace,
    may_be_requests,
    may_be_unrecorded,
)
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.metrics.idle.host_activity import Kinds, is_graph_launch
from tb_steptime.metrics.idle.long_gaps import UPDATE, LongGap, WaitName
from tb_steptime.metrics.steps.recaptures import Recaptures
from tb_steptime.text import Phrase, agreeing, count, filled, joined, ns, phrase, text
from tb_steptime.text.frames import frame_function, source_line
from tb_steptime.text.patterns import expression

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Maximum length of the name of a called function, which follows the name of its caller.
CALL_LENGTH = 24
_UNKNOWN = phrase("Find out what the CPU does between launches")
_HOW_TO_UPDATE = """\
# DeepSpeed ZeRO-3 updates a share of the weights on the CPU, and the rest on the GPU:
# "offload_optimizer": {"device": "cpu", "pin_memory": true, "ratio": 0.5}
# FSDP: torch.optim.AdamW(model.parameters(), fused=True)  # on the CPU since torch 2.4
# Each rank uses OMP_NUM_THREADS cores, 1 under torchrun unless it is set."""
_MOVE = '# weights that fit into the memory of the GPU: model.to("cuda"), before the optimizer is made'
_HOW_TO_LOOK_INSIDE = (
    "py-spy record --native --pid PID -o calls.svg  # shows the native code in which the time is spent"
)
#: Ops that fill a tensor with random numbers: on a GPU they take far less than a copy of the tensor to it.
_RANDOM = expression(r"aten::(normal|uniform|random|bernoulli|exponential)_$")
_HOW_TO_DRAW = """\
x = torch.randn(size, device="cuda")  # in place of torch.randn(size).to("cuda"); other numbers for the same seed
with torch.device("cuda"):  # where these are the first weights of a model
    model = Net()"""
DRAW_ON_GPU = phrase("Make random numbers on the GPU")
_OVERLAP = "Shorten {name}, or overlap it with GPU work"
#: Below these shares of the gain an overlap gains clearly less, and hardly anything.
MUCH, HARDLY = 0.9, 0.1
#: A module computes in it what the rest of the model needs, so that nothing of the model runs meanwhile.
_OF_MODULE = expression(r".*\.py\(\d+\): forward$")
_HOW_TO_PROFILE = "py-spy record --pid PID -o calls.svg  # shows the lines in which the time is spent"
#: The search of DistributedDataParallel, about which `unused_parameters` is where nothing shows that it is needed.
_OF_ANOTHER_CARD = expression(r"reducer::search_unused_parameters$")
_STACKS = "profile(..., with_stack=True)  # names the Python code in these waits"
KEEP_FROM_COMPILING = phrase("Keep torch.compile from working during the steps")
LOGS = 'TORCH_LOGS="recompiles,graph_breaks" python ...\n# torch.compile(model, dynamic=True) where shapes vary'


def long_stretches(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for launches of the model, or between its passes, in a few long gaps: graphs would not
    shorten those.

    Similar pattern: many short gaps: `launch_graphs` is about those. A gap counts from a millisecond on, or from 0.2 ms
    on if the CPU does one thing for most of it and there are many such gaps, and from ten times the median of all.
    Where no name holds most of them, there is a card from a twentieth of the step on. A job that has nothing to do,
    such as a server without requests: where nothing of the CPU is recorded, the card says so. It is a guess where these
    waits of an inference differ from step to step by more than the rest of the step does, as requests come, or end at
    equal distances although the work between them differs, or at those of a rate that cameras and timers have, such as
    33.3 ms. A recording that has no more of the CPU than launch calls: there is no card, since these gaps may be
    anything. An optimizer on the CPU of which nothing is recorded: the copies of gradients and weights around it show
    it. A GPU that waits while the CPU works for another one of the process: without a name `serial_devices` alone says
    so. The only launch of a graph: how long it takes in a step is not known. DistributedDataParallel that searches for
    unused parameters: `unused_parameters`. A function that waits for another thread, as for a queue of batches, that
    sleeps, or that waits for what comes next, as a server does for a request: the card asks what it waits for. The last
    one is a guess, and so are all of them in an inference, where requests may come through a queue, and a loop may keep
    a rate. A loop that asks again and again, as workers of a server do for the next step: it is a guess where its waits
    differ. An op that is slow to launch, copies or allocates: it calls the GPU's runtime. A long one that does not
    computes on the CPU, where its inputs are, and the card asks to run it on the GPU; ops that only move data do not
    count for that, and one that draws random numbers has no inputs: the card asks to make these on the GPU.

    Needs: CPU and GPU activity, with the launch calls; `with_stack=True` to name Python code.

    Jobs: those with a GPU, training and inference; long gaps of compiled code are `compiled_waits`.

    Gain: the GPU's idle time in these gaps, mean over the steps; waits for the loader, blocking calls and pauses are
    left out.

    Left out: that the CPU has to do some of it. It may do so while the GPU works; the card says what that gains if
    it is clearly less. What ops of the CPU take on the GPU.
    """
    model = model_late(facts.host)
    late, gaps = model.long, _longest(facts, model.long, compiled=False)
    names = _names(facts, late, compiled=False)
    name = common_name(names)
    on_cpu = facts.job.server is None and _compute_on_cpu(gaps, name)
    unclear = name is None and (facts.in_series or facts.share(sum(late.values())) < WARNING_FRACTION)
    one_launch = name is not None and is_graph_launch(name) and has_one_graph(facts.host)
    searches = name is not None and _OF_ANOTHER_CARD.search(name) is not None
    if not late or unclear or one_launch or searches or facts.host.cpu_unrecorded:
        return None
    title = _UNKNOWN if is_unrecorded(facts, gaps) else phrase("Shorten what the CPU does between launches")
    how = _how_to_find_out(facts)
    if name is None:
        outside = may_be_unrecorded(facts, gaps)
    else:
        named = [gap for gap in gaps if gap.name == name]
        title, how = _advice(facts, name, named)
        outside = may_be_requests(facts, name, named)
    guess = OF_REQUESTS if outside or keeps_pace(facts) else None
    if on_cpu and not (name and _RANDOM.match(name)):
        title, how = _on_gpu(name), ON_GPU
    launches = round(model.launches)
    values = {"launches": count(round(model.launches)), "late": ns(sum(late.values()))}
    why = _why(facts, gaps, names, on_cpu) if gaps else filled(agreeing(_OF_FEW, launches), values)
    if title.template == _OVERLAP:
        title, how, why = _overlapped(facts, sum(late.values()), title, how, why)
    return _card(facts, late, gaps, guess, id="long_stretches", title=title, why=why, how=how)


def _how_to_find_out(facts: Facts) -> str | None:
    """Returns the code where no one name has most of the waits: the option of a server, which schedules and samples
    between its steps, and how to record the names."""
    of_server = how_to_schedule_ahead(facts, "") if facts.job.server is not None else None
    return "\n".join(filter(None, (of_server, None if facts.host.with_stack else _STACKS))) or None


def _on_gpu(name: str | None) -> Phrase:
    """name: the op that most of the waits have in common."""
    short = "" if name is None else brief(name, PLACE_LENGTH)
    return phrase("Run {name} on the GPU", name=text(short)) if short else phrase("Run ops on the GPU, not the CPU")


def _compute_on_cpu(gaps: Sequence[LongGap], name: str | None) -> bool:
    """Returns whether ops compute on the CPU for most of the longest waits, or of those with the name that most of them
    have."""
    named = [gap for gap in gaps if name is None or gap.name == name]
    on_cpu_ns = sum(gap.late_ns for gap in named if gap.on_cpu and gap.doing == "op")
    return 2 * on_cpu_ns > sum(gap.late_ns for gap in named)


_OF_FEW = "{launches} (launch|launches) a step (leaves|leave) the GPU idle for {late}: too few for a graph to help."


def _advice(facts: Facts, name: str, gaps: Sequence[LongGap]) -> tuple[Phrase, str | None]:
    """Returns title and code of the card if most of the waits have this name. gaps: the longest of those."""
    doing: set[Kinds] = {gap.doing for gap in gaps}
    if "update" in doing:
        how = f"{_MOVE}\n{_HOW_TO_UPDATE}" if facts.job.ranks == "one" else _HOW_TO_UPDATE
        return phrase("Shorten the optimizer's step on the CPU"), how
    if is_graph_launch(name):
        how = how_to_schedule_ahead(facts, "# read the results of a graph after the next one is launched")
        return phrase("Launch each CUDA graph while the one before it runs"), how
    short = text(brief(frame_function(name), PLACE_LENGTH))
    if _RANDOM.match(name):
        return DRAW_ON_GPU, how_to_draw(facts)
    if doing and doing <= {"op", "call"}:
        return phrase("Find out why {name} takes long on the CPU", name=short), _HOW_TO_LOOK_INSIDE
    look = [look for waits, look in _WAITS if is_mostly(waits, name, busiest(gaps))]
    if look or keeps_pace(facts):
        other = look[0] if look else None
        return phrase("Find out what {name} waits for", name=short), _of_spinning_server(facts, name, gaps, other)
    if _OF_MODULE.match(name):
        return phrase("Shorten {name}", name=short), _HOW_TO_PROFILE
    return phrase(_OVERLAP, name=short), _how_to_overlap(facts, name)


def how_to_draw(facts: Facts) -> str:
    return _HOW_TO_DRAW.replace("cuda", "xpu") if facts.job.accelerator == "XPU" else _HOW_TO_DRAW


def _of_spinning_server(facts: Facts, name: str, gaps: Sequence[LongGap], how: str | None) -> str | None:
    """Returns the option of a server whose worker asks again and again for its next step; else how."""
    spins = facts.job.server is not None and is_mostly(SPINS, name, busiest(gaps))
    return how_to_schedule_ahead(facts, how or "") if spins else how


_HOW_TO_SEE_OTHERS = "py-spy dump --native --pid PID  # what the other threads do meanwhile; workers have a PID each"
_HOW_TO_WAIT = """\
item = queue.get()  # or Event.wait(): returns at once, where a loop with sleep asks again later
# a loop that keeps a rate, such as a camera's, has nothing to gain here"""
#: Functions that wait, by whom for, and how to see what these do or how to wait instead.
_WAITS = (
    (WAITS_FOR_OTHERS, _HOW_TO_SEE_OTHERS), (WAITS_FOR_DALI, _HOW_TO_SEE_OTHERS), (WAITS_FOR_ANY, None),
    (SPINS, _HOW_TO_SEE_OTHERS), (SLEEPS, _HOW_TO_WAIT),
)  # fmt: skip


def _how_to_overlap(facts: Facts, name: str) -> str | None:
    """Returns the code of the advice for a Python function; None for ranges, and for methods such as `__call__`, which
    no script calls by their names. The functions of a server are not the user's. What a function of torch does can come
    less often, such as logging."""
    if facts.job.server is not None:
        return how_to_schedule_ahead(facts, "")
    frame = source_line(name)
    if frame is None or not frame.function.isidentifier() or frame.function.startswith("__"):
        return None
    if frame.file.startswith("torch/"):
        return f"if step % 100 == 0:\n    {frame.function}(...)"
    return f"output = model(inputs)  # launches the GPU's work\nfollowing = {frame.function}(...)  # meanwhile"


def compiled_waits(facts: Facts) -> Insight | None:
    """Fires when the GPU waits in long gaps before or inside code of torch.compile: it compiles again, tests guards or
    finds its code.

    Similar pattern: a first call, which compiles and is no cost of every step: one-time work is left out where it is
    recognized. Graphs of the same work that are captured again and again have their own advice.

    Needs: CPU and GPU activity, with the launch calls and the ranges of compiled code, which torch writes by itself.

    Jobs: those with a GPU that use torch.compile.

    Gain: the GPU's idle time in these gaps, mean over the steps; waits for the loader, blocking calls and pauses are
    left out.

    Left out: what stays of guards and of finding code in every step.
    """
    late = model_late(facts.host).compiled
    gaps = _longest(facts, late, compiled=True)
    if not gaps or facts.host.cpu_unrecorded:
        return None
    compiles = any(gap.compiles for gap in gaps)
    title = KEEP_FROM_COMPILING if compiles else phrase("Find out what delays the compiled code")
    how = LOGS
    why = _why(facts, gaps, _names(facts, late, compiled=True))
    if facts.host.recaptures is not None:
        title = phrase("Keep torch.compile from capturing the same graph again")
        how = _how_to_capture_once(facts)
        why = _captured_again(facts.host.recaptures)
    return _card(facts, late, gaps, id="compiled_waits", title=title, why=why, how=how)


def _captured_again(recaptures: Recaptures) -> Phrase:
    template = "The same work is captured as a graph in {steps} steps, which take {each} on average"
    values = {"steps": count(recaptures.steps), "each": ns(recaptures.step_ns)}
    if recaptures.other_ns is None:
        return filled(template + ".", values)
    return filled(template + "; the other steps take {other}.", values | {"other": ns(recaptures.other_ns)})


def _how_to_capture_once(facts: Facts) -> str:
    """Returns the code of the advice. torch.compile captures a graph again as long as it expects a backward pass that
    never comes or, in training, as long as it does not know that the previous backward pass is over."""
    if facts.trains:
        return f"torch.compiler.cudagraph_mark_step_begin()  # first in each step\n{_GRAPH_LOGS}"
    return f"with torch.inference_mode():  # no backward pass is waited for\n    output = model(batch)\n{_GRAPH_LOGS}"


_GRAPH_LOGS = '# TORCH_LOGS="cudagraphs" names other reasons, such as shapes that vary'


def _card(
    facts: Facts, late: dict[str, int], gaps: Sequence[LongGap], guess: Phrase | None = None, **words: Unpack[Words]
) -> Insight | None:
    if gaps:
        words["evidence"] = [Evidence(gap.step, gap.start_ns, gap.end_ns) for gap in gaps[:EVIDENCE]]
    return late_card(facts, late, sum(late.values()), long=True, guess=guess, **words)


def _longest(facts: Facts, sites: Collection[str], compiled: bool) -> list[LongGap]:
    """Returns the longest gaps of these places that the host's result keeps, those with the most late time first."""
    rows = [row for row in facts.host.long_gaps if row.site in sites]
    gaps = [gap for row in rows for gap in row.longest if gap.compiled is compiled and not gap.unusual]
    return sorted(gaps, key=lambda gap: -gap.late_ns)


def _names(facts: Facts, sites: Collection[str], compiled: bool) -> list[WaitName]:
    """Returns all gaps of these places, grouped by what the CPU does in them."""
    rows = [row for row in facts.host.long_gaps if row.site in sites]
    return [name for row in rows for name in row.names if name.compiled is compiled and not name.unusual]


def main_wait(host: HostResult, least_ns: float, length: int = PLACE_LENGTH) -> str | None:
    """Returns what the CPU does for at least `least_ns` a step in long gaps, in at most `length` characters. None if no
    single op or function takes that long."""
    names = [each for row in host.long_gaps for each in row.names]
    name = common_name(names)
    late_ns = sum(each.late_ns for each in names if each.name == name)
    if name is None or late_ns < least_ns * len(host.judged_steps):
        return None
    return brief(placed(name), length)


def only_waits(host: HostResult) -> bool:
    """Returns whether that is a function in which the CPU waits for others: for another thread or process, or for
    requests."""
    name = common_name([each for row in host.long_gaps for each in row.names])
    call = busiest([gap for row in host.long_gaps for gap in row.longest if gap.name == name])
    return name is not None and any(is_mostly(waits, name, call) for waits, _ in _WAITS)


def _short_place(name: str) -> str:
    """Returns a frame's function with its file and line, or the function alone where that is too long."""
    place = placed(name)
    return place if len(place) <= PLACE_LENGTH else brief(frame_function(name), PLACE_LENGTH)


def placed(name: str) -> str:
    """Returns a frame's line and function: "data.py:9 crop"; the function alone of a built-in one."""
    return brief(name, len(name)) if source_line(name) else frame_function(name)


_WAITS_LEAVE = "{few} long (wait, of|waits, of up to) {longest}, (leaves|leave) the GPU idle"
_IN_ONE = _WAITS_LEAVE + " while the CPU is in {name}."
_IN_ITS_CALL = _WAITS_LEAVE + " while the CPU is in {name}, ({within}|up to {within}) of it in {busiest}."
_NOT_RECORDED = _WAITS_LEAVE + "; nothing is recorded of the CPU then: Python code, or a wait."
_IN_UPDATE = _WAITS_LEAVE + " from the copy of gradients to that of weights, most likely for the optimizer's step."
_OTHERS = "{others} more (has|have) other causes."
_ON_CPU = _WAITS_LEAVE + " while {name} computes on the CPU."
_OPS_ON_CPU = _WAITS_LEAVE + " while ops compute on the CPU."
_IN_NO_ONE = _WAITS_LEAVE + "; no one op or function makes most of (it|them)."


def _why(facts: Facts, gaps: Sequence[LongGap], names: Sequence[WaitName], on_cpu: bool = False) -> Phrase:
    """Returns the reason. gaps: only the longest gaps; names: what the CPU does in all gaps; on_cpu: whether it runs
    ops that compute there."""
    name, number = common_name(names), sum(each.count for each in names)
    named_gaps = [gap for gap in gaps if name is not None and gap.name == name]
    others = sum(each.count for each in names if each.name != name) if name is not None else 0
    place = next((gap.inside for gap in named_gaps if gap.inside), None)
    call = busiest(named_gaps)
    named = f"{brief(name, NAME_LENGTH)} in {brief(place, NAME_LENGTH)}" if name and place else _short_place(name or "")
    of_no_one = _OPS_ON_CPU if on_cpu else _NOT_RECORDED if is_unrecorded(facts, gaps) else _IN_NO_ONE
    in_one = _ON_CPU if on_cpu else _IN_UPDATE if name == UPDATE else _IN_ONE
    template = of_no_one if name is None else in_one if call is None else _IN_ITS_CALL
    values = {
        "few": count(number - others),
        "longest": ns(max(gap.late_ns for gap in named_gaps or gaps)),
        "name": text(named),
    }
    if call is not None:
        values |= {"within": ns(call.busiest_ns), "busiest": text(_call_name(call))}
    why = filled(agreeing(template, number - others), values)
    return joined(why, filled(agreeing(_OTHERS, others), {"others": count(others)})) if others else why


def _overlapped(
    facts: Facts, late_ns: int, title: Phrase, how: str | None, why: Phrase
) -> tuple[Phrase, str | None, Phrase]:
    """Returns title, code and reason by what it gains if this work is only moved beside that of the GPU: no more than
    the GPU's own time. Where that is clearly less than without this work, the reason says so; where it is hardly
    anything, nothing speaks of an overlap."""
    gain_ns = facts.at_most_ns(late_ns, "device")
    if gain_ns < HARDLY * late_ns:
        return Phrase(title.template.partition(",")[0], title.values), how and _HOW_TO_PROFILE, why
    less = phrase("Overlapped, it gains up to {overlapped}.", overlapped=ns(gain_ns))
    return title, how, joined(why, less) if gain_ns < MUCH * late_ns else why


def _call_name(gap: LongGap) -> str:
    return brief(frame_function(gap.busiest or ""), CALL_LENGTH)
