"""How many bytes a batch holds."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

UNKNOWN = -1
#: To count a batch of more parts would take longer than a step may lose.
MAX_PARTS = 128

_PLAIN = (int, float, complex, bool, str, type(None))


def bytes_of(batch: Any) -> int:
    """Of the tensors, arrays and byte strings in nested lists, tuples and mappings; UNKNOWN where there are others.

    Numbers and text count as 0. A sum without its unknown parts would pass for a small batch, so there is none.
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
    """What a tensor stores: a sparse one its values and indices."""
    if tensor.is_sparse:
        return _tensor_bytes(tensor._values()) + _tensor_bytes(tensor._indices())
    return int(tensor.nelement() * tensor.element_size())
