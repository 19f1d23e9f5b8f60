"""What `tb-steptime hang` prints of a job that hangs.

The JSON is a contract with other programs: fields may be added, never renamed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from tb_steptime.hangs.verdict import FINISH, Hang, RankBehind
from tb_steptime.tables.notes import ErrorReport
from tb_steptime.terminal.output import aligned
from tb_steptime.text.printer import UNKNOWN, printable


class HangReport(msgspec.Struct, frozen=True):
    job: Hang
    errors: list[ErrorReport]


def hang_text(hang: Hang) -> str:
    """Returns a sentence and the table with its evidence, without a trailing newline."""
    lines = [_sentence(hang)]
    if hang.missing:
        lines.append(f"There is no dump of {_ranks(hang.missing)}: a process that ended writes none.")
    if hang.behind:
        head = ("Rank", "group", "finished", "others", "begun", "others", "oldest unfinished call", "line")
        lines += ["", *aligned([head, *map(_row, hang.behind)])]
    return "\n".join(lines)


def _sentence(hang: Hang) -> str:
    if not hang.behind:
        return f"{_ranks(hang.ranks)} have begun and finished the same: these dumps show no rank that is behind."
    names = _ranks([row.rank for row in hang.behind])
    sentence = f"{names} {'blocks' if len(hang.behind) == 1 else 'block'} the job"
    if hang.behind[0].why == FINISH:
        sentence += ": the GPU has not finished collectives that other members of the group have finished."
    else:
        sentence += ": the program has not begun a collective that other members of the group have begun."
    return (
        f"{sentence} {_ranks(hang.waiting)} {'waits' if len(hang.waiting) == 1 else 'wait'}."
        if hang.waiting
        else sentence
    )


def _row(row: RankBehind) -> tuple[str, ...]:
    group = f"{row.group} {row.purpose}".strip()
    numbers = (row.finished, row.others_finished, row.begun, row.others_begun)
    return str(row.rank), printable(group), *(f"{each:,}" for each in numbers), row.call or UNKNOWN, row.line or UNKNOWN


def _ranks(ranks: Sequence[int]) -> str:
    """ "Rank 3", "Ranks 0 to 11, 13 and 15"."""
    runs = [
        [rank for _, rank in run]
        for _, run in itertools.groupby(enumerate(sorted(ranks)), lambda each: each[1] - each[0])
    ]
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]} {'and' if len(run) == 2 else 'to'} {run[-1]}" for run in runs]
    numbers = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{'Rank' if len(ranks) == 1 else 'Ranks'} {numbers}"
