"""The least bytes that memory-bound ops move, counted by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tb_steptime.metrics.flops.least_bytes import moved_by

IMAGES = [2, 8, 16, 16]
ELEMENTS = 2 * 8 * 16 * 16


def moved(op: str, shapes: Sequence[object], *types: str, settings: Sequence[str] = ()) -> tuple[int, int] | None:
    found = moved_by(f"aten::{op}", json.dumps(shapes), json.dumps(types), json.dumps(settings))
    return None if found is None else (found.least_bytes or 0, found.flops)


@pytest.mark.parametrize(
    ("op", "shapes", "types", "expected"),
    [
        ("add", [[4, 8], [4, 8], []], ["float", "float", "Scalar"], (3 * 32 * 4, 32)),
        ("add_", [[4, 8], [8], []], ["c10::Half", "float", "Scalar"], (64 + 32 + 64, 32)),  # in its own type
        ("add", [[4, 8], [8], []], ["c10::Half", "float", "Scalar"], (64 + 32 + 128, 32)),  # in the widest
        ("mul", [[], [4, 8], [4, 8]], ["double", "float", "float"], (8 + 2 * 32 * 4, 32)),  # the third is written
        ("eq", [[4, 8], []], ["long int", "Scalar"], (32 * 8 + 32, 32)),
        ("gelu_backward", [[4, 8], [4, 8], []], ["c10::BFloat16"] * 2, (3 * 32 * 2, 32)),
        ("fill_", [[4, 8], []], ["float", "Scalar"], (128, 0)),
        ("copy_", [[4, 8], [4, 8], []], ["c10::Half", "float", "Scalar"], (64 + 128, 0)),
        ("_softmax", [[4, 8], [], []], ["float", "Scalar", "Scalar"], (256, 160)),
        ("_softmax_backward_data", [[4, 8], [4, 8], [], []], ["float", "float"], (384, 128)),
        ("native_layer_norm", [[4, 8], [], [8], [8], []], ["float", "ScalarList", "float", "float"], (320, 256)),
        ("native_batch_norm", [IMAGES, [8], [8], [8], [8]], ["float"] * 5, (8 * ELEMENTS + 128, 8 * ELEMENTS)),
        ("sum", [IMAGES, [], [], []], ["float"], (4 * ELEMENTS, ELEMENTS)),
        ("embedding", [[100, 16], [4, 7], [], [], []], ["float", "long int"], (2 * 28 * 16 * 4 + 28 * 8, 0)),
    ],
)
def test_bytes_and_operations(op: str, shapes: list[object], types: list[str], expected: tuple[int, int]):
    assert moved(op, shapes, *types) == expected


def test_pooling_writes_windows_and_their_places():
    settings = ["", "[2, 2]", "[2, 2]", "[0, 0]", "[1, 1]", "False"]
    read, windows = 4 * ELEMENTS, ELEMENTS // 4
    found = moved("max_pool2d_with_indices", [IMAGES, [], [], [], [], []], "float", settings=settings)
    assert found == (read + windows * 12, ELEMENTS)


def test_the_gradient_of_a_table_is_as_large_as_the_table():
    shapes, settings = [[4, 7, 16], [4, 7], [], [], []], ["", "", "100", "-1", "False"]
    found = moved("embedding_dense_backward", shapes, "float", "long int", settings=settings)
    assert found == (28 * 16 * 4 + 28 * 8 + 100 * 16 * 4, 28 * 16)


@pytest.mark.parametrize(
    ("op", "shapes", "types"),
    [
        ("_foreach_add_", [[[4], [8]], []], ["TensorList", "Scalar"]),  # the types of list elements are never recorded
        ("add", [[4, 8], [4, 8]], []),
        ("add", [[4, 8], [4, 8]], ["a_new_type", "a_new_type"]),
        ("add", [[4, 8], [5, 8]], ["float", "float"]),
        ("index_select", [[100, 16], [], [28]], ["float", "Scalar", "long int"]),  # the dimension is unknown
        ("max_pool2d_with_indices", [IMAGES], ["float"]),
    ],
)
def test_nothing_is_said_of_what_is_not_recorded(op: str, shapes: list[object], types: list[str]):
    assert moved(op, shapes, *types) is None
