"""The Python frames of a stack that are shown while it is folded: the user's lines and the calls of modules.

    all frames                                  folded
    runpy.py(198): _run_module_as_main          train.py(54): step
      train.py(54): step                          nn.Module: Linear_3
        torch/nn/modules/module.py(1): _call        aten::linear
          nn.Module: Linear_3
            torch/nn/functional.py(9): linear
              aten::linear

Frames of torch, of Python's library, of built-ins and of installed packages are folded away. A profiler may leave out
the path up to the package, so packages are recognised by name as well. If every line of the recording is in an
installed package, as in a job started by its framework, the packages count as the user's code.
"""

from __future__ import annotations

import re

import numpy as np

from tb_steptime.trace.frames import is_installed, is_source, module_frames
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.table import Bool, Kind

#: Packages that training jobs use, and that are not written for a single job.
_PACKAGES = re.compile(
    r"(PIL|accelerate|albumentations|apex|composer|cv2|datasets|deepspeed|diffusers|einops|fastai|flash_attn|flashinfer"
    r"|fsspec|huggingface_hub|kornia|lightning|lightning_fabric|numpy|pandas|peft|pyarrow|pytorch_lightning|ray"
    r"|requests|scipy|sklearn|tensorboard|tensordict|timm|tokenizers|torchaudio|torchdata|torchmetrics|torchtext"
    r"|torchvision|tqdm|transformer_engine|transformers|triton|trl|wandb|webdataset|xformers)/"
)


def foreign_frames(trace: Trace) -> Bool:
    """Marks by row of the event table the Python frames that are neither of the user's code nor the call of a
    module."""
    foreign = trace.events.kind == Kind.PYTHON
    own = rows_named(trace, (Kind.PYTHON,), _is_own)
    foreign[own if len(own) else rows_named(trace, (Kind.PYTHON,), is_source)] = False
    foreign[module_frames(trace)] = False
    return np.asarray(foreign, bool)


def _is_own(frame: str) -> bool:
    """
    >>> [_is_own(frame) for frame in ("train.py(54): step", "timm/layers.py(3): forward", "data/sets.py(7): item")]
    [True, False, True]
    """
    return is_source(frame) and not is_installed(frame) and not _PACKAGES.match(frame)
