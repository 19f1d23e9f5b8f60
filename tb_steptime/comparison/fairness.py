"""Finds what makes a comparison unfair: differences between the recordings that are not to be compared."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from statistics import median

from tb_steptime.comparison.sides import ComparedSpan, Side
from tb_steptime.text import Note, count, fraction, text

#: Minimum number of steps: if a side has fewer, a note says so.
FEW_STEPS = 5
#: Notes that say that the two do not do the same work. Then what cards promised for one says nothing about the other.
OTHER_WORK = {"one_simulated", "one_without_gpu", "other_gpus", "other_ranks", "other_shapes", "other_purpose",
              "other_ops", "other_kernels", "other_amount", "other_gradients"}  # fmt: skip
#: Minimum share of op calls that both sides make: below it, if shapes are not recorded, nothing shows that the work is
#: the same.
COMMON_FRACTION = 0.1
#: Share of kernel time in graphs from which the host's ops say little about what the GPU computes, so that kernels are
#: compared instead.
IN_GRAPHS = 0.1
#: Share of compiled kernels from which kernels of the same work have different names if only one side compiles them.
COMPILED = 0.1
#: Minimum ratio of calls per step from which kernels of both sides show that a step does a different amount of work.
OTHER_CALLS = 3.0
#: A call of these kernels takes at most this many times as long on one side, so it does about the same work on both.
SAME_CALL = 2.5
#: Shorter kernels take about the same time whatever they compute, so one call may do the work of many, ns.
LEAST_CALL_NS = 10_000


def unfair(base: Side, candidate: Side) -> list[Note]:
    """Returns notes on the differences, the most important first. There are none where no difference is known."""
    return [*_machines(base.first, candidate.first), *_jobs(base.first, candidate.first),
            *_recorded(base.first, candidate.first), *_steps(base, candidate)]  # fmt: skip


def does_other_work(base: Side, candidate: Side) -> bool:
    """Returns whether the steps of the two do not do the same work on the same machine. A difference then says little
    about either."""
    notes = chain(_machines(base.first, candidate.first), _jobs(base.first, candidate.first))
    return any(note.id in OTHER_WORK for note in notes)


def _machines(base: ComparedSpan, candidate: ComparedSpan) -> Iterator[Note]:
    if base.simulated != candidate.simulated:
        yield Note("one_simulated")
    has_device = [span.overview.has_device for span in (base, candidate)]
    if has_device[0] != has_device[1]:
        yield Note("one_without_gpu")
    elif _gpus(base) != _gpus(candidate):
        yield _differ("other_gpus", _gpus(base), _gpus(candidate))
    if base.world_size != candidate.world_size:
        yield _differ("other_ranks", _ranks(base), _ranks(candidate))
    before, after = base.compare.setup.runtime, candidate.compare.setup.runtime
    if before and after and before != after:
        yield _differ("other_runtime", before, after)


def _jobs(base: ComparedSpan, candidate: ComparedSpan) -> Iterator[Note]:
    before, after = (span.compare.setup.first_inputs[:1] for span in (base, candidate))
    in_graphs = [(span.overview.job.graph_share or 0.0) >= IN_GRAPHS for span in (base, candidate)]
    if any(in_graphs) and not (_is_compiled(base) or _is_compiled(candidate)):
        common = _common_kernels(base, candidate)
        if common < COMMON_FRACTION:
            yield Note("other_kernels", {"share": fraction(common)})
    if in_graphs[0] != in_graphs[1]:
        before = after = []  # the first recorded product differs if earlier ones run in graphs
    for one, other in zip(before, after, strict=False):
        if _first(one.shapes) != _first(other.shapes):
            yield _differ("other_shapes", _first(one.shapes), _first(other.shapes))
        if _first(one.dtypes) != _first(other.dtypes):
            yield _differ("other_dtypes", _first(one.dtypes), _first(other.dtypes))
    if not any(in_graphs) and not (before and after):
        yield from _without_shapes(base, candidate)
    yield from _amount(base, candidate)
    if base.overview.job.purpose != candidate.overview.job.purpose:
        yield _differ("other_purpose", base.overview.job.purpose, candidate.overview.job.purpose)


def _without_shapes(base: ComparedSpan, candidate: ComparedSpan) -> Iterator[Note]:
    """Yields notes on other work where the shapes of inputs are not recorded. Two small models have most ops in common,
    but not as many parameters. FSDP counts several parameters as one, so ranks of a job are left out."""
    gradients = [_gradients(span) for span in (base, candidate)]
    if _common_ops(base, candidate) < COMMON_FRACTION:
        yield Note("other_ops")
    elif (
        base.world_size is None and candidate.world_size is None and max(gradients) >= OTHER_CALLS * min(gradients) > 0
    ):
        side = "base" if gradients[0] > gradients[1] else "candidate"
        yield Note("other_gradients", {"times": count(round(max(gradients) / min(gradients))), "side": text(side)})


def _gradients(span: ComparedSpan) -> float:
    """Returns how many gradients of parameters a step adds up, or 0 where autograd is not recorded."""
    calls = max((op.count for op in span.compare.ops if op.name.endswith("AccumulateGrad")), default=0)
    return calls / max(1, int(span.whole.sum()))


def _recorded(base: ComparedSpan, candidate: ComparedSpan) -> Iterator[Note]:
    options = {"with_stack": "with_stack", "with_shapes": "record_shapes", "with_memory": "profile_memory"}
    before, after = base.compare.setup, candidate.compare.setup
    differ = [name for field, name in options.items() if getattr(before, field) != getattr(after, field)]
    if differ:
        yield Note("other_options", {"options": text(", ".join(differ))})


def _steps(base: Side, candidate: Side) -> Iterator[Note]:
    fewest = min(len(base.step_ns), len(candidate.step_ns))
    if fewest < FEW_STEPS:
        yield Note("few_steps", {"count": count(fewest)})
    for side in (base, candidate):
        if side.left_out:
            yield Note("steps_left_out", {"count": count(len(side.left_out)), "run": text(side.name),
                                          "steps": text(_listed(side.left_out))})  # fmt: skip


def _differ(id: str, base: str, candidate: str) -> Note:
    return Note(id, {"base": text(base), "candidate": text(candidate)})


def _gpus(span: ComparedSpan) -> str:
    """Returns the GPUs in use, or else those of the machine."""
    return ", ".join([device.name for device in span.host.devices] or span.device_names)


def _common_ops(base: ComparedSpan, candidate: ComparedSpan) -> float:
    """Returns the share of op calls per step that both sides make, or 1 where neither records any."""
    before, after = ({op.name: op.count / int(span.whole.sum()) for op in span.compare.ops}
                     for span in (base, candidate))  # fmt: skip
    names = before.keys() | after.keys()
    most = sum(max(before.get(name, 0.0), after.get(name, 0.0)) for name in names)
    return sum(min(before.get(name, 0.0), after.get(name, 0.0)) for name in names) / most if most else 1.0


def _is_compiled(span: ComparedSpan) -> bool:
    return (span.overview.job.compiled_share or 0.0) >= COMPILED


def _common_kernels(base: ComparedSpan, candidate: ComparedSpan) -> float:
    """Returns the share of the shorter step's kernel time that is in kernels of both sides, by name. It is 1 where one
    side has none."""
    before, after = base.kernels, candidate.kernels
    least = min(sum(ns for _, ns in side.values()) for side in (before, after))
    return sum(min(before[name][1], after[name][1]) for name in before.keys() & after.keys()) / least if least else 1.0


def _amount(base: ComparedSpan, candidate: ComparedSpan) -> Iterator[Note]:
    """Yields a note where kernels of both sides run at least OTHER_CALLS times as often per step on one of them, each
    call takes about as long, and these are at least half of the time of the kernels of both sides. Captured and
    compiled work has such kernels, too: its matrix products."""
    common_ns = 0.0
    telling = {"base": list[tuple[float, float]](), "candidate": list[tuple[float, float]]()}
    for name in base.kernels.keys() & candidate.kernels.keys():
        (calls, ns), (other_calls, other_ns) = base.kernels[name], candidate.kernels[name]
        least_ns, each_ns = min(ns, other_ns), (ns / calls, other_ns / other_calls)
        times = max(calls, other_calls) / min(calls, other_calls)
        common_ns += least_ns
        if times >= OTHER_CALLS and min(each_ns) >= LEAST_CALL_NS and max(each_ns) <= SAME_CALL * min(each_ns):
            telling["base" if calls > other_calls else "candidate"].append((times, least_ns))
    for side, amounts in telling.items():
        if amounts and sum(ns for _, ns in amounts) >= common_ns / 2:
            times = median(times for times, _ in amounts)
            yield Note("other_amount", {"times": count(round(times)), "side": text(side)})


def _ranks(span: ComparedSpan) -> str:
    return "1" if span.world_size is None else str(span.world_size)


def _first(listed: str) -> str:
    """Returns the first entry of a list in the trace's notation.

    >>> _first('[[64,3,224,224],[64,3,7,7]]'), _first('["float","float"]')
    ('[64,3,224,224]', 'float')
    """
    inside = listed[1:-1]
    end = inside.find("]") + 1 if inside.startswith("[") else inside.find(",")
    return inside[: end if end > 0 else len(inside)].strip('"')


def _listed(names: list[str]) -> str:
    """Returns a text with a few of the names.

    >>> _listed(["1", "2", "3", "4", "5"])
    '1, 2, 3, …'
    """
    return ", ".join(names) if len(names) <= 4 else ", ".join([*names[:3], "…"])


class Works:
    """Numbers for the work that recordings do, as far as these show what they compute.

    A recording is compared only with the first one of each group, so that small differences do not add up within a
    group.
    """

    def __init__(self) -> None:
        self._firsts: list[Side] = []

    def number(self, side: Side) -> int:
        """Returns the number of the first group whose first recording does the same work, or that of a new group."""
        for number, first in enumerate(self._firsts):
            if not does_other_work(first, side):
                return number
        self._firsts.append(side)
        return len(self._firsts) - 1
