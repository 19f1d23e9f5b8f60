"""A trace -> the result of every analysis. Of a large trace a second process measures half of the views meanwhile.

this process    host, overview, trends, gpu, ...   --->  all results
  fork   ---->  operators, compare  --- pipe --------^

What both need, such as launches and steps, each measures for itself: a tenth to a quarter of the work. What the second
process does not give, because it failed or was killed, this one measures too; so what is wrong is found, and said, in
one place.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import threading
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import msgspec

from tb_steptime.errors import TraceError
from tb_steptime.trace.kineto.parts.children import Child, fork_child

if TYPE_CHECKING:
    from tb_steptime.analyses.base import Analysis
    from tb_steptime.trace.model import Trace

logger = logging.getLogger(__name__)

#: Rows from which on a second process saves more than it costs.
LEAST_ROWS = 200_000
#: What the second process measures: about half of the work, and what shares least with the other half. The second line
#: is for those who do not ask for operators, which take as long as half of the other views.
_APART = (("operators", "compare"), ("tensor_cores", "compare", "data_loading", "ranks"))
#: Views that are measured first, as they need most memory for a while: 60 MB for a trace of 1 GB, with columns of its
#: million ops. Later they would need it beside all that measurements share.
_WIDE = ("operators", "host", "compare")

#: By view; of an analysis that failed what it raised.
Found = dict[str, Any]


def analyse(trace: Trace, wanted: Sequence[Analysis[Any]], processes: int = 1) -> tuple[Found, dict[str, str]]:
    """By view, in the order given; of those that failed a result without values, and the kind of error. processes: how
    many may work, this one included."""
    apart = _apart(wanted) if processes > 1 and len(trace.events) >= LEAST_ROWS else []
    with _second_process(trace, apart) as child:
        found = _analysed_here(trace, [each for each in wanted if child is None or each not in apart])
        found |= _said(child, apart) if child else {}
    found |= _analysed_here(trace, [each for each in wanted if each.id not in found])
    failed = {view: type(result).__name__ for view, result in found.items() if isinstance(result, Exception)}
    return {each.id: each.nothing if each.id in failed else found[each.id] for each in wanted}, failed


def _analysed_here(trace: Trace, wanted: Sequence[Analysis[Any]]) -> Found:
    found = {}
    with trace.bounded():
        for each in sorted(wanted, key=lambda each: each.id not in _WIDE):
            found[each.id] = _analysed(each, trace)
            trace.let_go()
    return found


def _analysed(analysis: Analysis[Any], trace: Trace) -> Any:
    """Its result, or what it raised: one analysis that fails takes only its own view. Of memory that runs out, of disks
    and of what is worded for the user, the whole reading tells."""
    try:
        return analysis.analyse(trace)
    except (MemoryError, OSError, TraceError):
        raise
    except Exception as error:
        logger.exception("tb_steptime: the view %s of %s could not be computed", analysis.id, trace.path)
        return error


def _apart(wanted: Sequence[Analysis[Any]]) -> list[Analysis[Any]]:
    """Those for the second process; none where nothing would be left for the first one."""
    views = next(views for views in (*_APART, ()) if {*views} <= {each.id for each in wanted})
    return [each for each in wanted if each.id in views] if len(wanted) > len(views) else []


@contextlib.contextmanager
def _second_process(trace: Trace, views: Sequence[Analysis[Any]]) -> Iterator[Child | None]:
    """It measures these views, and ends with this block; None where it cannot be started."""
    child = fork_child(lambda: _say(trace, views)) if views else None
    try:
        yield child
    finally:
        if child:
            child.kill()
            child.wait()


def _say(trace: Trace, views: Sequence[Analysis[Any]]) -> None:
    """The second process. It says nothing of a view that fails, and ends at once when nobody listens any more."""
    threading.Thread(target=_end_unheard, daemon=True).start()
    logging.disable()
    said = {
        view: msgspec.msgpack.encode(result)
        for view, result in _analysed_here(trace, views).items()
        if _is_result(result)
    }
    with os.fdopen(os.dup(1), "wb") as out:
        out.write(msgspec.msgpack.encode(said))


def _is_result(result: object) -> bool:
    return not isinstance(result, Exception)


def _end_unheard() -> None:
    listened = select.poll()
    listened.register(1, 0)  # that a pipe has no other end is said unasked
    listened.poll()
    os._exit(1)


def _said(child: Child, wanted: Sequence[Analysis[Any]]) -> Found:
    """What the second process has measured; nothing of one that failed."""
    assert child.stdout is not None
    said = _all_of(child.stdout)
    try:
        by_view = msgspec.msgpack.decode(said, type=dict[str, bytes])
        return {
            each.id: msgspec.msgpack.decode(by_view[each.id], type=each.result) for each in wanted if each.id in by_view
        }
    except msgspec.DecodeError:
        return {}


def _all_of(said: IO[bytes]) -> bytes:
    with said:
        return said.read()
