"""Which Python frames of a stack are shown while it is folded: the user's lines and the calls of modules.

    all frames                                  folded
    runpy.py(198): _run_module_as_main          train.py(54): step
      train.py(54): step                          nn.Module: Linear_3
        torch/nn/modules/module.py(1): _call        aten::linear
          nn.Module: Linear_3
            torch/nn/functional.py(9): linear
              aten::linear

Frames of torch, of Python's library, of built-ins and of installed packages are folded away. Where every line of the
recording is of an installed package, as in a job that is started by its framework, the packages are the user's code.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.trace.frames import is_installed, is_source, module_frames
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.table import Bool, Kind


def foreign_frames(trace: Trace) -> Bool:
    """By row of the event table: a Python frame that is neither of the user's code nor the call of a module."""
    foreign = trace.events.kind == Kind.PYTHON
    own = rows_named(trace, (Kind.PYTHON,), _is_own)
    foreign[own if len(own) else rows_named(trace, (Kind.PYTHON,), is_source)] = False
    foreign[module_frames(trace)] = False
    return np.asarray(foreign, bool)


def _is_own(frame: str) -> bool:
    return is_source(frame) and not is_installed(frame)
