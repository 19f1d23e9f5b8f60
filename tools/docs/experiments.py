"""What the demo's five experiments gained, beside what the cards of the one before promised, as Markdown.

python -m tools.docs.experiments                        # prints it
python -m tools.docs.experiments docs/views/compare.md  # writes it into the page, between its two marks
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tb_steptime.comparison.comparison import Comparison, Prediction, StepChange, compare
from tb_steptime.comparison.fairness import OTHER_WORK
from tb_steptime.insights.wording.compare import CHANGE_LABELS, CONTRIBUTION_LABELS, residual_text
from tb_steptime.terminal.compared import compared_sides
from tb_steptime.text.printer import change, duration, plain

DEMO = Path(__file__).resolve().parents[2] / "demo_logs"
#: In the order of the tutorial.
EXPERIMENTS = ("baseline", "num_dataloaders", "transforms", "resnet50_baseline", "autocast")
KINDS = (("Recorded on an H200", "gpu_", ""), ("Recorded on a CPU", "cpu_", ""), ("Simulated", "", "_simulated"))
BEGINS, ENDS = "<!-- experiments -->\n", "<!-- end of experiments -->\n"

_HEAD = ("experiment", "mean step", "change, 95 % interval", "what the traces show", "predicted, at most", "measured",
         "why another gain")  # fmt: skip


def experiments(demo: Path = DEMO) -> Iterator[str]:
    """Lines of a table for each kind of recordings."""
    for title, before, after in KINDS:
        yield f"{title}:"
        yield ""
        yield _row(_HEAD)
        yield _row(["---"] * len(_HEAD))
        yield from map(_row, _rows([demo / f"{before}{name}{after}" for name in EXPERIMENTS]))
        yield ""


def _rows(paths: list[Path]) -> Iterator[list[str]]:
    for place, name in enumerate(EXPERIMENTS):
        base, candidate = (side for _, side in compared_sides([paths[max(place - 1, 0)], paths[place]], [], None))
        found = compare(base, candidate)
        step = duration(found.step.candidate_ns)
        if place == 0:
            yield [name, step, "the first", "", "", "", ""]
        elif any(note.id in OTHER_WORK for note in found.warnings):
            yield [name, step, "other work", "", "", "", ""]
        else:
            yield from _gains(name, found)


def _gains(name: str, found: Comparison) -> Iterator[list[str]]:
    """One row for each card that was followed; one without a card where none was."""
    first = [name, duration(found.step.candidate_ns), _changed(found.step),
             "; ".join(CHANGE_LABELS[each] for each in found.changes) or "nothing otherwise"]  # fmt: skip
    if not found.predictions:
        yield [*first, "no card advised it" if found.changes else "", "", ""]
    for each in found.predictions:
        yield [*first, *_promise(each)]
        first = ["", "", "", ""]


def _changed(step: StepChange) -> str:
    noise = "" if step.distinguishable else ", not distinguishable"
    interval = "" if step.low is None or step.high is None else f" ({change(step.low)} to {change(step.high)})"
    return f"{change(step.change_ns)}{interval}{noise}"


def _promise(each: Prediction) -> list[str]:
    of = "" if each.of is None else f" of {CONTRIBUTION_LABELS[each.of].lower()}"
    return [
        f"`{each.insight}` {duration(each.predicted_ns)}",
        duration(each.measured_ns) + of,
        plain(residual_text(each)),
    ]


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |".replace("\u202f", " ").replace("\u00a0", " ")


def main(pages: list[str]) -> None:
    lines = "".join(f"{line}\n" for line in experiments())
    for page in map(Path, pages):
        above, begins, rest = page.read_text(encoding="utf-8").partition(BEGINS)
        _, ends, below = rest.partition(ENDS)
        page.write_text(f"{above}{begins}\n{lines}{ends}{below}", encoding="utf-8")
    if not pages:
        sys.stdout.write(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
