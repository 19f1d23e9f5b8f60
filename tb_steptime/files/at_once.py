"""Asks about many files and returns answers in their order: local files one after the other, files in a store many at
once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tb_steptime.files.paths import AnyPath
from tb_steptime.files.remote import RemotePath

T = TypeVar("T")
R = TypeVar("R")

#: Number of questions at once. A store answers many, each after some 30 ms; some allow no more connections.
_AT_ONCE = 16


def answers(ask: Callable[[T], R], of: Sequence[T], path: Callable[[T], AnyPath | None]) -> list[R]:
    """Returns `ask` of each; path: the file that it is about. Raises what `ask` raises."""
    remote = [number for number, each in enumerate(of) if isinstance(path(each), RemotePath)]
    known: dict[int, R] = {}
    if remote:
        from concurrent.futures import ThreadPoolExecutor  # slow to import

        with ThreadPoolExecutor(_AT_ONCE, "tb_steptime asking") as pool:
            known = dict(zip(remote, pool.map(ask, [of[number] for number in remote]), strict=True))
    return [known[number] if number in known else ask(each) for number, each in enumerate(of)]
