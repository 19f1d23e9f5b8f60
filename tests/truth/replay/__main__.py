"""Prints for each real trace how far its replay is from the recording, and what share of it no edge explains."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

from tb_steptime.metrics.steady.find import find_excess
from tb_steptime.replay.gates import identity, recorded_step, wait_error
from tb_steptime.replay.graph import build_graph
from tb_steptime.replay.sensitivity import Sensitivity, sensitivity, verdict
from tb_steptime.replay.steady import less_excess, steady_step, step_length
from tests.drawn.real_traces import EVERY, read_real, real_path, reference


def main() -> None:
    errors, shares, repeated = list[float](), list[float](), list[float]()
    waits = list[float | None]()
    labels = reference("world_judged.json")
    right = judged = 0
    for path in EVERY:
        trace = read_real(real_path(path))
        began = time.process_time()
        graph = build_graph(trace)
        took = time.process_time() - began
        if not graph.on_device.any():
            continue
        errors.append(identity(graph))
        shares.append(int(graph.unexplained_ns.sum()) / max(graph.recorded_ns, 1))
        waits.append(wait_error(trace, graph))
        wait = "-" if waits[-1] is None else f"{waits[-1]:.2%}"
        line = f"{errors[-1]:8.2%} {shares[-1]:8.2%} {wait:>9} {len(graph):7} {took:6.3f} s  {path}\n"
        steady = less_excess(graph, find_excess(trace))
        as_recorded, step = steady_step(trace, graph), steady_step(trace, steady)
        if as_recorded is not None and step is not None:
            recorded, length = recorded_step(trace, as_recorded.name), step_length(step)
            if as_recorded.repeats:
                repeated.append(abs(step_length(as_recorded) - recorded) / recorded)
                line += f"    repeated {repeated[-1]:.2%}"
            said = sensitivity(trace, step)
            told = verdict(length, said, step).value
            line += f"    recorded {recorded / 1e6:.3f} steady {length / 1e6:.3f} ms "
            line += ", ".join(f"{name} {value / max(length, 1):.0%}" for name, value in _parts(said))
            label = labels.get(path.partition("/")[2])
            line += f"  -> {told}" + (f" of {'|'.join(label['verdict'])}" if label else "")
            judged += label is not None
            right += label is not None and told in label["verdict"]
        sys.stdout.write(line + "\n")
        trace.memo.clear()
    _summary(errors, shares, repeated, [each for each in waits if each is not None])
    sys.stdout.write(f"verdicts: {right} of {judged}\n")


def _parts(said: Sensitivity) -> Iterator[tuple[str, int]]:
    for name in said.__struct_fields__:
        yield name, getattr(said, name)


def _summary(errors: list[float], shares: list[float], repeated: list[float], waits: list[float]) -> None:
    for name, values in (("identity", errors), ("one step repeated", repeated), ("blocking calls", waits)):
        if values:
            told = ", ".join(f"{share} % {np.quantile(values, share / 100):.2%}" for share in (50, 90, 95))
            sys.stdout.write(f"{name} of {len(values)} traces: {told}\n")
    more, most = (sum(share > limit for share in shares) for limit in (0.05, 0.2))
    sys.stdout.write(f"unexplained: > 5 % in {more}, > 20 % in {most}\n")


if __name__ == "__main__":
    main()
