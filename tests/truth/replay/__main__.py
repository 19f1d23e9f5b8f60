"""Prints for each real trace how far its replay is from the recording, and what share of it no edge explains."""

from __future__ import annotations

import sys
import time

import numpy as np

from tb_steptime.replay.graph import Graph, build_graph
from tb_steptime.replay.sensitivity import sensitivity
from tb_steptime.replay.sweep import EdgeKind, starts
from tb_steptime.trace.model import Trace
from tests.drawn.real_traces import EVERY, read_real, real_path


def identity(graph: Graph) -> float:
    """By what share the replayed length differs from the recorded one."""
    end = starts(graph.own_ns, graph.release_ns, graph.edges) + graph.own_ns
    length = graph.recorded_ns
    return abs(int(end.max()) - int(graph.end_ns.max())) / max(length, 1)


def wait_error(trace: Trace, graph: Graph) -> float | None:
    """By what share the replayed lengths of calls that wait differ from the recorded ones; None without such calls."""
    began = starts(graph.own_ns, graph.release_ns, graph.edges)
    before, after = graph.edges.before, graph.edges.after
    held = np.zeros(len(graph), bool)
    held[after[graph.edges.kind == EdgeKind.RETURN]] = True
    arrives = held[after] & (graph.event[before] < 0) & ~graph.on_device[before]
    arrived, call = before[arrives], after[arrives]
    replayed = began[call] - (began + graph.own_ns)[arrived]
    recorded = trace.events.dur_ns[graph.event[call]]
    return float(np.abs(replayed - recorded).sum() / recorded.sum()) if recorded.sum() else None


def main() -> None:
    errors, shares = list[float](), list[float]()
    waits = list[float | None]()
    for path in EVERY:
        trace = read_real(real_path(path))
        began = time.process_time()
        graph = build_graph(trace)
        took = time.process_time() - began
        if not graph.on_device.any():
            continue
        errors.append(identity(graph))
        shares.append(int(graph.unexplained_ns.sum()) / max(graph.recorded_ns, 1))
        size = f"{len(graph.own_ns):9} {len(graph.edges.lag_ns):9} {took:7.3f} s"
        waits.append(wait_error(trace, graph))
        wait = "-" if waits[-1] is None else f"{waits[-1]:.2%}"
        line = f"{errors[-1]:9.2%} {shares[-1]:9.2%} {wait:>9} {size}  {path}"
        said = sensitivity(trace, graph)
        free = (said.host_ns, said.device_ns, said.communication_ns, said.blocking_ns)
        line += "  free host, device, communication, blocking: "
        line += ", ".join(f"{each / max(said.replayed_ns, 1):.0%}" for each in free)
        sys.stdout.write(line + "\n")
        trace.memo.clear()
    if errors:
        known = [each for each in waits if each is not None]
        middle, most = np.quantile(known, (0.5, 0.9)) if known else (0.0, 0.0)
        sys.stdout.write(f"blocking calls of {len(known)} traces: 50 % {middle:.2%}, 90 % {most:.2%}\n")
        told = ", ".join(f"{share} % {np.quantile(errors, share / 100):.2%}" for share in (50, 90, 95))
        sys.stdout.write(f"identity of {len(errors)} traces: {told}\n")
        sys.stdout.write(
            f"unexplained: > 5 % in {sum(s > 0.05 for s in shares)}, > 20 % in {sum(s > 0.2 for s in shares)}\n"
        )


if __name__ == "__main__":
    main()
