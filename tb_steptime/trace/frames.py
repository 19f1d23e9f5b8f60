"""Python frames in a trace, as a profiler with stacks writes them: a line of a file, a built-in function, or a module
call.

train.py(54): step        <built-in function sleep>        nn.Module: Linear_3
"""

from __future__ import annotations

from tb_steptime.record.frames import is_of_user
from tb_steptime.text.frames import source_line
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, rows_named, shared
from tb_steptime.trace.table import Int64, Kind

#: Prefix of the name of a Python frame that calls a module: "nn.Module: Linear_3".
MODULE_FRAME = "nn.Module: "
#: How Lightning's profiler marks a module call: "[pl][module]torch.nn.modules.linear.Linear: encoder.0".
_LIGHTNING_MODULE = expression(r"\[pl\]\[module\](?:\w+\.)*(?P<kind>\w+): (?P<path>.*)$")
#: How an op of TorchScript names a module around it and its method: "A0(A)::forward". SELF is the module named before
#: it.
_SCRIPTED = expression(r"(?P<path>[^().]+)\((?P<kind>[^()]*)\)")
_INSTANCE = expression(r"_\d+$")
#: Packages that training jobs use, and that are not written for a single job.
_PACKAGES = expression(
    r"(PIL|accelerate|albumentations|apex|composer|cv2|datasets|deepspeed|diffusers|einops|fastai|flash_attn|flashinfer"
    r"|fsspec|huggingface_hub|kornia|lightning|lightning_fabric|numpy|pandas|peft|pyarrow|pytorch_lightning|ray"
    r"|requests|scipy|sklearn|tensorboard|tensordict|timm|tokenizers|torchaudio|torchdata|torchmetrics|torchtext"
    r"|torchvision|tqdm|transformer_engine|transformers|triton|trl|wandb|webdataset|xformers)/"
)
#: Functions of Python and torch that run another function, such as what a decorator makes of it.
_WRAPPERS = expression(
    r"(?:.*/)?(?:(?:contextlib|functools|torch/utils/_contextlib)\.py\(\d+\): \w+"
    r"|torch/nn/modules/module\.py\(\d+\): _(?:wrapped_)?call_impl)$"
)
_PRIVATE = expression(r".*: _(?!_)\w+$")
_INSTALLED = expression(r"^.*/(?:site|dist)-packages/|^.*/lib/python3\.\d+/")


@shared
def module_frames(trace: Trace) -> Int64:
    """Returns the rows of the Python frames that call an nn.Module, in time order. A trace without such frames may have
    Lightning's marks of modules, which are returned then."""
    frames = rows_named(trace, (Kind.PYTHON,), lambda name: name.startswith(MODULE_FRAME))
    if len(frames):
        return frames
    return rows_named(trace, (Kind.USER,), _LIGHTNING_MODULE.match)


def module_name(frame: str) -> str:
    """Returns the module that a frame or a mark of Lightning's calls.

    >>> module_name("nn.Module: Linear_3"), module_name("[pl][module]torch.nn.modules.linear.Linear: encoder.0")
    ('Linear_3', 'encoder.0')
    """
    mark = _LIGHTNING_MODULE.match(frame) or _SCRIPTED.fullmatch(frame)
    return mark["path"] if mark else frame.removeprefix(MODULE_FRAME)


def module_class(frame: str) -> str:
    """Returns the class of the module that the frame calls.

    >>> module_class("nn.Module: Linear_3"), module_class("[pl][module]torch.nn.modules.linear.Linear: encoder.0")
    ('Linear', 'Linear')
    """
    mark = _LIGHTNING_MODULE.match(frame) or _SCRIPTED.fullmatch(frame)
    return mark["kind"] if mark else _INSTANCE.sub("", frame.removeprefix(MODULE_FRAME))


def nested_modules(hierarchy: str) -> list[str]:
    """Returns the modules that an op of TorchScript names as containing it, the outermost first.

    >>> nested_modules("TOP(C)::forward.A0(A)::forward.SELF(A)::helper.")
    ['TOP(C)', 'A0(A)']
    """
    return [match[0] for match in _SCRIPTED.finditer(hierarchy) if match["path"] != "SELF"]


def innermost_module(hierarchy: str) -> str | None:
    """Returns the name of the last of the nested modules.

    >>> innermost_module("TOP(C)::forward.A0(A)::forward.")
    'A0'
    """
    nested = nested_modules(hierarchy)
    return module_name(nested[-1]) if nested else None


@shared
def source_frames(trace: Trace) -> Int64:
    """Returns the rows of the Python frames of files outside torch and Python's library, in time order."""
    return rows_named(trace, (Kind.PYTHON,), is_source)


def short_frame(frame: str) -> str:
    """Returns the frame without the path of the environment in which its package is installed.

    >>> short_frame("/home/me/env/lib/python3.11/site-packages/timm/layers.py(3): forward")
    'timm/layers.py(3): forward'
    """
    return _INSTALLED.sub("", frame)


@shared
def script_package(trace: Trace) -> str:
    """Returns the package of the script: that of the first frame of the user's."""
    frames = source_frames(trace)
    return package(trace.name_of(frames[0])) if len(frames) else ""


def package(frame: str) -> str:
    """Returns the package of a frame's file, by its path.

    >>> package("timm/layers/drop.py(3): forward"), package("train.py(9): main")
    ('timm', '')
    """
    return short_frame(frame).rpartition("(")[0].rpartition("/")[0].partition("/")[0]


def is_installed(frame: str) -> bool:
    """Returns whether the path shows that the file belongs to an installed package, or to Python's library.

    >>> is_installed("/env/lib/python3.11/site-packages/timm/layers.py(3): forward"), is_installed("net.py(3): f")
    (True, False)
    """
    return _INSTALLED.match(frame) is not None


def is_file(frame: str) -> bool:
    """Returns whether this is a frame of a Python file. Frames of built-in functions and of module calls are not.

    >>> is_file("torch/nn/functional.py(9): gelu"), is_file("<built-in function sleep>")
    (True, False)
    """
    return source_line(frame) is not None


#: Functions of torch that no op explains and that a training loop calls explicitly.
CALLED_BY_LOOPS = expression(
    r"(?:.*/)?torch/(?:serialization\.py\(\d+\): (?:save|load)|utils/tensorboard/writer\.py\(\d+\): \w+)$"
)


def is_outside_torch(frame: str) -> bool:
    """Returns whether this is a frame of a Python file that does not belong to torch.

    >>> is_outside_torch("queue.py(9): get"), is_outside_torch("torch/nn/functional.py(9): gelu")
    (True, False)
    """
    return is_file(frame) and not short_frame(frame).startswith("torch/")


def is_own(frame: str) -> bool:
    """Returns whether a frame is of the user's code.

    >>> [is_own(frame) for frame in ("train.py(54): step", "timm/layers.py(3): forward", "data/sets.py(7): item")]
    [True, False, True]
    """
    return is_source(frame) and not is_installed(frame) and not _PACKAGES.match(frame)


def is_helper(frame: str) -> bool:
    """Returns whether what a function does is better known by the function that calls it or that it calls: it is a
    wrapper, or private to a package that the user has not written.

    >>> [is_helper(f) for f in ("numpy/core/fromnumeric.py(51): _wrapfunc", "contextlib.py(8): inner")]
    [True, True]
    >>> [is_helper(f) for f in ("numpy/core/fromnumeric.py(1): argmax", "train.py(5): _crop", "timm/a.py(1): __call__")]
    [False, False, False]
    """
    return _WRAPPERS.match(frame) is not None or (_PRIVATE.match(frame) is not None and not is_own(frame))


def is_source(frame: str) -> bool:
    """Returns whether this frame is in a file that the user may have written: none of torch, of Python or of the
    recorder.

    >>> is_source("tb_steptime/record/loaders/production.py(9): fetch")
    False
    >>> [is_source(f) for f in ("train.py(54): step", "torch/nn/functional.py(9): gelu", "contextlib.py(8): inner")]
    [True, False, False]
    """
    line = source_line(frame)
    return line is not None and is_of_user(short_frame(line.file))
