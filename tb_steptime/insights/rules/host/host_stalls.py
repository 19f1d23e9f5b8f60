"""Rare long pauses of the CPU: garbage collection, and pauses without a reason."""

from __future__ import annotations

import msgspec

from tb_steptime.insights.base import Confidence, Evidence, EvidenceRow, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE, host_card
from tb_steptime.metrics.idle.host_stalls import Pause
from tb_steptime.text import Phrase, agreeing, count, ns, phrase


class _Card(msgspec.Struct, frozen=True):
    """The card about the pauses of one cause; `why` may use {times}, with which it agrees, and {longest}."""

    id: str
    cause: str
    title: Phrase
    why: str
    how: str


_GARBAGE = _Card(
    "garbage_collection",
    "garbage_collection",
    phrase("Keep garbage collection out of the steps"),
    "Python's garbage collector stops the CPU {times} (time, for|times, for up to) {longest}.",
    "gc.freeze()  # after the first steps\n# or gc.disable(), and gc.collect() every 1000 steps",
)
_UNEXPLAINED = _Card(
    "host_stops",
    "unexplained",
    phrase("Find out what pauses the CPU"),
    "Nothing is recorded in {times} (pause of|pauses of up to) {longest}. Python's garbage collector pauses like this.",
    "gc.freeze()  # after the first steps",
)
_AFTER_COPIES = _Card(
    "host_stops",
    "unexplained",
    phrase("Find out what pauses the CPU"),
    "Nothing is recorded in {times} (pause of|pauses of up to) {longest}, behind large copies to the CPU. Saving a "
    "checkpoint pauses like this.",
    "# a checkpoint: write it while the training goes on\n"
    "torch.distributed.checkpoint.async_save(state_dict, checkpoint_id=path)",
)
_INTERRUPTED = (
    "The CPU is interrupted {times} (time for|times for up to) {longest} in ops that take far less otherwise."
)
_OWN_CORES = """taskset -c 0-7 python ...  # cores of its own: is another process, or another rank, on them?
perf sched record -- sleep 10; perf sched timehist --pid $PID  # shows when it loses its core"""
#: From this share of the pauses on, those in code that runs no Python show what pauses the others, too: garbage cannot
#: be collected there, while a core is lost anywhere. Likewise those behind copies to the CPU.
_MOSTLY = 0.5
#: What pauses an inference, too: a server whose queue is empty. Its card is a guess that anything was to be done.
_IDLE_SERVER = _Card(
    "host_stops",
    "unexplained",
    phrase("Find out what pauses the CPU"),
    "Nothing is recorded in {times} (pause of|pauses of up to) {longest}. A server without requests pauses like this, "
    "and Python's garbage collector does, too.",
    "# a server: record it under load, so that a request always waits\ngc.freeze()  # after the first steps",
)
_NAMED = phrase("The trace names these pauses.")
#: Where the card advises to find the cause of the pauses, it is enough that they are measured.
_NO_REQUEST = phrase("The pauses are measured; whether a request waited meanwhile is not recorded.")
_MEASURED = phrase("The pauses are measured; the trace does not name their cause.")
_INFERRED = phrase("Inferred from their pattern: the trace does not name them.")


def garbage_collection(facts: Facts) -> Insight | None:
    """Fires when Python's garbage collector leaves the GPU idle.

    Similar pattern: any other pause of the CPU: those that the trace does not name belong to `host_stops`.

    Needs: call stacks (`with_stack=True`), or another mark of the collector in the trace.

    Jobs: those with a GPU, training and inference.

    Gain: the GPU's idle time that these stops of the host cause, mean over the steps.

    Left out: pauses during which the GPU works.
    """
    return _card(facts, _GARBAGE)


def host_stops(facts: Facts) -> Insight | None:
    """Fires when pauses leave the GPU idle for which nothing is recorded, or in which an op or a call is interrupted.

    Similar pattern: Python code between ops, which is as long in every step: only rare, long pauses count. Ops that
    take long because of their data, or the first time: only those are interrupted that others like them show to be
    short, and less than a tenth of them. A step that saves a checkpoint: large copies to the CPU lead to the pause, and
    the card says so. A server that waits for a request: the card of an inference says so, and is a
    guess.

    Needs: CPU activity without gaps in the launching thread.

    Jobs: those with a GPU, training and inference.

    Gain: the GPU's idle time that these stops of the host cause, mean over the steps.

    Left out: pauses during which the GPU works; what takes the core away meanwhile.
    """
    card = _AFTER_COPIES if _are_behind_copies(facts) else _UNEXPLAINED
    return _card(facts, _IDLE_SERVER if _may_wait_for_requests(facts) else card, "interrupted")


def _are_behind_copies(facts: Facts) -> bool:
    first = next((pause for pause in facts.host.pauses if pause.cause in ("unexplained", "interrupted")), None)
    return first is not None and first.copied_ns >= _MOSTLY * first.total_ns > 0


def _may_wait_for_requests(facts: Facts) -> bool:
    pauses = [pause for pause in facts.host.pauses if pause.cause in ("unexplained", "interrupted")]
    return facts.job.purpose == "inference" and bool(pauses) and pauses[0].cause == "unexplained"


def _card(facts: Facts, card: _Card, *also: str) -> Insight | None:
    pauses = [pause for pause in facts.host.pauses if pause.cause in (card.cause, *also)]
    if not pauses:
        return None
    sure, is_searched = all(pause.sure for pause in pauses), card in (_UNEXPLAINED, _AFTER_COPIES)
    inferred = _NO_REQUEST if card is _IDLE_SERVER else _INFERRED
    return host_card(
        facts,
        id=card.id,
        title=card.title,
        why=_why(_INTERRUPTED if pauses[0].cause == "interrupted" else card.why, pauses),
        how=_OWN_CORES if _is_in_native_code(pauses[0]) else card.how,
        gain_ns=sum(pause.idle_ns for pause in pauses),
        formula=phrase("GPU idle time during these pauses, mean over the steps."),
        best=Confidence.HIGH if sure else Confidence.MEDIUM if is_searched else Confidence.LOW,
        why_confidence=_NAMED if sure else _MEASURED if is_searched else inferred,
        evidence=[Evidence(each.worst_step, each.worst_start_ns, each.worst_end_ns) for each in pauses][:EVIDENCE],
        row=EvidenceRow("pauses", str(pauses[0].worst_start_ns)),
        rare=True,
    )


def _is_in_native_code(pause: Pause) -> bool:
    return pause.cause == "interrupted" and pause.native_ns >= _MOSTLY * pause.total_ns > 0


def _why(template: str, pauses: list[Pause]) -> Phrase:
    pauses = [pause for pause in pauses if pause.cause == pauses[0].cause]
    times = sum(pause.count for pause in pauses)
    longest = max(pause.worst_end_ns - pause.worst_start_ns for pause in pauses)
    return Phrase(agreeing(template, times), {"times": count(times), "longest": ns(longest)})
