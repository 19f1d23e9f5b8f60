"""Tables as declared: each surface finds its columns, and every surface finds a column that is added."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tb_steptime.metrics.idle.reasons import IDLE_MEANINGS, IdleNs
from tb_steptime.metrics.steps.parts import PART_MEANINGS, Parts
from tb_steptime.ranks.result import JobRanks, RankRow
from tb_steptime.tables.base import EVERYWHERE, Column, Surface, Table, derived_schemas, report_of, with_derived
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.heads import HEADS, TABLES
from tb_steptime.tables.ranks import rank_reports
from tb_steptime.tables.recordings import FIGURES, IDLE, RECORDING, SPANS, STEPS, IdleLine
from tb_steptime.text import Unit

ALL = (*TABLES, CARDS, RECORDING, SPANS, FIGURES, STEPS, IDLE)


def named(table: Table[Any]) -> str:
    return table.id


def empty(table: Table[Any]) -> Any:
    """A row without any known value."""
    return table.row(**dict.fromkeys(table.row.__struct_fields__))


class Held(msgspec.Struct, frozen=True):
    rows: list[Any]


@pytest.mark.parametrize("table", ALL, ids=named)
def test_no_surface_has_two_columns_of_one_name(table: Table[Any]) -> None:
    for surface in Surface:
        names = [column.name(surface) for column in table.on(surface)]
        assert len(set(names)) == len(names)


def test_tables_have_ids_and_row_types_of_their_own() -> None:
    assert len({table.id for table in ALL}) == len(ALL)
    assert len({table.row for table in ALL}) == len(ALL)


def test_the_tab_has_the_heads_of_every_table() -> None:
    ids = {head.id for head in HEADS}
    assert {head.id for table in TABLES for head in table.heads} <= ids


@pytest.mark.parametrize("table", [each for each in TABLES if issubclass(each.row, msgspec.Struct)], ids=named)
def test_a_computed_column_reaches_the_json_of_any_table(table: Table[Any]) -> None:
    added = Column[Any]("added", "Added", Unit.COUNT, "For this test.", lambda row: 7, EVERYWHERE)
    grown = replace(table, columns=(*table.columns, added))
    result = Held([empty(table)])
    (row,) = msgspec.to_builtins(with_derived(result, grown))["rows"]
    assert row["added"] == 7
    assert {key: row[key] for key in table.row.__struct_fields__} == dict.fromkeys(table.row.__struct_fields__)
    assert derived_schemas([grown])[table.row.__name__]["added"] == {"type": ["integer", "null"]}
    assert grown.heads[-1].label == "Added"


@pytest.mark.parametrize("surface", [Surface.ROWS, Surface.EXPORT])
def test_a_step_has_every_part(surface: Surface) -> None:
    names = [column.name(surface) for column in STEPS.on(surface)]
    parts = [f"{part}_ns" for part in Parts.__struct_fields__]
    assert [part.id for part in PART_MEANINGS] == list(Parts.__struct_fields__)
    assert [name for name in names if name in parts] == parts


def test_idle_time_has_every_reason_and_its_own_column() -> None:
    idle = IdleNs(*range(1, len(IdleNs.__struct_fields__) + 1))
    values = IDLE.values(IdleLine("5", 1, 40, idle), Surface.ROWS)
    assert values == ("5", 1, 40, *msgspec.structs.astuple(idle))
    assert [reason.id for reason in IDLE_MEANINGS] == list(IdleNs.__struct_fields__)
    assert set(IDLE.kinds_on(Surface.ROWS).values()) == {"text", "int"}


def test_a_report_has_the_fields_of_its_row_and_what_is_computed() -> None:
    class Row(msgspec.Struct):
        kept: int
        summed: int
        left_out: str = "x"

    class Report(msgspec.Struct):
        kept: int
        summed: float
        added: str

    assert report_of(Report, Row(1, 4), summed=2.0, added="new") == Report(1, 2.0, "new")
    with pytest.raises(AttributeError):
        report_of(Report, Row(1, 4), summed=2.0)


def test_ranks_that_are_not_matched_have_no_waits() -> None:
    rows = [RankRow(rank, f"key{rank}", f"w{rank}", "box", 3, 1000 + rank) for rank in range(2)]
    found = rank_reports(report_of(JobRanks, _Unmatched(rows)), None)
    waits = {(each.wait_ns, each.makes_others_wait_ns, each.last_share) for each in found}
    assert ([(each.rank, each.mean_step_ns) for each in found], waits) == ([(0, 1000), (1, 1001)], {(None, None, None)})


class _Unmatched:
    """A job of which only the ranks are known."""

    def __init__(self, ranks: list[RankRow]) -> None:
        self.ranks, self.matched_steps = ranks, 0

    def __getattr__(self, name: str) -> None:
        return None
