"""What a program of the laboratory is: a training that can be run as it is, or with one change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch.utils.data import DataLoader, Dataset


@dataclass(frozen=True)
class Run:
    """How a program is run.

    change: the program's own name of the change to make; "": no change. settings: options of the loader from a card's
    line of code; they replace the program's. watch: the function with which the recorder watches a loader.
    """

    change: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    watch: Callable[[DataLoader[Any]], DataLoader[Any]] | None = None

    def loader(self, dataset: Dataset[Any], **options: Any) -> DataLoader[Any]:
        options |= self.settings
        if not options.get("num_workers"):
            options = {name: value for name, value in options.items() if name not in _OF_WORKERS}
        loader = DataLoader(dataset, **options)
        return self.watch(loader) if self.watch else loader


#: Options that a loader without workers refuses.
_OF_WORKERS = ("persistent_workers", "prefetch_factor", "multiprocessing_context")

#: Trains, and yields after each step.
Body = Callable[[Run], Iterator[None]]


@dataclass(frozen=True)
class Program:
    """A training with its cause.

    changes: by card, the program's own change that follows the card, or "" if the card's line of code is followed. Each
    of these cards names the cause. A program without changes is healthy, and every card above minor is wrong on it.
    measures_only: constants are never set by looking at this program. stacks, shapes: record with call
    stacks, with the shapes of inputs. ranks: the number of processes that train together, over gloo. alone: one thread
    of one process that only computes, so its CPU time is its time without other jobs on the machine. unfit: a pattern
    that no card's name or code may match on it, not even that of a minor card.
    """

    name: str
    body: Body
    changes: Mapping[str, str]
    measures_only: bool
    stacks: bool = False
    shapes: bool = False
    ranks: int = 1
    alone: bool = False
    unfit: str | None = None

    @property
    def is_healthy(self) -> bool:
        return not self.changes


PROGRAMS: dict[str, Program] = {}


def program(
    name: str,
    changes: Mapping[str, str] | None = None,
    *,
    stacks: bool = False,
    shapes: bool = False,
    taught: bool = False,
    ranks: int = 1,
    alone: bool = False,
    unfit: str | None = None,
) -> Callable[[Body], Body]:
    """Add a program to the list. Every second program only measures, except those that taught a rule something."""

    def add(body: Body) -> Body:
        assert name not in PROGRAMS, name
        only = len(PROGRAMS) % 2 == 1 and not taught
        PROGRAMS[name] = Program(name, body, changes or {}, only, stacks, shapes, ranks, alone, unfit)
        return body

    return add
