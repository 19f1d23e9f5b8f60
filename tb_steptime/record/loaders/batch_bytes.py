"""How many bytes a batch holds."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

UNKNOWN = -1
#: A batch with more parts than these would take longer to weigh than a step may lose.
MAX_PARTS = 128

_PLAIN = (int, float, complex, bool, str, type(None))


def weigh(batch: Any) -> int:
    """Bytes of the tensors, arrays and byte strings in nested lists, tuples and mappings; UNKNOWN beside other objects.

    Numbers and text weigh nothing. A sum without its unknown parts would pass for a small batch, so there is none.
    """
    tensor: Any = sys.modules["torch"].Tensor
    total = 0
    parts = [batch]
    for seen, part in enumerate(parts):
        if seen >= MAX_PARTS:
            return UNKNOWN
        if isinstance(part, tensor):
            total += _tensor_bytes(part)
        elif isinstance(part, (list, tuple)):
            parts += part[:MAX_PARTS]
        elif isinstance(part, Mapping):
            parts += part.values()
        elif isinstance(part, (bytes, bytearray)):
            total += len(part)
        elif type(part).__module__ == "numpy":
            total += int(part.nbytes)
        elif not isinstance(part, _PLAIN):
            return UNKNOWN
    return total


def _tensor_bytes(tensor: Any) -> int:
    """What a sparse tensor really stores, and what a dense one would."""
    if tensor.is_sparse:
        return _tensor_bytes(tensor._values()) + _tensor_bytes(tensor._indices())
    return int(tensor.nelement() * tensor.element_size())
