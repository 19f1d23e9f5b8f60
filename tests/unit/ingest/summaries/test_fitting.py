"""What an earlier release wrote is made to fit a type of today."""

from __future__ import annotations

import msgspec
import pytest

from tb_steptime.ingest.summaries.fitting import OLDER_RELEASE, fitted
from tb_steptime.text import Phrase, Reason, ns


class Row(msgspec.Struct, frozen=True):
    ns: int
    why: Reason | None
    said: Phrase | None = None


class Result(msgspec.Struct, frozen=True):
    rows: list[Row]
    by_name: dict[str, Row]
    pair: tuple[Row, ...]
    more: Row | None
    share: float | None
    steps: list[float | None]


CODES = {"too short": "few_steps"}
OLD = {"ns": 3, "why": {"template": "Nobody knows.", "values": {}}, "went": [1, 2]}
NEW = Row(3, OLDER_RELEASE)


def test_rows_are_fitted_wherever_they_stand():
    old = {"rows": [OLD], "by_name": {"a": OLD}, "pair": [OLD], "more": OLD, "share": 0.5, "steps": [1, None]}
    assert msgspec.convert(fitted(old, Result, CODES), Result) == Result([NEW], {"a": NEW}, (NEW,), NEW, 0.5, [1, None])


def test_what_is_missing_is_empty():
    assert msgspec.convert(fitted({}, Result, CODES), Result) == Result([], {}, (), None, None, [])


def test_a_sentence_becomes_its_code_and_keeps_its_values():
    old = {"ns": 1, "why": {"template": "too short", "values": {"x": {"value": 1, "unit": "ns"}}}}
    assert msgspec.convert(fitted(old, Row, CODES), Row) == Row(1, Reason("few_steps", {"x": ns(1)}))


def test_a_sentence_stays_where_one_is_wanted():
    old = {"ns": 1, "why": None, "said": {"template": "Yes.", "values": {}}}
    assert msgspec.convert(fitted(old, Row, CODES), Row) == Row(1, None, Phrase("Yes."))


def test_a_number_that_is_missing_is_not_invented():
    with pytest.raises(msgspec.ValidationError, match="ns"):
        msgspec.convert(fitted({"why": None}, Row, CODES), Row)


@pytest.mark.parametrize("old", [7, [7], {"rows": 7}, {"rows": [7]}, {"by_name": [7]}, {"more": "x"}])
def test_what_is_of_another_kind_is_left_for_the_conversion_to_refuse(old):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fitted(old, Result, CODES), Result)
