"""What `tb-steptime hang` prints of a job that hangs.

The JSON is a contract with other programs: fields may be added, never renamed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from tb_steptime.hangs.verdict import FINISH, Hang, RankBehind
from tb_steptime.tables.notes import ErrorReport
from tb_steptime.terminal.output import aligned, wrapped
from tb_steptime.text.printer import UNKNOWN, printable


class HangReport(msgspec.Struct, frozen=True):
    job: Hang
    errors: list[ErrorReport]


def hang_text(hang: Hang, width: int) -> str:
    """Returns a sentence and the table with its evidence, without a trailing newline. width: of a line of text."""
    lines = wrapped(_sentence(hang), width)
    if hang.missing:
        missing = f"There is no dump of {_ranks(hang.missing, within=True)}: a process that ended writes none."
        lines += wrapped(missing, width)
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
        gpu = "its GPU has" if len(hang.behind) == 1 else "their GPUs have"
        sentence += f": {gpu} not finished collectives that other ranks of the group have finished."
    else:
        program = "its program has" if len(hang.behind) == 1 else "their programs have"
        sentence += f": {program} not begun a collective that other ranks of the group have begun."
    return (
        f"{sentence} {_ranks(hang.waiting)} {'waits' if len(hang.waiting) == 1 else 'wait'}."
        if hang.waiting
        else sentence
    )


def _row(row: RankBehind) -> tuple[str, ...]:
    group = f"{row.group} {row.purpose}".strip()
    numbers = (row.finished, row.others_finished, row.begun, row.others_begun)
    return str(row.rank), printable(group), *(f"{each:,}" for each in numbers), row.call or UNKNOWN, row.line or UNKNOWN


def _ranks(ranks: Sequence[int], within: bool = False) -> str:
    """ "Rank 3", "Ranks 0 to 11, 13 and 15". within: "rank 3", inside of a sentence."""
    runs = [
        [rank for _, rank in run]
        for _, run in itertools.groupby(enumerate(sorted(ranks)), lambda each: each[1] - each[0])
    ]
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]} {'and' if len(run) == 2 else 'to'} {run[-1]}" for run in runs]
    numbers = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    named = f"{'Rank' if len(ranks) == 1 else 'Ranks'} {numbers}"
    return named.lower() if within else named
