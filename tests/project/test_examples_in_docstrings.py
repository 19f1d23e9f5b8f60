"""The examples in docstrings produce the output that they show."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tests import PROJECT

#: Importing these modules needs a framework. They have no examples.
FRAMEWORKS = ("tb_steptime.record.lightning", "tb_steptime.record.transformers")


def with_prompts() -> list[str]:
    """The modules whose text contains a prompt. The others have no examples and need not be imported."""
    paths = sorted((PROJECT / "tb_steptime").rglob("*.py"))
    texts = {path.relative_to(PROJECT).with_suffix(""): path.read_text("utf-8") for path in paths}
    return [".".join(path.parts).removesuffix(".__init__") for path, text in texts.items() if ">>> " in text]


MODULES = with_prompts()


def test_frameworks_are_not_needed() -> None:
    assert MODULES
    assert not set(FRAMEWORKS) & set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_say(name: str) -> None:
    runner = doctest.DocTestRunner(verbose=False)
    output: list[str] = []
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        runner.run(example, out=output.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(output)
