"""Dumps of the flight recorder: one file per rank, with the calls that it remembers and counters of each group.

PyTorch writes them when a collective times out, or on request, as `<prefix><rank>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath
from tb_steptime.trace.plain import Record, read_plain

_RANK = re.compile(r"(\d+)(?:\.\w+)?$")
_NUMBERS = re.compile(r"\d+")
_HINT = "Name the dumps of the ranks, or the folder that holds them."


@dataclass(frozen=True)
class Call:
    """A collective, or an exchange between two ranks, that a rank had begun. line: where it was called; None if not
    recorded."""

    group: str
    name: str
    is_exchange: bool
    line: str | None


@dataclass(frozen=True)
class Progress:
    """The progress of a rank in a group: the numbers of the last collective that it had begun, and of the last that it
    finished."""

    begun: int
    finished: int


@dataclass(frozen=True)
class Dump:
    """The contents of one rank's dump.

    members    ranks of each group, if the file has them
    purposes   what each group is for, in the words of the job
    progress   the rank's progress in each group
    calls      calls that had not finished, the oldest first
    """

    rank: int
    members: dict[str, tuple[int, ...]]
    purposes: dict[str, str]
    progress: dict[str, Progress]
    calls: list[Call]


def read_dump(path: AnyPath) -> Dump:
    """Returns the dump of one rank. Raises TraceError if the file is not a dump, or its name does not end in a rank."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(f"The file cannot be read ({error.strerror or error})", path, "Check the path.") from None
    top = read_plain(data, path)
    if type(top) is not Record or not {"entries", "pg_config"} <= top.keys():
        raise TraceError("The file is a pickle, but not a dump of the flight recorder", path, _HINT)
    rank = _RANK.search(path.name)
    if rank is None:
        raise TraceError("The name of the file does not end in the number of a rank", path, _HINT)
    entries = [each for each in _list(top["entries"]) if isinstance(each, dict)]
    groups = {str(each.get("pg_id")): _group(each) for each in entries}
    configured = [each for each in _dict(top["pg_config"]).values() if isinstance(each, dict)]
    return Dump(
        int(rank[1]),
        {str(each.get("name")): _ranks(each.get("ranks")) for each in configured},
        {str(each.get("name")): str(each.get("desc", "")) for each in configured},
        dict(_progress(_dict(top.get("pg_status")), groups)),
        [_call(each) for each in entries if each.get("state") != "completed" and not each.get("retired")],
    )


def _list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _dict(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _group(entry: dict[Any, Any]) -> str:
    """Returns the name of the entry's group, which is a number. The entry also has the group's purpose."""
    return str(next(iter(_list(entry.get("process_group"))), ""))


def _ranks(written: Any) -> tuple[int, ...]:
    """Returns the ranks, which are written as text: "[0, 2]"."""
    return tuple(map(int, _NUMBERS.findall(written))) if isinstance(written, str) else ()


def _progress(status: dict[Any, Any], groups: dict[str, str]) -> Iterator[tuple[str, Progress]]:
    """Returns the progress in the groups that have a remembered call. Counters use this rank's numbers of groups; the
    calls have both numbers and names."""
    for number, counters in status.items():
        group, counters = groups.get(str(number)), _dict(counters)
        begun, finished = (counters.get(f"last_{name}_collective") for name in ("enqueued", "completed"))
        if group is not None and isinstance(begun, int) and isinstance(finished, int):
            yield group, Progress(begun, finished)


def _call(entry: dict[Any, Any]) -> Call:
    frames = [each for each in _list(entry.get("frames")) if isinstance(each, dict)]
    own = next((each for each in frames if "/torch/" not in str(each.get("filename"))), None)
    line = f"{str(own.get('filename')).rsplit('/', 1)[-1]}:{own.get('line')}" if own else None
    return Call(
        _group(entry),
        str(entry.get("profiling_name", "")),
        entry.get("is_p2p") is True,
        line,
    )
