"""Questions about many files, in their order: of local ones one after the other, of those in a store many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tb_steptime.files.paths import AnyPath
from tb_steptime.files.remote import RemotePath

T = TypeVar("T")
R = TypeVar("R")

#: A store answers many at once, each after some 30 ms; more connections are more than some allow.
_AT_ONCE = 16


def answers(ask: Callable[[T], R], of: Sequence[T], path: Callable[[T], AnyPath | None]) -> list[R]:
    """`ask` of each; path: the file that it asks about. Raises what `ask` raises."""
    remote = [number for number, each in enumerate(of) if isinstance(path(each), RemotePath)]
    known: dict[int, R] = {}
    if remote:
        from concurrent.futures import ThreadPoolExecutor  # slow to import

        with ThreadPoolExecutor(_AT_ONCE, "tb_steptime asking") as pool:
            known = dict(zip(remote, pool.map(ask, [of[number] for number in remote]), strict=True))
    return [known[number] if number in known else ask(each) for number, each in enumerate(of)]
