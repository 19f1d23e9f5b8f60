"""The wire format: TypeScript generated from the types, and JSON without NaN."""

import enum
import json
import math
import os
import subprocess
import sys
from typing import Annotated

import msgspec
import pytest

from tb_steptime.analyses import ANALYSES
from tb_steptime.metrics.base import Series
from tb_steptime.metrics.kernels.time_bins import TIME_BIN_METRICS
from tb_steptime.serve.api import api, interfaces
from tb_steptime.serve.catalogue import catalogue
from tb_steptime.serve.wire import Neighbour, encode
from tb_steptime.tables.heads import HEADS
from tests import PROJECT

GENERATED = PROJECT / "frontend" / "src" / "api.gen.ts"


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Leaf(msgspec.Struct):
    """One leaf."""

    colour: Colour
    size: int | float | str | None = None


class Tree(msgspec.Struct):
    """A tree.

    Its leaves may be unknown.
    """

    leaves: list[Leaf]
    ages: list[int | None]
    by_name: dict[str, list[Leaf]]
    top: Leaf | None
    pair: tuple[int, str]
    anything: msgspec.Raw
    alive: bool = True


def test_types_become_api():
    assert interfaces([Tree], {}) == (
        'export type Colour = "blue" | "red";\n'
        "\n"
        "/** One leaf. */\n"
        "export interface Leaf {\n"
        "  colour: Colour;\n"
        "  size: number | string | null;\n"
        "}\n"
        "\n"
        "/**\n"
        " * A tree.\n"
        " * Its leaves may be unknown.\n"
        " */\n"
        "export interface Tree {\n"
        "  leaves: Leaf[];\n"
        "  ages: (number | null)[];\n"
        "  by_name: Record<string, Leaf[]>;\n"
        "  top: Leaf | null;\n"
        "  pair: [number, string];\n"
        "  anything: unknown;\n"
        "  alive: boolean;\n"
        "}\n"
    )


#: msgspec 0.21 leaves the names of keys out of a schema; the data sent is the same.
NO_KEYS = "propertyNames" not in msgspec.json.schema(dict[Annotated[str, msgspec.Meta(title="Key")], int])


@pytest.mark.skipif(NO_KEYS, reason="this msgspec does not describe the keys of a dict")
def test_the_generated_file_is_current():
    assert GENERATED.read_text() == api(), "run `make gen`"


def test_the_module_prints_the_same_on_every_run():
    printed = {
        subprocess.run(
            [sys.executable, "-m", "tb_steptime.serve.api"],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert printed == {api().encode()}


def test_every_view_has_a_result_in_api():
    source = api()
    for analysis in ANALYSES:
        assert f"  {analysis.id}: {analysis.result.__name__};\n" in source
        assert f"export interface {analysis.result.__name__} {{\n" in source


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_travels_as_null(value):
    assert json.loads(encode(Neighbour("a", 1, {"m": value}, {"m": [value, 1.5]}))) == {
        "id": "a",
        "number": 1,
        "values": {"m": None},
        "steps": {"m": [None, 1.5]},
    }


def test_the_catalogue_names_every_metric_once():
    meanings = catalogue()
    ids = [metric.id for metric in meanings.metrics]
    assert len(ids) == len(set(ids))
    assert [view.id for view in meanings.views] == [analysis.id for analysis in ANALYSES]
    assert all(metric.label and metric.meaning.endswith(".") for metric in meanings.metrics)
    assert msgspec.json.decode(encode(Series("step_time", None, 1.0, [None])), type=Series).steps == [None]


def test_every_share_in_the_list_of_views_says_of_what_it_is():
    shares = {view.id: view.share for view in catalogue().views if view.share}
    assert shares.keys() == {"data_loading", "tensor_cores", "host", "gpu"}
    assert all("hare of the mean step" in meaning for meaning in shares.values())


def test_the_catalogue_says_what_every_strip_and_column_of_a_table_is_and_says_it_once():
    meanings = catalogue()
    ids = [metric.id for metric in (*meanings.metrics, *meanings.figures)]
    assert len(ids) == len(set(ids))
    assert {metric.id for metric in (*TIME_BIN_METRICS, *HEADS)} <= set(ids)
