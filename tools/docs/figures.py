"""The page of figures and definitions, from the catalogue that the tab itself shows: each figure with its formula."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator

import tb_steptime.metrics
import tb_steptime.tables
from tb_steptime.metrics.base import Metric, PartMeaning
from tb_steptime.serve.catalogue import Catalogue, catalogue
from tb_steptime.tables.base import Table
from tb_steptime.text import Unit
from tools.docs.markdown import code, plain, table

UNITS = {
    Unit.NS: "time",
    Unit.FRACTION: "share",
    Unit.COUNT: "number",
    Unit.NUMBER: "number",
    Unit.BYTES: "bytes",
    Unit.BYTES_PER_SECOND: "bytes per second",
    Unit.TEXT: "name",
    Unit.CODE: "setting",
}


def metrics() -> str:
    """Every metric of the catalogue: what a span and each of its steps is measured by."""
    return _metric_table(_catalogue().metrics)


def figures() -> str:
    """Further figures that a view shows."""
    return _metric_table(_catalogue().figures)


def parts() -> str:
    return _meaning_table("part", _catalogue().parts)


def idle_reasons() -> str:
    return _meaning_table("reason", _catalogue().idle_reasons)


def missing() -> str:
    """Why a figure is a dash, in the words of its tooltip."""
    return table(("id", "reason"), ((code(id), plain(_open(words))) for id, words in _catalogue().reasons.items()))


def _open(template: str) -> str:
    """A sentence whose numbers differ from trace to trace.

    >>> _open("One step of {steps} is slow.")
    'One step of … is slow.'
    """
    return re.sub(r"{\w+}", "…", template)


def phases() -> str:
    return _label_table("phase", _catalogue().phases.items())


def bounds() -> str:
    return _label_table("verdict", _catalogue().bounds.items())


@functools.cache
def _catalogue() -> Catalogue:
    return catalogue()


def _meaning_table(head: str, meanings: Iterable[PartMeaning]) -> str:
    return table((head, "meaning"), ((_named(each.label, each.id), plain(each.meaning)) for each in meanings))


def _label_table(head: str, labels: Iterable[tuple[str, str]]) -> str:
    return table((head, "id"), ((label, code(id)) for id, label in labels))


def _metric_table(rows: Iterable[Metric]) -> str:
    return table(("figure", "unit", "meaning", "formula in"), map(_metric_row, rows))


def _metric_row(row: Metric) -> tuple[str, str, str, str]:
    return _named(row.label, row.id), UNITS[row.unit], plain(row.meaning), code(_defined_in(row))


def _named(label: str, id: str) -> str:
    """The label as the tab shows it, and below it the id that programs use."""
    return f"{plain(label)}<br>{code(id)}"


def _defined_in(metric: Metric) -> str:
    """The file below `tb_steptime/` whose top level makes this metric, and whose functions measure it."""
    return _definitions()[metric.id]


@functools.cache
def _definitions() -> dict[str, str]:
    found: dict[str, str] = {}
    for module in _modules():
        path = module.removeprefix("tb_steptime.").replace(".", "/") + ".py"
        for metric in _made_by(module):
            found.setdefault(metric.id, path)
    return found


#: Modules that collect the figures of others.
_GATHERED = {"tb_steptime.metrics.catalogue", "tb_steptime.tables.heads"}


def _modules() -> Iterator[str]:
    """Modules of metrics come first: a table column that is also a figure is defined there."""
    for package in (tb_steptime.metrics, tb_steptime.tables):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.ispkg and module.name not in _GATHERED:
                yield module.name


def _made_by(name: str) -> Iterator[Metric]:
    """The metrics in what the module assigns, and not in what it imports."""
    module = importlib.import_module(name)
    for node in ast.parse(inspect.getsource(module)).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                yield from _metrics_in(getattr(module, target.id))


def _metrics_in(value: object) -> Iterator[Metric]:
    if isinstance(value, Metric):
        yield value
    elif isinstance(value, Table):
        yield from (column.metric for column in value.columns)
    elif isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _metrics_in(each)
