"""What convolutions and attention compute according to their recorded settings: by hand, and as torch counts it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tb_steptime.metrics.flops.op_flops import ATTENTION, FORWARD_CONVOLUTIONS, OPS, Call, work_of

FLOATS = json.dumps(["float"] * 8)
#: Images of 9 x 9 with 4 channels, 8 filters of 3 x 3.
IMAGE, FILTERS = [2, 4, 9, 9], [8, 4, 3, 3]


def flops(op: str, shapes: list[Any], settings: list[str]) -> int | None:
    work = work_of(op, json.dumps(shapes), FLOATS, json.dumps(settings))
    return work and work.flops


@pytest.mark.parametrize(
    ("settings", "length"),
    [
        (["[1, 1]", "[0, 0]", "[1, 1]", "1"], 7),
        (["[2, 2]", "[1, 1]", "[1, 1]", "1"], 5),
        (["[2]", "[1]", "[1]", "1"], 5),  # one value for both dimensions
        (["[1, 1]", "[0, 0]", "[2, 2]", "1"], 5),
        (["[1, 1]", "same", "[2, 2]", "1"], 9),
        (["[1, 1]", "valid", "[1, 1]", "1"], 7),
    ],
)
def test_a_forward_convolution_by_its_settings(settings: list[str], length: int):
    inputs = [IMAGE, FILTERS, [8], [], [], [], []]
    assert flops("aten::conv2d", inputs, ["", "", "", *settings]) == 2 * (2 * 8 * length**2) * (4 * 9)


def test_groups_are_in_the_weight_s_shape():
    inputs = [IMAGE, [8, 2, 3, 3], [], [], [], [], []]
    assert flops("aten::conv2d", inputs, ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "2"]) == 2 * (2 * 8 * 81) * (2 * 9)


def test_a_transposed_convolution_by_its_settings():
    inputs = [[1, 4, 8, 8], [4, 8, 2, 2], [], [], [], [], [], [], []]
    settings = ["", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1"]
    assert flops("aten::convolution", inputs, settings) == 2 * (4 * 64) * (8 * 4)


@pytest.mark.parametrize("settings", [[], ["", "", "", "", "", ""], ["", "", "", "[2, 2]", "", "[1, 1]"]])
def test_without_its_settings_the_output_of_a_convolution_is_not_known(settings: list[str]):
    assert flops("aten::conv2d", [IMAGE, FILTERS, [], [], [], [], []], settings) is None


@pytest.mark.parametrize(("mask", "gradients"), [("[True, True, False]", 2), ("[False, True, True]", 1), ("", 2)])
def test_a_backward_convolution_computes_the_gradients_that_are_asked_for(mask: str, gradients: int):
    settings = ["", "", "", "[0]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", mask]
    inputs = [[2, 8, 9, 9], IMAGE, FILTERS, *[[]] * 8]
    assert flops("aten::convolution_backward", inputs, settings) == gradients * 2 * (2 * 8 * 81) * (4 * 9)


def test_a_bias_s_gradient_alone_multiplies_nothing():
    settings = ["", "", "", "[0]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[False, False, True]"]
    assert flops("aten::convolution_backward", [[2, 8, 9, 9], IMAGE, FILTERS, *[[]] * 8], settings) is None


QUERY = [2, 4, 6, 16]


@pytest.mark.parametrize(("is_causal", "causal", "least"), [("True", True, 21), ("False", False, 36), ("", None, 21)])
def test_causal_attention_is_told_and_not_halved(is_causal: str, causal: bool | None, least: int):
    shapes = json.dumps([QUERY, QUERY, QUERY, [], [], [], []])
    settings = json.dumps(["", "", "", "", "0.", is_causal, ""])
    work = work_of("aten::scaled_dot_product_attention", shapes, FLOATS, settings)
    assert work is not None
    assert (work.flops, work.causal) == (2 * 8 * 36 * 32, causal)
    assert work.least_flops == 2 * 8 * least * 32


def test_settings_of_other_lengths_are_not_known():
    assert Call((), ("", "[1, 2, 3]")).sizes(1, 2) is None
    assert Call((), ("",)).sizes(3, 2) is None


# As torch declares and counts it.


def test_settings_stand_where_the_schemas_of_torch_have_them():
    torch = pytest.importorskip("torch")
    schemas: dict[str, list[list[str]]] = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.overload_name in ("", "padding"):  # other overloads take extra tensors, which do not affect the work
            schemas.setdefault(schema.name, []).append([argument.name for argument in schema.arguments])
    wrong = []
    for op, places in FORWARD_CONVOLUTIONS.items():
        for arguments in schemas.get(op, []):
            named = {name: place for name, place in msgspec.structs.asdict(places).items() if type(place) is int}
            wrong += [(op, name) for name, place in named.items() if arguments[place].removesuffix("_size") != name]
    for op, kind in ATTENTION.items():
        for arguments in schemas.get(op, []):
            known = arguments[kind.causal] in ("is_causal", "custom_mask_type")
            wrong += [] if known and arguments[kind.first] in ("query", "self") else [(op, arguments)]
    assert wrong == []


#: Models whose forward pass alone is compared: torch counts a weight's gradient as if there were no groups.
FORWARD_ONLY = ("grouped", "depthwise")


def _models(torch: Any) -> dict[str, Callable[[], Any]]:
    nn = torch.nn
    image = torch.randn(2, 8, 12, 12, requires_grad=True)
    return {
        "strided": lambda: nn.Conv2d(8, 6, 3, stride=2, padding=1)(image),
        "dilated": lambda: nn.Conv2d(8, 6, 3, dilation=2)(image),
        "grouped": lambda: nn.Conv2d(8, 16, 5, groups=4, padding="same")(image),
        "depthwise": lambda: nn.Conv2d(8, 8, 3, groups=8)(image),
        "one dimension": lambda: nn.Conv1d(8, 4, 3, stride=3)(image.flatten(2)),
        "three dimensions": lambda: nn.Conv3d(8, 4, (1, 3, 3))(image[:, :, None]),
        "transposed": lambda: nn.ConvTranspose2d(8, 4, 3, stride=2, output_padding=1)(image),
        "first layer": lambda: nn.Conv2d(8, 4, 3)(image.detach()),
        "attention": lambda: nn.MultiheadAttention(144, 2)(*(image.flatten(2)[0],) * 3)[0],
        "linear": lambda: nn.Linear(12, 5)(image),
        "batched": lambda: image @ torch.randn(8, 12, 7, requires_grad=True),
    }


NAMES = (
    "strided", "dilated", "grouped", "depthwise", "one dimension", "three dimensions", "transposed", "first layer",
    "attention", "linear", "batched",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_pass_has_the_operations_that_torch_counts(name: str, tmp_path: Path):
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    run = _models(torch)[name]
    with FlopCounterMode(display=False) as counter:
        _run(name, run)
    with torch.profiler.profile(record_shapes=True) as prof:
        _run(name, run)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert _recorded(tmp_path / "trace.json") == counter.get_total_flops()


def _run(name: str, model: Callable[[], Any]) -> None:
    result = model()
    if name not in FORWARD_ONLY:
        result.sum().backward()


def _recorded(path: Path) -> int:
    """Sum over the outermost ops with known arithmetic; on a CPU a forward pass has its op nested in itself."""
    events = [event for event in json.loads(path.read_text())["traceEvents"] if event.get("cat") == "cpu_op"]
    total, end = 0, {}
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        args = event["args"]
        dims, types, settings = (
            json.dumps(args.get(key, [])) for key in ("Input Dims", "Input type", "Concrete Inputs")
        )
        work = work_of(event["name"], dims, types, settings) if event["name"] in OPS else None
        if work and event["ts"] >= end.get(event["tid"], 0):
            total += work.flops
            end[event["tid"]] = event["ts"] + event["dur"]
    return total
