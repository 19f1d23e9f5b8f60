"""Rare long pauses of the CPU: garbage collection, and pauses without a reason."""

from __future__ import annotations

import math

import msgspec

from tb_steptime.insights.base import Certainty, Evidence, EvidenceRow, Insight, high, low, medium
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE, host_card
from tb_steptime.metrics.idle.host_stalls import Pause
from tb_steptime.metrics.means import median
from tb_steptime.text import Phrase, agreeing, count, filled, ns, phrase


class _Card(msgspec.Struct, frozen=True):
    """The words of a card; `why` may use {times}, with which it agrees, and {longest}. certainty: where the trace does
    not name the pauses, which are measured."""

    why: str
    how: str
    certainty: Certainty = medium("The pauses are measured; the trace does not name their cause.")


_GARBAGE = _Card(
    "Python's garbage collector stops the CPU {times} (time, for|times, for up to) {longest}.",
    "gc.freeze()  # after the first steps\n# or gc.disable(), and gc.collect() every 1000 steps",
    low("Inferred from their pattern: the trace does not name them."),
)
_NOTHING = "Nothing is recorded in {times} (pause of|pauses of up to) {longest}"
_UNEXPLAINED = _Card(
    f"{_NOTHING}. Python's garbage collector pauses like this.", "gc.freeze()  # after the first steps"
)
_AFTER_COPIES = _Card(
    f"{_NOTHING}, behind large copies to the CPU. Saving a checkpoint pauses like this.",
    "# a checkpoint: write it while the training goes on\n"
    "torch.distributed.checkpoint.async_save(state_dict, checkpoint_id=path)",
)
#: Steps at equal distances do something that the others do not, with these pauses in it: it is no garbage collection.
_OF_LOOP = _Card(
    f"{_NOTHING}. They are in one step of {{every}}, which calls more ops: what the loop does then takes this time.",
    "profile(..., with_stack=True)  # names the Python code in these pauses",
)
#: Successive steps do something that the others do not, such as a variant that a benchmark times.
_IN_A_ROW = _Card(f"{_NOTHING}. They are in successive steps: what the loop does there takes this time.", _OF_LOOP.how)
#: Pauses that come by chance are in successive steps in at most this share of the recordings.
_BY_CHANCE = 0.05
_INTERRUPTED = (
    "The CPU is interrupted {times} (time for|times for up to) {longest} in ops that take far less otherwise."
)
_OWN_CORES = """taskset -c 0-7 python ...  # cores of its own: is another process, or another rank, on them?
grep throttled /sys/fs/cgroup/cpu.stat  # in a container: does its CPU limit stop the process?
perf sched record -- sleep 10; perf sched timehist --pid $PID  # shows when it loses its core"""
#: From this share of the pauses on, those in code that runs no Python show what pauses the others, too: garbage cannot
#: be collected there, while a core is lost anywhere. Likewise those behind copies to the CPU.
_MOSTLY = 0.5
#: What pauses an inference, too: a server whose queue is empty. Its card is a guess that anything was to be done.
_IDLE_SERVER = _Card(
    f"{_NOTHING}. A server without requests pauses like this, and Python's garbage collector does, too.",
    "# a server: record it under load, so that a request always waits\ngc.freeze()  # after the first steps",
    low("The pauses are measured; whether a request waited meanwhile is not recorded."),
)


def garbage_collection(facts: Facts) -> Insight | None:
    """Fires when Python's garbage collector leaves the GPU idle.

    Similar pattern: any other pause of the CPU: those that the trace does not name belong to `host_stops`.

    Needs: call stacks (`with_stack=True`), or another mark of the collector in the trace.

    Jobs: those with a GPU, training and inference.

    Gain: the GPU's idle time that these stops of the host cause, mean over the steps.

    Left out: pauses during which the GPU works. How often they come in a long run, where they are in a single step: a
    minor card.
    """
    return _card(
        facts, "garbage_collection", "Keep garbage collection out of the steps", _GARBAGE, "garbage_collection"
    )


def host_stops(facts: Facts) -> Insight | None:
    """Fires when pauses leave the GPU idle for which nothing is recorded, or in which an op or a call is interrupted.

    Similar pattern: Python code between ops, which is as long in every step: only rare, long pauses count. Ops that
    take long because of their data, or the first time: only those are interrupted that others like them show to be
    short, and less than a tenth of them. A step that saves a checkpoint: large copies to the CPU lead to the pause, and
    the card says so. Steps at equal distances that call more ops, such as a log: the card says so. Successive steps
    that do what the others do not, such as one of the variants that a benchmark times: the card says so. A server that
    waits for a request: the card of an inference says so, and is a guess.

    Needs: CPU activity without gaps in the launching thread.

    Jobs: those with a GPU, training and inference.

    Gain: the GPU's idle time that these stops of the host cause, mean over the steps. Where workers of a loader set the
    pace, these go on meanwhile: at most what the steps fall behind them.

    Left out: pauses during which the GPU works; what takes the core away meanwhile. How often they come in a long run,
    where they are in a single step, such as one that saves a checkpoint, or in successive ones: a minor card.
    """
    causes = ("unexplained", "interrupted")
    first = next((pause for pause in facts.host.pauses if pause.cause in causes), None)
    card = _UNEXPLAINED
    if first is not None and first.cause == "unexplained" and facts.infers:
        card = _IDLE_SERVER  # it may wait for requests
    elif first is not None and first.copied_ns >= _MOSTLY * first.total_ns > 0:
        card = _AFTER_COPIES
    elif first is not None and _recurs(facts, first):
        card = _OF_LOOP
    elif first is not None and _are_in_a_row(facts, first):
        card = _IN_A_ROW
    return _card(facts, "host_stops", "Find out what pauses the CPU", card, *causes)


def _card(facts: Facts, id: str, title: str, card: _Card, *causes: str) -> Insight | None:
    pauses = [pause for pause in facts.host.pauses if pause.cause in causes]
    if not pauses:
        return None
    every = facts.host.recurring.every if facts.host.recurring else 0
    return host_card(
        facts,
        id=id,
        title=phrase(title),
        why=_why(_INTERRUPTED if pauses[0].cause == "interrupted" else card.why, pauses, every),
        gain_ns=sum(pause.idle_ns for pause in pauses),
        formula="GPU idle time during these pauses, mean over the steps.",
        certainty=high("The trace names these pauses.") if all(pause.sure for pause in pauses) else card.certainty,
        how=_OWN_CORES if _is_in_native_code(pauses[0]) else card.how,
        evidence=[Evidence(each.worst_step, each.worst_start_ns, each.worst_end_ns) for each in pauses][:EVIDENCE],
        row=EvidenceRow("pauses", str(pauses[0].worst_start_ns)),
        of="one_step" if _is_once(facts, pauses) else "excess",
    )


def _is_once(facts: Facts, pauses: list[Pause]) -> bool:
    """Returns whether all pauses are in the same one of several steps or in successive ones, or there is only one."""
    if len(facts.overview.steps) == 1:
        return sum(pause.count for pause in pauses) == 1
    if len(pauses) == 1 and _are_in_a_row(facts, pauses[0]):
        return True
    return all(pause.steps == 1 for pause in pauses) and len({pause.worst_step for pause in pauses}) == 1


def _recurs(facts: Facts, pause: Pause) -> bool:
    """Returns whether the pauses are in steps at equal distances that call more ops than the others: in no more steps
    than these, and the longest one in one of them."""
    more = facts.host.recurring
    return more is not None and pause.steps <= len(more.steps) and pause.worst_step in more.steps


def _are_in_a_row(facts: Facts, pause: Pause) -> bool:
    """Returns whether the pauses are in successive steps, in each of these and in no others, which hardly comes by
    chance."""
    if pause.cause != "unexplained" or pause.steps < 2:
        return False
    silent_ns = [facts.host.steps[each].idle_ns.nothing_recorded for each in facts.judged_steps]
    least_ns = median(silent_ns) + pause.total_ns / pause.count / 2
    places = [place for place, each in enumerate(silent_ns) if each >= least_ns]
    if len(places) != pause.steps or places[-1] - places[0] >= len(places):
        return False
    return len(silent_ns) - len(places) + 1 <= _BY_CHANCE * math.comb(len(silent_ns), len(places))


def _is_in_native_code(pause: Pause) -> bool:
    return pause.cause == "interrupted" and pause.native_ns >= _MOSTLY * pause.total_ns > 0


def _why(template: str, pauses: list[Pause], every: int) -> Phrase:
    pauses = [pause for pause in pauses if pause.cause == pauses[0].cause]
    times = sum(pause.count for pause in pauses)
    longest = max(pause.worst_end_ns - pause.worst_start_ns for pause in pauses)
    values = {"times": count(times), "longest": ns(longest)}
    return filled(agreeing(template, times), values | {"every": count(every)})
