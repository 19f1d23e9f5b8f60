"""A kernel's short form: what it computes, on which type, and its tile size. The whole name is always shown beside it.

void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int)
    add<float>
void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_64x3_tn_align8>(...)
    gemm bf16 128x256

The short form is read from the name alone. If two kernels share one, `distinct_names` adds a suffix that distinguishes
them.

gemm bf16 128x128     ...gemm_bf16_128x128_64x3_tn_align8      gemm bf16 128x128 (64x3 tn)
gemm bf16 128x128     ...gemm_bf16_128x128_32x4_nn_align8      gemm bf16 128x128 (32x4 nn)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from tb_steptime.metrics.kernel_names.work_kinds import is_collective
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.table import Kind, distinct_in

# A kernel's name contains its function, which compilers write with return type, namespaces, template arguments and
# parameters.
#
# void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>(float*, int)
#      |------------ function name -------------------------||template||parameters|

ANONYMOUS = "(anonymous namespace)"

_RETURN_TYPE = expression(r"^(?:std::enable_if<.*?>::type|void|static|__global__)\s+")
#: Wrapper functions. Their first template argument shows what they compute, and not their own name.
_WRAPPER = expression(r"^(?:cutlass(?:_\w+)?::(?:device_kernel|Kernel2?)|ck_tile::kentry)$")
#: A wrapper that even the qualified name does not identify. A number precedes the wrapped function.
_ENTRY = expression(r"^ck_tile::kentry<(?:\d+, )?")
#: A name in the Itanium ABI is its length followed by the name itself.
_MANGLED_LENGTH = expression(r"\d+")
_LITERAL = expression(r"L[a-z]n?\d+E|S[0-9A-Z]*_|T\d*_")


def function_name(name: str) -> str:
    """Returns a kernel's qualified function name. A mangled name is returned unchanged.

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
    """Returns the function's name without its namespaces; for a wrapper that of the wrapped function. Mangled names are
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
    """Yields the qualified names in a mangled name, in order."""
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
        skipped = _LITERAL.match(name, at)
        at = skipped.end() if skipped else at + 1
    if path:
        yield "::".join(path)


#: Patterns of a type in kernel names, and PyTorch users' name for it. The first match in the name of a product is the
#: type of its inputs. Narrow types come first, because they are stored, while wide ones only accumulate.
_TYPES: tuple[tuple[str, str], ...] = (
    (r"(?i:e2m1|(?<![a-z])fp4)", "fp4"),
    (r"(?i:e4m3|e5m2|float8|fp8)", "fp8"),
    (r"tf32|tfloat32", "tf32"),
    (r"(?i:bfloat16)|bf16|DF16b|\bck::.*\bunsigned short\b", "bf16"),  # composable_kernel's name for it
    (r"(?<!b)fp?16|__half|half_t|c10::Half|\bHalf\b|DF16_|_Float16", "f16"),
    (r"double|f64", "f64"),
    (r"int8|_i8(?:i8)?_", "int8"),
    (r"float|f32", "f32"),
)
_PRODUCT_TYPES = tuple((expression(pattern), word) for pattern, word in _TYPES)
#: Products whose type is one letter, such as "ampere_sgemm", "volta_h884gemm" and "cudnn_volta_scudnn".
_LETTER = expression(r"(?<![a-zA-Z])g?([sdhcz])(?:884|1688|16816)?(?:gemm|cudnn)")
_LETTERS = {"s": "f32", "d": "f64", "h": "f16", "c": "complex", "z": "complex f64"}
#: In names of Tensile (AMD), the first type after the operands' layout is the type of the inputs.
_TENSILE = expression(r"^Cijk_[A-Z]\w+?_B[a-z]+_(F8|I8|[BHSD])")
_TENSILE_TYPES = {"B": "bf16", "H": "f16", "S": "f32", "D": "f64", "F8": "fp8", "I8": "int8"}
#: Names of cuBLAS's nvjet have a letter each for the types of input, sum and output.
_NVJET = expression(r"nvjet_(?:sm\d+_)?([hts]|qq)")
_NVJET_TYPES = {"h": "f16", "t": "bf16", "s": "f32", "qq": "fp8"}

#: The size of the part of the result that one thread block computes. It is the size that the name marks as such, or
#: else its first size.
_TILES = tuple(
    expression(pattern)
    for pattern in (
        r"tilesize(\d+)x(\d+)",
        r"_MT(\d+)x(\d+)",
        r"nvjet_\w*?_(\d+)x(\d+)",
        r"_bt(\d+)x(\d+)",
        r"_t(\d+)x(\d+)x\d+u",
        r"GemmShape(?:<|ILi)(\d+)(?:, |ELi)(\d+)",
        r"(?<![\dxa-z])(\d{2,3})x(\d{2,3})(?![\dx])",
    )
)

_PRODUCT = expression(r"gemm(?!k1|v)|nvjet|^Cijk_|^bmm_|^igemm_|implicit_convolve")
_MATRIX_VECTOR = expression(r"gemv|gemmk1")
_PASS = expression(r"fprop|dgrad|wgrad|igemm_(?:fwd|bwd|wrw)", re.IGNORECASE)
_CONVOLUTION = expression(rf"{_PASS.pattern}|conv|[hds]cudnn_", re.IGNORECASE)
_PASSES = {"igemm_fwd": "fprop", "igemm_bwd": "dgrad", "igemm_wrw": "wgrad"}
#: Stages around a product or a convolution, and kernels with "conv" in their names that are not convolutions. They keep
#: their own names.
_STAGE = expression(
    r"(?i:reduc|offset|pointers|transpose|im2col|col2im|nchwto|nhwcto|convert|depthwise|causal_conv)"
    r"|PostGSU|^winograd[A-Z]|[Ee]pilogue"
)

#: cuDNN's batch normalization.
_CUDNN_NORM = expression(r"bn_(fw_tr|fw_inf|fw|bw)_")
_WAYS = {"fw_tr": "forward", "fw_inf": "inference", "fw": "forward", "bw": "backward"}

_NCCL = expression(r"^(?:void )?(?P<library>[a-z]+?)(?:Dev)?Kernel_(?P<what>[A-Za-z]+)")
_NCCL_TYPE = expression(r"_(?:u?int\d+_t|[fui]\d+|bf16|half|float|double|__nv_bfloat16)(?=[_(]|$)")
_INDUCTOR = expression(r"^triton_(?P<kind>[a-z]+)_(?:fused_)?(?P<ops>.*?)_?(?P<number>\d*)$")
_INDUCTOR_KINDS = {"poi": "pointwise", "red": "reduction", "per": "reduction", "for": "foreach", "tem": "template"}
#: Suffixes of Triton, which are the specialisation of a kernel, and hashes.
_TRITON_TAIL = expression(r"(?:_(?:\d+(?:de|d|c|e)){2,}\w*|_[0-9a-f]{16,})+$|(?:_\d+(?:de|d|c)\w*)$")

_HOST_FUNCTION = expression(
    r"(\w+)(?:<[^()<]*(?:<[^()<>]*>)? ?>)?\((?:at::)?(?:TensorIterator(?:Base)?&|Tensor(?:Base)? const&)"
)
_FUNCTOR = expression(r"(\w*(?:Functor|functor)\w*|\w+Ops(?=<))")
_CARRIERS = expression(r"^(?:[AB]?Unary|Binary|U?BinaryOp\w*|PointwiseOp\w*|Ternary\w*)Functor$")
_LIST_FUNCTION = expression(r"std::(plus|minus|multiplies|divides|sqrt|negate)")
_LIST_WORDS = {"plus": "add", "minus": "sub", "multiplies": "mul", "divides": "div"}
#: Functions on the host that launch the function passed to them.
_GENERAL = expression(r"gpu_(?:kernel|index)|operator")
_ATEN_WRAPPER = expression(
    r"elementwise_kernel|^reduce_kernel$|multi_tensor_apply_kernel|^index_elementwise|elementwise_kernel_with_index"
    r"|distribution_elementwise|_scatter_gather_elementwise"
)
_AFFIXES = expression(
    r"^(?:CUDA)?Functor(?:OnSelf|OnOther)?_|^gpu_|^launch_|(?:CUDA|Math)?(?:Nan)?(?:Functor|Ops)$|_functor$"
    r"|(?:_kernel_cuda|_cuda_kernel|_cuda|_kernel_impl|_kernel|_impl|CUDAKernelImpl|CUDAKernel|KernelImpl|Kernel)$"
)
_LAMBDA = expression(r"\{lambda\(([^()]+)\)#\d+\}")
_ARGUMENT_TYPE = expression(
    r"(?<![\w:])(?:float|double|(?:unsigned )?(?:int|char)|long|bool|short|c10::\w+|__half|half|__\w+_bfloat16"
    r"|(?:cutlass::)?(?:b?float16|half)_t|OpaqueType<\d+u?>)(?![\w:])"
)
_WHOLE = {"int", "long", "bool", "char", "short", "unsigned int", "unsigned char"}
_TYPE_WORDS = {
    "c10::BFloat16": "bf16", "__nv_bfloat16": "bf16", "__hip_bfloat16": "bf16", "bfloat16_t": "bf16",
    "cutlass::bfloat16_t": "bf16", "c10::Half": "half", "__half": "half", "half_t": "half", "cutlass::half_t": "half",
    "c10::Float8_e4m3fn": "fp8", "c10::Float8_e5m2": "fp8",
}  # fmt: skip


@lru_cache(maxsize=8192)
def short_name(kernel: str) -> str:
    """Returns a short description of what a kernel computes.

    >>> short_name("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_tn>(Params)")
    'gemm bf16 128x256'
    >>> short_name("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)")
    'add<float>'
    >>> short_name("Memcpy DtoD (Device -> Device)")
    'Memcpy DtoD'
    """
    if kernel.startswith(("Memcpy ", "Memset ")):
        return kernel.partition(" (")[0]
    if is_collective(kernel) and (parts := _NCCL.match(kernel)):
        named = _NCCL_TYPE.search(kernel)
        return f"{parts['library']} {parts['what']}" + (f" {named.group()[1:].removesuffix('_t')}" if named else "")
    name = own_name(kernel)
    if parts := _INDUCTOR.match(name):
        kind = _INDUCTOR_KINDS.get(parts["kind"], parts["kind"])
        return f"triton {kind} {parts['ops'].strip('_') or parts['number']}".rstrip()
    if _ATEN_WRAPPER.search(name):
        return _aten(kernel, name)
    return _library(kernel, name)


def _library(kernel: str, name: str) -> str:
    """Returns the short name of a kernel of a library or of a user: its kind if the name shows it, otherwise its own
    name."""
    if _STAGE.search(name):
        return _plain(kernel, name)
    where = kernel if "Kernel" in name or "ImplicitGemm" in name or name == kernel or kernel.startswith("_Z") else name
    if _MATRIX_VECTOR.search(function_name(kernel)):
        return _spaced("gemv", _product_type(kernel))
    if re.search(r"(?i)soft_?max", name):
        log = "log_" if "LogSoftMax" in kernel or "log_softmax" in name.lower() else ""
        way = "backward" if "backward" in name.lower() else "forward"
        return _typed(f"{log}softmax {way}", _argument_type(kernel))
    if norm := _CUDNN_NORM.match(name):
        return _typed(f"batch_norm {_WAYS[norm[1]]}", _argument_type(kernel))
    if not re.search(r"(?i)attn|attention|fmha|flash", name):
        if _CONVOLUTION.search(where):
            match = _PASS.search(where)
            kind = match.group().lower() if match else ""
            return _spaced("conv", _PASSES.get(kind, kind), _product_type(kernel), _tile(kernel))
        if _PRODUCT.search(name):
            return _spaced("gemm", _product_type(kernel), _tile(kernel))
    return _plain(kernel, name)


def _aten(kernel: str, name: str) -> str:
    """Returns the short name of a kernel that applies a function to tensors: the function and its type."""
    applied = kernel.partition("<")[2].replace(f"{ANONYMOUS}::", "")
    functors = _FUNCTOR.findall(applied)
    inner = [functor for functor in functors if not _CARRIERS.match(functor)]
    word = _applied(name, applied, inner) or (functors or [name])[0]
    written = [] if inner else [each for each in _LAMBDA.findall(applied) if each != "int" and "*" not in each]
    kind = _element(written[0]) if written else _argument_type(applied[applied.find((functors or [word])[0]) :])
    return ("foreach " if "multi_tensor" in name else "") + _typed(_bare(word), kind)


def _applied(name: str, applied: str, functors: list[str]) -> str | None:
    """Returns the operation: the innermost functor, or else the host function that contains the lambda."""
    if name.startswith("_scatter_gather"):
        return "scatter_gather"
    if "multi_tensor" in name and (listed := _LIST_FUNCTION.search(applied)):
        return _LIST_WORDS.get(listed[1], listed[1])
    hosts = (each for each in _HOST_FUNCTION.findall(applied) if not _GENERAL.match(each))
    return next(iter(functors), None) or next(hosts, None)


def _element(arguments: str) -> str:
    """Returns the type on which a lambda computes. A bool beside another type is a mask."""
    each = [argument.strip() for argument in arguments.split(",")]
    return _type_word(next((word for word in each if word != "bool"), "bool"))


def _bare(word: str) -> str:
    """Returns the word without affixes that only mark a kernel or a functor."""
    while (shorter := _AFFIXES.sub("", word)) != word and shorter:
        word = shorter
    word = word.removeprefix("direct_")
    return word.lower() if re.fullmatch(r"[A-Z][a-z]+", word) else word


def _plain(kernel: str, name: str) -> str:
    if name.startswith("CatArrayBatchedCopy"):
        return _typed("cat", _argument_type(kernel))
    bare = re.sub(r"(?:_kernel|Kernel|_cuda)+(?=$|_)|_kernel(?=_)", "", _TRITON_TAIL.sub("", name)) or name
    words = [_type_word(word) for word in _ARGUMENT_TYPE.findall(kernel.partition("<")[2].replace("at::native::", ""))]
    return _typed(bare, next((word for word in words if word not in _WHOLE), next(iter(words), None)))


def _argument_type(text: str) -> str | None:
    """Returns the first type among template arguments."""
    match = _ARGUMENT_TYPE.search(text.replace(f"{ANONYMOUS}::", "").replace("at::native::", ""))
    return _type_word(match.group()) if match else None


def _type_word(written: str) -> str:
    if written.startswith("OpaqueType"):
        return f"{written[11:-1].removesuffix('u')} bytes"
    return _TYPE_WORDS.get(written, written.removeprefix("c10::"))


def _product_type(kernel: str) -> str:
    for pattern, words in ((_TENSILE, _TENSILE_TYPES), (_NVJET, _NVJET_TYPES)):
        if match := pattern.search(kernel):
            return words[match[1]]
    letter = _LETTER.search(kernel)
    head = kernel if "(" not in kernel else kernel[: kernel.rfind("(")]
    return next((word for pattern, word in _PRODUCT_TYPES if pattern.search(head)), _by_letter(letter, kernel))


def _by_letter(letter: re.Match[str] | None, kernel: str) -> str:
    """Returns the type by its letter. Tensor cores cannot read FP32, so cutlass_80_tensorop_s1688gemm, which names no
    type, multiplies TF32."""
    if letter is None:
        return ""
    return "tf32" if "tensorop_s1688" in kernel else _LETTERS[letter[1]]


def _tile(kernel: str) -> str:
    return next((f"{match[1]}x{match[2]}" for pattern in _TILES if (match := pattern.search(kernel))), "")


def _spaced(*words: str) -> str:
    return " ".join(word for word in words if word)


def _typed(word: str, kind: str | None) -> str:
    return f"{word}<{kind}>" if kind else word


_KIND_ENDS = expression(r"<| \S*\d")


def kind_of(short: str) -> str:
    """Returns the part of a kernel's short name that does not depend on type and tile size.

    >>> kind_of("conv wgrad f32 128x128"), kind_of("batch_norm backward<float>"), kind_of("gemm tf32 64x64 (nn)")
    ('conv wgrad', 'batch_norm backward', 'gemm')
    """
    return _KIND_ENDS.split(short)[0]


#: Limits of the suffix: the number of distinguishing words, and the length of each.
_MOST_WORDS, _MOST_LETTERS = 3, 18

_WORD = expression(r"[^\W_]+")
#: Words that do not say what a kernel does.
_NOISE = frozenset(
    {"void", "at", "native", "detail", "const", "anonymous", "namespace", "true", "false", "std", "enable", "if"}
    | {"type", "gpu", "impl", "nocast", "kernel", "cutlass"}
)


@shared
def kernel_names(trace: Trace) -> Mapping[str, str]:
    """Returns the short name of every kernel of the recording, by name. Short names are unique, and the same in all
    tables."""
    events = trace.events
    return distinct_names(trace.strings[name] for name in distinct_in(events.name[events.rows(Kind.KERNEL)]).tolist())


def distinct_names(kernels: Iterable[str]) -> dict[str, str]:
    """Returns a unique short name for each name."""
    alike: dict[str, list[str]] = {}
    for kernel in sorted(set(kernels)):
        alike.setdefault(short_name(kernel), []).append(kernel)
    return {kernel: name for short, names in alike.items() for kernel, name in _distinguished(short, names)}


def _distinguished(short: str, kernels: list[str]) -> Iterable[tuple[str, str]]:
    if len(kernels) == 1:
        return [(kernels[0], short)]
    words = [
        [word for word in dict.fromkeys(_WORD.findall(kernel)) if len(word) <= _MOST_LETTERS and word not in _NOISE]
        for kernel in kernels
    ]
    spread = Counter(word for words_of_kernel in words for word in words_of_kernel)
    distinct = [[word for word in words_of_kernel if spread[word] < len(kernels)] for words_of_kernel in words]
    shortened = [_chosen(words_of_kernel, spread, 1) for words_of_kernel in distinct]
    for most in range(2, _MOST_WORDS + 1):
        if len(set(shortened)) < len(shortened):
            shortened = [_chosen(words_of_kernel, spread, most) for words_of_kernel in distinct]
    return zip(
        kernels,
        _numbered([f"{short} ({words_of_kernel})" if words_of_kernel else short for words_of_kernel in shortened]),
        strict=True,
    )


def _chosen(words: list[str], spread: Counter[str], most: int) -> str:
    """Returns the words that the fewest other names have, in order."""
    chosen = sorted(words, key=lambda word: spread[word])[:most]
    return " ".join(word for word in words if word in chosen)


def _numbered(names: list[str]) -> list[str]:
    """Returns the names, with a number after those that are still equal."""
    alike = Counter(names)
    seen: Counter[str] = Counter()
    distinct_names = []
    for name in names:
        seen[name] += 1
        distinct_names.append(f"{name} #{seen[name]}" if alike[name] > 1 else name)
    return distinct_names
