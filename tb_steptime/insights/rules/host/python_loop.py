"""Python functions of the loop that compute no ops: metrics, logging, checkpoints, in each step or every few."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Evidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE, host_card
from tb_steptime.metrics.idle.python_work import HeldInterpreter, PythonWork
from tb_steptime.text import Phrase, agreeing, code, count, filled, fraction, ns, phrase, text
from tb_steptime.text.frames import frame_function, source_line

#: Maximum number of steps that a card names. If there are more, it gives only their number.
_MOST_NAMED = 4
_FORMULA = phrase(
    "Time of its calls outside ops, calls of a runtime, waits and interruptions, mean over the steps, as a share of "
    "steps without the profiler where these are timed; at most the step less its ops. Est.: call stacks slow Python."
)
_HELD_FORMULA = phrase(
    "Time in which the other thread runs Python and this one no op, mean over the steps; at most the step less its ops."
)
_MAY_BE_NEEDED = phrase("The time is measured; only you know whether the loop needs it.")


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
    if facts.job.device != "cpu" or facts.host.device is not None:
        return None
    trains, held = facts.job.purpose == "training", facts.host.held_interpreter
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
        formula=_FORMULA,
        why_confidence=_MAY_BE_NEEDED,
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
        formula=_HELD_FORMULA,
        best=Confidence.LOW,
        why_confidence=phrase("A trace does not show which thread holds the interpreter."),
        part="other",
        how=f"# {_place(held.name)}: a worker of a DataLoader, or multiprocessing",
    )


def _beyond_ops_ns(facts: Facts) -> int:
    """Returns what a step takes beyond its ops, without the profiler where such steps are timed."""
    pace, cpu = facts.overview.pace, facts.host.cpu
    step_ns = min(facts.step_ns, pace.plain_ns) if pace is not None else facts.step_ns
    if cpu is None:
        return step_ns
    ops_ns = sum(group.usual_ns for group in cpu.groups) + (cpu.optimizer.usual_ns if cpu.optimizer else 0)
    return max(0, step_ns - round(min(ops_ns, cpu.busy_ns) / facts.slowed))


def _title(work: PythonWork) -> Phrase:
    name, values = frame_function(work.name), {}
    if work.caller is not None and name.startswith("<"):
        values["caller"] = code(frame_function(work.caller))
    function = "{function} in {caller}" if values else "{function}"
    values["function"] = code(name)
    if work.waits:
        return filled("Wait less in {function}", values)
    template = (
        f"Run {function} less often, or outside the loop" if work.steps else f"Speed up {function}, or run it less"
    )
    return filled(template, values)


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


def _how(work: PythonWork) -> str:
    """Returns where the function's code is. If the code is not the user's own, returns where the function is called."""
    caller = source_line(work.caller or "")
    if caller is None or frame_function(work.name).startswith("<"):
        return f"# {_place(work.name)}"
    return f"# called in {caller.file}" + ("" if caller.function == "<module>" else f", {caller.function}")


def _place(frame: str) -> str:
    """
    >>> _place("train.py(12): python_metrics")
    'train.py:12'
    """
    line = source_line(frame)
    return f"{line.file}:{line.line}" if line else frame
