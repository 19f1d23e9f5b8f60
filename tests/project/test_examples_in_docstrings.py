"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tb_steptime

#: These need a framework to be imported; they have no examples.
FRAMEWORKS = ("tb_steptime.record.lightning", "tb_steptime.record.transformers")
MODULES = [
    module.name
    for module in pkgutil.walk_packages(tb_steptime.__path__, "tb_steptime.")
    if module.name not in FRAMEWORKS
]


def with_examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    return sorted(found, key=lambda test: test.name)


@pytest.mark.parametrize("example", with_examples(), ids=lambda test: test.name)
def test_an_example_gives_what_it_says(example):
    runner = doctest.DocTestRunner(verbose=False)
    said: list[str] = []
    assert runner.run(example, out=said.append).failed == 0, "".join(said)
