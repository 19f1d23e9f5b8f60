"""Jobs on the CPU whose ops are not what takes the step: Python or waits between them, torch.compile, or functions of
the loop that compute no ops, such as metrics, logging and checkpoints; and jobs that could use a GPU more."""

from __future__ import annotations

from tb_steptime.analyses.overview import StepRow
from tb_steptime.insights.base import Evidence, EvidenceRow, Insight, high, low, medium
from tb_steptime.insights.cards import card
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE, host_card
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.insights.rules.host.long_waits import DRAW_ON_GPU, KEEP_FROM_COMPILING, LOGS, how_to_draw
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.metrics.excluded_time.steady_step import ExcessRow
from tb_steptime.metrics.host.cpu_ops import CpuGroup, CpuGroupId, CpuOpRow, CpuWork
from tb_steptime.metrics.idle.bottleneck import LEADING_FRACTION, Bound
from tb_steptime.metrics.idle.python_work import HeldInterpreter, PythonWork
from tb_steptime.text import Phrase, agreeing, code, count, filled, fraction, ns, phrase, text
from tb_steptime.text.frames import frame_function, source_line
from tb_steptime.text.patterns import expression

#: Minimum share of the step that ops of the leading kind take. Below it, no kind of op is worth speeding up first.
LEADING_OPS_FRACTION = 0.30
#: Minimum share of the step outside ops. Below it, no part of a step decides how long it is.
LEAST_FRACTION = 0.20
#: Minimum share of the time that torch.compile takes by which the only step that compiles is longer.
_MOSTLY = 0.5
#: Maximum length of the name of a range in a sentence.
_RANGE_LENGTH = 30


def cpu_outside(facts: Facts) -> Insight | None:
    """Fires when the time in which no op runs is a fifth of the step of a job on the CPU, and more than any one kind of
    op takes, and call stacks are not recorded.

    Similar pattern: a job that has nothing to do, such as a server without requests: call stacks show its waits, too.
    Waits for batches, which the loader marks, and ops of other threads do not count.

    Needs: the CPU ops, to know when none of them runs.

    Jobs: training and inference on the CPU; those with a GPU have `long_stretches`.

    Gain: none; it becomes known what the time is spent in.

    Left out: everything: it is not known what of this time can be saved.
    """
    if facts.job.device != "cpu" or facts.host.with_stack:
        return None
    if facts.unread_share is not None or not outside_leads(facts):
        return None
    outside_ns, longest = outside_ops_ns(facts), facts.host.outside_range
    values = {"outside": ns(outside_ns), "share": fraction(facts.share(outside_ns))}
    rest = ". Call stacks name the Python functions, or the waits, that take this time."
    if longest is not None:
        rest = ", {inside} of it in {range}. Call stacks name the functions and waits there."
        values |= {"inside": ns(longest.ns), "range": text(brief(longest.name, _RANGE_LENGTH))}
    return card(
        facts,
        id="cpu_outside",
        title=phrase("Record call stacks, too"),
        why=Phrase("For {outside} a step ({share}) no op is recorded" + rest, values),
        formula="No gain: call stacks show where the time is spent.",
        certainty=high("The times at which ops run are measured."),
        counted=True,
        part="other",
        how="profile(..., with_stack=True)",
        about_ns=outside_ns,
        instead=phrase("better data"),
    )


def outside_ops_ns(facts: Facts) -> int:
    """Returns the time of the judged step in which no op is recorded, named ranges or not: no more than its ops leave
    of it, as one-time work may lie between ops."""
    recorded_ns = facts.host_parts_ns.other + facts.host.between_ops_ns
    cpu = facts.host.cpu
    return recorded_ns if cpu is None else min(recorded_ns, max(cpu.step_ns - cpu.busy_ns, 0))


def outside_leads(facts: Facts) -> bool:
    """Returns whether more of the step passes outside of ops than in ops of any one kind. "other" is the rest, and no
    kind. The set-up of loaders has a card of its own, and what interrupts Python does not come back."""
    cpu, causes = facts.host.cpu, facts.data_loading.causes
    setup_ns = causes.starts.setup_ns if causes is not None and causes.starts is not None else 0
    rows = [row for row in facts.overview.excess if row.kind == "interrupted"]
    between_ns = sum(each.ns for row in rows for each in row.names if each.name is None)  # Python code between ops
    outside_ns = outside_ops_ns(facts) - setup_ns - between_ns // max(1, len(facts.overview.steps))
    most_ns = max((cpu.lasting_ns(each) for each in cpu.groups if each.id != "other"), default=0) if cpu else 0
    return facts.share(outside_ns) >= LEAST_FRACTION and outside_ns > most_ns


def one_pause(facts: Facts) -> ExcessRow | None:
    """Returns the one pause between two ops that is half of the time outside of ops, or more, as where a cell of a
    notebook draws a picture between its steps; None if there is none. Pauses in an op are part of that op's time."""
    row = next((row for row in facts.overview.excess if row.kind == "interrupted"), None)
    if row is None or not row.names or row.names[0].name is not None:
        return None
    pause_ns = row.end_ns - row.start_ns
    judged = [facts.overview.steps[place].name for place in facts.judged_steps]
    in_op = any(each.ns >= pause_ns for each in row.names[1:])
    is_most = pause_ns >= LEADING_FRACTION * outside_ops_ns(facts) * len(judged)
    return row if is_most and not in_op and row.step in judged else None


def on_cpu(facts: Facts) -> CpuWork | None:
    return facts.host.cpu if facts.job.device == "cpu" and facts.host.bound is Bound.CPU else None


def cpu_compiles(facts: Facts) -> Insight | None:
    """Fires when torch.compile is at work for a twentieth of the steps of a job on the CPU, in later ones too.

    Similar pattern: a first call, which compiles once: what is over in the first half of the steps is left out of the
    step, and `one_time` is about it. A single later step, whose shape may be the last new one: the card names it, and
    is less certain. Code that is compiled already, and runs: its ranges have other names.

    Needs: the ranges that torch.compile writes around its own work.

    Jobs: on the CPU; for those with a GPU there is `compiled_waits`.

    Gain: the own time of these ranges, mean over the steps.

    Left out: ops that torch.compile calls meanwhile, and that shapes which are new may have to be compiled once.
    """
    group = compiling(facts)
    if group is None or facts.share(group.self_ns) < WARNING_FRACTION:
        return None
    template = (
        "torch.compile is at work for {time} a step ({share}), in later steps too: shapes, types or values change."
    )
    certainty = high("torch.compile marks its own work.")
    values = {"time": ns(group.self_ns), "share": fraction(facts.share(group.self_ns))}
    if (only := compiling_step(facts, group)) is not None:
        template = "torch.compile is at work for {time} in step {step}: its shapes, types or values are new."
        certainty = medium("One step compiles. Whether others do later is not known.")
        values = {"time": ns(group.self_ns * len(facts.judged_steps)), "step": text(only.name)}
    return card(
        facts,
        id="cpu_compiles",
        title=KEEP_FROM_COMPILING,
        why=filled(template, values),
        formula="Own time of the ranges of torch.compile's work, mean over the steps.",
        certainty=certainty,
        gain_ns=group.self_ns,
        how=LOGS,
        row=EvidenceRow("cpu_ops", group.op),
    )


def compiling_step(facts: Facts, group: CpuGroup) -> StepRow | None:
    """Returns the step that is longer than all others by most of the time in which torch.compile is at work; None if
    there is none, as where several steps compile."""
    steps = sorted((facts.overview.steps[each] for each in facts.judged_steps), key=lambda step: step.judged_ns)
    longer_ns = steps[-1].judged_ns - steps[-2].judged_ns if len(steps) > 1 else 0
    return steps[-1] if longer_ns >= _MOSTLY * group.self_ns * len(steps) else None


def compiling(facts: Facts) -> CpuGroup | None:
    """Returns the work of torch.compile in a job that computes on the CPU; None if it does none in these steps."""
    work = on_cpu(facts)
    return next((group for group in work.groups if group.id == "compiling"), None) if work else None


#: Kinds of ops that a GPU computes many times faster. Of other ops memory bandwidth decides.
_PRODUCTS: tuple[CpuGroupId, ...] = ("convolution", "recurrent", "matmul", "attention")
#: Mean time of such an op from which on a GPU is worth it: a hundred times what it takes to launch one there. The ops
#: of a small policy that acts in a simulated world take less.
_LONG_NS = 1_000_000


def idle_gpu(facts: Facts) -> Insight | None:
    """Fires when a job computes long products on the CPU although the recording lists a GPU.

    Similar pattern: a job on the GPU of which only the CPU was recorded: its allocations are the GPU's. Preparing data,
    which computes no products. A small model, whose ops are too short for a GPU.

    Needs: the CPU ops, the device properties that torch writes, and allocations (`profile_memory=True`), all of them on
    the CPU.

    Jobs: those that compute on the CPU on a machine with a GPU.

    Gain: not computed: how fast the ops are on the GPU is not recorded.

    Left out: everything; whether another job uses the GPU is not recorded either.
    """
    work = facts.host.cpu if facts.host.bound is Bound.CPU else None
    if facts.job.idle_gpu is None or work is None:
        return None
    products = [group for group in work.groups if group.id in _PRODUCTS]
    products_ns, calls = sum(group.usual_ns for group in products), sum(group.calls for group in products)
    if facts.share(products_ns) < LEADING_OPS_FRACTION or products_ns < _LONG_NS * calls:
        return None
    return card(
        facts,
        id="idle_gpu",
        title=phrase("Run the model on the GPU"),
        why=phrase(
            "The recording lists {gpu}, and all allocations are on the CPU, where products, mostly {op}, take {time} a "
            "step.",
            gpu=text(facts.job.idle_gpu),
            op=code(max(products, key=lambda group: group.op_ns).op),
            time=ns(products_ns),
        ),
        formula="Not computed: how fast the ops are on the GPU is not recorded.",
        certainty=medium("Whether another job uses the GPU is not recorded."),
        how='model.to("cuda")  # and its inputs; in smaller batches where the GPU\'s memory does not hold one',
        about_ns=products_ns,
    )


#: On a GPU an op that draws random numbers is one launch, of microseconds; ...
_LONG_DRAW_NS = 1_000_000
#: ... the first launch of a kernel may take as long as its module takes to be loaded.
_LEAST_DRAWS = 2


def draws_on_cpu(facts: Facts) -> CpuOpRow | None:
    """Returns the op that draws random numbers on the CPU for at least `LEADING_OPS_FRACTION` of the mean step of a job
    whose GPU is not recorded; None if none does, or if it is not known. An op that draws on the GPU may wait for a full
    queue, in a call of the runtime: all time of these calls is left out."""
    work, runtime_ns = facts.host.cpu, facts.host_parts_ns.runtime
    if facts.job.device != "gpu" or facts.overview.has_device or work is None or not runtime_ns:
        return None
    draws = [group.op for group in work.groups if group.id == "random"]
    row = next((each for each in work.ops if each.op in draws), None)
    if row is None or row.calls * len(facts.judged_steps) < _LEAST_DRAWS:
        return None
    drawn_ns = work.lasting_ns(row) - runtime_ns
    long = drawn_ns >= _LONG_DRAW_NS * row.calls and facts.share(drawn_ns) >= LEADING_OPS_FRACTION
    return row if long else None


def random_on_cpu(facts: Facts) -> Insight | None:
    """Fires when a job uses a GPU whose work is not recorded, and ops draw random numbers on the CPU for three tenths
    of the step.

    Similar pattern: an op that draws on the GPU: it only launches, in microseconds. The first launch of a kernel, which
    loads its module: one call does not count. A launch that waits because the queue is full: it is a call of the
    runtime, whose time does not count.

    Needs: the CPU ops and the calls of the GPU's runtime.

    Jobs: those with a GPU of which nothing is recorded, as in WSL; where it is recorded, `long_stretches` says it.

    Gain: not computed: what the GPU does meanwhile is not recorded.

    Left out: the copy to the GPU, which is saved, too.
    """
    row = draws_on_cpu(facts)
    if row is None:
        return None
    values = {"op": code(row.op), "time": ns(row.self_ns), "share": fraction(facts.share(row.self_ns))}
    return card(
        facts,
        id="random_on_cpu",
        title=DRAW_ON_GPU,
        why=phrase("{op} computes on the CPU for {time} a step ({share}).", **values),
        formula="Not computed: what the GPU does meanwhile is not recorded.",
        certainty=medium("The time is measured; whether the GPU works meanwhile is not recorded."),
        how=how_to_draw(facts),
        row=EvidenceRow("cpu_ops", row.op),
        about_ns=row.self_ns,
    )


#: Maximum number of steps that a card names. If there are more, it gives only their number.
_MOST_NAMED = 4


def python_loop(facts: Facts) -> Insight | None:
    """Fires when one Python function of the training loop, which computes hardly anything in ops, takes a share of the
    step that is worth a card.

    Similar pattern: a loop whose functions launch ops, and whose Python between them is the cost of recording it: a
    function counts where at most a quarter of all of its calls are ops. A single call that another process interrupts:
    all calls of a function count together. A function that holds the forward or backward pass or the optimizer, which
    no loop can run less: what it calls counts. A dataset in the training process: waits for batches have cards of their
    own. A server that waits for requests: built-in functions that wait count where the job trains. The first call,
    which imports or compiles: what comes once is left out. Another thread that runs Python, for which calls of this one
    wait: where no function of this one takes half as long, the card is about that thread.

    Needs: call stacks. Without them `cpu_outside` asks for them.

    Jobs: training and inference on the CPU. With a GPU only idle time would count, and its cards name the function.

    Gain: what its calls take outside ops, mean over the steps; where the recorder timed steps without the profiler, the
    same share of such a step. At most what the step takes beyond its ops.

    Left out: that call stacks slow Python more than the rest of the step: without them the function takes less. What
    interrupts a call is not the function's.
    """
    if facts.job.device != "cpu":
        return None
    trains, held = facts.trains, facts.host.held_interpreter
    work = next((each for each in facts.host.python_work if trains or not each.waits), None)
    if held is not None and (work is None or 2 * work.ns < held.ns):
        return _held_interpreter_card(facts, held)
    if work is None:
        return None
    return host_card(
        facts,
        id="python_loop",
        title=_title(work),
        why=_why(facts, work),
        gain_ns=min(round(work.ns / facts.slowed), _beyond_ops_ns(facts)),
        formula="Time of its calls outside ops, calls of a runtime, waits and interruptions, mean over the steps, as "
        "a share of steps without the profiler where these are timed; at most the step less its ops. Est.: call "
        "stacks slow Python.",
        certainty=medium("The time is measured; only you know whether the loop needs it."),
        part="other",
        evidence=_evidence(facts, work),
        steps=work.steps,
        how=_how(work),
    )


def _held_interpreter_card(facts: Facts, held: HeldInterpreter) -> Insight | None:
    """Another thread runs Python while this one runs no op: what this one calls then is not slow by itself."""
    template = (
        "Thread {thread} runs Python in it for {share} of the time in which no op runs. Python runs one thread at a "
        "time."
    )
    return host_card(
        facts,
        id="python_loop",
        title=phrase("Run {function} in a process of its own", function=code(frame_function(held.name))),
        why=phrase(template, thread=text(held.thread), share=fraction(held.share)),
        gain_ns=min(round(held.ns / facts.slowed), _beyond_ops_ns(facts)),
        formula="Time in which the other thread runs Python and this one no op, mean over the steps; at most the step "
        "less its ops.",
        certainty=low("A trace does not show which thread holds the interpreter."),
        part="other",
        how=f"# {_place(held.name)}: a worker of a DataLoader, or multiprocessing",
    )


def _beyond_ops_ns(facts: Facts) -> int:
    """Returns what a step takes beyond its ops, without the profiler where such steps are timed."""
    pace, cpu = facts.overview.pace, facts.host.cpu
    step_ns = min(facts.step_ns, pace.plain_ns) if pace is not None else facts.step_ns
    if cpu is None:
        return step_ns
    return max(0, step_ns - round(min(cpu.usual_ns, cpu.busy_ns) / facts.slowed))


def _title(work: PythonWork) -> Phrase:
    name, values = frame_function(work.name), {}
    if work.caller is not None and name.startswith("<"):
        values["caller"] = code(frame_function(work.caller))
    function = "{function} in {caller}" if values else "{function}"
    values["function"] = code(name)
    # A few steps that call it, as those with a rollout or a checkpoint, may need it so often.
    return filled("Wait less in {function}" if work.waits else f"Speed up {function}, or run it less", values)


def _why(facts: Facts, work: PythonWork) -> Phrase:
    each_ns = ns(work.ns * len(facts.host.steps) // max(1, work.calls))
    if work.waits:
        return phrase("The loop waits in it for {time} of each step, and for no batch.", time=ns(work.ns))
    if not work.steps:
        return phrase("It spends {time} of each step in Python and calls hardly any ops.", time=ns(work.ns))
    if len(work.steps) <= _MOST_NAMED:
        template = agreeing("It runs in (step|steps) {steps} only, and takes {each} each time.", len(work.steps))
        return phrase(template, steps=text(", ".join(work.steps)), each=each_ns)
    template = "It runs in {number} of {all} steps, and takes {each} each time."
    return phrase(template, number=count(len(work.steps)), all=count(len(facts.host.steps)), each=each_ns)


def _evidence(facts: Facts, work: PythonWork) -> list[Evidence]:
    named = [step for step in facts.host.steps if step.name in work.steps]
    longest = [step for step in facts.host.steps if step.start_ns <= work.start_ns < step.end_ns]
    return [Evidence(step.name, step.start_ns, step.end_ns) for step in (named or longest)[:EVIDENCE]]


#: torch.tensor converts lists, also of arrays, value by value.
_MAKES_TENSOR = expression(r"<built-in method (?:as_)?tensor of type object\b")
_STACKED = "torch.from_numpy(np.stack(rows))  # in place of torch.tensor(rows), which converts each value by itself"


def _how(work: PythonWork) -> str:
    """Returns where the function's code is. If the code is not the user's own, returns where the function is called."""
    caller = source_line(work.caller or "")
    if caller is None or frame_function(work.name).startswith("<"):
        return f"# {_place(work.name)}"
    called = f"# called in {caller.file}" + ("" if caller.function == "<module>" else f", {caller.function}")
    return f"{called}\n{_STACKED}" if _MAKES_TENSOR.match(work.name) else called


def _place(frame: str) -> str:
    """
    >>> _place("train.py(12): python_metrics")
    'train.py:12'
    """
    line = source_line(frame)
    return line.place if line else frame
