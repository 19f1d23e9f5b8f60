"""Table: rows of named columns of one type each, as pandas, polars, numpy and loops take it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

import msgspec
import numpy.typing as npt

from tb_steptime.tables.base import Cell, Kind, Row, Surface, as_array, kinds_of
from tb_steptime.tables.base import Table as Declaration

R = TypeVar("R")


class Table:
    """Rows of named columns. Names end in the unit: `_ns`, `_bytes`; shares are 0 to 1. None is "not measurable".

    `len(table)`, `for row in table`, `table[0]` and `table[:5]` are of rows, which are dictionaries; `table["name"]` is
    a column of shape (rows,). `pandas.DataFrame(table)` works, and where the package `nanoarrow` is installed
    `polars.DataFrame(table)` and all that read the Arrow PyCapsule interface; `to_dict()` is for everything else.

    >>> table = Table("demo", {"op": "text", "total_ns": "int"}, [("add", 7), ("mul", None)])
    >>> table[0], len(table), table.columns
    ({'op': 'add', 'total_ns': 7}, 2, ('op', 'total_ns'))
    >>> table["total_ns"]
    array([ 7., nan])
    """

    def __init__(self, name: str, kinds: Mapping[str, Kind], rows: Iterable[Sequence[Cell]]) -> None:
        self.name = name
        self.kinds = dict(kinds)
        self._rows = [tuple(row) for row in rows]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.kinds)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return (self[number] for number in range(len(self)))

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Table: ...
    @overload
    def __getitem__(self, key: str) -> npt.NDArray[Any]: ...

    def __getitem__(self, key: int | slice | str) -> Row | Table | npt.NDArray[Any]:
        """Returns a column by its name, or a row by its number. Raises KeyError for a column, IndexError for a row that
        it does not have."""
        if isinstance(key, str):
            return as_array(self.kinds[key], self.values(key))
        if isinstance(key, slice):
            return Table(self.name, self.kinds, self._rows[key])
        return dict(zip(self.kinds, self._rows[key], strict=True))

    def values(self, column: str) -> list[Any]:
        """Returns the values of a column as Python's own, with None where one is not measurable."""
        place = self.columns.index(column)
        return [row[place] for row in self._rows]

    def to_dict(self) -> dict[str, list[Any]]:
        """Lists by column."""
        return {column: self.values(column) for column in self.kinds}

    @property
    def __arrow_c_stream__(self) -> Callable[..., object]:
        """The Arrow PyCapsule interface, there where nanoarrow is."""
        try:
            from tb_steptime.notebook.arrow import struct_stream
        except ImportError as error:
            raise AttributeError("`pip install nanoarrow` for tables as Arrow streams") from error
        return lambda requested_schema=None: struct_stream(self.kinds, self.to_dict(), requested_schema)

    def __repr__(self) -> str:
        return f"Table({self.name}: {len(self)} rows of {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        from tb_steptime.notebook.html import table_html

        return table_html(self.name, self.columns, self._rows)


def table_of(name: str, kind: type[msgspec.Struct], rows: Sequence[msgspec.Struct]) -> Table:
    """Returns a table with a column for each field of a flat type."""
    return Table(name, kinds_of(kind), map(msgspec.structs.astuple, rows))


def whole_rows(declaration: Declaration[R], rows: Iterable[R]) -> Table:
    """Returns a table with every field of the rows, and the further columns of its declaration."""
    return Table(declaration.id, declaration.kinds(), map(declaration.whole_row, rows))


def declared_columns(declaration: Declaration[R], rows: Iterable[R]) -> Table:
    """Returns a table with the columns that its declaration has for rows."""
    cells = (declaration.values(row, Surface.ROWS) for row in rows)
    return Table(declaration.id, declaration.kinds_on(Surface.ROWS), cells)
