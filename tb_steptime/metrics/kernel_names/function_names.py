"""The function in a kernel's name, which compilers write with return type, namespaces, template arguments, parameters.

void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>(float*, int)
     |------------ function name -------------------------||template||parameters|
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tb_steptime.text.patterns import expression

ANONYMOUS = "(anonymous namespace)"

_RETURN_TYPE = expression(r"^(?:std::enable_if<.*?>::type|void|static|__global__)\s+")
#: Wrapper functions, whose name does not show what they compute; their first template argument does.
_WRAPPER = expression(r"^(?:cutlass(?:_\w+)?::(?:device_kernel|Kernel2?)|ck_tile::kentry)$")
#: A wrapper that even the qualified name does not identify; a number precedes the wrapped function.
_ENTRY = expression(r"^ck_tile::kentry<(?:\d+, )?")
#: A name in the Itanium ABI consists of its length and the name itself.
_MANGLED_LENGTH = expression(r"\d+")
_LITERAL = expression(r"L[a-z]n?\d+E|S[0-9A-Z]*_|T\d*_")


def function_name(name: str) -> str:
    """A kernel's qualified function name; mangled names come back whole.

    >>> function_name("void cutlass::Kernel<cutlass_80_simt_sgemm>(Params)")
    'cutlass::Kernel'
    >>> function_name("void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<int> >(int)")
    'ck_tile::Rmsnorm2dFwd'
    """
    bare = name.replace(ANONYMOUS, "{}")
    while (shorter := _RETURN_TYPE.sub("", bare)) != bare:
        bare = shorter
    bare = _ENTRY.sub("", bare)
    ends = [place for place in (bare.find("<"), bare.find("(")) if place >= 0]
    return bare[: min(ends, default=len(bare))].replace("{}", ANONYMOUS)


def own_name(name: str) -> str:
    """The function's name without its namespaces; for a wrapper, that of the wrapped function; mangled names are
    parsed.

    >>> own_name("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>(cutlass_80_tensorop_s1688gemm::Params)")
    'cutlass_80_tensorop_s1688gemm'
    >>> own_name("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_8PipelineEEEEEvv")
    'Rmsnorm2dFwd'
    """
    if name.startswith("_Z"):
        return _own_of_path(*_mangled_paths(name)) or name
    function = function_name(name)
    if _WRAPPER.match(function):
        inside = name.partition("<")[2]
        return own_name(re.split("[<>(,]", inside)[0].strip()) or function
    return function.rpartition("::")[2].strip() or function.strip()


def _own_of_path(first: str = "", second: str = "", *_: str) -> str:
    return (second if _WRAPPER.match(first) else first).rpartition("::")[2]


def _mangled_paths(name: str) -> Iterator[str]:
    """The qualified names in a mangled name, in order."""
    path: list[str] = []
    at = 2
    while at < len(name):
        length = _MANGLED_LENGTH.match(name, at)
        if length is not None:
            end = length.end() + int(length.group())
            path.append(name[length.end() : end])
            at = end
            continue
        if path:
            yield "::".join(path)
            path = []
        at = _after_literal(name, at)
    if path:
        yield "::".join(path)


def _after_literal(name: str, at: int) -> int:
    """The position after one character, or after a literal or a substitution, since the digits of Li128E and S1_ are
    not lengths."""
    skipped = _LITERAL.match(name, at)
    return skipped.end() if skipped else at + 1
