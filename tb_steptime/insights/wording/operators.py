"""The Operators view in words: which op and which module take most, and what a recording lacks to say more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tb_steptime.insights.base import Titles
from tb_steptime.insights.facts import Facts
from tb_steptime.text import Phrase, code, count, fraction, ns, phrase, text
from tb_steptime.text.frames import code_line

if TYPE_CHECKING:
    from tb_steptime.analyses.operators import LineTable, OperatorsResult
    from tb_steptime.metrics.operators.module_tree import ModuleRow
    from tb_steptime.metrics.operators.table import OperatorRow


def operator_titles(facts: Facts) -> Titles:
    """Returns titles by key: "modules", "lines", "outside", and "no_ops", "no_shapes", "no_stacks", "no_modules" for
    what is missing."""
    result = facts.operators
    if result is None:
        return {}
    if not result.tables:
        return {"no_ops": phrase("An older release measured this recording, without its ops; its trace has them.")}
    recorded = result.recorded
    missing = {"no_shapes": recorded.shapes, "no_stacks": recorded.stacks, "no_modules": recorded.modules}
    titles: Titles = {each: MISSING[each] for each, is_there in missing.items() if recorded.ops and not is_there}
    if recorded.stacks and not recorded.modules:
        titles["no_modules"] = NO_FRAMES
    if not recorded.ops:
        return {"no_ops": MISSING["no_ops"]}
    if result.folded:
        titles["modules"] = _modules(result)
    if result.lines:
        titles["lines"] = _lines(result, result.lines)
    if result.outside.device_ns:
        share = fraction(result.outside.device_ns / _whole(result))
        titles["outside"] = phrase(f"{_OUTSIDE}.", share=share)
    return titles


#: How to record each missing kind of data, and the cost of recording it.
MISSING: dict[str, Phrase] = {
    "no_ops": phrase("CPU ops are not recorded: {flag} adds them.", flag=code("ProfilerActivity.CPU")),
    "no_shapes": phrase(
        "Shapes are not recorded. {flag} adds them; files grow, and inputs are kept a little longer.",
        flag=code("record_shapes=True"),
    ),
    "no_stacks": phrase(
        "Lines and call stacks are not recorded. {flag} adds them, but slows Python more than any other option.",
        flag=code("with_stack=True"),
    ),
    "no_modules": phrase(
        "Modules are not recorded. {flag} records them, but slows Python. Lightning's profiler records them, too.",
        flag=code("with_stack=True"),
    ),
}


#: The note if call stacks are recorded but modules are not.
NO_FRAMES = phrase(
    "Modules are not recorded: the call stacks of PyTorch of 2021 and before do not name them, or none is called."
)

_OUTSIDE = "{share} of the GPU's work is launched outside any op"


def operators_verdict(result: OperatorsResult) -> Phrase | None:
    """Returns the op with most time of its own: on the GPU where anything ran there, else on the host. None without
    ops."""
    if not result.tables or not result.recorded.ops:
        return None
    rows, whole = result.tables[0].rows, _whole(result)
    if not rows or not whole:
        return None
    most = max(rows, key=lambda row: _own_ns(result, row))
    if result.outside.device_ns > _own_ns(result, most):
        return phrase(f"{_OUTSIDE}.", share=fraction(result.outside.device_ns / whole))
    share = fraction(_own_ns(result, most) / whole)
    if result.has_device:
        return phrase("{op} takes {share} of the GPU's work.", op=text(most.name), share=share)
    return phrase("{op} takes {share} of the time in ops.", op=text(most.name), share=share)


def _own_ns(result: OperatorsResult, row: OperatorRow) -> int:
    return (row.device_self_ns or 0) if result.has_device else row.host_self_ns + row.runtime_ns


def _whole(result: OperatorsResult) -> int:
    """Returns the sum of the own times of all ops and of what no op launched."""
    rows, rest = result.tables[0].rows, result.tables[0].rest
    rest_ns = (rest.device_self_ns or 0) if result.has_device else rest.host_self_ns + rest.runtime_ns
    return sum(_own_ns(result, row) for row in rows) + rest_ns + result.outside.device_ns


def _modules(result: OperatorsResult) -> Phrase:
    """Returns the class of modules with most time of its own in the forward pass."""
    most = max(result.folded, key=lambda row: _module_own_ns(result, row))
    whole = sum(_module_own_ns(result, row) for row in result.folded)
    if not whole:
        return phrase("Which modules take the time?")
    share = fraction(_module_own_ns(result, most) / whole)
    if most.instances == 1:
        return phrase("{module} takes {share} of the modules' forward pass", module=text(most.name), share=share)
    return phrase(
        "The {number} {module} modules take {share} of the modules' forward pass",
        number=count(most.instances),
        module=text(most.name),
        share=share,
    )


def _module_own_ns(result: OperatorsResult, row: ModuleRow) -> int:
    return (row.device_self_ns or 0) if result.has_device else row.host_self_ns


#: The folders of a line of code, "src/train.py:9 step", which the table shows.
_FOLDERS = re.compile(r"^[^:]*/")


def _lines(result: OperatorsResult, lines: LineTable) -> Phrase:
    """Returns the line before whose launches the GPU is idle longest; without a GPU that with most time of its own."""
    steps = max(1, len(result.steps))
    most = max(lines.rows, key=lambda row: (row.idle_ns or 0, row.host_self_ns), default=None)
    if most is None:
        return phrase("Which lines take the time?")
    line = code(_FOLDERS.sub("", code_line(most.source)))
    if most.idle_ns:
        return phrase("The GPU waits {idle} a step for launches of {line}", idle=ns(most.idle_ns / steps), line=line)
    share = fraction(most.host_self_ns / lines.host_ns if lines.host_ns else 0.0)
    return phrase("{line} takes {share} of the step on the CPU", line=line, share=share)
