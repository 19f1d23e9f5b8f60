"""In CI nothing that needs torch may be skipped: a skip there would look like success."""

from __future__ import annotations

import importlib.util
import os

import pytest


@pytest.mark.live  # `make test` needs no torch, in CI as elsewhere
@pytest.mark.skipif(not os.environ.get("CI"), reason="elsewhere torch is optional; `make torch` installs it")
@pytest.mark.parametrize("module", ["torch", "torchdata", "lightning", "transformers", "accelerate"])
def test_what_the_recorder_is_tested_with_is_here(module):
    assert importlib.util.find_spec(module) is not None, f"{module} is missing; .ci/run installs it with `make torch`"
