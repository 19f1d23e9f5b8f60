"""A trace -> the result of every analysis. Of a large trace a second process measures some of the views meanwhile.

this process    memory, tensor cores  |  overview, host         |  then whoever is free  |--->  all results
  fork   ---->  excess, for both  ----^  replay, for host  ---^  |  takes the next view   |- pipe -^

Almost all views need the excess of the host, which takes a quarter of the time: the second process measures it for
both, while this one measures what does not need it. Then the second process replays the steady step, which only the
last view of this process needs. Whatever else both need, such as the code of each call, is passed on by the one that
has it first (`ingest/exchange.py`): each of them measured an eighth of the work for itself before. This process also
measures whatever the second one does not return, because it failed or was killed, so errors are found and reported in
one place.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import select
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import msgspec

from tb_steptime.errors import TraceError
from tb_steptime.processes.children import Child, fork_child
from tb_steptime.trace.allocator import give_back_freed
from tb_steptime.trace.model import measured_with

if TYPE_CHECKING:
    from tb_steptime.analyses.base import Analysis
    from tb_steptime.trace.model import Trace

logger = logging.getLogger(__name__)

#: Minimum number of rows for a second process, which starts within 10 ms. With 45,000 rows it saves an eighth of the
#: time of the whole command; with 20,000 rows that is in doubt where other programs use the machine.
LEAST_ROWS = 30_000
#: With more rows, the results that pass between the processes are kept on disk: those of a smaller trace take 15 MB.
_MOST_ROWS_IN_MEMORY = 200_000
#: Views that this process measures: first those that do not need the excess; last the one that needs the replay, of
#: whose measurements the others need many, too.
_HERE = ("memory", "tensor_cores", "overview", "host")
#: Order of the other views: those that take long are taken first.
_LONG = ("operators", "gpu", "compare", "data_loading")
#: Views that are measured first, because they temporarily need the most memory: 60 MB for a trace of 1 GB, with columns
#: of its million ops. Later they would need it on top of everything that the measurements share.
_WIDE = ("operators", "host", "compare")

#: Results by view; for an analysis that failed, the exception that it raised.
Found = dict[str, Any]


class _Shares(NamedTuple):
    """The views by the process that measures them: `here` are measured by this process; each of `either` is taken by
    the process that is free first."""

    here: list[Analysis[Any]]
    either: list[Analysis[Any]]


def analyse(trace: Trace, requested: Sequence[Analysis[Any]], processes: int = 1) -> tuple[Found, dict[str, str]]:
    """Returns the results by view, in the order given, and the kind of error by view. A view that failed has a result
    without values. processes: the maximum number of processes, including this one."""
    shares = _shares(requested) if processes > 1 and len(trace.events) >= LEAST_ROWS else None
    results = _analysed_by_two(trace, shares) if shares else {}
    left = sorted((view for view in requested if view.id not in results), key=lambda view: view.id not in _WIDE)
    results |= _analysed_here(trace, left)
    failed = {view: type(outcome).__name__ for view, outcome in results.items() if isinstance(outcome, Exception)}
    return {view.id: view.nothing if view.id in failed else results[view.id] for view in requested}, failed


def _analysed_here(trace: Trace, requested: Iterable[Analysis[Any]]) -> Found:
    results = {}
    with trace.bounded():
        for view in requested:
            results[view.id] = _analysed(view, trace)
            trace.let_go()
    return results


def _analysed(analysis: Analysis[Any], trace: Trace) -> Any:
    """Returns the analysis's result, or the exception that it raised, so that an analysis that fails loses only its own
    view. MemoryError, OSError and TraceError, whose text is for the user, propagate: they concern the whole reading."""
    try:
        return analysis.analyse(trace)
    except (MemoryError, OSError, TraceError):
        raise
    except Exception as error:
        logger.exception("tb_steptime: the view %s of %s could not be computed", analysis.id, trace.path)
        return error


def _shares(requested: Sequence[Analysis[Any]]) -> _Shares | None:
    """Splits the views between the two processes. Returns None where one of them would have nothing to do."""
    only_here = sorted((view for view in requested if view.id in _HERE), key=lambda view: _HERE.index(view.id))
    either = [view for view in requested if view.id not in _HERE]
    either.sort(key=lambda view: _LONG.index(view.id) if view.id in _LONG else len(_LONG))
    return _Shares(only_here, either) if only_here and either else None


def _analysed_by_two(trace: Trace, shares: _Shares) -> Found:
    """Analyses in this process and a second one, which ends with this call; returns nothing where it cannot be
    started."""
    from tb_steptime.ingest.exchange import Exchange  # not needed in one process

    measured_first = _measured_by_second()
    with ExitStack() as after:
        try:
            places = _places(len(shares.either))
            after.callback(os.close, places)
            on_disk = len(trace.events) > _MOST_ROWS_IN_MEMORY
            exchange = after.enter_context(Exchange(measured_first, on_disk=on_disk))
        except OSError:
            return {}

        def second() -> None:
            exchange.begin(second=True)
            with measured_with(trace, exchange):
                either = _take_in_turn(shares.either, places)
                _run_second(trace, either, lambda: _measure_first(trace, measured_first))

        child = fork_child(second, (places, *exchange.files))
        if child is None:
            return {}
        after.callback(_end_child, child)
        exchange.begin()
        after.enter_context(measured_with(trace, exchange))
        results = _analysed_here(trace, chain(shares.here, _take_in_turn(shares.either, places)))
        return results | _results_of(child, shares.either)


def _measured_by_second() -> tuple[Callable[[Trace], Any], ...]:
    """Returns the shared measurements that the second process makes for both, in the order in which this one needs
    them."""
    from tb_steptime.metrics.steady.host import on_host
    from tb_steptime.replay.whatif import replayed_step

    return on_host, replayed_step


def _measure_first(trace: Trace, measures: Iterable[Callable[[Trace], Any]]) -> None:
    """Makes the measurements for which the first process waits."""
    for measure in measures:
        with contextlib.suppress(Exception), trace.bounded():  # the first process finds and reports the error
            measure(trace)
        give_back_freed()  # each measurement needs up to 40 MB of columns that nothing needs after it


def _end_child(child: Child) -> None:
    """Kills the second process. One function does both calls, so that an interrupt between them never leaves a running
    child to be waited for."""
    child.kill()
    child.wait()


def _places(count: int) -> int:
    """Returns a pipe that holds one byte for each place in a list: the process that reads a byte gets that place
    alone."""
    places, filled = os.pipe()
    os.write(filled, bytes(range(count)))
    os.close(filled)
    return places


def _take_in_turn(views: Sequence[Analysis[Any]], places: int) -> Iterator[Analysis[Any]]:
    """Yields, one after the other, the views that the other process has not taken."""
    while place := os.read(places, 1):
        yield views[place[0]]


def _run_second(trace: Trace, views: Iterable[Analysis[Any]], give_first: Callable[[], None]) -> None:
    """Runs the second process. It returns nothing for a view that fails, and ends as soon as nobody reads its output
    any more."""
    threading.Thread(target=_end_when_unread, daemon=True).start()
    logging.disable()
    give_first()
    by_view = {
        view: pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
        for view, result in _analysed_here(trace, views).items()
        if not isinstance(result, Exception)
    }
    with os.fdopen(os.dup(1), "wb") as out:
        out.write(msgspec.msgpack.encode(by_view))


def _end_when_unread() -> None:
    output = select.poll()
    output.register(1, 0)  # poll() reports a closed other end also if no event is requested
    output.poll()
    os._exit(1)


def _results_of(child: Child, views: Sequence[Analysis[Any]]) -> Found:
    """Returns what the second process has measured, or nothing if it failed."""
    assert child.stdout is not None
    content = _all_of(child.stdout)
    try:
        by_view = msgspec.msgpack.decode(content, type=dict[str, bytes])
        return {view.id: pickle.loads(by_view[view.id]) for view in views if view.id in by_view}
    except msgspec.DecodeError:
        return {}


def _all_of(stream: IO[bytes]) -> bytes:
    with stream:
        return stream.read()
