"""Whose code a Python frame runs: one rule for frames in traces and for those that the recorder samples."""

from __future__ import annotations

import sys

_NOT_OF_USER = frozenset({"torch", "tb_steptime", *sys.stdlib_module_names})


def is_of_user(file: str) -> bool:
    """Whether the user may have written this file: not torch's, Python's own, ours, nor what no file holds. file: below
    what its package is installed in.

    >>> [is_of_user(file) for file in ("train.py", "timm/layers.py", "torch/nn/functional.py", "json/decoder.py")]
    [True, True, False, False]
    >>> is_of_user("<string>")
    False
    """
    top = file.partition("/")[0].removesuffix(".py")
    return file.endswith(".py") and not file.startswith("<") and top not in _NOT_OF_USER
