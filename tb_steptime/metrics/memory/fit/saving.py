"""Tensors that ops save for the backward pass, by the names of their nodes: they decide what a checkpoint recomputes.

A checkpoint without reentrant autograd repeats the forward pass until the last needed tensor is available:

    linear   gelu   linear                 the last linear saves its input: it is not recomputed
    linear   batch_norm   relu             relu saves its result: everything is recomputed
"""

from __future__ import annotations

from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import NODE

_ENDING = expression(r"Backwards?\d*$")
#: Views: ops that allocate no tensor of their own.
_VIEWS = expression(
    r"View|UnsafeView|Reshape|ReshapeAlias|T|Transpose|Permute|Expand|Slice|Select|Squeeze|Unsqueeze|Unbind|Split"
    r"|SplitWithSizes|AsStrided|Alias|Unfold"
)
#: Ops whose backward pass needs only sizes and numbers, no tensors.
_NOTHING = expression(r"Add|Sub|Neg|Cat|Stack|Mean|Sum|Clone|ToCopy|Repeat|Flip|Roll|ConstantPadNd")
#: Ops that save only their inputs: everything is saved before they run.
_INPUTS = expression(
    r"Addmm|Mm|Bmm|Baddbmm|Matmul|Linear|Mul|Div|Pow|Convolution|MkldnnConvolution|Gelu|Silu|Softplus|Hardswish|Mish"
    r"|Hardtanh|Embedding|AvgPool2D|AdaptiveAvgPool2D|Where|Abs|Log|Sin|Cos|Index|IndexSelect|Gather"
)
#: Of these, ops that save where to look, and not what they look up in.
_LOOKUPS = expression(r"Embedding|Index|IndexSelect|Gather")
#: Ops that save their result.
_RESULT = expression(
    r"Relu|LeakyRelu|Elu|Tanh|Sigmoid|Softmax|LogSoftmax|Exp|Sqrt|Rsqrt|Reciprocal|ScaledDotProduct\w*Attention\w*"
)


def _op(node: str) -> str:
    return _ENDING.sub("", node.removeprefix(NODE))


def is_view(node: str) -> bool:
    """
    >>> is_view("autograd::engine::evaluate_function: ViewBackward0"), is_view("AddBackward0")
    (True, False)
    """
    return _VIEWS.fullmatch(_op(node)) is not None


def saves_nothing(node: str) -> bool:
    """
    >>> saves_nothing("AddBackward0"), saves_nothing("AddmmBackward0")
    (True, False)
    """
    return _NOTHING.fullmatch(_op(node)) is not None


def saves_inputs_only(node: str) -> bool:
    """
    >>> saves_inputs_only("AddmmBackward0"), saves_inputs_only("ReluBackward0")
    (True, False)
    """
    return _INPUTS.fullmatch(_op(node)) is not None


def is_lookup(node: str) -> bool:
    """
    >>> is_lookup("EmbeddingBackward0"), is_lookup("AddmmBackward0")
    (True, False)
    """
    return _LOOKUPS.fullmatch(_op(node)) is not None


def saves_result(node: str) -> bool:
    """
    >>> saves_result("ReluBackward0"), saves_result("NativeBatchNormBackward0")
    (True, False)
    """
    return _RESULT.fullmatch(_op(node)) is not None
