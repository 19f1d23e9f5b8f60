"""Unique short names for the kernels of a trace: names that would be equal get a suffix that distinguishes them.

gemm bf16 128x128     ...gemm_bf16_128x128_64x3_tn_align8      gemm bf16 128x128 (64x3 tn)
gemm bf16 128x128     ...gemm_bf16_128x128_32x4_nn_align8      gemm bf16 128x128 (32x4 nn)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tb_steptime.metrics.kernel_names.short_names import short_name
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Kind, distinct_in

#: Limits of the suffix: the number of distinguishing words, and the length of each.
_MOST_WORDS, _MOST_LETTERS = 3, 18

_WORD = expression(r"[^\W_]+")
#: Words that do not describe what a kernel does.
_NOISE = frozenset(
    {"void", "at", "native", "detail", "const", "anonymous", "namespace", "true", "false", "std", "enable", "if"}
    | {"type", "gpu", "impl", "nocast", "kernel", "cutlass"}
)


@shared
def kernel_names(trace: Trace) -> Mapping[str, str]:
    """Name -> short name, for every kernel of the recording: the same in all tables, and unique."""
    events = trace.events
    return distinct_names(trace.strings[name] for name in distinct_in(events.name[events.rows(Kind.KERNEL)]).tolist())


def distinct_names(kernels: Iterable[str]) -> dict[str, str]:
    """Name -> unique short name."""
    alike: dict[str, list[str]] = {}
    for kernel in sorted(set(kernels)):
        alike.setdefault(short_name(kernel), []).append(kernel)
    return {kernel: name for short, names in alike.items() for kernel, name in _distinguished(short, names)}


def _distinguished(short: str, kernels: list[str]) -> Iterable[tuple[str, str]]:
    if len(kernels) == 1:
        return [(kernels[0], short)]
    words = [_words(kernel) for kernel in kernels]
    spread = Counter(word for each in words for word in each)
    own = [[word for word in each if spread[word] < len(kernels)] for each in words]
    shown = [_chosen(each, spread, 1) for each in own]
    for most in range(2, _MOST_WORDS + 1):
        if len(set(shown)) < len(shown):
            shown = [_chosen(each, spread, most) for each in own]
    return zip(kernels, _numbered([f"{short} ({each})" if each else short for each in shown]), strict=True)


def _words(kernel: str) -> list[str]:
    """The words of a name, without repeats, in order."""
    return [word for word in dict.fromkeys(_WORD.findall(kernel)) if len(word) <= _MOST_LETTERS and word not in _NOISE]


def _chosen(words: list[str], spread: Counter[str], most: int) -> str:
    """The words that the fewest other names have, in order."""
    chosen = sorted(words, key=lambda word: spread[word])[:most]
    return " ".join(word for word in words if word in chosen)


def _numbered(names: list[str]) -> list[str]:
    """Number the names that are still equal."""
    alike = Counter(names)
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} #{seen[name]}" if alike[name] > 1 else name)
    return found
