"""Jobs on the CPU whose ops are not what takes the step: Python or waits between them, or torch.compile."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, EvidenceRow, Insight
from tb_steptime.insights.cards import card
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.insights.rules.host.long_waits import KEEP_FROM_COMPILING, LOGS
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.metrics.host.cpu_ops import CpuGroup, CpuWork
from tb_steptime.metrics.idle.bottleneck import Bound
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
    if facts.unread_share is not None or not outside_leads(facts):
        return None
    outside_ns, longest = outside_ops_ns(facts), facts.host.outside_range
    values = {"outside": ns(outside_ns), "share": fraction(facts.share(outside_ns))}
    rest = ". Call stacks name the Python functions, or the waits, that take this time."
    if longest is not None:
        rest = ", {inside} of it in {range}. Call stacks name the functions and waits there."
        values |= {"inside": ns(longest.ns), "range": text(brief(longest.name, _RANGE_LENGTH))}
    return Insight(
        id="cpu_outside",
        title=phrase("Record call stacks, too"),
        why=Phrase("For {outside} a step ({share}) no op is recorded" + rest, values),
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
    """Time of the judged step in which no op is recorded, named ranges or not: no more than its ops leave of it, as
    one-time work may lie between ops."""
    recorded_ns, cpu = facts.overview.mean_parts_ns.other + facts.host.between_ops_ns, facts.host.cpu
    return recorded_ns if cpu is None else min(recorded_ns, max(cpu.step_ns - cpu.busy_ns, 0))


def outside_leads(facts: Facts) -> bool:
    """Whether more of the step passes outside of ops than in ops of any one kind. "other" is the rest, and no kind. The
    set-up of loaders has a card of its own, and what interrupts Python does not come back."""
    cpu, causes = facts.host.cpu, facts.data_loading.causes
    setup_ns = causes.starts.setup_ns if causes is not None and causes.starts is not None else 0
    rows = [row for row in facts.overview.excess if row.kind == "interrupted"]
    between_ns = sum(each.ns for row in rows for each in row.names if each.name is None)  # Python code between ops
    outside_ns = outside_ops_ns(facts) - setup_ns - between_ns // max(1, len(facts.overview.steps))
    most_ns = max((cpu.lasting_ns(each) for each in cpu.groups if each.id != "other"), default=0) if cpu else 0
    return facts.share(outside_ns) >= LEAST_FRACTION and outside_ns > most_ns


def on_cpu(facts: Facts) -> CpuWork | None:
    return facts.host.cpu if facts.job.device == "cpu" and facts.host.bound is Bound.CPU else None


def cpu_compiles(facts: Facts) -> Insight | None:
    """Fires when torch.compile is at work for a twentieth of the steps of a job on the CPU, in later ones too.

    Similar pattern: a first call, which compiles once: what is over in the first half of the steps is left out of the
    step, and `one_time` is about it. Code that is compiled already, and runs: its ranges have other names.

    Needs: the ranges that torch.compile writes around its own work.

    Jobs: on the CPU; for those with a GPU there is `compiled_waits`.

    Gain: the own time of these ranges, mean over the steps.

    Left out: ops that torch.compile calls meanwhile, and that shapes which are new may have to be compiled once.
    """
    group = compiling(facts)
    if group is None or facts.share(group.self_ns) < WARNING_FRACTION:
        return None
    return card(
        facts,
        "cpu_compiles",
        title=KEEP_FROM_COMPILING,
        why=phrase(
            "torch.compile is at work for {time} a step ({share}), in later steps too: shapes, types or values change.",
            time=ns(group.self_ns),
            share=fraction(facts.share(group.self_ns)),
        ),
        formula=phrase("Own time of the ranges of torch.compile's work, mean over the steps."),
        best=Confidence.HIGH,
        why_confidence=phrase("torch.compile marks its own work."),
        gain_ns=group.self_ns,
        how=LOGS,
        row=EvidenceRow("cpu_ops", group.op),
    )


def compiling(facts: Facts) -> CpuGroup | None:
    """Returns the work of torch.compile in a job that computes on the CPU; None if it does none in these steps."""
    work = on_cpu(facts)
    return next((group for group in work.groups if group.id == "compiling"), None) if work else None
