"""A job on the CPU in which most of the step passes outside of ops. Only call stacks show what takes this time."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.text import Phrase, fraction, ns, phrase, text

#: Minimum share of the step outside ops. Below it, no part of a step decides how long it is.
LEAST_FRACTION = 0.20
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
    if facts.job.device != "cpu" or facts.host.device is not None or facts.host.with_stack:
        return None
    if not outside_leads(facts):
        return None
    outside_ns = outside_ops_ns(facts)
    return Insight(
        id="cpu_outside",
        title=phrase("Record call stacks, too"),
        why=_why(facts, outside_ns),
        how="profile(..., with_stack=True)",
        gain_formula=phrase("No gain: call stacks show where the time is spent."),
        confidence=Confidence.HIGH,
        why_confidence=phrase("It is measured when ops run."),
        view="host",
        colour="other",
        part="other",
        about_ns=outside_ns,
        instead=phrase("better data"),
    )


def outside_ops_ns(facts: Facts) -> int:
    """Time a step in which no op is recorded, named ranges or not."""
    return facts.overview.mean_parts_ns.other + facts.host.between_ops_ns


def outside_leads(facts: Facts) -> bool:
    """Whether more of the step passes outside of ops than in ops of any one kind. "other" is the rest, and no kind. The
    set-up of loaders has a card of its own, and what interrupts Python does not come back."""
    cpu, causes = facts.host.cpu, facts.data_loading.causes
    setup_ns = causes.starts.setup_ns if causes is not None and causes.starts is not None else 0
    outside_ns = outside_ops_ns(facts) - setup_ns - _interrupted_ns(facts)
    most_ns = max((group.usual_ns for group in cpu.groups if group.id != "other"), default=0) if cpu is not None else 0
    return facts.share(outside_ns) >= LEAST_FRACTION and outside_ns > most_ns


def _interrupted_ns(facts: Facts) -> int:
    """Time a step in which Python code between ops is interrupted."""
    rows = [row for row in facts.overview.excess if row.kind == "interrupted"]
    between_ns = sum(each.ns for row in rows for each in row.names if each.name is None)
    return between_ns // max(1, len(facts.overview.steps))


def _why(facts: Facts, outside_ns: int) -> Phrase:
    values = {"outside": ns(outside_ns), "share": fraction(facts.share(outside_ns))}
    words, found = "For {outside} a step ({share}) no op is recorded", facts.host.outside_range
    if found is None:
        words += ". Call stacks name the Python functions, or the waits, that take this time."
        return Phrase(words, values)
    words += ", {inside} of it in {range}. Call stacks name the functions and waits there."
    return Phrase(words, values | {"inside": ns(found.ns), "range": text(brief(found.name, _RANGE_LENGTH))})
