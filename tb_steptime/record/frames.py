"""Whether a Python frame runs the user's code, and the frame's name: one rule for frames in traces and for those that
the recorder samples."""

from __future__ import annotations

import functools
import os
import sys
from types import CodeType

_NOT_OF_USER = frozenset({"torch", "tb_steptime", *sys.stdlib_module_names})
_OWN = os.path.dirname(__file__) + os.sep


def is_of_user(file: str) -> bool:
    """Returns whether the user may have written this file: it is not torch's, Python's or ours, and it is a file. file:
    its path below the folder that its package is installed in.

    >>> [is_of_user(file) for file in ("train.py", "timm/layers.py", "torch/nn/functional.py", "json/decoder.py")]
    [True, True, False, False]
    >>> is_of_user("<string>")
    False
    """
    top = file.partition("/")[0].removesuffix(".py")
    return file.endswith(".py") and not file.startswith("<") and top not in _NOT_OF_USER


def name_of(code: CodeType, line: int) -> str:
    """Names a frame as traces do: "torchvision/transforms/functional.py(138): to_tensor"."""
    return f"{path_in_traces(code.co_filename)}({line}): {code.co_name}"


@functools.lru_cache(maxsize=4096)
def is_path_of_user(path: str) -> bool:
    """Like `is_of_user`, for a code object's file, which may be a whole path."""
    return is_of_user(path_in_traces(path))


def is_torch_fetch(code: CodeType) -> bool:
    """Returns whether a frame is the loader's own code between the recorder and the dataset."""
    return code.co_filename.replace("\\", "/").endswith("torch/utils/data/_utils/fetch.py")


def is_recorder(code: CodeType) -> bool:
    return code.co_filename.startswith(_OWN)


def path_in_traces(file: str) -> str:
    """Names a file as traces do: its path below the longest entry of sys.path that holds it."""
    file = file.replace("\\", "/")
    entries = (f"{entry}/".replace("\\", "/").replace("//", "/") for entry in sys.path if entry)
    return file[max((len(entry) for entry in entries if file.startswith(entry)), default=0) :]
