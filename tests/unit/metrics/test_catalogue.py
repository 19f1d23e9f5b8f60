"""A metric's id leads to one module, which has its meaning and its formula."""

import ast
import inspect
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.catalogue import METRICS, OF_DEVICE, OF_PROCESS

LINES = [*OF_PROCESS.values(), *OF_DEVICE.values()]


@pytest.mark.parametrize(("metric", "function"), LINES, ids=[metric.id for metric, _ in LINES])
def test_the_function_is_in_the_module_of_its_metric(metric, function):
    assert metric in list(metrics_defined_in(sys.modules[function.__module__]))


def metrics_defined_in(module: ModuleType) -> Iterator[Metric]:
    """The metrics that the module assigns, alone or in a table; imported metrics do not count."""
    for node in ast.parse(inspect.getsource(module)).body:
        for target in node.targets if isinstance(node, ast.Assign) else []:
            value = getattr(module, target.id) if isinstance(target, ast.Name) else None
            metrics = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
            yield from (each for each in metrics if isinstance(each, Metric))


def test_each_metric_is_listed_once():
    assert [metric for metric, _ in LINES] == list(METRICS)
    assert len({metric.id for metric in METRICS}) == len(METRICS)
