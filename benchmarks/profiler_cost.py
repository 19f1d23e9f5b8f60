"""What torch.profiler costs a training on the CPU, flag by flag: unprofiled and profiled steps by turns.

    python -m benchmarks.profiler_cost            # needs torch; prints one row for each set of flags and each job
    python -m benchmarks.profiler_cost --rounds 3    # sooner, and less sure

Two jobs of tiny tensors, whose time is the host's: a transformer layer that is trained, whose modules are Python, and
a chain of element-wise ops without modules. One thread is used, because a second one would hide work. In each round
every set of flags records a few steps after two that are discarded, with unprofiled steps before and after. Each round
counts with its median step; shown are the median and the middle half of the rounds. The cost of a flag is the
difference to the flags to which it is added; the cost per event is that difference divided by the number of events of
its kind in a step, as the profiler itself counts them. No step includes the start or stop of the profiler.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

WARM_UP, STEPS = 2, 20

Flags = tuple[str, ...]
#: Sets of flags, and the set to which each is compared.
SETS: tuple[tuple[Flags, Flags | None], ...] = (
    ((), None),
    (("record_shapes",), ()),
    (("profile_memory",), ()),
    (("with_flops",), ()),
    (("with_modules",), ()),
    (("with_stack",), ()),
    (("record_shapes", "profile_memory", "with_stack"), ()),
)
#: Categories of the events that cause the cost of a flag, and the name of one event.
_PAID_BY = {
    "with_stack": (("python_function",), "Python call"),
    "with_modules": (("python_function",), "Python call"),
    "profile_memory": (("cpu_instant_event",), "allocation or release"),
}
_OPS = (("cpu_op", "user_annotation"), "op")


class Step(NamedTuple):
    """ns: per step, one for each round. events: per step, by category."""

    ns: list[float]
    events: Counter[str]


def layer() -> Callable[[], None]:
    """Trains a transformer layer: forward, backward and AdamW, one parameter at a time."""
    torch.manual_seed(0)
    model = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    batch = torch.randn(2, 4, 16)

    def step() -> None:
        for _ in range(5):
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()

    return step


def chain() -> Callable[[], None]:
    """Element-wise ops one after the other."""
    value = torch.randn(16)

    def step() -> None:
        result = value
        for _ in range(500):
            result = torch.relu(result + value) * 0.5

    return step


JOBS = {"a transformer layer, trained": layer, "a chain of ops": chain}


def times(step: Callable[[], None], count: int) -> float:
    """The median step, in ns of CPU time of this thread, so that other processes of the machine count little."""
    found = []
    gc.collect()
    gc.disable()
    for _ in range(count):
        before = time.thread_time_ns()
        step()
        found.append(time.thread_time_ns() - before)
    gc.enable()
    return statistics.median(found)


def profiled(step: Callable[[], None], flags: Flags, *, count_events: bool) -> tuple[float, Counter[str]]:
    with profile(activities=[ProfilerActivity.CPU], **dict.fromkeys(flags, True)) as profiler:
        times(step, WARM_UP)
        median = times(step, STEPS)
    return median, events_of(profiler) if count_events else Counter()


def events_of(profiler: profile) -> Counter[str]:
    """The events of a step by category, as they are written."""
    with tempfile.TemporaryDirectory(prefix="profiler_cost_") as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        rows = json.loads(path.read_text(errors="replace"))["traceEvents"]
    number = Counter(row.get("cat", "") for row in rows if row.get("ph") in ("X", "i"))
    return Counter({name: round(all_ / (WARM_UP + STEPS)) for name, all_ in number.items()})


def measured(job: Callable[[], Callable[[], None]], rounds: int) -> tuple[list[float], dict[Flags, Step]]:
    """Steps without the profiler, ns, one for each round, and those with it by their flags."""
    step = job()
    times(step, 5 * STEPS)
    plain: list[float] = []
    found = {flags: Step([], Counter()) for flags, _ in SETS}
    for number in range(rounds):
        before = times(step, STEPS)
        for flags, (ns, events) in found.items():
            median, counted = profiled(step, flags, count_events=not number)
            ns.append(median)
            events.update(counted)
        plain.append(statistics.median((before, times(step, STEPS))))
    return plain, found


def rows(job: str, plain: list[float], found: dict[Flags, Step]) -> list[str]:
    lines = [f"| {job}, without the profiler | {statistics.median(plain) / 1e6:.2f} ms | | | |"]
    for flags, base in SETS:
        ns, events = found[flags]
        without = plain if base is None else found[base].ns
        categories, event = next((_PAID_BY[flag] for flag in flags if flag in _PAID_BY), _OPS)
        number = sum(events[category] for category in categories)
        ratio = statistics.median(mine / others for mine, others in zip(ns, plain, strict=True))
        name = ", ".join(flags) or "no flag"
        paid = each = ""
        if len(flags) < 2:
            paid = f"{number:,} x {event}"
            more = [(mine - others) / max(1, number) / 1e3 for mine, others in zip(ns, without, strict=True)]
            quarter, usual, three = statistics.quantiles(more, n=4)
            each = f"{usual:+.2f} us ({quarter:+.2f} to {three:+.2f})" if number else "it records none here"
        lines.append(f"| {name} | {statistics.median(ns) / 1e6:.2f} ms | x {ratio:.2f} | {paid} | {each} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What torch.profiler costs on the CPU, flag by flag.")
    parser.add_argument("--rounds", type=int, default=15, help="of all sets of flags (default: 15)")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, one thread, {options.rounds} rounds of {STEPS} steps for each set of flags\n")
    print("| flags | a step | against none | events of a step | each, over those without the flag |")
    print("|---|---:|---:|---:|---:|")
    for job, make in JOBS.items():
        print("\n".join(rows(job, *measured(make, options.rounds))), flush=True)


if __name__ == "__main__":
    main()
