"""Table and Column: one declaration from which every surface takes what it shows, with the kinds of its values, and the
columns that JSON has beyond the fields of a row."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, cast

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import inspect as types

from tb_steptime.metrics.base import Metric
from tb_steptime.text import Unit

#: A cell. None means not measurable, or not stated.
Value = str | int | float | bool | None
_UNIT_KINDS: Mapping[Unit, Kind] = {Unit.TEXT: "text", Unit.CODE: "text", Unit.COUNT: "int"}
_UNIT_WORDS = {Unit.TEXT: "", Unit.CODE: "", Unit.COUNT: "number"}
R = TypeVar("R")
S = TypeVar("S", bound=msgspec.Struct)


class Surface(enum.Flag):
    """Where a table is shown.

    TAB       a head of the tab's tables and its tooltip; a column that no field holds is also put into the tab's JSON
    TEXT      a command's table
    ROWS      JSON and CSV of a command, and the DataFrame of a notebook: every field of a row, and what is declared
    EXPORT    the files of `export --csv` and `--jsonl`
    AGENT     a tool's answer to a coding agent
    """

    TAB = enum.auto()
    TEXT = enum.auto()
    ROWS = enum.auto()
    EXPORT = enum.auto()
    AGENT = enum.auto()


EVERYWHERE = Surface.TAB | Surface.TEXT | Surface.ROWS | Surface.EXPORT | Surface.AGENT


class Column(msgspec.Struct, Generic[R], frozen=True):
    """One column.

    id        the field of a row that it shows, or, with `of`, a name of its own
    label     its head in the tab; `short` where room is scarce
    unit      of its values: ns, fractions 0 to 1, bytes, ...
    meaning   one or two sentences for someone who has never seen the figure
    of        its value of a row; None: the field `id`
    on        the surfaces that show it
    names     by surface, what it is called there where that is not the id (TEXT: not the label)
    figure    its id in the catalogue of the tab, where that is not the id
    kind      what the values are, where neither a field nor the unit says it
    counted   in what they are, where the unit alone does not say it
    """

    id: str
    label: str
    unit: Unit
    meaning: str
    of: Callable[[R], Value] | None = None
    on: Surface = EVERYWHERE
    names: Mapping[Surface, str] = msgspec.field(default_factory=dict)
    figure: str = ""
    short: str = ""
    colour: str = "ink"
    kind: Kind | None = None
    counted: str = ""

    def value(self, row: R) -> Value:
        return self.of(row) if self.of else operator.attrgetter(self.id)(row)

    def name(self, surface: Surface) -> str:
        """Returns the column's name on a surface."""
        return self.names.get(surface) or (self.label.lower() if surface is Surface.TEXT else self.id)

    @property
    def value_kind(self) -> Kind:
        """The kind of the values, for a column that is not a field of a row."""
        return self.kind or _UNIT_KINDS.get(self.unit, "float")

    @property
    def unit_words(self) -> str:
        """The unit in the words of a file's documentation. It is empty for names."""
        return self.counted or _UNIT_WORDS.get(self.unit, self.unit.value)

    @property
    def metric(self) -> Metric:
        """The head of the tab's table, in the form of the catalogue."""
        return Metric(self.figure or self.id, self.label, self.unit, self.meaning, self.colour, self.short)


def head(
    id: str, label: str, unit: Unit, meaning: str, figure: str = "", *, colour: str = "ink", short: str = "",
    on: Surface = Surface.TAB,
) -> Column[Any]:  # fmt: skip
    """Returns a column that only the tab shows, unless `on` says where else."""
    return Column(id, label, unit, meaning, on=on, figure=figure, short=short, colour=colour)


def of_metric(metric: Metric, on: Surface, names: Mapping[Surface, str] | None = None) -> Column[Any]:
    """Returns the column of a figure that is also in the catalogue: the row's field has the metric's id."""
    return Column(
        metric.id, metric.label, metric.unit, metric.meaning, on=on, names=names or {},
        short=metric.short, colour=metric.colour,
    )  # fmt: skip


class Table(msgspec.Struct, Generic[R], frozen=True):
    """One table. id: also the name of its exported file and of its DataFrame; row: the type of its rows."""

    id: str
    meaning: str
    row: type[R]
    columns: tuple[Column[R], ...]

    def on(self, surface: Surface) -> list[Column[R]]:
        """Returns the columns that a surface shows, in the order of their declaration."""
        return [column for column in self.columns if surface in column.on]

    @property
    def heads(self) -> tuple[Metric, ...]:
        """The heads that the tab shows."""
        return tuple(column.metric for column in self.on(Surface.TAB))

    @property
    def derived(self) -> list[Column[R]]:
        """The columns that are not fields of a row but belong to its JSON."""
        fields = self.row.__struct_fields__ if issubclass(self.row, msgspec.Struct) else ()
        return [column for column in self.on(Surface.ROWS) if column.id not in fields]

    def kinds(self) -> dict[str, Kind]:
        """Returns the columns of whole rows: the fields of a row, then the derived columns."""
        assert issubclass(self.row, msgspec.Struct)
        return {**kinds_of(self.row), **{each.id: each.value_kind for each in self.derived}}

    def kinds_on(self, surface: Surface) -> dict[str, Kind]:
        """Returns the columns of one surface, for tables whose rows are not flat."""
        return {column.name(surface): column.value_kind for column in self.on(surface)}

    def whole_row(self, row: R) -> tuple[Value, ...]:
        """Returns the values of the columns of `kinds()`."""
        assert isinstance(row, msgspec.Struct)
        return (*msgspec.structs.astuple(row), *(column.value(row) for column in self.derived))

    def values(self, row: R, surface: Surface) -> tuple[Value, ...]:
        return tuple(column.value(row) for column in self.on(surface))

    def some_values(self, values: Mapping[str, Value], surface: Surface) -> tuple[Value, ...]:
        """Returns a row of which only some columns are known, by id, such as the sum of all rows that are not shown."""
        return tuple(values.get(column.id) for column in self.on(surface))


def report_of(kind: type[S], row: object, **computed: Any) -> S:
    """Returns a report with the fields of a row that have the same names, and the computed ones."""
    copied = {name: getattr(row, name) for name in kind.__struct_fields__ if name not in computed}
    return kind(**copied, **computed)


Cell = int | float | bool | str | None
#: The kind of a column's values; each may be None.
Kind = Literal["int", "float", "bool", "text"]
Row = dict[str, Cell]

_KINDS: dict[type[types.Type], Kind] = {
    types.IntType: "int",
    types.FloatType: "float",
    types.BoolType: "bool",
    types.StrType: "text",
    types.LiteralType: "text",
    types.EnumType: "text",
}


def kinds_of(kind: type[msgspec.Struct], leave_out: Collection[str] = ()) -> dict[str, Kind]:
    """Returns the kind of each field of a type. All fields except those in leave_out have single values."""
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)
    return {field.name: _kind(field.type) for field in info.fields if field.name not in leave_out}


def _kind(value_type: types.Type) -> Kind:
    """Returns the kind of a type, or that of the value for an optional type."""
    nodes = value_type.types if isinstance(value_type, types.UnionType) else (value_type,)
    (node,) = (each for each in nodes if not isinstance(each, types.NoneType))
    return _KINDS[type(node)]


def as_array(kind: Kind, values: Sequence[Any]) -> npt.NDArray[Any]:
    """Returns an array of int64, float64, bool or object. Numbers with None among them become float64 with NaN."""
    if kind == "float" or (kind == "int" and None in values):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    if kind == "int":
        return np.array(values, np.int64)
    return np.array(values, bool if kind == "bool" and None not in values else object)


_SCHEMAS: Mapping[Kind, str] = {"int": "integer", "float": "number", "bool": "boolean", "text": "string"}


def with_derived(result: S, *tables: Table[Any]) -> S:
    """Returns the same result for a JSON encoder. Rows of a table with derived columns become dictionaries that include
    them. tables: those whose rows the result may contain."""
    derived = {table.row: table for table in tables if table.derived}
    return cast(S, _walked(result, derived)) if derived else result


def _walked(value: Any, tables: Mapping[type, Table[Any]]) -> Any:
    table = tables.get(type(value))
    if table:
        fields = {name: _walked(getattr(value, name), tables) for name in value.__struct_fields__}
        return {**fields, **{each.id: each.value(value) for each in table.derived}}
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        walked = {name: _walked(each, tables) for name, each in fields.items()}
        changed = {name: each for name, each in walked.items() if each is not fields[name]}
        return msgspec.structs.replace(value, **changed) if changed else value
    if isinstance(value, list):
        items = [_walked(each, tables) for each in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if isinstance(value, dict):
        by_key = {key: _walked(each, tables) for key, each in value.items()}
        return by_key if any(by_key[key] is not value[key] for key in value) else value
    return value


def derived_schemas(tables: Iterable[Table[Any]]) -> dict[str, dict[str, Any]]:
    """Returns JSON Schemas of the derived columns, by the name of the row's type and the column."""
    return {
        table.row.__name__: {each.id: {"type": [_SCHEMAS[each.value_kind], "null"]} for each in table.derived}
        for table in tables
        if table.derived
    }
