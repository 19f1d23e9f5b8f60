"""Tables of `tb_steptime.open`, as loops, numpy, pandas and polars read them."""

import math
import sys

import numpy as np
import pytest

from tb_steptime.metrics.idle.blocking_rows import BlockingRow
from tb_steptime.notebook.tables import Table
from tb_steptime.tables.base import kinds_of

KINDS = {"op": "text", "calls": "int", "bytes": "int", "share": "float", "slow": "bool"}
ROWS = [("add", 7, 2**53 + 1, 0.5, True), ("mul", 9, None, None, None)]
TABLE = Table("demo", KINDS, ROWS)


def test_rows_and_columns():
    first, second = TABLE
    assert first == {"op": "add", "calls": 7, "bytes": 2**53 + 1, "share": 0.5, "slow": True}
    assert (TABLE[-1], len(TABLE), TABLE.columns) == (second, 2, tuple(KINDS))
    assert list(TABLE[1:]) == [second]
    assert TABLE.to_dict() == {column: [first[column], second[column]] for column in KINDS}
    assert repr(TABLE) == "Table(demo: 2 rows of op, calls, bytes, share, slow)"


def test_a_column_is_an_array_of_its_own_type():
    assert [TABLE[column].dtype.str[1:] for column in KINDS] == ["O", "i8", "f8", "f8", "O"]
    assert TABLE[:1]["slow"].dtype == bool
    assert TABLE["calls"].tolist() == [7, 9]
    assert math.isnan(TABLE["bytes"][1])
    assert [TABLE[:0][column].shape for column in KINDS] == [(0,)] * 5
    with pytest.raises(KeyError):
        TABLE["none"]


def test_types_of_a_result_are_those_of_its_table():
    kinds = kinds_of(BlockingRow)
    assert (kinds["op"], kinds["phase"], kinds["count"], kinds["blocked_ns"], kinds["bytes"]) == (
        "text", "text", "float", "int", "int"
    )  # fmt: skip


@pytest.mark.live
def test_pandas_takes_rows():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TABLE)
    assert frame.columns.tolist() == list(KINDS)
    assert (frame["calls"].dtype, frame["op"].tolist()) == (np.int64, ["add", "mul"])


@pytest.mark.parametrize("rows", [ROWS, []])
def test_polars_takes_an_arrow_stream_with_types_and_nulls(rows):
    polars = pytest.importorskip("polars")
    pytest.importorskip("nanoarrow")
    frame = polars.DataFrame(Table("demo", KINDS, rows))
    types = [polars.String, polars.Int64, polars.Int64, polars.Float64, polars.Boolean]
    assert frame.schema == dict(zip(KINDS, types, strict=True))
    assert frame.rows() == rows


def test_a_stream_outlives_its_table():
    polars = pytest.importorskip("polars")
    pytest.importorskip("nanoarrow")
    frame = polars.DataFrame(Table("demo", {"n": "int"}, [(number,) for number in range(100_000)]))
    assert frame["n"].sum() == sum(range(100_000))


def test_a_name_that_is_no_unicode_is_written_as_one():
    polars = pytest.importorskip("polars")
    pytest.importorskip("nanoarrow")
    assert polars.DataFrame(Table("demo", {"name": "text"}, [("a\udcff",), (None,)])).rows() == [("a?",), (None,)]


def test_without_nanoarrow_there_is_no_stream(monkeypatch):
    monkeypatch.setitem(sys.modules, "nanoarrow", None)
    monkeypatch.delitem(sys.modules, "tb_steptime.notebook.arrow", raising=False)
    assert not hasattr(TABLE, "__arrow_c_stream__")
    with pytest.raises(AttributeError, match="pip install nanoarrow"):
        TABLE.__arrow_c_stream__()
