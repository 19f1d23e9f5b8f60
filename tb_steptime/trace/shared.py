"""Shared measurements: results that several others need, computed once for a trace.

    @shared
    def busy_intervals(trace: Trace, device: int) -> Intervals: ...

How long        A result is kept in `Trace.memo`, for as long as the trace: a few seconds in a process that reads one
                trace, or the time that a page of the timeline is computed.
When to share   Where two callers need the result, or one asks for it many times, and computing it again costs more than
                its memory. A trace of 1 GB has to be analysed in 320 MB: a column of int64 for each of its 2.4 million
                events is 19 MB. So share tables of names, intervals and sums; not columns that one caller uses.
What it may be  A pure function of its arguments. The result is the same object each time, and must not be changed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from tb_steptime.trace.model import Trace

P = ParamSpec("P")
T = TypeVar("T")


def shared(measure: Callable[Concatenate[Trace, P], T]) -> Callable[Concatenate[Trace, P], T]:
    """Keep the measurement's result for each trace and each distinct set of its other arguments, such as a device. An
    argument that is left out counts as its default."""
    defaults, required = _defaults(measure)

    @functools.wraps(measure)
    def measured(trace: Trace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (measure, args, *kwargs.items()) if kwargs else (measure, args + defaults[len(args) - required :])
        result = trace.memo.get(key, _ABSENT)
        if isinstance(result, _Promised):
            given = result.take()
            result = trace.memo[key] = _ABSENT if given is None else _kept(trace, given[0])
        if result is _ABSENT:
            result = trace.memo[key] = _kept(trace, measure(trace, *args, **kwargs))
        return cast(T, result)

    return measured


_ABSENT = object()


def _defaults(measure: Callable[..., object]) -> tuple[tuple[object, ...], int]:
    """Returns the defaults of a measurement's arguments, and the number of those after the trace that have none."""
    defaults: tuple[object, ...] = measure.__defaults__ or ()
    arguments: int = measure.__code__.co_argcount
    return defaults, arguments - 1 - len(defaults)


class _Promised(NamedTuple):
    take: Callable[[], tuple[Any] | None]


@contextmanager
def promised(trace: Trace, measure: Callable[[Trace], T], take: Callable[[], tuple[T] | None]) -> Iterator[None]:
    """Within this context the result of a shared measurement whose other arguments have their defaults comes from
    elsewhere, such as another process. take: called once, when the result is first needed; returns a tuple of the
    result, or None if the result does not come, in which case it is measured here."""
    wrapped = measure.__wrapped__  # type: ignore[attr-defined]
    key = (wrapped, _defaults(wrapped)[0])
    trace.memo.setdefault(key, _Promised(take))
    try:
        yield
    finally:
        if isinstance(trace.memo[key], _Promised):
            del trace.memo[key]


def _kept(trace: Trace, result: T) -> T:
    """The result, on disk if the trace is large. What was read to compute it is then dropped from memory."""
    if trace.on_disk is None:
        return result
    kept = trace.on_disk.keep(result)
    trace.let_go()
    return kept
