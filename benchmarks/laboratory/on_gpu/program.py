"""What a program for a GPU is, and the list of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.laboratory.on_gpu.names import Named
from benchmarks.laboratory.program import Body


@dataclass(frozen=True)
class GpuProgram(Named):
    """A training on a GPU with its cause. workers: the numbers of loader workers for which it is also timed. shapes,
    stacks, memory: what is recorded besides the ops. active: the number of recorded steps, small as files are kept."""

    body: Body
    workers: Sequence[int] = ()
    shapes: bool = False
    stacks: bool = False
    memory: bool = False
    active: int = 5


GPU_PROGRAMS: dict[str, GpuProgram] = {}


def gpu_program(
    name: str, changes: Mapping[str, Sequence[str]] | None = None, **recorded: object
) -> Callable[[Body], Body]:
    def add(body: Body) -> Body:
        assert name not in GPU_PROGRAMS, name
        GPU_PROGRAMS[name] = GpuProgram(name, changes or {}, body, **recorded)  # type: ignore[arg-type]
        return body

    return add
