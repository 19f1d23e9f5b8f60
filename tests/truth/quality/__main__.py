"""Prints how much of the damage in real and simulated traces is found, and every finding on undamaged traces."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tb_steptime.insights.wording.notes import worded
from tb_steptime.metrics.catalogue import main_device
from tb_steptime.metrics.excluded_time.ranges import findings as findings_of
from tb_steptime.text import Note
from tb_steptime.text.printer import plain
from tests.truth.quality.scores import DEMO, REAL, Score, read_all, scored

_COLUMNS = ("traces", "changed", "hidden", "found", "recall", "mended")


def table(scores: Sequence[Score]) -> str:
    lines = [f"{'damage':24} {'strength':>12}{''.join(f'{name:>9}' for name in _COLUMNS)}"]
    for each in scores:
        recall = f"{each.found / each.changed:.1%}" if each.changed else "-"
        mended = str(each.mended) if each.rule.repairs else "-"
        strength = f"{each.strength:g} {each.rule.unit}"
        cells = (each.applied, each.changed, each.hidden, each.found, recall, mended)
        lines.append(f"{each.rule.name:24} {strength:>12}{''.join(f'{cell:>9}' for cell in cells)}")
    return "\n".join(lines)


def findings(paths: Sequence[Path]) -> str:
    """The findings on traces that nobody has damaged."""
    lines, silent = [], 0
    for name, trace in read_all(paths):
        found = findings_of(trace, main_device(trace))
        silent += not found
        for each in found:
            note = worded(Note(each.id, each.values))
            lines.append(f"{name}\n    {each.done}: {plain(note.cause)} {plain(note.effect)}")
    return "\n".join([*lines, f"Nothing is found on {silent} of {len(paths)} untouched traces."])


def report(title: str, paths: Sequence[Path]) -> str:
    scores = scored(read_all(paths))
    left = [
        f"{each.rule.name} {each.strength:g} {each.rule.unit}, {what}: {', '.join(names)}"
        for each in scores
        for what, names in (("missed", each.missed), ("not mended", each.off))
        if names
    ]
    return "\n".join([f"{title}: {len(paths)}", "", table(scores), "", *left, "", findings(paths), ""])


if __name__ == "__main__":
    for title, paths in (("Real traces", REAL), ("Simulated traces of demo_logs", DEMO)):
        sys.stdout.write(f"{report(title, paths)}\n" if paths else f"{title}: none are there.\n")
