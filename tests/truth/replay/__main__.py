"""Prints for each real trace how far its replay is from the recording, and
which share of the replay no edge explains."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

from tb_steptime.replay.graph import Graph, build_graph
from tb_steptime.replay.sensitivity import Sensitivity
from tb_steptime.replay.sweep import starts
from tb_steptime.replay.whatif import what_if
from tb_steptime.trace.steps import find_steps
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
        found = what_if(trace)
        if found is None:
            continue
        errors.append(_error(graph))
        shares.append(int(graph.unexplained_ns.sum()) / max(graph.recorded_ns, 1))
        waits.append(found.wait_error)
        wait = "-" if found.wait_error is None else f"{found.wait_error:.2%}"
        line = f"{errors[-1]:8.2%} {shares[-1]:8.2%} {wait:>9} {len(graph):7} {took:6.3f} s  {path}\n"
        if find_steps(trace).by != "recording":
            repeated.append(abs(found.replayed_step_ns - found.recorded_step_ns) / found.recorded_step_ns)
            line += f"    repeated {repeated[-1]:.2%}"
        length = found.steady_step_ns
        line += f"    recorded {found.recorded_step_ns / 1e6:.3f} steady {length / 1e6:.3f} ms "
        line += ", ".join(f"{name} {value / max(length, 1):.0%}" for name, value in _parts(found.sensitivity))
        label = labels.get(path.partition("/")[2])
        pace = found.pace if found.trusted else f"{found.pace}, not to be trusted"
        line += f"  -> {pace}" + (f" of {'|'.join(label['verdict'])}" if label else "")
        judged += label is not None and found.trusted
        right += label is not None and found.trusted and found.pace in label["verdict"]
        sys.stdout.write(line + "\n")
        trace.memo.clear()
    _summary(errors, shares, repeated, [each for each in waits if each is not None])
    sys.stdout.write(f"verdicts of replays that are to be trusted: {right} of {judged}\n")


def _error(graph: Graph) -> float:
    """The relative difference between the replayed and the recorded length."""
    end = starts(graph.own_ns, graph.release_ns, graph.edges) + graph.own_ns
    return abs(int(end.max()) - int(graph.end_ns.max())) / max(graph.recorded_ns, 1)


def _parts(sensitivity: Sensitivity) -> Iterator[tuple[str, int]]:
    for name in sensitivity.__struct_fields__:
        yield name, getattr(sensitivity, name)


def _summary(errors: list[float], shares: list[float], repeated: list[float], waits: list[float]) -> None:
    for name, values in (("identity", errors), ("one step repeated", repeated), ("blocking calls", waits)):
        if values:
            quantiles = ", ".join(f"{share} % {np.quantile(values, share / 100):.2%}" for share in (50, 90, 95))
            sys.stdout.write(f"{name} of {len(values)} traces: {quantiles}\n")
    more, most = (sum(share > limit for share in shares) for limit in (0.05, 0.2))
    sys.stdout.write(f"unexplained: > 5 % in {more}, > 20 % in {most}\n")


if __name__ == "__main__":
    main()
