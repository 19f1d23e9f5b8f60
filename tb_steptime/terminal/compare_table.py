"""A comparison for a terminal, and as Markdown for a pull request."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tb_steptime.comparison.comparison import Comparison
from tb_steptime.comparison.figures import FigureChange
from tb_steptime.comparison.gates import GATED, LENGTHENED, Gate, GateResult
from tb_steptime.comparison.row_changes import RowChange, TableId, table_of
from tb_steptime.comparison.waterfall import By, Contribution
from tb_steptime.insights.wording.compare import (
    CHANGE_LABELS,
    CONTRIBUTION_LABELS,
    comparison_headline,
    residual_text,
    warning_texts,
)
from tb_steptime.metrics.catalogue import METRIC_BY_ID
from tb_steptime.tables.notes import note_line
from tb_steptime.terminal.output import aligned, cut_off, paragraphs
from tb_steptime.text import Quantity, Unit
from tb_steptime.text.printer import (
    GAP,
    UNKNOWN,
    change,
    duration,
    interval,
    number,
    percent_exact,
    plain,
    printable,
    quantity,
)

#: Maximum number of rows in each table of kernels, ops, calls and copies, and maximum length of their names.
ROWS, NAME_LENGTH = 8, 44
#: Parts that take less than this share of the step on both sides have no line in the table.
LEAST_FRACTION = 0.001

_HEAD = ("", "base", "candidate", "change", "95 % interval")
Rows = Sequence[Sequence[str]]


def comparison_table(comparison: Comparison, width: int) -> str:
    """Returns the comparison for a terminal, without a trailing newline."""
    sections = (
        _wrapped(plain(comparison_headline(comparison)), width)
        + [line for note in warning_texts(comparison) for line in _wrapped(f"! {note_line(note)}", width)],
        aligned(_change_rows(comparison, "part")),
        _titled("Idle time of the GPU", _change_rows(comparison, "reason")),
        _titled("Figures", _figure_rows(comparison)),
        *(_titled(title, _table_rows(comparison, table)) for table, title in _TABLES),
        _titled("Changes that the traces show", [(CHANGE_LABELS[change],) for change in comparison.changes]),
        _titled("What cards promised", _prediction_rows(comparison)),
        [line for text in _residuals(comparison) for line in _wrapped(text, width)],
    )
    return paragraphs(sections)


def gate_line(gate: Gate, result: GateResult) -> str:
    """ "FAILED  b: step_time>+5%: +7.1 %, with 95 % confidence at least +6.2 %" """
    word = result.outcome if result.outcome == "passed" else result.outcome.upper()
    line = f"{word:<8}{result.run}: {gate.rule}: {_measured_value(gate, result)}"
    return "\n".join([line, *_noise(gate, result)]).replace(GAP, " ")


def _noise(gate: Gate, result: GateResult) -> list[str]:
    """Returns a line where noise may be why the value is beyond the limit, and one where the recordings are too noisy
    for the limit."""
    unclear = "!       It is beyond the limit, but noise may be why: record more runs a side. With --strict it fails."
    return [*([unclear] if result.unclear else []), *_spread(gate, result)]


def _spread(gate: Gate, result: GateResult) -> list[str]:
    if not result.is_noisy or result.spread is None or _passes_despite_noise(gate, result):
        return []
    differ = f"differ by {percent_exact(result.spread)}, more than the limit: record"
    if gate.metric in LENGTHENED:
        return [f"!       The two fastest runs of a side {differ} more runs, or on a quieter machine."]
    return [f"!       Spans of one run {differ} several runs a side, alternating, or gate unprofiled_step."]


def _passes_despite_noise(gate: Gate, result: GateResult) -> bool:
    """Returns whether the value is within the limit by more than the spread: noise cannot hide that it is beyond."""
    if result.value is None or result.spread is None:
        return False
    margin = result.limit - result.value if gate.above else result.value - result.limit
    return margin > result.spread


def comparison_markdown(comparison: Comparison) -> str:
    """Returns Markdown: one line of summary, one table, and the rest folded."""
    folded = [
        _folded("Idle time of the GPU", _change_rows(comparison, "reason")),
        _folded("Figures", _figure_rows(comparison)),
        *(_folded(f"{title} that changed most", _table_rows(comparison, table)) for table, title in _TABLES),
        _folded("What cards promised", _prediction_rows(comparison)),
        *_residuals(comparison),
    ]
    if comparison.changes:
        changed = ", ".join(CHANGE_LABELS[change] for change in comparison.changes)
        folded.insert(0, f"Changed, as the traces show: {changed}.")
    warnings = [f"> {note_line(note)}" for note in warning_texts(comparison)]
    head = f"**{_escaped(plain(comparison_headline(comparison)))}**"
    blocks = [head, "\n>\n".join(warnings), _markdown(_change_rows(comparison, "part")), *folded]
    return "\n\n".join(block for block in blocks if block).replace(GAP, " ")


def gates_markdown(gates: Sequence[tuple[Gate, GateResult]]) -> str:
    rows = [("gate", "run", "measured", "")]
    outcomes = {"passed": "passed", "failed": "**failed**", "unclear": "**unclear**", "unknown": "not measurable"}
    rows += [
        (f"`{gate.rule}`", result.run, _measured_value(gate, result), outcomes[result.outcome])
        for gate, result in gates
    ]
    noisy = [line.removeprefix("!").strip() for gate, result in gates for line in _noise(gate, result)]
    return "\n\n".join([_markdown(rows), *dict.fromkeys(noisy)]).replace(GAP, " ")


def _measured_value(gate: Gate, result: GateResult) -> str:
    """Returns the value, and the end of its interval that decides: without it, a gate that passes beside a large change
    looks wrong."""
    if result.value is None:
        return "not measurable"
    value = _gated_value(gate, result.value)
    if result.nearest is None:
        return value
    bound = "at least" if gate.above else "at most"
    return f"{value}, with 95{GAP}% confidence {bound} {_gated_value(gate, result.nearest)}"


def _gated_value(gate: Gate, value: float) -> str:
    if gate.of == "relative":
        return f"{100 * value:+.1f}{GAP}%"
    text = quantity(Quantity(value, GATED[gate.metric].unit))
    return f"+{text}" if gate.of == "change" and value > 0 else text


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(printable(text), width, subsequent_indent="  " if text.startswith("! ") else "")


def _change_rows(comparison: Comparison, by: By) -> Rows:
    """Returns a head, a row for each part that is long enough, and a row for the whole step."""
    rows_of_waterfall = next((each.rows for each in comparison.waterfalls if each.by == by), [])
    step = comparison.step
    longer = max(step.base_ns, step.candidate_ns)
    shown = [row for row in rows_of_waterfall if max(row.base_ns, row.candidate_ns) >= LEAST_FRACTION * longer]
    if not shown:
        return []
    whole = Contribution("step", step.base_ns, step.candidate_ns, step.low, step.high)
    named = [*((CONTRIBUTION_LABELS.get(row.id, row.id), row) for row in shown), ("Step", whole)]
    return [_HEAD, *((label, *_cells(row)) for label, row in named)]


def _cells(row: Contribution) -> tuple[str, str, str, str]:
    return duration(row.base_ns), duration(row.candidate_ns), change(row.change_ns), interval(row.low, row.high)


def _figure_rows(comparison: Comparison) -> Rows:
    rows = [_HEAD, *(_figure_row(each) for each in comparison.figures)]
    return rows if comparison.figures else []


def _figure_row(each: FigureChange) -> tuple[str, str, str, str, str]:
    metric = METRIC_BY_ID[each.metric]
    base, candidate = (
        " to ".join(_mean(end, metric.unit) for end in ends if end is not None) or UNKNOWN
        for ends in ((each.base, each.base_high), (each.candidate, each.candidate_high))
    )
    moved, low, high = (
        UNKNOWN if value is None else _moved(value, metric.unit) for value in (each.change, each.low, each.high)
    )
    return metric.label, base, candidate, moved, UNKNOWN if each.low is None else f"{low} to {high}"


def _mean(value: float, unit: Unit) -> str:
    return percent_exact(value) if unit is Unit.FRACTION else quantity(Quantity(value, unit))


def _moved(value: float, unit: Unit) -> str:
    """Formats the change of a share in percentage points."""
    if unit is Unit.FRACTION:
        points = f"{100 * value:+.1f}{GAP}points"
        return points if any(digit in points for digit in "123456789") else points[1:]
    return f"+{quantity(Quantity(value, unit))}" if value > 0 else quantity(Quantity(value, unit))


_TABLES: tuple[tuple[TableId, str], ...] = (
    ("kernels", "Kernels"),
    ("ops", "Ops on the CPU"),
    ("blocking", "Blocking calls"),
    ("copies", "Copies"),
)


def _table_rows(comparison: Comparison, table: TableId) -> Rows:
    """Returns the rows whose change is more than noise, the largest change first."""
    changed = [row for row in table_of(table, comparison.tables).rows if row.status != "alike"]
    if not changed:
        return []
    rows = [("", "base", "candidate", "change", "calls", "matched by")]
    for row in changed[:ROWS]:
        times = duration(row.base_ns), duration(row.candidate_ns), change(row.change_ns)
        rows.append((_name(row, table), *times, _calls(row), _match(row)))
    return rows


def _calls(row: RowChange) -> str:
    """ "40", or "40 -> 2" """
    numbers = dict.fromkeys(number(calls) for calls in (row.base_calls, row.candidate_calls))
    return " -> ".join(numbers)


def _match(row: RowChange) -> str:
    return row.status if row.status in ("new", "gone") else row.matched_by.replace("_", " ")


def _name(row: RowChange, table: TableId) -> str:
    names = dict.fromkeys(printable(name) for name in (row.base_short, row.candidate_short) if name)
    most = NAME_LENGTH if len(names) == 1 else NAME_LENGTH // 2
    shown = " -> ".join(cut_off(name, most) for name in names)
    return f"{printable(row.op)}: {shown}" if row.op and table in ("blocking", "copies") else shown


def _residuals(comparison: Comparison) -> list[str]:
    return [f"{each.insight}: {plain(residual_text(each))}" for each in comparison.predictions]


def _prediction_rows(comparison: Comparison) -> Rows:
    if not comparison.predictions:
        return []
    rows = [("card", "up to", "measured", "95 % interval", "of")]
    for each in comparison.predictions:
        interval = UNKNOWN
        if each.low is not None and each.high is not None:
            interval = f"{change(-each.high)} to {change(-each.low)}"
        whole = "step" if each.of is None else CONTRIBUTION_LABELS[each.of]
        rows.append((each.insight, change(-each.predicted_ns), change(-each.measured_ns), interval, whole))
    return rows


def _titled(title: str, rows: Rows) -> list[str]:
    return [title, *aligned(rows)] if rows else []


def _folded(title: str, rows: Rows) -> str:
    return f"<details><summary>{title}</summary>\n\n{_markdown(rows)}\n\n</details>" if rows else ""


def _markdown(rows: Rows) -> str:
    if not rows:
        return ""
    lines = ["| " + " | ".join(map(_escaped, row)) + " |" for row in rows]
    rule = "|" + "|".join([" --- ", *(" ---: " for _ in rows[0][1:])]) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _escaped(text: str) -> str:
    """Escapes a text, so that a name from a trace cannot end a cell or open a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;") if "`" not in text else text.replace("|", "\\|")
